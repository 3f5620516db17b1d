"""The law that `windows` is what `panes` add up to is looked at in each run, and kept in `checks`."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.errors import RunAgain
from pipelines.spec import load
from pipelines.stages import Request, Site, run_stage
from pipelines.stages.adding_up import LAW, hold_to_panes
from pipelines.stages.running import open_batch
from pipelines.stages.site import Work
from tests.crash.world import FIRST, World


def test_windows_that_differ_from_their_panes_stop_the_run(spark: SparkSession, tmp_path: Path) -> None:
    world, request = World.make(tmp_path / "world"), Request(batch=FIRST)
    site = Site(spark, str(world.store), load(world.spec, home=world.home))
    for source in ("north", "south"):
        run_stage(site, request, stage="accumulate", source=source)
    for stage in ("combine", "finalise"):
        run_stage(site, request, stage=stage)

    work = Work(site, request, open_batch(site, request))
    with pytest.raises(RunAgain, match="6 of 6 windows differ from what the panes of batch"):
        hold_to_panes(work)
    assert verdicts(world) == [(False, "6 of 6 windows differ")]

    run_stage(site, request, stage="publish")
    assert verdicts(world) == [(True, "0 of 6 windows differ")]


def verdicts(world: World) -> list[tuple[bool, str]]:
    rows = DeltaTable(world.store / "world" / "checks").to_pyarrow_table().to_pylist()
    return [(row["success"], row["observed"]) for row in rows if row["expectation"] == LAW]
