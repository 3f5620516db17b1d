"""`sash replay` again, after it was cut off in the middle."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipelines.store.ledger_rows import standing
from pipelines.store.reader import read_ledger
from tests.cli.conftest import Place, Ride, day

FIRST = ("--from", "2024-01-01", "--to", "2024-01-02")
SECOND = ("--from", "2024-01-02", "--to", "2024-01-03")
RIDES: list[Ride] = [
    ("Bern", 10.0, day(1, 7, 30), day(1, 8)),
    ("Bern", 20.0, day(1, 20), day(1, 21)),
    ("Bern", 40.0, day(1, 7), day(2, 1)),  # its window had closed
    ("Chur", 5.0, day(2, 1), day(2, 2)),
    ("Chur", 1.0, None, day(2, 3)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("what", "flags"), [("late", ("--ignore-lateness",)), ("quarantine", ())])
def test_a_replay_that_was_cut_off_goes_on_when_it_is_said_again(
    place: Place, spark: SparkSession, what: str, flags: tuple[str, ...]
):
    place.write_rides(RIDES)
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-03", "--every", "1d").code == 0
    place.write_rides(RIDES[:4])
    # As far as it came: the rows that it looks for are gone.
    assert place.sash("stage", "accumulate", *SECOND, *flags).code == 0
    outside = place.sash("replay", what, *FIRST)
    assert (outside.code, "nothing to replay" in outside.out) == (0, True)
    said = place.sash("replay", what)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(
        "batch [2024-01-02 00:00, 2024-01-03 00:00) is unfinished, and is gone on with\n"
    )
    rows = standing(read_ledger(place.store, "rides"))
    assert [(it.status, it.revision, it.late) for it in rows][1] == ("published", 1, 0 if flags else 1)
