"""What a log says of each stage in a line: what was read, dropped, written, how long it took."""

from __future__ import annotations

import pytest

from pipelines.stages.lines import line_of

READ = {"ingested": 2_812, "accepted": 2_790, "late": 0, "quarantined": 22, "partial_frames": 401}


@pytest.mark.parametrize(
    ("stage", "counts", "handed_on", "line"),
    [
        ("accumulate", READ, {}, "read 2,812 rows; 2,790 accepted, 22 quarantined; wrote 401 partial frames"),
        ("combine", {"frames": 1}, READ, "read 401 partial frames; wrote 1 frame"),
        (
            "combine",
            {"frames": 5, "sessions": 2},
            {"partial_frames": 7, "partial_sessions": 1},
            "read 7 partial frames and 1 partial session; wrote 5 frames and 2 sessions",
        ),
        (
            "finalise",
            {"LATE": 1, "EARLY": 2},
            {"frames": 5},
            "took up 5 frames; wrote 3 panes (2 EARLY, 1 LATE)",
        ),
        ("publish", {"windows": 3}, {"LATE": 1, "EARLY": 2}, "read 3 panes; brought 3 windows up to date"),
        # Alone, after the batch was published, nobody has handed anything on.
        ("publish", {"windows": 0}, {}, "brought 0 windows up to date"),
    ],
)
def test_a_line_tells_what_was_read_and_written(
    stage: str, counts: dict[str, int], handed_on: dict[str, int], line: str
) -> None:
    assert line_of(stage, None, counts=counts, seconds=3.21, handed_on=handed_on) == f"{stage}: {line}; 3.2 s"
