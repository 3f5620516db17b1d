"""Every transcript, by the plain loops and, a few of them, by the whole walk over Delta."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.transcripts.on_delta import by_walk
from tests.transcripts.reading import Transcript, by_oracle, transcripts

GOOD = transcripts("good")
CHOSEN = (
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


def test_there_are_enough_of_them_and_none_is_told_twice() -> None:
    assert len(GOOD) >= 40
    assert len({story.title for story in GOOD}) == len(GOOD)
    assert set(CHOSEN) <= {story.title for story in GOOD}


@pytest.mark.parametrize("story", GOOD, ids=title)
def test_the_plain_loops_tell_the_story(story: Transcript) -> None:
    told = list(by_oracle(story))
    for batch, published, _ in told:
        assert published == list(batch.panes), f"until minute {batch.end // 60_000_000}"
    assert story.windows is None or told[-1][2] == story.windows


@pytest.mark.parametrize("story", transcripts("bad"), ids=title)
def test_a_claim_that_is_wrong_is_found_to_be(story: Transcript) -> None:
    assert any(published != list(batch.panes) for batch, published, _ in by_oracle(story))


@pytest.mark.slow
@pytest.mark.parametrize("story", [it for it in GOOD if it.title in CHOSEN], ids=title)
def test_the_walk_tells_the_story_with_each_stage_run_twice(
    story: Transcript, spark: SparkSession, tmp_path: Path
) -> None:
    told = list(by_walk(story, spark, folder=tmp_path))
    for batch, published, _ in told:
        assert published == list(batch.panes), f"until minute {batch.end // 60_000_000}"
    assert story.windows is None or told[-1][2] == story.windows
