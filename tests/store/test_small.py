"""Tables that delta-rs makes, for Spark to write."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from pyspark.sql.types import (
    DataType,
    DayTimeIntervalType,
    DecimalType,
    LongType,
    StringType,
    YearMonthIntervalType,
)

from pipelines.errors import RunAgain
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


def test_what_others_write_while_a_table_is_made_anew_stands(tmp_path: Path) -> None:
    store, asked = Folder(root=str(tmp_path)), list[int]()
    small.create(store, "late_events", columns={"length": LongType(), "source": LongType()})

    def still_mine() -> None:
        asked.append(1)
        if len(asked) == 2:
            # After it was emptied, and before it gets its new columns.
            row = {"length": 7, "source": 1, "day": date(1970, 1, 1)}
            small.append(small.open_table(store, "late_events"), [row])

    anew = {"length": StringType(), "source": LongType()}
    with pytest.raises(RunAgain, match="what they wrote stands"):
        small.recreate(store, "late_events", columns=anew, still_mine=still_mine)
    (stands,) = small.read(small.open_table(store, "late_events"))
    assert (stands["length"], len(asked)) == (7, 3)
