"""A run under a changed spec does what its plan told: windows of another size, under another mode or
lateness, and such as are gone.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, Ride, day
from tests.cli.planned import Plan, bounds, run_as_planned, versions

VISITS = ("  hourly:", "  visits: {session: 1 hour}\n  hourly:")
LONGER = ("{tumbling: 1 hour}", "{tumbling: 2 hours}")
DISCARDING = ("step: 30 minutes}", "step: 30 minutes, panes: {early: each batch, mode: discarding}}")
UNTIL = ("schedule:", "time: {allowed_lateness: 8 hours}\nschedule:")
GONE = ("  rolling: {sliding: 2 hours, step: 30 minutes}\n", "")

#   Jan 1  7   8      19  20        Jan 2  6         Jan 3  2        Jan 4  1
#          ├─┤          ├─┤                ├─┤              ├─┤             ├─┤
RIDES: list[Ride] = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 19, 50), day(1, 21)),
    ("Chur", 5.0, day(2, 6), day(2, 7)),
    ("Bern", 40.0, day(1, 17), day(2, 8)),  # its windows had closed
    ("Bern", 3.0, day(3, 2), day(3, 3)),
    ("Chur", 1.0, day(4, 1), day(4, 2)),
    ("Bern", 80.0, day(2, 20), day(4, 3)),  # late by less than 8 hours
]


def sorts(plan: Plan) -> set[tuple[str, str]]:
    """What sorts of panes it tells."""
    return {(it["window"], it["kind"]) for it in plan["published"]}


@pytest.mark.slow
def test_a_run_under_a_changed_spec_does_what_its_plan_told(place: Place, spark: SparkSession):
    place.write_spec(VISITS)
    place.write_rides(RIDES)
    assert place.sash("run", *bounds(1, 2)).code == 0
    # Windows of another size take the place of those that stood; all frames stay.
    place.write_spec(VISITS, LONGER)
    longer = run_as_planned(place, *bounds(2, 3))
    assert (longer["counts"]["accepted"], longer["counts"]["late"]) == (1, 1)
    assert {("hourly", "retract"), ("hourly", "insert"), ("visits", "insert")} <= sorts(longer)
    # Another mode with early panes, and a longer lateness.
    place.write_spec(VISITS, LONGER, DISCARDING, UNTIL)
    later = run_as_planned(place, *bounds(3, 4))
    assert (later["counts"]["accepted"], later["counts"]["late"]) == (1, 0)
    assert ("rolling", "insert") in sorts(later)
    # What is gone from the spec is told no more: not in a new batch, and not in one that is restated.
    place.write_spec(VISITS, LONGER, UNTIL, GONE)
    fewer = run_as_planned(place, *bounds(4, 5))
    assert (fewer["counts"]["accepted"], fewer["counts"]["late"]) == (2, 0)
    assert {("hourly", "LATE")} <= {(it["window"], it["timing"]) for it in fewer["published"]}
    assert "rolling" not in dict(sorts(fewer))
    place.write_rides([*RIDES[:3], ("Bern", 40.0, day(1, 20, 40), day(2, 8)), *RIDES[4:]])
    restated = run_as_planned(place, *bounds(2, 3))
    assert (restated["kind"], restated["counts"]["late"]) == ("same", 0)
    assert {("visits", "retract"), ("hourly", "insert")} <= sorts(restated)
    assert "rolling" not in dict(sorts(restated))
    # What frames cannot serve is refused by both, in the same words.
    place.write_spec(VISITS, ("key: [city]", "key: []"))
    stood = versions(place)
    planned, said = place.sash("plan", *bounds(4, 5)), place.sash("run", *bounds(4, 5))
    assert (planned.code, versions(place)) == (said.code, stood)
    assert planned.code != 0 and planned.err == said.err
