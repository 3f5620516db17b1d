"""Names and arguments are Great Expectations' own, and what it would refuse is refused before a run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipelines.checks.expectation import REMARKS, Expectation, Suite, freeze
from pipelines.checks.row_rules import ROW_RULES, SCOPE
from pipelines.checks.vocabulary import OF_OTHER_DATA, arguments_of, names, unknown_names

# No session is needed, but the seconds that importing Great Expectations takes are.
pytestmark = pytest.mark.spark

MAXIMUM = "expect_column_max_to_be_between"


def problems(name: str, **arguments: object) -> tuple[str, ...]:
    frozen = tuple((argument, freeze(value)) for argument, value in arguments.items())
    return unknown_names(
        Suite(expectations=(Expectation(stage="panes", name=name, arguments=frozen, line=3),))
    )


def test_importing_the_room_does_not_import_great_expectations() -> None:
    program = "import sys, pipelines.checks; sys.exit('great_expectations' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("name", ROW_RULES)
def test_a_row_rule_takes_exactly_great_expectations_arguments(name: str) -> None:
    shape = ROW_RULES[name]
    assert {*shape.required, *shape.optional, *SCOPE, *REMARKS} == set(arguments_of(name))


@pytest.mark.parametrize("name", OF_OTHER_DATA)
def test_what_would_ask_other_data_is_refused(name: str) -> None:
    assert name in names()
    (problem,) = problems(name)
    assert problem.endswith(
        "asks other data than the rows at stage panes, which are all that a check sees here"
    )


def test_what_great_expectations_takes_has_no_problems() -> None:
    ranges = {"quantiles": [0.5], "value_ranges": [[5, None]]}
    assert problems(MAXIMUM, column="delay", max_value=600, notes="minutes") == ()
    assert problems("expect_column_quantile_values_to_be_between", column="a", quantile_ranges=ranges) == ()
    assert problems(MAXIMUM, column="delay", max_value="1e6", notes="no $PARAMETER") == ()
    assert problems("expect_column_values_to_match_regex", column="a", regex="^\\$PARAMETER$") == ()
    assert problems("expect_column_values_to_be_of_type", column="a", type_="LongType") == ()


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        (
            "expect_column_max_to_be_betwen",
            {},
            "line 3: there is no expectation `expect_column_max_to_be_betwen` in Great Expectations; "
            "did you mean `expect_column_max_to_be_between`?",
        ),
        (
            MAXIMUM,
            {"colum": "a", "max_value": 1},
            "takes no argument `colum`; did you mean `column`?; allowed are",
        ),
        (MAXIMUM, {"max_value": 1}, "`column`: found nothing; field required"),
        (MAXIMUM, {"column": "a", "max_value": "lots"}, "`max_value`: found 'lots'; value is not a valid"),
        (MAXIMUM, {"column": "a", "max_value": {"$PARAMETER": "now()"}}, "`max_value`: found a `$PARAMETER`"),
        (
            "expect_table_row_count_to_be_between",
            {"max_value": "1e6"},
            "`max_value`: found the text '1e6'; write a number without quotes",
        ),
        (
            "expect_column_kl_divergence_to_be_less_than",
            {"column": "a", "threshold": 0.1},
            "an argument is missing",
        ),
        (
            "expect_column_quantile_values_to_be_between",
            {"column": "a", "quantile_ranges": {}},
            "`expect_column_quantile_values_to_be_between`: `quantiles` is missing",
        ),
        (
            "expect_column_kl_divergence_to_be_less_than",
            {"column": "a", "partition_object": {"x": "y"}, "threshold": 0.1},
            "`expect_column_kl_divergence_to_be_less_than`: Invalid partition_object provided",
        ),
        (MAXIMUM, {"column": "a"}, "neither `min_value` nor `max_value`"),
        (MAXIMUM, {"column": "a", "max_value": 1, "batch_id": "x"}, "takes no argument `batch_id`"),
        (
            "expect_column_values_to_match_like_pattern",
            {"column": "a", "like_pattern": "b%"},
            "exists in Great Expectations, but not for Spark",
        ),
    ],
)
def test_a_problem_says_its_line_what_was_found_and_what_is_allowed(
    name: str, arguments: dict[str, object], told: str
) -> None:
    assert told in " | ".join(problems(name, **arguments))


def test_the_problems_of_all_expectations_are_told_together() -> None:
    unknown = [Expectation(stage="panes", name=f"expect_{it}", arguments=(), line=it) for it in (1, 2)]
    told = unknown_names(Suite(expectations=tuple(unknown)))
    assert [problem.partition(":")[0] for problem in told] == ["line 1", "line 2"]


def test_the_vocabulary_holds_more_than_row_rules() -> None:
    assert set(ROW_RULES) < set(names())


def test_what_great_expectations_cannot_parse_is_a_problem_like_any_other() -> None:
    condition = {"row_condition": "b > 1", "condition_parser": "great_expectations"}
    (told,) = problems("expect_column_values_to_be_between", column="a", min_value=0, **condition)
    assert "b > 1" in told
