"""Little work is interpreted, much is compiled, and afterwards the session is as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.spec import load
from pipelines.stages import Request, Site, evaluation, run_stage
from pipelines.stages.evaluation import FEW_BYTES, evaluated
from pipelines.stages.running import open_batch
from pipelines.stages.site import Work
from tests.crash.world import FIRST, SECOND_BATCH, World

WHOLE_STAGE = "spark.sql.codegen.wholeStage"
COMPILING = {WHOLE_STAGE: "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"}


@pytest.fixture
def compiling(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that was told to compile, which those of the tests are not."""
    were = {name: spark.conf.get(name) for name in COMPILING}
    for name, value in COMPILING.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in were.items():
        spark.conf.set(name, value)


def test_a_stage_is_evaluated_as_suits_its_size(compiling: SparkSession, tmp_path: Path) -> None:
    world, request = World.make(tmp_path / "world"), Request(batch=FIRST)
    site = Site(compiling, str(world.store), load(world.spec, home=world.home))
    work = Work(site, request, open_batch(site, request))
    north, south = site.pipeline.sources

    def told(**of: object) -> str | None:
        with evaluated(work, **of):
            return compiling.conf.get(WHOLE_STAGE)

    assert told(source=north) == "false"
    assert compiling.conf.get(WHOLE_STAGE) == "true"

    (world.home / "data" / "north" / "more.parquet").write_bytes(bytes(FEW_BYTES))
    assert (told(source=north), told(source=south), told(source=None)) == ("true", "false", "false")
    (world.home / "data" / "north" / "more.parquet").unlink()

    run_stage(site, request, stage="accumulate", source="north")
    assert compiling.conf.get(WHOLE_STAGE) == "true"


def test_few_frames_that_make_many_windows_are_compiled(
    compiling: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, request = World.make(tmp_path / "world"), Request(batch=FIRST, final=True)
    site = Site(compiling, str(world.store), load(world.spec, home=world.home))
    work = Work(site, request, open_batch(site, request))
    with evaluated(work, source=None):
        assert compiling.conf.get(WHOLE_STAGE) == "false"
    monkeypatch.setattr(evaluation, "FEW_WINDOWS", -1)
    with evaluated(work, source=None):
        assert compiling.conf.get(WHOLE_STAGE) == "true"


def test_what_fails_inside_leaves_the_session_as_it_was(compiling: SparkSession, tmp_path: Path) -> None:
    world, request = World.make(tmp_path / "world"), Request(batch=FIRST)
    site = Site(compiling, str(world.store), load(world.spec, home=world.home))
    work = Work(site, request, open_batch(site, request))
    with pytest.raises(ZeroDivisionError), evaluated(work, source=None):
        raise ZeroDivisionError
    assert compiling.conf.get(WHOLE_STAGE) == "true"


@pytest.mark.slow
def test_both_ways_give_the_same(
    compiling: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = []
    for most in (FEW_BYTES, -1):
        monkeypatch.setattr(evaluation, "FEW_BYTES", most)
        monkeypatch.setattr(evaluation, "FEW_ROWS", most)
        world = World.make(tmp_path / f"up to {most}")
        for batch in (FIRST, SECOND_BATCH):
            world.run(compiling, batch)
        contents.append(world.contents())
    assert contents[0] == contents[1]
