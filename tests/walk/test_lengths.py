"""Windows as long as each event says, and shifted by what it says: numbers of seconds, intervals, nothing."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.intervals import LATEST_US
from tests.walk.test_window_kinds import SECOND, SPEC, Place, Row

LASTING = SPEC.partition("windows:\n")[0].replace("max_disorder: 1 hour", "select: {span: SPAN, slip: SLIP}")
LASTING = LASTING.replace("SPAN", '"make_dt_interval(0, 0, 0, length)"')
LASTING = LASTING.replace("SLIP", '"if(number = 2, null, make_dt_interval(0, 0, 0, number))"')
LASTING += """windows:
  own: {tumbling: length}
  lasting: {tumbling: span, offset: 3 s}
  slipped: {tumbling: 30 s, unaligned: slip}
  came: {tumbling: length, time: arrival}
"""
TOO_LONG = 400e9
"""Seconds: beyond the year 9999 from any instant."""


def row(number: int, length: float | None) -> Row:
    at = (37 + number) * SECOND
    return {"user": "a", "number": number, "length": length, "event_time": at, "arrival_time": at}


def test_an_event_without_a_length_is_quarantined_and_one_without_a_shift_is_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    lengths = [10.0, 2.5, 17.0, None, 0.0, -5.0, TOO_LONG]
    # Two hours are too long for an event in the last one, though not for its arrival.
    at_the_end = {**row(7, 7200.0), "event_time": LATEST_US - 3600 * SECOND}
    rows = [*[row(*it) for it in enumerate(lengths)], at_the_end]
    place = Place(spark, tmp_path, rows, spec=LASTING)
    place.run(0, 100, final=True)
    broken = [it["rules"] for it in place.table("quarantine")]
    assert [sorted(map(str, it)) for it in broken if isinstance(it, list)] == [
        ["length is no length", "span is no length"]
    ] * 5
    found = {
        (str(window), (int(str(start)) / SECOND, int(str(end)) / SECOND)): total
        for (_, window, start, end), (_, total) in place.windows().items()
        if window != "came"
    }
    assert found == {
        # start = t - floorMod(t - offset, size), of t = 37, 38, 39
        ("own", (30, 40)): 0,
        ("own", (37.5, 40)): 1,
        ("own", (34, 51)): 2,
        ("lasting", (33, 43)): 0,
        ("lasting", (38, 40.5)): 1,
        ("lasting", (37, 54)): 2,
        # The third has no shift, so it has none.
        ("slipped", (30, 60)): 2,
        ("slipped", (31, 61)): 1,
    }
