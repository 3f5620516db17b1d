"""A soak that has ended between two batches can be gone on with."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark import cloudpickle

from tests.crash.histories import History
from tests.crash.soak import KEPT, WEIGHTS, gone_on_with


@pytest.mark.parametrize("kind", WEIGHTS, ids=lambda it: it.name)
def test_a_history_that_was_kept_asks_for_what_it_would_have_asked(
    tmp_path: Path, kind: type[History]
) -> None:
    history = kind(folder=tmp_path, chosen=random.Random(7), batches=20)
    for _ in range(4):
        history.note(history.next_asked())
    kept = cloudpickle.dumps(history)
    wanted = [history.next_asked() for _ in range(10)]
    again = cloudpickle.loads(kept)
    assert [again.next_asked() for _ in range(10)] == wanted


def test_where_no_soak_has_ended_between_two_batches_none_goes_on(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"there is no {KEPT}"):
        gone_on_with(tmp_path)
