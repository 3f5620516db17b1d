"""Which bounded and custom sessions may depend on what a batch touched, asked of tables of delta-rs."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.intervals import Interval
from pipelines.spec.model import Session, Window
from pipelines.stages import meeting
from pipelines.stages.meeting import standing_near
from pipelines.store.instants import in_microseconds
from pipelines.store.reader import ask

INSTANT = pa.timestamp("us", tz="UTC")
MINE = "of_batch = 1"
Place = tuple[str | None, int, int]


def test_a_chain_is_followed_to_its_end_for_its_key_alone(tmp_path: Path) -> None:
    #  ann   [0  [8 [16 …            … [800, 810)        touched: [400, 410)
    #  bob   [200, 290) stands alone, [390, 500) is not of a touched key
    ann: list[Place] = [("ann", start, start + 10) for start in range(0, 801, 8)]
    others: list[Place] = [("bob", 200, 290), ("bob", 390, 500), ("ann", 900, 910)]
    found = near(tmp_path, sessions=[*ann, *others], touched=[("ann", 400, 410)])
    # Of what ended before 400 only that which meets the first of the chain, [392, 402).
    assert found == in_order([it for it in ann if it[2] >= 392] + others[1:2])
    # Where sessions may overlap one that ended before may depend on it too.
    found = near(tmp_path, sessions=[*ann, *others], touched=[("ann", 400, 410)], restated=True)
    assert found == in_order([*ann, *others[:2]])


def test_a_long_chain_takes_few_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        meeting, "ask", lambda *given, sql, **more: asked.append(sql) or ask(*given, sql=sql, **more)
    )
    chain: list[Place] = [("ann", start, start + 10) for start in range(0, 10_000, 8)]
    found = near(tmp_path, sessions=chain, touched=[("ann", 0, 10)])
    assert found == chain
    assert len(asked) < 15


def test_sessions_that_do_not_leave_what_was_touched_are_not_put_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        meeting, "ask", lambda *given, sql, **more: asked.append(sql) or ask(*given, sql=sql, **more)
    )
    touched: list[Place] = [("ann", 100, 110), ("bob", 200, 210)]
    inside: list[Place] = [("ann", 100, 115), ("ann", 118, 130), ("bob", 195, 210)]
    far: list[Place] = [("ann", 0, 99), ("ann", 211, 230)]
    for sessions in ([*inside, *far], far):
        asked.clear()
        found = near(tmp_path, sessions=sessions, touched=touched)
        assert found == in_order(it for it in sessions if it in inside)
        assert [sql for sql in asked if "ORDER BY" in sql] == []
    # One tick further, and a chain may.
    found = near(tmp_path, sessions=[*inside, ("bob", 205, 211), far[1]], touched=touched)
    assert found == in_order([*inside, ("bob", 205, 211), far[1]])
    assert [sql for sql in asked if "ORDER BY" in sql] != []


@pytest.mark.parametrize("seed", range(12))
def test_all_that_hangs_together_with_what_was_touched_is_found(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    users = ["ann", "bob", None]

    def places(count: int) -> list[Place]:
        starts = [(chosen.choice(users), chosen.randrange(0, 3_000, 5)) for _ in range(count)]
        return in_order({(user, start, start + chosen.choice([5, 10, 20])) for user, start in starts})

    sessions, touched = places(200), places(3)
    chain = set(touched)
    while grown := {it for it in sessions if it not in chain and any(hang(it, other) for other in chain)}:
        chain |= grown
    found = near(tmp_path, sessions=sessions, touched=touched, restated=True)
    first, last = min(it[1] for it in chain), max(it[2] for it in chain)
    assert found == in_order(it for it in sessions if it[1] <= last and it[2] >= first)


def hang(one: Place, other: Place) -> bool:
    return one[0] == other[0] and one[1] <= other[2] and other[1] <= one[2]


def near(folder: Path, *, sessions: list[Place], touched: list[Place], restated: bool = False) -> list[Place]:
    """The sessions that may depend on what is touched, all of one bounded definition."""
    for name, places in (("sessions", sessions), ("partial_sessions", touched)):
        columns = {
            "user": pa.array([user for user, _, _ in places], pa.string()),
            "window": pa.array(["it"] * len(places)),
            "window_start": pa.array([start for _, start, _ in places], pa.int64()).cast(INSTANT),
            "window_end": pa.array([end for _, _, end in places], pa.int64()).cast(INSTANT),
            "of_batch": pa.array([1] * len(places)),
        }
        write_deltalake(folder / name, pa.table(columns), mode="overwrite")
    work = SimpleNamespace(
        pipeline=SimpleNamespace(key=("user",)),
        tables=SimpleNamespace(root=str(folder)),
        request=SimpleNamespace(ignore_lateness=False),
        run=SimpleNamespace(opening=SimpleNamespace(restated=restated), batch=Interval(0, 1)),
    )
    windows = [Window(name="it", shape=Session(gap_us=10, max_us=20))]
    where = standing_near(work, windows, whose=MINE, opened="true")
    names = '"user", window_start, window_end'
    rows = in_microseconds(ask(str(folder), ["sessions"], sql=f"SELECT {names} FROM sessions WHERE {where}"))
    return in_order((row["user"], row["window_start"], row["window_end"]) for row in rows.to_pylist())


def in_order(places: Iterable[Place]) -> list[Place]:
    return sorted(places, key=lambda it: (it[0] or "", it[1], it[2]))
