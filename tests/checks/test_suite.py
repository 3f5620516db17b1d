"""A suite is read as it was written, or refused with all that is wrong with it, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.checks.expectation import Suite
from pipelines.checks.suite import load_suite
from pipelines.errors import CorrectTheSpec

RIGHT = """\
events:
  - expect_column_values_to_not_be_null: {column: origin}
    on_failure: quarantine
  - expect_column_values_to_be_between: {column: distance, min_value: 1, max_value: 10000, mostly: 0.99}
    on_failure: warn
panes:
  - expect_column_max_to_be_between: {column: mean_delay, max_value: 600}
frames:
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "airport_traffic.yml"
    path.write_text(text)
    return path


def problems(folder: Path, text: str) -> tuple[str, ...]:
    with pytest.raises(CorrectTheSpec) as refusal:
        load_suite(written(folder, text))
    return refusal.value.problems


def test_without_a_file_nothing_is_expected() -> None:
    assert load_suite(None) == Suite()


def test_an_empty_file_expects_nothing(tmp_path: Path) -> None:
    assert load_suite(written(tmp_path, "")).expectations == ()


def test_a_suite_is_read_with_its_stages_lines_and_what_to_do_on_failure(tmp_path: Path) -> None:
    suite = load_suite(written(tmp_path, RIGHT))
    assert [(it.stage, it.name, it.on_failure, it.line) for it in suite.expectations] == [
        ("events", "expect_column_values_to_not_be_null", "quarantine", 2),
        ("events", "expect_column_values_to_be_between", "warn", 4),
        ("panes", "expect_column_max_to_be_between", "stop", 7),
    ]
    assert suite.at("events")[1].arguments == (
        ("column", "distance"),
        ("min_value", 1),
        ("max_value", 10000),
        ("mostly", 0.99),
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorrectTheSpec, match=r"nowhere\.yml"):
        load_suite(tmp_path / "nowhere.yml")


def test_all_problems_are_told_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = """\
event:
  - expect_column_values_to_not_be_null: {column: origin}
panes:
  - expect_column_values_to_not_be_null: {column: origin}
    on_failure: quarantine
  - expect_column_max_to_be_between: {column: mean_delay, max_value: 600}
    on_failur: warn
"""
    told = problems(tmp_path, text)
    assert [problem.partition(":")[0] for problem in told] == ["line 1", "line 4", "line 7"]
    assert "unknown stage `event`, did you mean `events`?" in told[0]
    assert "quarantine` is for events, not for panes; allowed here are stop, warn" in told[1]
    assert "unknown key `on_failur`, did you mean `on_failure`?" in told[2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- events", "found no mapping; allowed are the stages events, partial_frames"),
        ("events: {column: origin}", "`events` holds no list"),
        ("events: [origin]", "found 'origin'; an item is like"),
        ("events: [{on_failure: warn}]", "found no expectation"),
        (
            "events: [{expect_table_row_count_to_equal: {value: 1}, expect_column_to_exist: {column: a}}]",
            "found expect_table_row_count_to_equal, expect_column_to_exist in one item",
        ),
        ("events: [{expect_table_row_count_to_equal: 1}]", "found no mapping of arguments"),
        (
            "events: [{expect_table_row_count_to_equal: {value: 1}, on_failure: halt}]",
            "`on_failure` is 'halt'; allowed are stop, warn, quarantine",
        ),
        (
            "events: [{expect_column_max_to_be_between: {column: a, max_value: 1}, on_failure: quarantine}]",
            "can be told of each row alone, which Sash tells by itself: expect_column_values_to_not_be_null",
        ),
        ("events: [{expect_column_values_to_be_null: {colum: a}}]", "unknown argument `colum`"),
        (
            "events: [{expect_column_values_to_be_null: "
            "{column: a, row_condition: rand() > 0, condition_parser: spark}}]",
            "found `rand`",
        ),
        ("panes: [", "not YAML"),
    ],
)
def test_a_problem_says_what_was_found_and_what_is_allowed(tmp_path: Path, text: str, told: str) -> None:
    assert told in " | ".join(problems(tmp_path, text))


def test_the_same_expectation_twice_at_a_stage_is_refused(tmp_path: Path) -> None:
    twice = "  - expect_column_to_exist: {column: a}\n"
    (told,) = problems(tmp_path, f"panes:\n{twice}{twice}")
    assert told.startswith("line 3: `expect_column_to_exist` with these arguments stands on line 2 already")


def test_the_same_expectation_at_two_stages_is_fine(tmp_path: Path) -> None:
    one = "  - expect_column_to_exist: {column: a}\n"
    assert len(load_suite(written(tmp_path, f"frames:\n{one}panes:\n{one}")).expectations) == 2
