"""Windows of very many frames, whose middle is read in coarser ones, equal the oracle's all the same."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.spec import load
from pipelines.stages import Site
from tests.generators import SECOND, Case
from tests.generators.aggregates import CATALOGUE
from tests.oracle import Batch, Event, Pipeline, Source, Walk, Window
from tests.walk import Stand, same_tables

#   frames are 5 s long, `long` holds a thousand of them, and coarser frames of 2 minutes are kept
SHORT = Window(name="short", size=5 * SECOND, step=5 * SECOND)
LONG = Window(name="long", size=5_000 * SECOND, step=500 * SECOND, lateness=600 * SECOND)
PIPELINE = Pipeline(
    sources=(Source(max_disorder=10 * SECOND),),
    aggregates=tuple(it for it in CATALOGUE if it.name in ("rows", "mean", "least", "length", "latest")),
    windows=(SHORT, LONG),
)
CUTS = (0, 5_200, 5_900, 6_600, 7_300)
COARSER_US = 120 * SECOND


def events() -> list[Event]:
    """Rows of three keys; some are late by what still lies in windows that are open, and in their middle."""
    chosen = random.Random(7)
    rows = []
    for number in range(150):
        at = chosen.randrange(0, CUTS[-1] - 100)
        is_late = chosen.random() < 0.3
        arrives = at + (chosen.randrange(600, 4_000) if is_late else 0)
        values = {"number": chosen.randrange(-3, 4), "money": None, "real": chosen.randrange(-8, 9) / 4}
        key = (chosen.choice([None, "a", "b"]),)
        times = {"event_us": at * SECOND, "arrival_us": min(arrives, CUTS[-1] - 1) * SECOND}
        rows.append(Event(id=number, key=key, **times, values=values))
    return rows


def batches() -> list[Batch]:
    listed = [Batch(start=a * SECOND, end=b * SECOND) for a, b in pairwise(CUTS)]
    return [*listed[:-1], replace(listed[-1], final=True)]


class Fine(Stand):
    """A stand whose frames are those that the oracle has; the coarser ones are in `coarser`."""

    def rows(self, table: str) -> list[dict]:
        found = super().rows(table)
        return found if table != "frames" else [row for row in found if row["grid"] == "aligned"]

    def coarser(self) -> list[dict]:
        return [row for row in Stand.rows(self, "frames") if row["grid"] != "aligned"]


def adds_up(stand: Fine) -> bool:
    """Whether each coarser frame holds what its fine ones hold, and none is left over."""
    wanted: Counter[tuple[object, int]] = Counter()
    for row in stand.rows("frames"):
        wanted[row["key"], row["frame_start"] // COARSER_US * COARSER_US] += row["event_count"]
    found = {(row["key"], row["frame_start"]): row["event_count"] for row in stand.coarser()}
    lengths = {row["frame_end"] - row["frame_start"] for row in stand.coarser()}
    return found == wanted and lengths <= {COARSER_US}


@pytest.mark.slow
def test_a_window_whose_middle_is_coarse_equals_the_oracle(spark: SparkSession, tmp_path: Path) -> None:
    case = Case(pipeline=PIPELINE, devices=False, events=events(), batches=batches())
    stand, walk = Fine(spark, tmp_path, case), Walk(pipeline=PIPELINE)
    corrected = [replace(it, key=("b",)) if it.id % 4 == 0 else it for it in case.events if it.id % 9 != 0]
    for number, rows in ((0, case.events), (1, case.events), (1, corrected)):
        stand.feed(rows)
        stand.run(case.batches[number])
        walk.run(case.batches[number], rows)
        same_tables(stand, walk)
        assert adds_up(stand)


@pytest.mark.slow
def test_coarser_frames_come_and_go_with_the_windows_that_need_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = Case(pipeline=PIPELINE, devices=False, events=events(), batches=batches())
    stand = Fine(spark, tmp_path, case)
    spec = tmp_path / "dags" / "generated.yml"
    whole = spec.read_text()
    short = "\n".join(line for line in whole.splitlines() if not line.startswith("  long:"))
    for text, has_coarser, batch in zip(
        (short, whole, short), (False, True, False), case.batches, strict=False
    ):
        spec.write_text(text + "\n")
        stand.site = Site(spark, stand.site.store, load(spec, home=tmp_path))
        stand.run(batch)
        assert bool(stand.coarser()) is has_coarser
        assert not has_coarser or adds_up(stand)
