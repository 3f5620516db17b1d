"""Tables go back to versions that were written down, and only where somebody has left something."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.errors import WaitForTheBatch
from pipelines.intervals import Interval
from pipelines.store import attempts, small, widening
from pipelines.store.attempts import Attempt
from pipelines.store.fence import Fence
from pipelines.store.history import restore, undo, versions
from pipelines.store.tables import ATTEMPTS, CHECKS, Folder

BATCH = Interval(0, 86_400_000_000)
LANE = "checks"


@pytest.fixture
def store(tmp_path: Path) -> Folder:
    """A store in which attempt 4 has written a row."""
    folder = Folder(root=str(tmp_path))
    small.create(folder, "attempts", columns=ATTEMPTS)
    small.create(folder, "checks", columns=CHECKS)
    row = {
        "stage": "panes",
        "batch_start": BATCH.start_us,
        "batch_end": BATCH.end_us,
        **dict.fromkeys(("expectation", "column", "on_failure", "success", "observed", "unexpected_count")),
        "revision": 0,
    }
    small.put(folder, "checks", rows=[row], where="revision = 0", fence=Fence(LANE, 4))
    return folder


def rows(store: Folder) -> int:
    return len(small.read(small.open_table(store, "checks")))


@pytest.mark.parametrize(
    ("since", "attempt", "left"),
    [(4, 5, 0), (1, 9, 0), (5, 6, 1), (4, 4, 1), (1, 3, 1)],
    ids=["just before", "one of many", "of another revision", "my own", "of a later one"],
)
def test_what_an_attempt_of_the_revision_has_left_is_undone(
    store: Folder, since: int, attempt: int, left: int
) -> None:
    undo(store, "checks", version=0, since=since, fence=Fence(LANE, attempt))
    assert rows(store) == left
    # The lane is open to nobody before.
    with pytest.raises(WaitForTheBatch, match="taken over"):
        small.put(store, "checks", rows=[], where="revision = 0", fence=Fence(LANE, attempt - 2))
    small.put(store, "checks", rows=[], where="revision = 0", fence=Fence(LANE, 10))


def test_a_table_is_restored_and_nobody_before_may_write_in_its_lanes(store: Folder) -> None:
    restore(store, "checks", version=0, fences=[Fence(LANE, 7)])
    assert rows(store) == 0
    with pytest.raises(WaitForTheBatch, match="taken over"):
        small.put(store, "checks", rows=[], where="revision = 0", fence=Fence(LANE, 6))


def test_the_first_attempt_says_which_versions_the_tables_had(store: Folder) -> None:
    def begin(revision: int = 0) -> Attempt:
        begun = Attempt(attempt=0, batch=BATCH, revision=revision, what="begun", at_us=1)
        return attempts.begin(store, begun, still_open=lambda: None)[0]

    assert versions(store) == {"checks": 1}
    assert (begin().counts, begin().counts, begin(revision=1).counts) == ({"checks": 1}, {}, {"checks": 1})
    attempts.say_versions(store, {"checks": 3, "panes": 2})
    first = attempts.first_of(store, BATCH, revision=0)
    assert first is not None and (first.attempt, first.counts) == (1, {"checks": 3, "panes": 2})
    attempts.say_versions(store, None)
    assert attempts.first_of(store, BATCH, revision=0) is None
    assert begin().counts == {"checks": 1}


@pytest.mark.parametrize(
    ("stored", "wanted", "holds"),
    [
        ("string", "integer", True),
        ("integer", "string", False),
        ("long", "integer", True),
        ("integer", "long", False),
        ("double", "integer", True),
        ("double", "long", False),
        ("float", "integer", False),
        ("decimal(12,2)", "decimal(10,2)", True),
        ("decimal(12,2)", "decimal(12,4)", False),
        ("decimal(10,2)", "decimal(12,2)", False),
        ("date", "timestamp", False),
        ("date", "date", True),
        ("timestamp", "timestamp", True),
    ],
)
def test_a_type_holds_another_where_no_value_is_lost(stored: str, wanted: str, holds: bool) -> None:
    assert widening.holds(stored, wanted) is holds
