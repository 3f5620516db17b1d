"""A transcript is read whole or refused: a word that nobody reads would be a claim that nobody checks."""

from __future__ import annotations

import pytest
import yaml

from tests.transcripts.reading import read

STORY = """
title: A story
window: {tumbling: 10 min, panes: {early: {rows: 2}, mode: discarding}}
batches:
  - {until: 20, rows: [ann 3: 1], watermark: 12, panes: ["ann [0, 10) ON_TIME 0: 1"]}
windows: ["ann [0, 10): 1"]
"""


def test_a_story_is_read() -> None:
    story = read(yaml.safe_load(STORY))
    assert (story.definition.mode, story.definition.early) == ("discarding", ("rows", 2))
    assert story.windows == {("ann", 0, 600_000_000): 1}


def test_a_tick_is_a_microsecond() -> None:
    told = [STORY.replace("watermark: 12", f"watermark: a tick {side} 12") for side in ("before", "after")]
    watermarks = [read(yaml.safe_load(it)).batches[0].watermark for it in told]
    assert watermarks == [719_999_999, 720_000_001]


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("title: A story", "title: A story\nwhy: because", "unknown: why"),
        ("until: 20", "until: 20, final: true", "unknown: final"),
        ("panes: [", "really: [ann], panes: [", "no pane: 'ann'"),
        ("tumbling: 10 min", "tumbling: 10 min, gap: 1 min", "unknown: gap"),
        ("tumbling: 10 min", "tumbling: 10 min, time: arrived", "no time: 'arrived'"),
        ("tumbling: 10 min", "session: 10 min, offset: 1 min", "unknown: offset"),
        ("tumbling: 10 min", "tumbling: 10 min, touching: split", "unknown: touching"),
        ("tumbling: 10 min", "sliding: 10 min, step: 5 min, max: 1 h", "unknown: max"),
        ("mode: discarding", "modes: discarding", "unknown: modes"),
        ("{rows: 2}", "{row: 2}", "unknown: row"),
        ("{rows: 2}", "each hour", "no trigger: 'each hour'"),
        ("ON_TIME 0", "IN_TIME 0", "no pane"),
        ("10): 1", "10) 1", "no window"),
        ("watermark: 12", "watermark: 2 ticks after 12", "no watermark: '2 ticks after 12'"),
    ],
)
def test_what_is_unknown_is_refused(right: str, wrong: str, told: str) -> None:
    assert right in STORY
    with pytest.raises(AssertionError, match=told):
        read(yaml.safe_load(STORY.replace(right, wrong)))
