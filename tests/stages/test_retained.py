"""Windows that are new over frames of which retention has let some go, or may, and over all there were."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from pipelines.errors import ChooseAnotherBatch, CorrectTheSpec
from pipelines.intervals import Interval
from pipelines.spec import Pipeline, load
from pipelines.stages import Request, running
from pipelines.stages.abandoning import abandon_batch
from pipelines.stages.retained import without_gone
from pipelines.store import small
from pipelines.store.ledger import close_run
from pipelines.store.retention import first_whole_us, say_forgotten, say_gone
from pipelines.store.tables import BATCH, TEXT
from pipelines.windows import Gone
from tests.stages.rides import DAY, SPEC, Place, Rides

#   day  2        3        4            5            6
#                          ├ kept: 36 hours before the watermark, noon of the fifth
#        old, if any       noon         noon         the batch that adds the window
KEPT = f"{SPEC}retention: {{frames: 36 hours}}\n"
OLD_US, KEPT_US = 2 * DAY, 4 * DAY
NEXT = Interval(6 * DAY, 7 * DAY)


def with_window(told: str) -> str:
    return KEPT.replace("hourly: {", f"{told}, hourly: {{")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rides:
    """Two batches have run, one frame in the middle of each."""
    monkeypatch.setattr(running, "prepare", lambda *_, **__: None)
    made = Rides(tmp_path, spec=KEPT)
    for number in (4, 5):
        run_day(made, number)
    return made


def day(number: int) -> Interval:
    return Interval(number * DAY, (number + 1) * DAY)


def run_day(rides: Rides, number: int) -> None:
    run = rides.begin(day(number))
    write(rides, number * DAY + DAY // 2)
    row = run.opening.row(fingerprint=rides.fingerprint, started_at_us=run.opening.started_at_us or 0)
    done = replace(row, status="published", watermark_after_us=number * DAY + DAY // 2)
    close_run(rides.store, run, row=done)


def write(rides: Rides, start_us: int) -> None:
    bounds = {"grid": "aligned", "frame_start": start_us, "frame_end": start_us + DAY // 24}
    row = {"city": "Bern", **bounds, "rides__rows": 1, "event_count": 1, "day": date(1970, 1, 1)}
    small.append(small.open_table(rides.store, "frames"), [row])


def opened(rides: Rides, *, stage: str | None) -> int | None:
    """From when on frames are whole, for a stage of the next batch in a process of its own."""
    run = running._open(Place(rides), Request(batch=NEXT), stage=stage)  # type: ignore[arg-type]  # enough here
    return first_whole_us(rides.store, rides.pipeline, opening=run.opening)


def respelled(rides: Rides, told: str) -> Pipeline:
    rides.pipeline.path.write_text(with_window(told))
    return load(rides.pipeline.path)


def test_of_many_batches_those_that_have_run_and_are_not_kept_any_more_are_left_out(kept: Rides):
    left_out = list[Request]()

    def given(*numbers: int, runs: int) -> list[int]:
        found = []
        requests = [Request(batch=day(number)) for number in numbers]
        for request in without_gone(Place(kept), requests, leaves_out=left_out.append):  # type: ignore[arg-type]  # enough here
            found.append(request.batch.start_us // DAY)
            if found[-1] == runs:
                run_day(kept, runs)
        return found

    # By the sixth the fourth is kept no more; the first never ran, and comes as a restatement.
    assert given(6, 1, 4, 5, runs=6) == [6, 1, 5]
    assert left_out == [Request(batch=day(4))]
    # What is asked for by itself is refused; so are several of which none may run.
    assert given(4, runs=0) == [4]
    run_day(kept, 7)
    assert given(4, 5, runs=0) == [4, 5]
    assert len(left_out) == 1


def test_batches_put_together_that_look_back_to_ids_that_may_be_gone_are_refused(kept: Rides):
    at = "event_time: at"
    kept.pipeline.path.write_text(KEPT.replace(at, f"{at}, event_id: {{of: [ride], within: 1 day}}"))
    kept.pipeline = load(kept.pipeline.path)
    together = Request(batch=Interval(3 * DAY, 6 * DAY), replace=True)
    with pytest.raises(ChooseAnotherBatch, match=r"begins before 1970-01-05 00:00.*count twice"):
        running._open(Place(kept), together)  # type: ignore[arg-type]  # enough here
    both = Request(batch=Interval(4 * DAY, 6 * DAY), replace=True)
    assert running._open(Place(kept), both).opening.covered  # type: ignore[arg-type]  # enough here


@pytest.mark.parametrize(
    ("within", "told"),
    [
        (", within: 2 days", None),
        (
            ", within: 49 hours",
            "line 3: source `main`: event_id `within` reaches further back than 1970-01-05",
        ),
        ("", r"Say `within: 2 days` or less, or compute all anew"),
    ],
)
def test_a_batch_that_looks_back_to_ids_that_are_gone_is_refused(kept: Rides, within: str, told: str | None):
    small.create(kept.store, "event_ids", columns={"source": TEXT, **BATCH})
    say_forgotten(kept.store, {"main": 4 * DAY})
    at = "event_time: at"
    kept.pipeline.path.write_text(KEPT.replace(at, f"{at}, event_id: {{of: [ride]{within}}}"))
    kept.pipeline = load(kept.pipeline.path)
    if told is None:
        assert running._open(Place(kept), Request(batch=NEXT)).batch == NEXT  # type: ignore[arg-type]  # enough here
        return
    with pytest.raises(CorrectTheSpec, match=told):
        running._open(Place(kept), Request(batch=NEXT))  # type: ignore[arg-type]  # enough here
    # Whatever the spec says, a batch that counted what it repeats may not count it twice.
    again = Request(batch=Interval(5 * DAY, 6 * DAY))
    with pytest.raises(ChooseAnotherBatch, match=r"event_id `within` reaches further back"):
        running._open(Place(kept), again)  # type: ignore[arg-type]  # enough here


def test_one_over_a_history_that_is_shorter_is_whole_in_each_stage_whatever_the_batch_writes(kept: Rides):
    kept.pipeline = respelled(kept, "daily: {tumbling: 1 day}")
    assert opened(kept, stage="accumulate") is None
    # An event that a window of all time takes, however old it is.
    write(kept, OLD_US)
    for stage in ("combine", "finalise", None):
        assert opened(kept, stage=stage) is None


@pytest.mark.parametrize("is_said", [True, False])
def test_one_that_asks_for_frames_that_are_gone_or_may_be_is_refused(kept: Rides, is_said: bool):
    if is_said:
        say_gone(kept.store, Gone(until_us=KEPT_US))
    else:
        write(kept, OLD_US)
    kept.pipeline = respelled(kept, "daily: {tumbling: 1 day}")
    with pytest.raises(CorrectTheSpec, match=r"line 6: window `daily` is new.*before 1970-01-05 00:00"):
        opened(kept, stage=None)
    kept.pipeline = respelled(kept, "daily: {tumbling: 1 day, from: 1970-01-05 00:00}")
    assert opened(kept, stage=None) == KEPT_US


def test_one_of_another_length_is_to_have_another_name(kept: Rides):
    write(kept, OLD_US)
    kept.pipeline.path.write_text(KEPT.replace("1 hour", "2 hours"))
    kept.pipeline = load(kept.pipeline.path)
    with pytest.raises(CorrectTheSpec, match=r"`hourly` is new under a name .* Call it otherwise, or all"):
        opened(kept, stage=None)


def test_an_unfinished_batch_that_retention_has_overtaken_is_to_be_given_up_first(kept: Rides) -> None:
    older = Interval(4 * DAY, 5 * DAY)
    asked = Request(batch=older)

    def refused() -> str:
        with pytest.raises(ChooseAnotherBatch, match="older than what `retention` keeps") as said:
            running.open_batch(Place(kept), asked)  # type: ignore[arg-type]  # enough here
        return str(said.value)

    kept.begin(older)
    say_gone(kept.store, Gone(until_us=5 * DAY))
    assert "Others wait for it: give it up with `sash abandon`. Run a newer one" in refused()
    abandon_batch(kept.store, kept.pipeline, batch=older)
    assert "sash abandon" not in refused()
