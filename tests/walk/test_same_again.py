"""A batch that runs again with the same data leaves all files as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.crash.world import CHANGED, FIRST, SECOND_BATCH, World

TABLES = ("partial_frames", "frames", "partial_sessions", "sessions", "panes", "windows")


def files(world: World) -> dict[str, list[str]]:
    place = world.store / "world"
    return {name: sorted(DeltaTable(place / name).file_uris()) for name in TABLES}


@pytest.mark.slow
def test_no_file_is_written_for_what_stands_already(spark: SparkSession, tmp_path: Path) -> None:
    world = World.make(tmp_path / "world")
    world.run(spark, FIRST)
    world.run(spark, SECOND_BATCH)
    contents, stood = world.contents(), files(world)
    for batch in (SECOND_BATCH, FIRST):
        world.run(spark, batch)
        assert (files(world), world.contents()) == (stood, contents)
    # Other data is written, and what it was before once more.
    world.feed(CHANGED)
    world.run(spark, FIRST)
    assert files(world) != stood
    assert world.contents() != contents
