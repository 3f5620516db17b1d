"""Which Spark is used, told by real Airflow connections in the environment."""

from __future__ import annotations

import json

import pytest

from pipelines.errors import CorrectTheCall
from pipelines.orchestration.connection import configured_address


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SASH_SPARK", "AIRFLOW_CONN_SASH_SPARK"):
        monkeypatch.delenv(name, raising=False)


def connect(monkeypatch: pytest.MonkeyPatch, name: str, **values: object) -> None:
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(values))


def test_without_anything_it_is_the_embedded_one() -> None:
    assert configured_address(None) is None


def test_the_variable_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_SPARK", "local[2]")
    assert configured_address(None) == "local[2]"


def test_a_connection_named_sash_spark_is_used_where_it_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_SPARK", "local[2]")
    connect(monkeypatch, "sash_spark", conn_type="spark_connect", host="spark.example", port=15002)
    assert configured_address(None) == "sc://spark.example:15002"


def test_the_connection_that_is_named_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, "sash_spark", conn_type="spark_connect", host="spark.example")
    connect(monkeypatch, "mine", conn_type="spark", host="spark://master.example", port=7077)
    assert configured_address("mine") == "spark://master.example:7077"


@pytest.mark.parametrize(
    ("values", "address"),
    [
        ({"conn_type": "spark_connect", "host": "sc://a", "port": 1}, "sc://a:1"),
        ({"conn_type": "spark", "host": "a", "port": 7077}, "spark://a:7077"),
        ({"conn_type": "spark", "host": "local[4]"}, "local[4]"),
        ({"conn_type": "spark", "host": "localhost", "port": 7077}, "spark://localhost:7077"),
        ({"conn_type": "spark_connect", "host": "localhost", "port": 1}, "sc://localhost:1"),
        (
            {"conn_type": "spark_connect", "host": "a", "port": 1, "login": "me", "password": "a/b"},
            "sc://a:1/;user_id=me;token=a%2Fb",
        ),
        ({"conn_type": "spark_connect", "host": "a", "extra": {"use_ssl": True}}, "sc://a/;use_ssl=True"),
    ],
)
def test_a_connection_becomes_an_address(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, object], address: str
) -> None:
    connect(monkeypatch, "mine", **values)
    assert configured_address("mine") == address


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"conn_type": "postgres", "host": "a"}, "has type postgres"),
        ({"conn_type": "spark_connect"}, "has no host"),
    ],
)
def test_a_connection_to_something_else_is_refused(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, object], says: str
) -> None:
    connect(monkeypatch, "mine", **values)
    with pytest.raises(CorrectTheCall, match=says):
        configured_address("mine")


def test_a_connection_that_is_not_there_is_refused() -> None:
    with pytest.raises(CorrectTheCall, match="no connection `mine`"):
        configured_address("mine")
