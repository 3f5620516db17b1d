"""A window of another size under its old name, over frames that an older spec made."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, day, place
from tests.walk.test_changed_spec import FIRST, RIDES, SECOND, rows

__all__ = ["place"]


@pytest.mark.slow
@pytest.mark.parametrize("old", ["tumbling: 1 hour", "tumbling: 4 hours", "sliding: 3 hours, step: 30 min"])
def test_another_size_under_an_old_name_takes_the_place_of_the_old_one(
    place: Place, spark: SparkSession, old: str
):
    place.write_rides(RIDES)
    place.write_spec(("{tumbling: 1 hour}", f"{{{old}}}"))
    assert place.sash("run", *FIRST).code == 0
    (place.home / "data" / "rides" / "part-0.parquet").unlink()
    place.write_rides(RIDES[2:])
    place.write_spec(("{tumbling: 1 hour}", "{tumbling: 2 hours}"))
    assert place.sash("run", *SECOND, "--final", "--yes").code == 0
    two_hours = timedelta(hours=2)
    wanted = [("Bern", day(1, 6), 1), ("Bern", day(1, 8), 1), ("Chur", day(2, 0), 1)]
    stand = [it for it in rows(place, "windows") if it["window"] == "hourly"]
    assert sorted((it["city"], it["window_start"], it["rides"]) for it in stand) == wanted
    assert {it["window_end"] - it["window_start"] for it in stand} == {two_hours}
    # What the panes of all runs add up to is that: the others were taken back.
    told = Counter[tuple[object, ...]]()
    for it in rows(place, "panes"):
        if it["window"] == "hourly":
            sign = 1 if it["kind"] == "insert" else -1
            told[it["city"], it["window_start"], it["window_end"]] += sign * it["rides"]
    assert {key[:2] for key, rides in told.items() if rides} == {it[:2] for it in wanted}
