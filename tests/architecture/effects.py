"""Rules about what code does: Spark actions, Spark's insides, the clock."""

from __future__ import annotations

import ast

from tests.architecture.module import Complaints, Module

ACTIONS = ("collect", "count", "show", "toPandas", "toArrow", "toLocalIterator", "isEmpty", "foreach")
MAY_ACT = ("store", "cli")
INSIDES = ("_jdf", "_jvm", "_jsc", "_jsparkSession", "sparkContext", "rdd")
CLOCKS = (
    *("datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"),
    *("F.now", "F.current_timestamp", "F.current_date", "F.localtimestamp", "F.unix_timestamp"),
)
MAY_SEE_THE_CLOCK = ("pipelines/cli/", "pipelines/orchestration/", "pipelines/store/ledger")


def acts_only_where_it_may(module: Module) -> Complaints:
    """Outside of `store` and `cli`, nothing makes Spark hand rows over; `F.count`, `text.count(x)` do not."""
    if module.room in MAY_ACT:
        return
    for node in module.nodes(ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ACTIONS:
            is_function = isinstance(node.func.value, ast.Name) and node.func.value.id == "F"
            counts_in_text = node.func.attr == "count" and node.args
            if not is_function and not counts_in_text:
                yield module.says(node, f".{node.func.attr}()")


def leaves_the_insides_of_spark_alone(module: Module) -> Complaints:
    """The same code runs over Spark Connect, which has none of these."""
    for node in module.nodes(ast.Attribute):
        if node.attr in INSIDES:
            yield module.says(node, f".{node.attr}")


def takes_time_as_an_argument(module: Module) -> Complaints:
    """Only the commands, the orchestration and the ledger look at the clock."""
    if module.path.startswith(MAY_SEE_THE_CLOCK):
        return
    for node in module.nodes(ast.Attribute):
        name = ast.unparse(node)
        if any(name == clock or name.endswith(f".{clock}") for clock in CLOCKS):
            yield module.says(node, name)
