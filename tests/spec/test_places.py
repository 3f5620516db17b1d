"""What only data can tell of a spec is told with the line that it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.spec import load
from pipelines.spec.places import with_lines

SPEC = """\
name: rides
sources:
  north:
    format: parquet
    path: data/north
    event_time: at
    select:
      fare: price / 100
    event_id: {of: [ticket]}
  south: {format: parquet, path: data/south, event_time: at}
key:
  - city
aggregates:
  paid: {sum: fare}
  paid_most:
    max: fare
windows:
  hourly: {tumbling: 1 hour}
"""
PLACES = {
    "source `north`: event_time: `at` is STRING": 6,
    "source `north`: select `fare`: no such column": 8,
    "source `north`: event_id `ticket` is no column of it": 9,
    "source `south`: where: nothing of the kind": 10,
    "key `city` is STRING in `north`": 11,
    "source `south`: aggregate `paid`: sum: `fare`": 14,
    "aggregate `paid_most` would be": 15,
    "source `north`: window `hourly`: tumbling": 18,
}


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "rides.yml"
    path.write_text(SPEC)
    return path


def test_each_problem_has_its_line_and_comes_in_its_order(spec: Path) -> None:
    backwards = [*reversed(PLACES), "rides_rules.yml, line 2: something", next(iter(PLACES))]
    assert with_lines(backwards, load(spec)) == (
        *[f"line {line}: {problem}" for problem, line in PLACES.items()],
        "rides_rules.yml, line 2: something",
    )


def test_one_source_without_a_name_has_its_lines_too(spec: Path) -> None:
    spec.write_text(
        SPEC.replace(
            SPEC[SPEC.index("sources") : SPEC.index("key")],
            "source: {format: parquet, path: a, event_time: at}\n",
        )
    )
    problem = "source `main`: event_time: `at` is STRING"
    assert with_lines([problem], load(spec)) == (f"line 2: {problem}",)


def test_what_all_sources_have_has_the_line_where_it_stands(spec: Path) -> None:
    spec.write_text(SPEC.replace("sources:\n", "source:\n  where: bad\nsources:\n"))
    told = [f"source `{name}`: where: `bad` is STRING" for name in ("north", "south")]
    assert with_lines(told, load(spec)) == tuple(f"line 3: {one}" for one in told)


@pytest.mark.parametrize("text", [None, "name: [", "name: a\nname: b\n"])
def test_a_file_that_is_another_since_hides_nothing(spec: Path, text: str | None) -> None:
    pipeline = load(spec)
    spec.unlink() if text is None else spec.write_text(text)
    assert {it.removeprefix("line 1: ") for it in with_lines(PLACES, pipeline)} == set(PLACES)
