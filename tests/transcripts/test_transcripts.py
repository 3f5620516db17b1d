"""Every transcript, by the plain loops and by the walk over Delta, there a few with each stage run twice.

Each is also told with the rows of a batch reversed, and, where no trigger waits, with a batch for each row.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.intervals import EARLIEST_US as EARLIEST
from tests.transcripts.in_rooms import by_rooms
from tests.transcripts.on_delta import by_walk
from tests.transcripts.reading import Batch, Transcript, by_oracle, transcripts

GOOD = transcripts("good")
TWICE = (
    "What still waits when a window closes is published then",
    "Early panes may wait for so long, counted from the first data and then from the last pane",
    "In discarding mode a pane on time without news has no rows",
    "In retracting mode each pane but the first takes back the one before",
    "The window of all time publishes by its trigger, and on time when all is closed",
    "A row makes three sessions one",
    "A session that grew before its trigger fired leaves the published one standing until then",
    "An earlier row cuts bounded sessions anew",
)


def title(story: Transcript) -> str:
    return story.title


def publishes_all_at_once(story: Transcript) -> bool:
    """Whether no trigger waits, so that what stands after rows is the same however they are cut."""
    return {story.definition.early, story.definition.late} <= {"none", "each batch"}


def reversed_in_batches(story: Transcript) -> Transcript:
    """The same story, each batch with its last row first."""
    return replace(story, batches=tuple(replace(it, events=it.events[::-1]) for it in story.batches))


OTHERWISE_IN_REVERSE = [story for story in GOOD if reversed_in_batches(story) != story]
"""Those where a batch has two rows or more: of the others the reversed input is the input."""


def has_rows_of_one_key_in_a_batch(story: Transcript) -> bool:
    """Whether the order of rows could make a difference to a window."""
    keys = [[event.key for event in batch.events] for batch in story.batches]
    return any(len(set(it)) < len(it) for it in keys)


def row_by_row(batch: Batch) -> list[Batch]:
    """A batch cut into one for each row; the watermark comes with the last."""
    count = max(1, len(batch.events))
    ends = [batch.start + (batch.end - batch.start) * (it + 1) // count for it in range(count)]
    starts = [batch.start, *ends[:-1]]
    rows = [batch.events[it : it + 1] for it in range(count)]
    return [
        replace(
            batch,
            start=start,
            end=end,
            events=tuple(event._replace(arrival_us=end - 1) for event in events),
            watermark=batch.watermark if end == batch.end else EARLIEST,
        )
        for start, end, events in zip(starts, ends, rows, strict=True)
    ]


def test_there_are_enough_of_them_and_none_is_told_twice() -> None:
    assert len(GOOD) >= 40
    assert len({story.title for story in GOOD}) == len(GOOD)
    assert set(TWICE) <= {story.title for story in GOOD}
    assert sum(map(has_rows_of_one_key_in_a_batch, GOOD)) >= 30
    assert all(batch.really is None for story in GOOD for batch in story.batches)


@pytest.mark.parametrize("story", GOOD, ids=title)
def test_the_plain_loops_tell_the_story(story: Transcript) -> None:
    told = list(by_oracle(story))
    for batch, published, _ in told:
        assert published == list(batch.panes), f"until minute {batch.end // 60_000_000}"
    assert story.windows is None or told[-1][2] == story.windows


@pytest.mark.parametrize("story", OTHERWISE_IN_REVERSE, ids=title)
def test_the_order_of_rows_in_a_batch_makes_no_difference(story: Transcript) -> None:
    told = list(by_oracle(reversed_in_batches(story)))
    assert [(panes, stands) for _, panes, stands in told] == [it[1:] for it in by_oracle(story)]


@pytest.mark.parametrize("story", [it for it in GOOD if publishes_all_at_once(it)], ids=title)
def test_one_row_a_batch_leaves_the_same_windows(story: Transcript) -> None:
    told = [it for batch in story.batches for it in row_by_row(batch)]
    after = {batch.end: stands for batch, _, stands in by_oracle(replace(story, batches=tuple(told)))}
    assert {batch.end: stands for batch, _, stands in by_oracle(story)}.items() <= after.items()


@pytest.mark.parametrize("story", transcripts("bad"), ids=title)
def test_a_claim_that_is_wrong_is_found_to_be(story: Transcript) -> None:
    *right, wrong = story.batches
    *before, last = [tuple(published) for _, published, _ in by_oracle(story)]
    assert before == [batch.panes for batch in right]
    assert last == wrong.really != wrong.panes
    assert all(batch.really is None for batch in right)


@pytest.mark.slow
@pytest.mark.parametrize("story", GOOD, ids=title)
def test_the_walk_tells_the_story(story: Transcript, spark: SparkSession, tmp_path: Path) -> None:
    told = list(by_walk(story, spark, folder=tmp_path, times=2 if story.title in TWICE else 1))
    for batch, published, _ in told:
        assert published == list(batch.panes), f"until minute {batch.end // 60_000_000}"
    assert story.windows is None or told[-1][2] == story.windows


@pytest.mark.slow
@pytest.mark.parametrize("story", GOOD, ids=title)
def test_the_rooms_tell_the_story_with_rows_in_memory(
    story: Transcript, spark: SparkSession, tmp_path: Path
) -> None:
    for batch, published in by_rooms(story, spark, folder=tmp_path):
        assert published == list(batch.panes), f"until minute {batch.end // 60_000_000}"


@pytest.mark.slow
@pytest.mark.parametrize("story", OTHERWISE_IN_REVERSE, ids=title)
def test_the_walk_tells_the_story_whatever_the_order_of_rows(
    story: Transcript, spark: SparkSession, tmp_path: Path
) -> None:
    for batch, published, _ in by_walk(reversed_in_batches(story), spark, folder=tmp_path, times=1):
        assert published == list(batch.panes), f"until minute {batch.end // 60_000_000}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "story", [it for it in GOOD if publishes_all_at_once(it) and it.max_disorder is None], ids=title
)
def test_one_row_a_batch_leaves_the_same_windows_in_the_walk(
    story: Transcript, spark: SparkSession, tmp_path: Path
) -> None:
    one_by_one = replace(story, batches=tuple(it for batch in story.batches for it in row_by_row(batch)))
    after = {batch.end: stands for batch, _, stands in by_walk(one_by_one, spark, folder=tmp_path, times=1)}
    for batch, _, stands in by_oracle(story):
        assert after[batch.end] == stands, f"until minute {batch.end // 60_000_000}"
