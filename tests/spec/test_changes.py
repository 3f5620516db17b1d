"""What a changed spec asks of tables that an older one made."""

from __future__ import annotations

import pytest

from pipelines.spec import changes_between, known_as, state_fingerprint, windows_of, without_reading
from tests.spec.conftest import Read

HALF_HOUR, HOUR = 1_800_000_000, 3_600_000_000
WINDOWS = "hourly: {tumbling: 1 hour}"


def test_the_same_spec_changes_nothing(read: Read) -> None:
    fingerprint = state_fingerprint(read())
    found = changes_between(fingerprint, fingerprint)
    assert (found.problems, found.new_windows, found.frame_lengths) == ((), (), (("aligned", HOUR),))


@pytest.mark.parametrize(
    "window", ["{tumbling: 3 hours}", "{sliding: 1 day, step: 2 hours}", "{cumulate: 1 day, step: 1 hour}"]
)
def test_windows_of_frames_that_are_there_may_be_added(window: str, read: Read) -> None:
    after = read((WINDOWS, f"{WINDOWS}\n  more: {window}"))
    found = changes_between(state_fingerprint(read()), state_fingerprint(after))
    assert (found.problems, found.new_windows) == ((), ("more",))


def test_a_window_may_take_another_shape_of_the_same_frames(read: Read) -> None:
    after = read((WINDOWS, "hourly: {sliding: 3 hours, step: 1 hour}"))
    found = changes_between(state_fingerprint(read()), state_fingerprint(after))
    assert (found.problems, found.new_windows, found.reshaped) == ((), ("hourly",), ("hourly",))


def test_a_window_that_comes_back_takes_the_place_of_what_stood_of_it(read: Read) -> None:
    without = read((WINDOWS, "hours: {tumbling: 1 hour}"))
    before, after = state_fingerprint(without), state_fingerprint(read())
    assert windows_of(after) == {"hourly"}
    found = changes_between(before, after, known=windows_of(after))
    assert (found.problems, found.new_windows, found.reshaped) == ((), ("hourly",), ("hourly",))
    assert changes_between(before, after).reshaped == ()


def test_a_window_may_go_and_frames_stay_as_short_as_they_are(read: Read) -> None:
    before = read((WINDOWS, f"{WINDOWS}\n  half: {{tumbling: 30 minutes}}"))
    found = changes_between(state_fingerprint(before), state_fingerprint(read()))
    assert (found.problems, found.new_windows, found.frame_lengths) == ((), (), (("aligned", HALF_HOUR),))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (WINDOWS, f"{WINDOWS}\n  half: {{tumbling: 30 minutes}}", "windows now need frames of 30 minutes"),
        (WINDOWS, "hourly: {session: 2 hours}", "window `hourly` has another shape"),
        (
            WINDOWS,
            f"{WINDOWS}\n  visits: {{session: 1 hour}}",
            "window `visits` is new, and there are no frames",
        ),
        (WINDOWS, f"{WINDOWS}\n  came: {{tumbling: 1 hour, time: arrival}}", "window `came` is new"),
        ("rides: count", "rides: count\n  fares: {sum: fare}", "key or aggregates differ"),
        ("key: [city]", "key: []", "key or aggregates differ"),
    ],
)
def test_what_frames_cannot_serve_is_told(old: str, new: str, told: str, read: Read) -> None:
    found = changes_between(state_fingerprint(read()), state_fingerprint(read((old, new))))
    assert any(told in problem for problem in found.problems)


def test_a_window_may_be_called_like_anything(read: Read) -> None:
    before = read((WINDOWS, "core: {tumbling: 1 hour}"))
    after = read((WINDOWS, "core: {tumbling: 1 hour}"), ("key: [city]", "key: []"))
    assert changes_between(state_fingerprint(before), state_fingerprint(after)).problems


@pytest.mark.parametrize("shape", ["session: 1 hour", "global: true", "tumbling: 1 hour, unaligned: true"])
def test_another_time_is_another_shape(shape: str, read: Read) -> None:
    before = read((WINDOWS, f"hourly: {{{shape}}}"))
    after = read((WINDOWS, f"hourly: {{{shape}, time: arrival}}"))
    assert changes_between(state_fingerprint(before), state_fingerprint(after)).problems


def test_ids_of_other_columns_cannot_be_compared_with_those_that_are_remembered(read: Read) -> None:
    at = "event_time: at"
    before, after = (read((at, f"{at}, event_id: {{of: [{name}]}}")) for name in ("ride", "ticket"))
    (problem,) = changes_between(state_fingerprint(before), state_fingerprint(after)).problems
    assert "event_id of source `main` is of other columns" in problem
    assert changes_between(state_fingerprint(read()), state_fingerprint(after)).problems == ()


def test_new_triggers_are_told_for_news_may_wait_under_the_old_ones(read: Read) -> None:
    early = read((WINDOWS, "hourly: {tumbling: 1 hour, panes: {early: {rows: 5}}}"))
    found = changes_between(state_fingerprint(read()), state_fingerprint(early))
    assert (found.problems, found.new_triggers) == ((), True)
    lateness = read((WINDOWS, "hourly: {tumbling: 1 hour, allowed_lateness: 1 hour}"))
    assert not changes_between(state_fingerprint(read()), state_fingerprint(lateness)).new_triggers
    # Nothing waits under a window that is new, nor under the others because of it.
    beside = read((WINDOWS, f"{WINDOWS}\n  daily: {{tumbling: 1 day, panes: {{early: {{rows: 5}}}}}}"))
    assert not changes_between(state_fingerprint(read()), state_fingerprint(beside)).new_triggers


@pytest.mark.parametrize(
    ("new", "what"),
    [
        # What came before is remembered by none of its ids.
        ("event_time: at, event_id: {of: [ride]}", "event_id"),
        ("event_time: at, where: 'fare > 0'", "where"),
        ("event_time: started", "event_time"),
        ("event_time: at, arrival_time: came", "arrival_time"),
        ("event_time: at, select: {fare: 'abs(fare)'}", "select"),
    ],
)
def test_that_rows_are_read_otherwise_is_told_and_needs_nothing_anew(new: str, what: str, read: Read) -> None:
    before, after = state_fingerprint(read()), state_fingerprint(read(("event_time: at", new)))
    found = changes_between(before, after)
    assert (found.problems, found.read_otherwise) == ((), (("main", what),))
    assert (without_reading(before) == without_reading(after)) is (what != "event_id")
    assert without_reading(after) != after
    # One that has another name remembers nothing under it.
    named = state_fingerprint(read(("source:", "sources:\n  other:"), ("event_time: at", new)))
    assert changes_between(after, named).read_otherwise == ((("other", what),) if what == "event_id" else ())
    # Nor do two, of which nobody knows which it was.
    parted = state_fingerprint(
        read(("source:", "sources:\n  east: {path: e}\n  west: {path: w}\nsource:"), ("event_time: at", new))
    )
    told = (("east", what), ("west", what)) if what == "event_id" else ()
    assert changes_between(after, parted).read_otherwise == told
    # Nobody knows how rows were read for a store that is older than this, or by a source that is new.
    assert changes_between(without_reading(before), after).read_otherwise == ()
    assert changes_between(without_reading(before), after).problems == ()


def test_substreams_are_known_under_the_name_that_their_source_had_unless_others_are_told_apart(
    read: Read,
) -> None:
    at, key = "event_time: at", "key: [city]"
    named = {
        names: state_fingerprint(
            read((key, f"sources: {{{', '.join(f'{it}: {{}}' for it in names)}}}\n{key}"))
        )
        for names in (("rides",), ("rides", "trips"), ("trips", "walks"))
    }
    main = state_fingerprint(read())
    assert known_as("main", before=main, after=main) == "main"
    assert known_as("rides", before=main, after=named["rides",]) == "main"
    # Which of two it has become nobody can tell.
    assert known_as("rides", before=main, after=named["rides", "trips"]) == "rides"
    assert known_as("walks", before=named["rides", "trips"], after=named["trips", "walks"]) == "rides"
    assert known_as("trips", before=named["rides", "trips"], after=named["trips", "walks"]) == "trips"
    by_city = state_fingerprint(read((at, f"{at}, substream: city")))
    assert (
        known_as("main", before=main, after=by_city) is known_as("main", before=by_city, after=main) is None
    )
    assert without_reading(main) == without_reading(by_city)
    assert known_as("main", before=without_reading(main), after=by_city) == "main"
