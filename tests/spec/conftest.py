"""A small spec that is right, and what becomes of it when something in it is changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.errors import CorrectTheSpec
from pipelines.spec import Pipeline, load

SPEC = """\
name: rides
source: {format: parquet, path: data/rides, event_time: at}
key: [city]
aggregates:
  rides: count
windows:
  hourly: {tumbling: 1 hour}
"""
"""Its sections stand on the lines 1, 2, 3, 4 (and 5), 6 (and 7)."""

Read = Callable[..., Pipeline]
Refused = Callable[..., tuple[str, ...]]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads the spec after `old` in it was replaced by `new`, for each pair."""
    monkeypatch.delenv("SASH_HOME", raising=False)

    def read_changed(*changes: tuple[str, str], text: str = SPEC) -> Pipeline:
        for old, new in changes:
            assert old in text, f"the spec has no {old!r}"
            text = text.replace(old, new)
        path = tmp_path / "dags" / "rides.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return load(path)

    return read_changed


@pytest.fixture
def refused(read: Read) -> Refused:
    """The problems of the changed spec, which must have some."""

    def problems(*changes: tuple[str, str], text: str = SPEC) -> tuple[str, ...]:
        with pytest.raises(CorrectTheSpec) as caught:
            read(*changes, text=text)
        return caught.value.problems

    return problems
