"""What a batch is about where its spec allows less lateness than the one before."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pipelines.intervals import Interval
from pipelines.spec.model import Panes, Rows, Session, Window
from pipelines.stages import reached as module
from pipelines.stages.reached import Reached, concern_in

WINDOW = Window(
    name="visits",
    shape=Session(gap_us=10),
    allowed_lateness_us=20,
    panes=Panes(late=Rows(rows=9)),
)


#   event time   0----20---------80----100---120
#   100 us were open at 100 …    20 us close [0, 80]
@pytest.mark.parametrize(
    ("restates", "after_us", "closing"),
    [
        (False, 100, Interval(1, 81)),
        (True, 100, None),
        # What waits in [0, 20] no later batch would look at.
        (True, 120, Interval(1, 101)),
    ],
)
def test_a_restatement_leaves_what_waits_to_the_next_batch_unless_the_watermark_rises(
    restates: bool, after_us: int, closing: Interval | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = SimpleNamespace(new_windows=(), new_triggers=False, latenesses=(("visits", 100),))
    work = SimpleNamespace(
        first_whole_us=None,
        gone=None,
        run=SimpleNamespace(opening=SimpleNamespace(changes=changes)),
        changes=changes,
        restates=restates,
        was_respelled=False,
        takes_all=False,
        pipeline=SimpleNamespace(windows=(WINDOW,)),
    )
    monkeypatch.setattr(module, "grid_of", lambda pipeline, name: SimpleNamespace(coarser_us=None))
    concern = concern_in(work, WINDOW, reached=Reached(before_us=100, after_us=after_us))
    assert concern.closing == closing
    assert (concern.cut_short_us is None) == (closing is None)
