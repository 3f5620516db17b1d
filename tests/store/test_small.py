"""Tables that delta-rs makes, for Spark to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql.types import DataType, DayTimeIntervalType, DecimalType, LongType, YearMonthIntervalType

from pipelines.store import small
from pipelines.store.tables import Folder


@pytest.mark.parametrize(
    "kind", [LongType(), DecimalType(38, 9), DayTimeIntervalType(), YearMonthIntervalType()]
)
def test_a_table_that_is_emptied_has_the_types_that_it_is_to_have(tmp_path: Path, kind: DataType) -> None:
    store = Folder(root=str(tmp_path))
    wanted = {"length": kind, "source": LongType()}
    small.create(store, "late_events", columns={"length": LongType(), "source": LongType()})
    small.set_property(store, "late_events", name="sash.mine", value="kept")
    small.recreate(store, "late_events", columns=wanted)
    assert small.differing(store, "late_events", columns=wanted) == {}
    assert not small.has_rows(store, "late_events")
    assert small.property_of(store, "late_events", name="sash.mine") == "kept"
