"""The verdict on a row rule comes from sums over the whole batch, by Great Expectations' own arithmetic."""

from __future__ import annotations

import pytest

from pipelines.checks.expectation import Expectation
from pipelines.checks.results import Result, result_of_counts


def judged(counted: int, unexpected: int, *, mostly: float | None = None) -> Result:
    share = () if mostly is None else (("mostly", mostly),)
    rule = Expectation(
        stage="events",
        name="expect_column_values_to_not_be_null",
        arguments=(("column", "origin"), *share),
    )
    return result_of_counts(rule, counted, unexpected=unexpected)


def test_without_mostly_a_single_unexpected_row_fails() -> None:
    assert judged(1_000_000, 0).success
    assert not judged(1_000_000, 1).success


@pytest.mark.parametrize(
    ("counted", "mostly", "last_fine"),
    [(100, 0.99, 1), (10, 0.7, 3), (3, 0.5, 1), (1000, 0.999, 1), (7, 0.0, 7)],
)
def test_mostly_holds_at_its_boundary_and_not_beyond(counted: int, mostly: float, last_fine: int) -> None:
    assert judged(counted, last_fine - 1, mostly=mostly).success
    assert judged(counted, last_fine, mostly=mostly).success
    if last_fine < counted:
        assert not judged(counted, last_fine + 1, mostly=mostly).success


def test_where_no_row_was_counted_nothing_is_wrong() -> None:
    result = judged(0, 0)
    assert result.success
    assert result.observed == "no rows to look at"


def test_the_whole_batch_is_judged_where_a_part_alone_would_fail() -> None:
    parts = [(10, 1), (990, 0)]
    assert not judged(*parts[0], mostly=0.99).success
    assert judged(sum(counted for counted, _ in parts), sum(bad for _, bad in parts), mostly=0.99).success


def test_what_was_observed_is_told_in_rows_and_percent() -> None:
    result = judged(1200, 3)
    assert result.observed == "3 of 1,200 rows (0.25 %) unexpected"
    assert (result.column, result.counted, result.unexpected_count) == ("origin", 1200, 3)
