"""A batch that was cut off or stopped, and whose windows are fewer when it runs again: nothing is left of
those that are gone, and no check sees them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.errors import LookAtTheData
from pipelines.stages import Request, run_batch
from tests.walk.test_left_by_attempts import WITH_OWN, contents
from tests.walk.test_put_back import FIRST, OF_APP, OF_WEB, SECOND_BATCH, SOURCES, Sources, by_stages

LONG = SOURCES + "  long: {session: 100 s, allowed_lateness: 60 s}\n"
WITHOUT_SESSIONS = SOURCES.replace("  visits: {session: 10 s, allowed_lateness: 60 s}\n", "")
WITHOUT_FRAMES = SOURCES.replace("  minute: {tumbling: 60 s, allowed_lateness: 60 s}\n", "")
MORE = [("ann", 8, 155, 110), ("cem", 16, 120, 120)]


@pytest.mark.parametrize(
    ("before", "after", "stages"),
    [
        (WITH_OWN, SOURCES, ("accumulate", "combine")),
        pytest.param(LONG, SOURCES, ("accumulate", "combine"), marks=pytest.mark.slow),
        pytest.param(
            SOURCES, WITHOUT_SESSIONS, ("accumulate", "combine", "finalise"), marks=pytest.mark.slow
        ),
        pytest.param(SOURCES, WITHOUT_FRAMES, ("accumulate", "combine"), marks=pytest.mark.slow),
        pytest.param(SOURCES, WITHOUT_FRAMES, ("accumulate",), marks=pytest.mark.slow),
    ],
)
def test_what_a_cut_off_batch_made_for_windows_that_are_gone_is_taken_away(
    spark: SparkSession, tmp_path: Path, before: str, after: str, stages: tuple[str, ...]
) -> None:
    ends = []
    for name in ("calm", "tried"):
        sources = Sources(spark, tmp_path / name)
        list(run_batch(sources.site(before), Request(batch=FIRST)))
        sources.feed([*OF_WEB, *MORE], OF_APP)
        if name == "tried":
            for source in ("web", "app"):
                by_stages(sources.site(before), SECOND_BATCH, "accumulate", source=source)
            by_stages(sources.site(before), SECOND_BATCH, *stages[1:])
        list(run_batch(sources.site(after), Request(batch=SECOND_BATCH)))
        ends.append(contents(tmp_path / name))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("stage", ["partial_frames", "frames"])
def test_no_check_sees_what_was_made_for_a_window_that_is_gone(
    spark: SparkSession, tmp_path: Path, stage: str
) -> None:
    expected = "expectations: few.yml\n"
    (tmp_path / "few.yml").write_text(
        f"{stage}:\n  - expect_column_values_to_be_in_set: {{column: grid, value_set: [aligned]}}\n"
    )
    sources = Sources(spark, tmp_path)
    with pytest.raises(LookAtTheData, match="grid"):
        list(run_batch(sources.site(WITH_OWN + expected), Request(batch=FIRST)))
    list(run_batch(sources.site(SOURCES + expected), Request(batch=FIRST)))
