"""What attempts that were cut off have left counts nowhere, whatever is asked then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheSpec, LookAtTheData
from pipelines.intervals import Interval
from pipelines.spec import load
from pipelines.stages import Request, Site, abandoning, open_batch, run_batch
from pipelines.stages.abandoning import abandon_batch
from pipelines.store.fence import Fence
from pipelines.store.reader import read_ledger
from pipelines.store.tables import Folder
from tests.crash.world import Contents, contents_of
from tests.walk.published import in_microseconds
from tests.walk.test_put_back import (
    FIRST,
    OF_APP,
    OF_WEB,
    SECOND_BATCH,
    SOURCES,
    WITHOUT_APP,
    Sources,
    by_stages,
)
from tests.walk.test_sessions import SPEC, Click, site_of, write_clicks

pytestmark = pytest.mark.slow

WITH_OWN = SOURCES + "  own: {tumbling: 60 s, unaligned: true}\n  ever: {global: true}\n"
CLICKS: list[Click] = [("ann", 1, 10, 0), ("bob", 2, 110, 100), ("ann", 4, 250, 200)]
WRONG: list[Click] = [*CLICKS, ("cem", 64, 120, 110)]
WINDOWS = (
    "windows: {minute: {tumbling: 60 s}, long: {sliding: 300 s, step: 100 s}, visits: {session: 10 s}}\n"
)
THIRD = Interval(SECOND_BATCH.end_us, SECOND_BATCH.end_us + FIRST.length_us)


def contents(home: Path) -> Contents:
    """All tables, without what stands for nothing."""
    tables = contents_of(home / "store" / "clicks")
    return {
        table: [row for row in rows if "('event_count', '0')" not in row] for table, rows in tables.items()
    }


class CutOff(Exception):
    """The process is gone."""


def under(site: Site, spec: str) -> Site:
    """The same pipeline under another spec."""
    path = site.pipeline.path
    path.write_text(spec)
    return Site(site.spark, site.store, load(path))


def revisions(site: Site, batch: Interval) -> list[int]:
    rows = read_ledger(site.store, site.pipeline.name)
    return sorted(row.revision for row in rows if row.batch == batch and row.status == "published")


@pytest.mark.parametrize("restated", [False, True], ids=["new", "restated"])
@pytest.mark.parametrize("done", [1, 4, 5, 7, 10])
def test_a_batch_runs_whose_abandoning_was_cut_off_wherever_that_was(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int, restated: bool
) -> None:
    site = site_of(spark, tmp_path, CLICKS, spec=SPEC.partition("windows:")[0] + WINDOWS)
    ran = (FIRST, SECOND_BATCH) if restated else (FIRST,)
    for batch in ran:
        list(run_batch(site, Request(batch=batch)))
    write_clicks(tmp_path, WRONG)
    by_stages(site, SECOND_BATCH, "accumulate", "combine", "finalise")
    restore, left = abandoning.restore, [None] * done

    def cut_off(store: Folder, table: str, *, fences: Sequence[Fence], **how: object) -> None:
        if not left:
            raise CutOff
        left.pop()
        restore(store, table, fences=fences, **how)

    with monkeypatch.context() as patched, pytest.raises(CutOff):
        patched.setattr(abandoning, "restore", cut_off)
        abandon_batch(site.tables, site.pipeline, batch=SECOND_BATCH)
    write_clicks(tmp_path, CLICKS)
    (tmp_path / "calm").mkdir()
    calm = site_of(spark, tmp_path / "calm", CLICKS, spec=SPEC.partition("windows:")[0] + WINDOWS)
    for batch in (FIRST, SECOND_BATCH, THIRD):
        list(run_batch(calm, Request(batch=batch)))
        if batch != FIRST:
            list(run_batch(site, Request(batch=batch)))
    assert contents(tmp_path) == contents(tmp_path / "calm")


def test_rows_that_are_gone_go_from_windows_that_an_attempt_left_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    ends = []
    for name in ("calm", "tried"):
        sources = Sources(spark, tmp_path / name)
        list(run_batch(sources.site(WITH_OWN), Request(batch=FIRST)))
        sources.feed(OF_WEB, [])
        if name == "tried":
            by_stages(sources.site(), FIRST, "accumulate", source="app")
        list(run_batch(sources.site(WITH_OWN), Request(batch=FIRST)))
        list(run_batch(sources.site(WITH_OWN), Request(batch=SECOND_BATCH, final=True)))
        ends.append(contents(tmp_path / name))
        assert {user for _, user, _ in sources.windows()} == {"ann"}
    assert ends[0] == ends[1]


def test_frames_of_rows_that_were_wrong_go_where_their_window_was_away_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    ends = []
    for name in ("calm", "tried"):
        sources = Sources(spark, tmp_path / name)
        list(run_batch(sources.site(WITH_OWN), Request(batch=FIRST)))
        if name == "tried":
            sources.feed([*OF_WEB, ("cem", 64, 110, 110)], OF_APP)
            for source in ("web", "app"):
                by_stages(sources.site(WITH_OWN), SECOND_BATCH, "accumulate", source=source)
            by_stages(sources.site(WITH_OWN), SECOND_BATCH, "combine")
            sources.feed(OF_WEB, OF_APP)
            by_stages(sources.site(), SECOND_BATCH, "accumulate", source="web")
        list(run_batch(sources.site(WITH_OWN), Request(batch=SECOND_BATCH, final=True)))
        ends.append(contents(tmp_path / name))
    assert ends[0] == ends[1]


def test_what_a_source_noted_that_only_an_attempt_had_does_not_count(
    spark: SparkSession, tmp_path: Path
) -> None:
    sources = Sources(spark, tmp_path)
    list(run_batch(sources.site(), Request(batch=FIRST)))
    stood = contents(tmp_path)
    renamed = SOURCES.replace("app: {", "mobile: {")
    by_stages(sources.site(renamed), FIRST, "accumulate", source="mobile")
    list(run_batch(sources.site(), Request(batch=FIRST)))
    assert contents(tmp_path) == stood


def test_a_window_is_new_whose_rows_went_with_a_source_that_was_called_otherwise(
    spark: SparkSession, tmp_path: Path
) -> None:
    sources = Sources(spark, tmp_path)
    list(run_batch(sources.site(WITH_OWN), Request(batch=FIRST)))
    renamed = SOURCES.replace("web: {", "mobile: {")
    by_stages(sources.site(renamed), FIRST, "accumulate", source="mobile")
    list(run_batch(sources.site(), Request(batch=FIRST)))
    with pytest.raises(CorrectTheSpec, match="own"):
        list(run_batch(sources.site(WITH_OWN), Request(batch=SECOND_BATCH)))


def test_watermarks_of_a_source_that_is_gone_do_not_go_without_a_word(
    spark: SparkSession, tmp_path: Path
) -> None:
    sources = Sources(spark, tmp_path)
    for batch in (FIRST, SECOND_BATCH):
        list(run_batch(sources.site(), Request(batch=batch)))
    site = sources.site(WITHOUT_APP)
    list(run_batch(site, Request(batch=SECOND_BATCH)))
    rows = in_microseconds(tmp_path / "store" / "clicks" / "watermarks")
    told = {it["source"] for it in rows if it["batch_start"] == SECOND_BATCH.start_us}
    assert (told, revisions(site, SECOND_BATCH)) == ({"web", None}, [0, 1])
    list(run_batch(site, Request(batch=SECOND_BATCH)))
    assert revisions(site, SECOND_BATCH) == [0, 1]


def test_what_was_found_of_sessions_that_stay_as_they_were_does_not_stand(
    spark: SparkSession, tmp_path: Path
) -> None:
    few = "sessions:\n  - expect_column_max_to_be_between: {column: event_count, max_value: 1}\n"
    rule = "events:\n  - expect_column_values_to_be_between: {column: number, max_value: 9}\n"
    spec = SPEC.partition("windows:")[0] + WINDOWS + "expectations: few.yml\n"
    (tmp_path / "few.yml").write_text(few)
    site, request = site_of(spark, tmp_path, CLICKS, spec=spec), Request(batch=FIRST)
    list(run_batch(site, request))
    write_clicks(tmp_path, [*CLICKS, ("ann", 64, 12, 10)])
    with pytest.raises(LookAtTheData):
        list(run_batch(site, request))
    (tmp_path / "few.yml").write_text(f"{rule}    on_failure: quarantine\n{few}")
    list(run_batch(under(site, spec), request))
    assert revisions(site, FIRST) == [0, 1]
    checks = in_microseconds(tmp_path / "store" / "clicks" / "checks")
    assert [(it["stage"], it["revision"]) for it in checks if not it["success"]] == [("events", 1)]


def test_ids_that_are_asked_for_in_an_unfinished_run_are_news(spark: SparkSession, tmp_path: Path) -> None:
    site, request = site_of(spark, tmp_path, CLICKS), Request(batch=FIRST)
    list(run_batch(site, request))
    open_batch(site, request)
    with_ids = SPEC.replace("event_time: event_time", "event_id: {of: [number]}, event_time: event_time")
    assert with_ids != SPEC
    list(run_batch(under(site, with_ids), request))
    assert len(in_microseconds(tmp_path / "store" / "clicks" / "event_ids")) == 1
    assert revisions(site, FIRST) == [0, 1]
