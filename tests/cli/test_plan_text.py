"""What `sash plan` tells people: each number in its place."""

from __future__ import annotations

from dataclasses import replace

from pipelines.cli.plan import _as_text
from pipelines.intervals import to_us
from pipelines.stages.planning import Input, Plan, Published
from pipelines.store.files import Rewritten
from tests.cli.conftest import day, days

COUNTS = {"ingested": 11, "accepted": 7, "late": 1, "quarantined": 2, "duplicates": 1}
PLAN = Plan(
    batch=days(1, 2),
    kind="same",
    inputs=(Input(source="main", files=3, bytes=4096), Input(source="other", files=None, bytes=None)),
    counts={**COUNTS, "partial_frames": 21, "frames": 22, "windows": 23},
    rewritten=(
        Rewritten(table="frames", files_replaced=31, bytes_replaced=32, files_written=33, bytes_written=34),
    ),
    published=(Published(window="hourly", timing="LATE", kind="retract", panes=41),),
    watermark_before_us=to_us(day(1, 3)),
    watermark_after_us=to_us(day(1, 4)),
    stopped=None,
    warnings=("panes: few",),
)
TOLD = """\
rides, batch [2024-01-01 00:00, 2024-01-02 00:00): has run: a restatement, if its data have changed; \
nothing has been touched

Warning: panes: few

It would read
  source      files    bytes
  --------  -------  -------
  main            3     4096
  other        null     null

It would count
    ingested    accepted    late    quarantined    duplicates
  ----------  ----------  ------  -------------  ------------
          11           7       1              2             1

It would write or replace rows of
  table             rows
  --------------  ------
  partial_frames      21
  frames              22
  windows             23

Of their files it would replace and write
  table      files replaced    bytes    files written    bytes
  -------  ----------------  -------  ---------------  -------
  frames                 31       32               33       34

It would publish
  window    timing    kind       panes
  --------  --------  -------  -------
  hourly    LATE      retract       41

Watermark: 2024-01-01T03:00:00Z → 2024-01-01T04:00:00Z"""


def test_each_number_stands_in_its_place() -> None:
    assert _as_text("rides", PLAN) == TOLD


def test_of_a_batch_that_a_check_would_stop_nothing_is_told_that_comes_after_it() -> None:
    told = _as_text("rides", replace(PLAN, stopped="2 of 7 rows"))
    assert told == TOLD.partition("\n\nIt would write")[0] + "\n\nA check would stop it: 2 of 7 rows"
