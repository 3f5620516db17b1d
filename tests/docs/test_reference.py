"""`docs/spec.md` and `docs/tables.md` tell of every key and column that there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StringType

from pipelines.errors import CorrectTheSpec
from pipelines.spec import load
from pipelines.store.tables import Shapes
from tests.orchestration.conftest import SPEC

DOCS = Path(__file__).parents[2] / "docs"
SHAPES = Shapes(
    key={"city": StringType()},
    parts={"rides__rows": LongType()},
    results={"rides": LongType()},
    event={"city": StringType()},
    event_id={"id": LongType()},
)
OWN = {*SHAPES.key, *SHAPES.parts, *SHAPES.results, *SHAPES.event, *SHAPES.event_id}
LIKE = {"partial_frames": "frames", "partial_sessions": "sessions"}
"""Tables of which the page says `the same`."""


def test_the_spec_of_the_page_is_one(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(name:.*?)```", (DOCS / "spec.md").read_text(), flags=re.DOTALL)
    (tmp_path / "my_rides.yml").write_text(example)
    (source,) = load(tmp_path / "my_rides.yml").sources
    assert (source.format, dict(source.options)) == ("csv", {"header": "true"})


@pytest.mark.parametrize("section", ["", "source: {format: csv, nothing: 1}", "time: {nothing: 1}"])
def test_every_key_is_told(section: str, tmp_path: Path) -> None:
    """The message about an unknown key lists those that there are."""
    name = section.split(":", maxsplit=1)[0]
    kept = [line for line in SPEC.splitlines() if not name or name not in line]
    (tmp_path / "one.yml").write_text("\n".join([*kept, section or "nothing: 1"]))
    with pytest.raises(CorrectTheSpec, match="unknown key `nothing`") as told:
        load(tmp_path / "one.yml")
    (known,) = re.findall(r"unknown key `nothing`.*?allowed are (.*)", str(told.value))
    page = (DOCS / "spec.md").read_text()
    assert [name for name in known.split(", ") if f"`{name}`" not in page] == []


@pytest.mark.parametrize("table", [name for name in SHAPES.tables() if name != "attempts"])
def test_every_column_is_told(table: str) -> None:
    lines = (DOCS / "tables.md").read_text().splitlines()
    rows = [line.split("|") for line in lines if line.startswith("| `")]
    names = {f"`{table}`", f"`{LIKE.get(table, table)}`"}
    told = " ".join(row[3] for row in rows if names.intersection(row[1].strip().split(", ")))
    batch = {"batch_start", "batch_end"}
    columns = [name for name in SHAPES.tables()[table] if name not in OWN | batch]
    assert told and [name for name in columns if f"`{name}`" not in told] == []
    assert "*batch*" in told or not batch <= SHAPES.tables()[table].keys()
