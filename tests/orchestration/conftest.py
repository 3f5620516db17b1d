"""Airflow with a home of its own: importing it writes files there, and it must not be the developer's."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

HOME = tempfile.mkdtemp(prefix="sash-airflow-")
os.environ["AIRFLOW_HOME"] = HOME
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"

SPEC = """\
name: visits
source: {format: csv, path: data/visits.csv, schema: "page STRING, seen TIMESTAMP", event_time: seen}
key: [page]
aggregates: {visits: count}
windows: {hourly: {tumbling: 1 hour}}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec that needs nothing beside it."""
    path = tmp_path / "dags" / "visits.yml"
    path.parent.mkdir()
    path.write_text(SPEC)
    return path
