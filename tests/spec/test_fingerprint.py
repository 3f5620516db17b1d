"""Fingerprints change with what they stand for, and with nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.spec import latenesses_of, state_fingerprint
from tests.spec.conftest import SPEC, Read

COUNT, WINDOW, KEY = "rides: count", "{tumbling: 1 hour}", "key: [city]"

KEEPS_STATE = [
    ("path: data/rides", "path: elsewhere"),
    ("event_time: at", "event_time: at, max_disorder: 1 hour"),
    (KEY, f"{KEY}\ndescription: other words"),
    (KEY, f"{KEY}\nschedule: {{start: 2013-01-01}}"),
    (KEY, f"{KEY}\nexpectations: other.yml"),
    (KEY, f"{KEY}\ntime: {{batch: 7 days}}"),
    (WINDOW, "{sliding: 1 hour, step: 1 hour}"),
    (WINDOW, "{tumbling: 60 minutes}"),
]
CHANGES_STATE = [
    (KEY, "key: [city, driver]"),
    (KEY, "key: []"),
    (COUNT, "trips: count"),
    (COUNT, "rides: {sum: fare}"),
    (COUNT, "rides: {count: '*', where: 'fare > 0'}"),
    (COUNT, "rides: count\n  fares: {sum: fare}"),
    (WINDOW, "{tumbling: 2 hours}"),
    (WINDOW, "{tumbling: 1 hour, offset: 5 minutes}"),
    (WINDOW, "{tumbling: 1 hour, from: 2013-02-01}"),
    ("hourly:", "by_hour:"),
    # A batch keeps to it from its first stage to its last.
    (KEY, f"{KEY}\ntime: {{allowed_lateness: 1 day}}"),
    (WINDOW, "{tumbling: 1 hour, allowed_lateness: 1 day}"),
]


@pytest.mark.parametrize("change", KEEPS_STATE)
def test_what_frames_do_not_hold_keeps_the_fingerprint_of_the_state(
    change: tuple[str, str], read: Read
) -> None:
    assert state_fingerprint(read(change)) == state_fingerprint(read())


@pytest.mark.parametrize("change", CHANGES_STATE)
def test_what_frames_and_windows_hold_changes_the_fingerprint(change: tuple[str, str], read: Read) -> None:
    assert state_fingerprint(read(change)) != state_fingerprint(read())


def test_the_order_of_mappings_and_the_place_of_the_file_change_none(read: Read, tmp_path: Path) -> None:
    several = SPEC.replace(COUNT, f"{COUNT}\n  fares: {{sum: fare, where: 'fare > 0'}}")
    turned = several.replace(COUNT, "").replace(
        "aggregates:\n", "aggregates:\n  fares: {where: 'fare > 0', sum: fare}\n"
    )
    turned = turned.replace("  fares: {sum: fare, where: 'fare > 0'}", f"  {COUNT}")
    one, other = read(text=several), read(text=turned)
    assert [aggregate.name for aggregate in one.aggregates] != [
        aggregate.name for aggregate in other.aggregates
    ]
    assert state_fingerprint(one) == state_fingerprint(other)


def test_the_order_of_selected_columns_changes_none(read: Read) -> None:
    at, in_order, turned = (
        "event_time: at",
        "{far: 'km > 9', hours: 'm / 60'}",
        "{hours: 'm / 60', far: 'km > 9'}",
    )
    one, other, another = (
        read((at, f"{at}, select: {it}")) for it in (in_order, turned, turned.replace("> 9", "> 8"))
    )
    assert one.sources[0].select != other.sources[0].select
    assert state_fingerprint(one) == state_fingerprint(other)
    assert state_fingerprint(another) != state_fingerprint(other)


def test_a_fingerprint_is_the_same_in_another_process(read: Read) -> None:
    pipeline = read()
    program = (
        "import sys, pathlib; from pipelines.spec import load, state_fingerprint; "
        "print(state_fingerprint(load(pathlib.Path(sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(pipeline.path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == state_fingerprint(pipeline)


def test_how_late_events_may_be_is_told_where_late_news_may_wait(read: Read) -> None:
    window = "hourly: {tumbling: 1 hour}"
    waiting = "hourly: {tumbling: 1 hour, allowed_lateness: 2 s, panes: {late: {rows: 3}}}"
    assert latenesses_of(state_fingerprint(read((window, waiting)))) == {"hourly": 2_000_000}
    at_once = "hourly: {tumbling: 1 hour, allowed_lateness: 2 s, panes: {early: {rows: 3}}}"
    assert latenesses_of(state_fingerprint(read((window, at_once)))) == {}
