"""A spec or its expectations that are changed while a batch is on its way, or between two runs of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheCall, CorrectTheSpec, LookAtTheData
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch, run_stage
from pipelines.store.reader import read_ledger
from tests.walk.published import rows_of

SECOND = 1_000_000
FIRST, SECOND_BATCH = Interval(0, 100 * SECOND), Interval(100 * SECOND, 200 * SECOND)
SOURCE = "{format: parquet, path: data, event_time: at}"
SPEC = """
name: respelled
SOURCES
key: [user]
aggregates: {total: {sum: number}}
expectations: expectations.yml
time: {max_disorder: 10 s}
windows:
WINDOWS
"""
RULES = """
events:
  - expect_column_values_to_be_between: {column: number, min_value: 0}
    on_failure: quarantine
  - expect_column_values_to_not_be_null: {column: user}
    on_failure: warn
"""
MINUTES = "  minutes: {tumbling: 20 s, allowed_lateness: 1 h}"


class Place:
    """A folder with a spec, its expectations and some rows: user, number, second."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.feed([("ann", 1, 10), ("bob", 2, 30), ("ann", -4, 30), ("ann", 8, 99), ("bob", 16, 130)])
        self.write()

    def feed(self, rows: list[tuple[str, int, int]]) -> None:
        told = [{"user": user, "number": number, "at": at * SECOND} for user, number, at in rows]
        kinds = pa.schema({"user": pa.string(), "number": pa.int64(), "at": pa.timestamp("us", tz="UTC")})
        (self.folder / "data").mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(told, schema=kinds), self.folder / "data" / "rows.parquet")

    def write(
        self, *, sources: str = f"source: {SOURCE}", windows: str = MINUTES, rules: str = RULES
    ) -> None:
        (self.folder / "spec.yml").write_text(SPEC.replace("SOURCES", sources).replace("WINDOWS", windows))
        (self.folder / "expectations.yml").write_text(rules)

    @property
    def site(self) -> Site:
        spec = load(self.folder / "spec.yml", home=self.folder)
        return Site(self.spark, str(self.folder / "store"), spec)

    def run(self, batch: Interval, *, watermark: int | None = None) -> None:
        at_us = None if watermark is None else watermark * SECOND
        list(run_batch(self.site, Request(batch=batch, watermark_us=at_us)))

    def stage(self, stage: str, source: str | None = None) -> None:
        run_stage(self.site, Request(batch=FIRST), stage=stage, source=source)

    def totals(self) -> dict[tuple[str, int], int]:
        """The sums that stand, by user and the second in which a window starts."""
        rows = rows_of(self.folder / "store" / "respelled" / "windows")
        return {(it["user"], it["start"] // SECOND): it["total"] for it in rows}


@pytest.fixture
def place(spark: SparkSession, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


@pytest.mark.slow
def test_what_a_source_wrote_under_another_name_does_not_count_twice(place: Place) -> None:
    place.run(FIRST, watermark=100)
    before = place.totals()
    assert before == {("ann", 0): 1, ("bob", 20): 2, ("ann", 80): 8}
    place.write(sources=f"sources: {{rides: {SOURCE}}}")
    place.feed([("ann", 1, 10), ("bob", 3, 30), ("ann", 8, 99)])
    place.run(FIRST)
    assert place.totals() == {**before, ("bob", 20): 3}
    (_, last) = sorted(read_ledger(place.site.store, "respelled"), key=lambda row: row.revision)
    assert (last.ingested, last.accepted, last.quarantined) == (3, 3, 0)
    # The same of a batch that was begun under the old name, and not ended.
    place.write()
    place.stage("accumulate", "main")
    place.write(sources=f"sources: {{rides: {SOURCE}}}")
    place.stage("accumulate", "rides")
    for stage in ("combine", "finalise", "publish"):
        place.stage(stage)
    assert place.totals() == {**before, ("bob", 20): 3}


def test_rules_that_were_changed_since_rows_were_counted_ask_for_that_again(place: Place) -> None:
    place.stage("accumulate", "main")
    place.write(rules=RULES.replace("quarantine", "warn"))
    with pytest.raises(CorrectTheCall, match="run the stage accumulate again"):
        place.stage("combine")
    # What a rule leads to beside the quarantine is judged at the gate, so it may be put right there.
    place.write(rules=RULES.replace("warn", "stop"))
    place.stage("combine")


def test_finer_frames_are_refused_also_where_only_a_stage_runs(place: Place) -> None:
    place.run(FIRST)
    place.write(windows="  minutes: {sliding: 20 s, step: 5 s}")
    with pytest.raises(CorrectTheSpec, match="made by another spec: frames are 20 seconds long"):
        place.stage("accumulate", "main")
    assert [row.status for row in read_ledger(place.site.store, "respelled")] == ["published"]


@pytest.mark.parametrize("stage", ["events", "panes"])
def test_an_expectation_about_a_column_that_is_not_there_opens_no_batch(place: Place, stage: str) -> None:
    place.write(rules=f"{stage}:\n  - expect_column_values_to_not_be_null: {{column: nuber}}\n")
    with pytest.raises(CorrectTheSpec, match="have no column `nuber`"):
        place.run(FIRST)
    assert read_ledger(place.site.store, "respelled") == []


@pytest.mark.slow
def test_news_is_counted_where_the_middle_of_a_window_is_coarse(place: Place) -> None:
    short, long = (
        "  short: {tumbling: 5 s}",
        "  long: {sliding: 2500 s, step: 500 s, panes: {mode: discarding}}",
    )
    place.write(windows=f"{short}\n{long}")
    place.feed([("ann", 1, second) for second in range(0, 4_000, 100)])
    for end in (2_600, 3_000, 3_400):
        place.run(Interval({2_600: 0, 3_000: 2_600, 3_400: 3_000}[end] * SECOND, end * SECOND))
    frames = DeltaTable(place.folder / "store" / "respelled" / "frames").to_pyarrow_table(columns=["grid"])
    assert len(set(frames["grid"].to_pylist())) == 2
    # A window counts the rows of each hundredth second in it.
    wanted = {
        start: (min(start + 2_500, 4_000) - max(start, 0)) // 100 for start in range(-2_000, 1_000, 500)
    }
    stands = rows_of(place.folder / "store" / "respelled" / "windows")
    assert {it["start"] // SECOND: it["total"] for it in stands if it["window"] == "long"} == {
        start: rows for start, rows in wanted.items() if start <= 500
    }


@pytest.mark.slow
def test_a_session_that_a_restatement_cuts_short_before_it_is_due_is_published(place: Place) -> None:
    place.write(windows="  visits: {session: 10 s, panes: {early: each batch}}", rules="")
    place.feed([("ann", 1, 90), ("ann", 2, 98), ("ann", 4, 104)])
    place.run(FIRST)
    place.run(SECOND_BATCH)
    assert place.totals() == {("ann", 90): 7}
    place.feed([("ann", 1, 90), ("ann", 2, 98)])
    place.run(SECOND_BATCH)
    assert place.totals() == {("ann", 90): 3}


def test_a_batch_without_rows_is_asked_too_what_is_expected_of_frames(place: Place) -> None:
    place.write(rules="frames:\n  - expect_table_row_count_to_be_between: {min_value: 1}\n")
    with pytest.raises(LookAtTheData, match="expect_table_row_count_to_be_between"):
        place.run(Interval(900 * SECOND, 1000 * SECOND))
