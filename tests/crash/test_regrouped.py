"""Sessions after whatever can move them are those of plain loops; without any fault."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.spec import load
from pipelines.stages import Request, Site, run_batch
from tests.crash.regrouped import Regrouped


@pytest.mark.slow
@pytest.mark.parametrize("seed", [64, 68])
def test_sessions_are_those_of_plain_loops_whatever_order_batches_come_in(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    history = Regrouped(folder=tmp_path, chosen=random.Random(seed), batches=8)
    site = Site(spark, str(tmp_path / "store"), load(history.spec))
    for number in range(14):
        asked = history.next_asked() if number < 13 else history.last_asked()
        assert isinstance(asked, Request)
        list(run_batch(site, asked))
        history.compare(asked)
        history.note(asked)
