"""The window that `docs/semantics.md` draws is a transcript, time for time and pane for pane."""

from __future__ import annotations

from dataclasses import replace

from tests.docs import page
from tests.transcripts.reading import MINUTE, by_oracle, microseconds, transcripts

(STORY,) = [it for it in transcripts("good") if it.max_disorder]


def test_the_drawing_has_the_rows_batches_and_watermarks_of_the_story() -> None:
    lines = page.drawn()
    assert page.minutes(lines["batch until"]) == [it.end // MINUTE for it in STORY.batches]
    assert page.minutes(lines["watermark"]) == [it.watermark // MINUTE for it in STORY.batches]
    happened, arrived = page.happened(), page.arrived()
    rows = {row.number: (row.event_us // MINUTE, batch) for batch in STORY.batches for row in batch.events}
    assert {number: minute for number, (minute, _) in happened.items()} == {
        number: minute for number, (minute, _) in rows.items()
    }
    for number, (minute, batch) in rows.items():
        at = arrived[happened[number][1]] * MINUTE
        assert minute * MINUTE <= at and batch.start <= at < batch.end


def test_its_watermarks_are_the_newest_event_less_the_disorder() -> None:
    seen = STORY.batches[0].start
    for batch in STORY.batches:
        seen = max([seen, *(row.event_us for row in batch.events)])
        assert batch.watermark == seen - microseconds(str(STORY.max_disorder))
    for said in ("max_disorder: 1 min", "allowed_lateness: 8 min", "{early: each batch, mode: retracting}"):
        assert f"`{said}`" in page.TEXT or f"`panes: {said}`" in page.TEXT
        assert said in f"max_disorder: {STORY.max_disorder} {STORY.window}"


def test_its_table_tells_the_panes_of_the_window() -> None:
    published = {
        batch.end // MINUTE: [it for it in batch.panes if it[1:3] == (0, 10 * MINUTE)]
        for batch in STORY.batches
    }
    told = {until: sorted(rows, key=str) for until, rows in page.panes().items()}
    assert told == {until: rows for until, rows in published.items() if rows}
    assert list(page.panes()[10]) == sorted(page.panes()[10], key=lambda it: it[5], reverse=True)


def test_it_tells_the_other_modes_right() -> None:
    totals, kinds = {}, {}
    for mode in ("accumulating", "discarding"):
        definition = replace(STORY.definition, mode=mode)
        rows = [it for _, panes, _ in by_oracle(replace(STORY, definition=definition)) for it in panes]
        mine = [it for it in rows if it[1] == 0]
        totals[mode], kinds[mode] = [it[6] for it in mine], {it[5] for it in mine}
    assert totals == {"accumulating": [3, 7, 7, 15], "discarding": [3, 4, None, 8]}
    assert kinds == {"accumulating": {"insert"}, "discarding": {"insert"}}
    assert (
        "what is new: 3, 4, null (" in page.TEXT
        and "), 8; and `windows` still has the whole, 15" in page.TEXT
    )
