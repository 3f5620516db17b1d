"""What the tables of an older spec cannot serve is refused, and touches nothing; rebuilt, they are those of a
store in which there never was another spec.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, Ride, day, place
from tests.crash.world import contents_of

__all__ = ["place"]

FIRST = ("--from", "2024-01-01", "--to", "2024-01-02")
SECOND = ("--from", "2024-01-02", "--to", "2024-01-03")
BOTH = ("--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d")
RIDES: list[Ride] = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 7, 50), day(1, 10)),
    ("Bern", 20.0, day(1, 7, 50), day(2, 1)),
    ("Chur", 5.0, day(2, 1), day(2, 2)),
]


KEYED, TOLD = "event_id: {of: [city]}", "event_id: {of: [city, fare]}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        pytest.param(("key: [city]", "key: []"), "key or aggregates differ", id="another key"),
        pytest.param(("{avg: fare}", "{sum: fare}"), "key or aggregates differ", id="another aggregate"),
        pytest.param(("{tumbling: 1 hour}", "{tumbling: 10 min}"), "need frames of", id="a finer grid"),
        pytest.param(("{tumbling: 1 hour}", "{session: 30 min}"), "another shape", id="sessions"),
        pytest.param(("tumbling: 1 hour", "time: arrival, tumbling: 1 hour"), "another shape", id="arrival"),
        pytest.param((KEYED, TOLD), "of other columns than those remembered", id="ids"),
    ],
)
def test_a_change_that_is_refused_is_served_by_a_rebuilding(
    place: Place, spark: SparkSession, changed: tuple[str, str], why: str
):
    with_ids = ("  path:", f"  {KEYED}\n  path:")
    place.write_spec(with_ids)
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    tables = Path(place.store) / "rides"
    stood = contents_of(tables)
    place.write_spec(with_ids, changed)
    for command in ("run", "plan"):
        refused = place.sash(command, *SECOND)
        assert refused.code == 2 and why in refused.err and "--rebuild" in refused.err, refused.err
    assert contents_of(tables) == stood
    assert place.sash("run", *BOTH, "--rebuild", "--yes").code == 0
    rebuilt = contents_of(tables)
    assert rebuilt != stood
    shutil.rmtree(tables)
    assert place.sash("run", *BOTH).code == 0
    assert rebuilt == contents_of(tables)
