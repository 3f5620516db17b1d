"""A table that is gone: no batch runs, is planned or given up where it is missed, until it is put back."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.store.reader import read_ledger
from tests.cli.conftest import Place, day
from tests.cli.test_recovery import FIRST, RIDES, SECOND


def test_a_batch_does_not_run_where_a_table_is_gone_that_others_wrote(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    assert place.sash("run", *FIRST).code == 0
    tables, ledger = Path(place.store) / "rides", read_ledger(place.store, "rides")
    for gone, advice in (
        ("frames", "compute all anew with --rebuild"),
        ("attempts", "take that folder away"),
    ):
        (tables / gone).rename(tables.parent / gone)
        refused = place.sash("run", *SECOND)
        assert (refused.code, f"of its tables {gone} is gone" in refused.err) == (2, True), refused.err
        assert advice in refused.err and not (tables / gone).exists()
        # So says a plan, and of the same folder.
        planned = place.sash("plan", *SECOND)
        assert (planned.code, planned.err) == (2, refused.err) and f"is gone from {tables}" in planned.err
        if gone == "attempts":
            refused = place.sash("run", *FIRST, "--rebuild", "--yes")
            assert (refused.code, advice in refused.err) == (2, True), refused.err
            planned = place.sash("plan", *FIRST, "--rebuild")
            assert (planned.code, planned.err) == (2, refused.err)
        (tables.parent / gone).rename(tables / gone)
    assert read_ledger(place.store, "rides") == ledger
    # Also where it went while a batch was at work, which failed of it.
    place.write_run(day(2), day(3), "failed", fingerprint=ledger[0].spec_fingerprint)
    (tables / "windows").rename(tables.parent / "windows")
    assert "of its tables windows is gone" in place.sash("run", *SECOND).err
    (tables.parent / "windows").rename(tables / "windows")
    # Without the numbers of attempts nobody knows which versions the tables had.
    (tables / "attempts").rename(tables.parent / "attempts")
    for command in ("plan", "abandon"):
        refused = place.sash(command, *SECOND)
        assert (refused.code, "of its tables attempts is gone" in refused.err) == (2, True), refused.err
    (tables.parent / "attempts").rename(tables / "attempts")
    assert place.sash("run", *SECOND).code == 0
