"""The SQL of `docs/semantics.md`, taken from the page and run, gives what the page says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import duckdb
import pytest
from pyspark.sql import SparkSession

from tests.docs import page, rows
from tests.docs.rows import PANES, History, Standing

CHANGED, ADDED_UP, DIFFERENCE, LATEST = page.recipes()
HISTORIES = {
    **{mode: lambda mode=mode: rows.story(mode) for mode in ("accumulating", "discarding", "retracting")},
    "restated": rows.restatement,
}
Ask = Callable[[str, int], list[tuple]]
"""Runs a recipe with an instant in the place of its parameter."""


@pytest.fixture(params=list(HISTORIES))
def mode(request: pytest.FixtureRequest) -> str:
    """Accumulating with restated batches counts as a mode of its own."""
    return str(request.param)


@pytest.fixture
def history(mode: str) -> History:
    return HISTORIES[mode]()


@pytest.fixture
def ask(history: History) -> Iterator[Ask]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in history.tables().items():
            connection.register(name, table)
        yield lambda sql, at: connection.execute(with_instant(sql, at)).fetchall()


def with_instant(sql: str, at: int) -> str:
    assert ":seen" in sql or ":then" in sql
    instant = f"TIMESTAMPTZ '1970-01-01 00:00:00.{at:06d}+00:00'"
    return sql.replace(":seen", instant).replace(":then", instant)


def micros(row: tuple) -> tuple:
    return tuple(round(it.timestamp() * 1e6) if hasattr(it, "timestamp") else it for it in row)


def added(found: list[tuple]) -> Standing:
    """What a sum tells for each window, where it is not zero."""
    assert len({row[:4] for row in found}) == len(found)
    return {micros(row)[:4]: row[4] for row in found if row[4]}


def differences(now: Standing, then: Standing) -> Standing:
    both = {place: now.get(place, 0) - then.get(place, 0) for place in {*now, *then}}
    return {place: change for place, change in both.items() if change}


def instants(history: History) -> list[int]:
    return [0, *history.stood]


def test_the_histories_have_what_the_recipes_are_for() -> None:
    for mode, make in HISTORIES.items():
        panes, stood = make().panes, list(make().stood.values())
        assert len({row["window"] for row in panes}) == 2
        assert {"insert", "retract"} == {row["kind"] for row in panes}, mode
        assert any(set(before) - set(after) for before, after in pairwise(stood)), mode
        assert any(row["pane_index"] for row in panes), mode
    bounds = {
        (row["window"], row["window_start"], row["window_end"]) for row in rows.story("retracting").panes
    }
    assert {("hourly", 0, 10), ("bursts", 0, 10)} <= bounds


def test_what_changed_since_is_the_rows_of_later_runs_window_by_window_in_order(
    history: History, ask: Ask
) -> None:
    names = PANES.names
    for seen in instants(history):
        expected = [tuple(row[name] for name in names) for row in rows.later(history, seen)]
        expected.sort(key=lambda row: row[:4])
        assert [micros(row) for row in ask(CHANGED, seen)] == expected


def test_undo_and_redo_bring_a_target_that_adds_up_from_then_to_now(
    mode: str, history: History, ask: Ask
) -> None:
    now = list(history.stood.values())[-1]
    of_the_mode = {"retracting": [ADDED_UP, DIFFERENCE], "discarding": [ADDED_UP]}
    for recipe in of_the_mode.get(mode, [DIFFERENCE]):
        for seen in instants(history):
            assert added(ask(recipe, seen)) == differences(now, history.stood.get(seen, {}))


@pytest.mark.parametrize(("recipe", "then"), [(ADDED_UP, None), (DIFFERENCE, 5)])
def test_a_sum_of_nothing_is_zero_to_who_adds_up(recipe: str, then: int | None) -> None:
    history = rows.of_one_window(sums=[None, then])
    first, _ = history.stood
    with duckdb.connect() as connection:
        for name, table in history.tables().items():
            connection.register(name, table)
        for seen in (0, first):
            (row,) = connection.execute(with_instant(recipe, seen)).fetchall()
            assert row[4] == (then or 0)


def test_the_latest_value_is_what_windows_held_then(mode: str, history: History, ask: Ask) -> None:
    for then, stood in history.stood.items():
        if mode == "discarding":
            found = added(ask(ADDED_UP.replace("> :seen", "<= :then"), then))
        else:
            found = {micros(row)[:4]: row[4] for row in ask(LATEST, then)}
        assert found == stood


def test_spark_understands_them_too(spark: SparkSession) -> None:
    history = rows.story("retracting")
    for name, table in history.tables().items():
        spark.createDataFrame(table).createOrReplaceTempView(name)
    seen = list(history.stood)[2]
    at = f"timestamp_micros({seen})"
    asked = [recipe.replace(":seen", at).replace(":then", at) for recipe in page.recipes()]
    changed, sums, by_difference, latest = [spark.sql(it).collect() for it in asked]
    change = differences(list(history.stood.values())[-1], history.stood[seen])
    assert len(changed) == len(list(rows.later(history, seen)))
    assert added(list(map(tuple, sums))) == added(list(map(tuple, by_difference))) == change
    # Spark has the columns of the join first.
    names = ("origin", "window", "window_start", "window_end")
    assert {micros(tuple(row[it] for it in names)): row.flights for row in latest} == history.stood[seen]
