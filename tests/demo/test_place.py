"""A demo begins afresh where nobody is at work, and sees nothing of another Airflow or Sash."""

from __future__ import annotations

import fcntl
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from demo import place
from demo.place import DemoError, airflow_is_alive, alone, begin_afresh, environment


@pytest.fixture
def demo_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "var" / "demo"
    names = {
        "PLACE": "",
        "STORE": "store",
        "AIRFLOW_HOME": "airflow",
        "LOGS": "logs",
        "VARIABLES": "variables",
    }
    for name, inside in names.items():
        monkeypatch.setattr(place, name, folder / inside)
    return folder


def database(path: Path, *, state: str, seconds_ago: int) -> Path:
    """As much of Airflow's database as tells who lives."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE job (state TEXT, latest_heartbeat TIMESTAMP)")
        connection.execute(
            "INSERT INTO job SELECT ?, strftime('%Y-%m-%d %H:%M:%f', 'now', ?) || '000'",
            (state, f"-{seconds_ago} seconds"),
        )
    return path


@pytest.mark.parametrize(
    ("state", "seconds_ago", "alive"),
    [("running", 1, True), ("running", 25, True), ("running", 35, False), ("success", 1, False)],
)
def test_an_airflow_is_alive_that_has_given_a_sign_in_half_a_minute(
    tmp_path: Path, state: str, seconds_ago: int, alive: bool
) -> None:
    assert airflow_is_alive(database(tmp_path / "airflow.db", state=state, seconds_ago=seconds_ago)) is alive


def test_no_airflow_is_alive_where_there_is_no_database_or_an_empty_one(tmp_path: Path) -> None:
    assert not airflow_is_alive(tmp_path / "airflow.db")
    (tmp_path / "airflow.db").touch()
    assert not airflow_is_alive(tmp_path / "airflow.db")


def test_a_demo_begins_with_nothing_but_settings(demo_folder: Path) -> None:
    (demo_folder / "store" / "airport_traffic").mkdir(parents=True)
    begin_afresh()
    files = sorted(path.name for path in demo_folder.rglob("*") if path.is_file())
    assert files == ["airflow.cfg", "variables"]
    assert (demo_folder / "airflow" / "airflow.cfg").stat().st_mode & 0o077 == 0


def test_a_demo_does_not_begin_under_an_airflow_that_is_at_work(demo_folder: Path) -> None:
    path = database(demo_folder / "airflow" / "airflow.db", state="running", seconds_ago=1)
    with pytest.raises(DemoError, match="an Airflow is running"):
        begin_afresh()
    assert path.is_file()


def test_two_demos_do_not_run_at_once(demo_folder: Path) -> None:
    demo_folder.parent.mkdir(parents=True)
    with (demo_folder.parent / "demo.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DemoError, match="another demo is running"), alone():
            pass
    with alone():
        pass


def test_the_environment_has_no_settings_of_another_airflow_or_sash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "CeleryExecutor")
    monkeypatch.setenv("SASH_SPARK", "spark://elsewhere:7077")
    monkeypatch.setenv("SASH_STORE", "s3://elsewhere")
    monkeypatch.setenv("NO_PROXY", "example.org")
    variables = environment()
    assert {name for name in variables if name.startswith(("AIRFLOW", "SASH_"))} == {
        "AIRFLOW_HOME",
        "SASH_HOME",
        "SASH_STORE",
    }
    assert variables["SASH_STORE"] == str(place.STORE)
    assert variables["NO_PROXY"] == "example.org,localhost,127.0.0.1"
