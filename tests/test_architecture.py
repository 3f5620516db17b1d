"""The house rules hold for every file, and each rule is shown to catch what it is there for."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.architecture import Complaints, Module, effects, imports, modules, shapes, words
from tests.architecture.module import ROOT

Rule = Callable[[Module], Complaints]

PRODUCT = ("pipelines", "dags", "plugins")
EVERYTHING = (*PRODUCT, "tools", "demo", "tests")
PROSE = (
    "*.md",
    "docs/**/*.md",
    "dags/*.yml",
    "expectations/*.yml",
    ".ci/run",
    "Makefile",
    "tests/cases/*.md",
)

RULES: dict[Rule, tuple[str, ...]] = {
    imports.points_down: ("pipelines",),
    imports.parses_light: ("pipelines", "dags"),
    imports.has_a_name_that_says_something: EVERYTHING,
    imports.imports_no_type_checking_and_no_any: (*PRODUCT, "tools", "demo"),
    shapes.file_is_short: EVERYTHING,
    shapes.functions_are_short: EVERYTHING,
    shapes.functions_take_few_parameters: (*PRODUCT, "tools", "demo"),
    shapes.parameters_after_the_second_are_named: (*PRODUCT, "tools", "demo"),
    shapes.variables_have_names: EVERYTHING,
    shapes.begins_with_a_docstring: EVERYTHING,
    shapes.asserts_nothing: (*PRODUCT, "tools", "demo"),
    effects.acts_only_where_it_may: ("pipelines",),
    effects.leaves_the_insides_of_spark_alone: PRODUCT,
    effects.takes_time_as_an_argument: ("pipelines",),
}

PLANTED: list[tuple[Rule, str, str]] = [
    (imports.points_down, "pipelines/spec/model.py", "from pipelines.store import Store"),
    (imports.points_down, "pipelines/windows/sliding.py", "from pipelines.aggregates import SUM"),
    (imports.points_down, "pipelines/errors.py", "def late():\n    import pipelines.cli"),
    (imports.points_down, "pipelines/ingest/read.py", "from pipelines import store"),
    (imports.points_down, "pipelines/ingest/read.py", "from ..store import Store"),
    (imports.parses_light, "pipelines/spec/load.py", "from pyspark.sql import functions"),
    (
        imports.parses_light,
        "pipelines/orchestration/dag.py",
        "try:\n    import delta\nexcept ImportError:\n    pass",
    ),
    (imports.parses_light, "dags/traffic.py", "import great_expectations as gx"),
    (imports.has_a_name_that_says_something, "pipelines/utils.py", ""),
    (imports.has_a_name_that_says_something, "tests/common/rows.py", ""),
    (imports.imports_no_type_checking_and_no_any, "pipelines/a.py", "from typing import TYPE_CHECKING"),
    (imports.imports_no_type_checking_and_no_any, "pipelines/a.py", "import typing\nvalue: typing.Any = 1"),
    (shapes.file_is_short, "pipelines/a.py", "\n" * 301),
    (shapes.functions_are_short, "pipelines/a.py", "def f():\n" + "    1\n" * 40),
    (
        shapes.functions_take_few_parameters,
        "pipelines/a.py",
        "def f(a, b, *, c, d, e): ...\ndef g(a, b, *, c, d, e, f): ...",
    ),
    (
        shapes.parameters_after_the_second_are_named,
        "pipelines/a.py",
        "class A:\n    def f(self, a, b, c): ...",
    ),
    (shapes.variables_have_names, "pipelines/a.py", "df = 1"),
    (shapes.variables_have_names, "pipelines/a.py", "def f(ts): ..."),
    (shapes.begins_with_a_docstring, "pipelines/a.py", "import os"),
    (shapes.asserts_nothing, "pipelines/a.py", "assert True"),
    (effects.acts_only_where_it_may, "pipelines/ingest/a.py", "rows.collect()"),
    (effects.acts_only_where_it_may, "pipelines/stages/a.py", "read(rows).where('x').count()"),
    (effects.acts_only_where_it_may, "pipelines/checks/a.py", "rows.show(5)"),
    (
        effects.leaves_the_insides_of_spark_alone,
        "pipelines/store/a.py",
        "spark.sparkContext.setLogLevel('x')",
    ),
    (effects.leaves_the_insides_of_spark_alone, "pipelines/store/a.py", "rows.rdd"),
    (effects.takes_time_as_an_argument, "pipelines/stages/a.py", "import datetime\ndatetime.datetime.now()"),
    (effects.takes_time_as_an_argument, "pipelines/ingest/a.py", "rows.where(F.col('t') < F.now())"),
]

KEPT: list[tuple[Rule, str, str]] = [
    (
        imports.points_down,
        "pipelines/store/a.py",
        "from pipelines.spec import load\nfrom pipelines import errors",
    ),
    (imports.parses_light, "pipelines/orchestration/a.py", "def task():\n    import pyspark"),
    (shapes.functions_are_short, "pipelines/a.py", "def f():\n" + "    1\n" * 39),
    (
        shapes.functions_take_few_parameters,
        "pipelines/a.py",
        "class A:\n    def f(self, a, b, *, c, d, e): ...",
    ),
    (shapes.parameters_after_the_second_are_named, "pipelines/a.py", "def f(a, b, *, c, d, e, g): ..."),
    (effects.acts_only_where_it_may, "pipelines/ingest/a.py", "F.count('x')\n'text'.count('t')"),
    (effects.acts_only_where_it_may, "pipelines/store/a.py", "rows.collect()"),
    (effects.takes_time_as_an_argument, "pipelines/cli/a.py", "datetime.now(UTC)"),
    (effects.takes_time_as_an_argument, "pipelines/stages/a.py", "time.monotonic()"),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_file_keeps_the_rule(rule: Rule) -> None:
    assert [complaint for module in modules(*RULES[rule]) for complaint in rule(module)] == []


@pytest.mark.parametrize(("rule", "path", "text"), PLANTED, ids=lambda it: getattr(it, "__name__", None))
def test_a_planted_violation_is_found(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Module(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), KEPT, ids=lambda it: getattr(it, "__name__", None))
def test_what_the_rule_allows_is_let_pass(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Module(path, text))) == []


def test_every_rule_has_a_planted_violation() -> None:
    assert {rule for rule, _, _ in PLANTED} == set(RULES)


def test_a_room_without_a_place_in_the_walk_is_an_error() -> None:
    with pytest.raises(ValueError, match="no room of the walk"):
        list(imports.points_down(Module("pipelines/cellar/a.py", "")))


def test_the_rules_look_at_files() -> None:
    assert len(modules("pipelines")) > 20
    assert len(prose()) > 3


def prose() -> dict[str, str]:
    """Every text that people read beside the code, by its path."""
    paths = sorted({path for pattern in PROSE for path in ROOT.glob(pattern)})
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def code() -> dict[str, str]:
    """All our Python, but for the list of the words themselves and their planted uses."""
    own = ("tests/architecture/words.py", "tests/test_architecture.py")
    return {module.path: module.text for module in modules(*EVERYTHING) if module.path not in own}


def test_code_and_prose_keep_to_the_glossary() -> None:
    texts = {**prose(), **code()}
    assert [it for path, text in texts.items() for it in words.keeps_to_the_glossary(path, text)] == []


@pytest.mark.parametrize(
    "line", ["a bucket of events", "# Flushed", "chunk_size = 3", "class HopWindow", "emits rows", "myTile"]
)
def test_a_synonym_is_found(line: str) -> None:
    assert list(words.keeps_to_the_glossary("a.py", line))


@pytest.mark.parametrize(
    "line", ["stdout.flush()", "print(1, flush=True)", "hope", "textile", "remit", "shop"]
)
def test_other_words_are_no_synonyms(line: str) -> None:
    assert list(words.keeps_to_the_glossary("a.py", line)) == []


def test_every_make_target_that_is_mentioned_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    texts = {**prose(), **code()}
    assert [
        it for path, text in texts.items() for it in words.names_only_targets_that_exist(path, text, makefile)
    ] == []


@pytest.mark.parametrize("text", ["Run `make tea` first.", "    make tea", "$ make tea"])
def test_a_target_that_is_not_there_is_found(text: str) -> None:
    assert list(words.names_only_targets_that_exist("README.md", text, "setup: ## builds\n"))
    assert list(words.names_only_targets_that_exist("README.md", text, "tea: ## boils\n")) == []


def test_what_a_dag_file_reads_its_spec_with_loads_no_spark() -> None:
    """The same is held of whole DAG files where those are tested."""
    rooms = "pipelines.errors, pipelines.intervals, pipelines.spec"
    heavy = ("pyspark", "delta", "great_expectations")
    program = f"import sys, {rooms}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip().splitlines()[-1:] == ["[]"], done.stderr
