"""What the tables say that upkeep has let go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.intervals import EARLIEST_US
from pipelines.store import small
from pipelines.store.retention import (
    PROPERTY,
    forgotten_until_us,
    gone_from,
    is_said_gone,
    say_forgotten,
    say_gone,
    say_none_gone,
)
from pipelines.store.tables import FRAME, QUARANTINE, Folder
from pipelines.windows import Gone, GoneSessions


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(root=str(tmp_path))
    small.create(made, "frames", columns=FRAME)
    return made


def test_of_sessions_it_is_said_as_it_was_when_most_of_them_went(folder: Folder):
    most = Gone(until_us=9, sessions=GoneSessions(before_us=4, until_us=9, newest_us=20))
    fewer = Gone(until_us=12, sessions=GoneSessions(before_us=3, until_us=12, newest_us=30))
    for gone in (Gone(until_us=7), most, fewer, Gone(until_us=15)):
        say_gone(folder, gone)
        assert is_said_gone(folder, gone)
    assert gone_from(folder) == replace(most, until_us=15)
    more = GoneSessions(before_us=5, until_us=15, newest_us=20)
    assert not is_said_gone(folder, Gone(until_us=15, sessions=more))


def test_where_only_an_instant_was_said_any_session_before_may_have_lost_parts(folder: Folder):
    small.set_property(folder, "frames", name=PROPERTY, value="9")
    sessions = GoneSessions(before_us=9, until_us=9, newest_us=EARLIEST_US)
    assert gone_from(folder) == Gone(until_us=9, sessions=sessions)


def test_where_all_is_made_anew_nothing_has_gone(folder: Folder):
    say_gone(folder, Gone(until_us=7))
    say_gone(folder, None)
    assert gone_from(folder) is None


def test_of_two_that_say_at_once_which_ids_go_the_further_is_heard(folder: Folder):
    small.create(folder, "event_ids", columns=QUARANTINE)
    others = [{"main": 200, "other": 5}]

    def met() -> None:
        if others:
            say_forgotten(folder, others.pop())

    say_forgotten(folder, {"main": 100}, still_mine=met)
    assert forgotten_until_us(folder) == {"main": 200, "other": 5}


def test_of_a_store_without_tables_nothing_has_gone(tmp_path: Path):
    empty = Folder(root=str(tmp_path / "none"))
    say_none_gone(empty, still_mine=lambda: None)
    assert gone_from(empty) is None
