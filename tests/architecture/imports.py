"""Rules about imports: the arrows between the rooms, and what may not load Spark."""

from __future__ import annotations

import ast

from tests.architecture.module import Complaints, Module, imported

WALK = (
    ("errors", "intervals", "visible"),
    ("spec",),
    ("aggregates", "windows"),
    ("ingest",),
    ("accumulate",),
    ("combine",),
    ("finalise",),
    ("checks",),
    ("store",),
    ("stages",),
    ("session",),
    ("orchestration", "cli"),
)
PARSED_BY_AIRFLOW = ("errors", "intervals", "spec", "orchestration")
HEAVY = ("pyspark", "delta", "deltalake", "great_expectations", "pandas", "pyarrow")
FORBIDDEN_NAMES = ("utils", "util", "helpers", "common", "base", "misc", "manager", "handler")


def points_down(module: Module) -> Complaints:
    """A room imports only rooms that stand before it in the walk."""
    if module.room is None:
        return
    before = rooms_before(module.room)
    for node, name in imported(module.tree):
        if name.startswith("."):
            yield module.says(node, f"relative import {name}")
        elif name.startswith("pipelines."):
            room = name.split(".")[1]
            if room != module.room and room not in before:
                yield module.says(node, f"{module.room} imports {room}, which does not stand before it")


def rooms_before(room: str) -> set[str]:
    for number, rooms in enumerate(WALK):
        if room in rooms:
            return {name for earlier in WALK[:number] for name in earlier}
    raise ValueError(f"`{room}` is no room of the walk: give it its place in `WALK`")


def parses_light(module: Module) -> Complaints:
    """What Airflow parses imports no Spark, Delta or Great Expectations at module level."""
    if module.room not in PARSED_BY_AIRFLOW and not module.path.startswith("dags/"):
        return
    for statement in module.tree.body:
        # What stands in a function is imported when that runs; all other blocks run at import.
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for node, name in imported(statement):
            if name.split(".")[0] in HEAVY:
                yield module.says(node, f"imports {name} at module level")


def has_a_name_that_says_something(module: Module) -> Complaints:
    """No module or folder is called by what it is not."""
    for part in module.path.removesuffix(".py").split("/"):
        if part in FORBIDDEN_NAMES:
            yield f"{module.path}: `{part}` says nothing"


def imports_no_type_checking_and_no_any(module: Module) -> Complaints:
    """Needing `TYPE_CHECKING` means that an arrow is wrong; `Any` says nothing."""
    for node in module.nodes(ast.Name, ast.Attribute, ast.alias):
        name = (
            node.id
            if isinstance(node, ast.Name)
            else node.attr
            if isinstance(node, ast.Attribute)
            else node.name
        )
        if name in ("Any", "TYPE_CHECKING"):
            yield module.says(node, name)
