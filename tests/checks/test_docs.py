"""Data Docs are Great Expectations' own pages, of compiled rules too, and earlier runs stay in them."""

from __future__ import annotations

import html
import json
import re
import socket
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from pipelines.checks import site
from pipelines.checks.docs import build_docs
from pipelines.checks.expectation import Expectation, freeze
from pipelines.checks.results import Result, result_of_counts
from pipelines.intervals import to_us

# No session is needed, but the seconds that importing Great Expectations takes are.
pytestmark = pytest.mark.spark

AT_US = to_us(datetime(2013, 1, 8, 12, tzinfo=UTC))
NOT_NULL = Expectation(
    stage="events",
    name="expect_column_values_to_not_be_null",
    arguments=(("column", "origin"), ("notes", "an airport that we know")),
    on_failure="quarantine",
)
PAIR = Expectation(
    stage="events",
    name="expect_column_pair_values_a_to_be_greater_than_b",
    arguments=(("column_A", "landed"), ("column_B", "departed")),
)
MAXIMUM = Expectation(
    stage="events",
    name="expect_column_max_to_be_between",
    arguments=(("column", "mean_delay"), ("max_value", 600)),
)
RESULTS = (
    result_of_counts(NOT_NULL, 1000, unexpected=3),
    result_of_counts(PAIR, 1000, unexpected=1, samples=("06:00, 07:00",)),
    Result(expectation=MAXIMUM, column="mean_delay", success=False, observed="812.5"),
)


def built(folder: Path, run_name: str = "2013-01-01 to 2013-01-08", *, at_us: int = AT_US) -> Path:
    return build_docs(
        RESULTS, suite_name="airport_traffic.events", run_name=run_name, folder=folder, at_us=at_us
    )


def text_of(page: Path) -> str:
    visible = re.sub(r"(?s)<(script|style).*?</\1>", "", page.read_text())
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", visible)))


def test_the_page_tells_every_result_compiled_or_not(tmp_path: Path) -> None:
    text = text_of(built(tmp_path))
    assert "values must never be null. 3 unexpected values found. 0.3% of 1000 total rows." in text
    assert "Values in landed must always be greater than those in departed . 1 unexpected" in text
    assert "Sampled Unexpected Values 06:00, 07:00" in text
    assert "maximum value must be less than or equal to 600 . 812.5" in text
    assert "Status: Failed" in text


def test_pages_of_earlier_runs_stay_and_the_index_lists_them(tmp_path: Path) -> None:
    first = built(tmp_path, "first week")
    second = built(tmp_path, "second week", at_us=AT_US + 1)
    assert first.exists() and second.exists() and first != second
    index = (tmp_path / "index.html").read_text()
    for page in (first, second):
        assert page.relative_to(tmp_path).as_posix() in index


def test_the_oldest_pages_go_with_their_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "KEPT", 2)
    pages = [built(tmp_path, name, at_us=AT_US + at) for at, name in enumerate(("z", "y", "x", "w"))]
    assert [page.exists() for page in pages] == [False, False, True, True]
    index = (tmp_path / "index.html").read_text()
    assert [page.relative_to(tmp_path).as_posix() in index for page in pages] == [False, False, True, True]
    for kept in (tmp_path / "validations", tmp_path / "json" / "validations"):
        assert {it.name for it in kept.glob("*/*")} == {"x", "w"}


def test_a_date_in_what_is_kept_beside_an_expectation_is_told_as_text(tmp_path: Path) -> None:
    meta = freeze({"added": date(2024, 5, 1), "by": ["ann", {"on": date(2024, 5, 2)}]})
    noted = replace(NOT_NULL, arguments=(*NOT_NULL.arguments, ("meta", meta)))
    results = (result_of_counts(noted, 1000, unexpected=3),)
    build_docs(results, suite_name="noted", run_name="once", folder=tmp_path, at_us=AT_US)
    (stored,) = (tmp_path / "json" / "validations").rglob("*.json")
    (told,) = json.loads(stored.read_text())["results"]
    assert told["expectation_config"]["meta"]["added"] == "2024-05-01"
    assert told["expectation_config"]["meta"]["by"] == ["ann", {"on": "2024-05-02"}]


def test_nothing_of_data_or_of_a_suite_is_markup_of_a_page(tmp_path: Path) -> None:
    mark, folder = "<b id=own>", tmp_path / "a $HOME of its own"
    told = (("column", mark), ("description", mark), ("value_set", (mark,)), ("notes", mark))
    rule = Expectation(stage="events", name="expect_column_values_to_be_in_set", arguments=told)
    largest = Expectation(stage="panes", name=MAXIMUM.name, arguments=(("column", mark), ("max_value", 1)))
    results = (
        result_of_counts(rule, 1000, unexpected=3, samples=(mark,)),
        Result(expectation=largest, column=mark, success=False, observed=mark),
    )
    build_docs(results, suite_name=mark, run_name=mark, folder=folder, at_us=AT_US)
    pages = [page.read_text() for page in folder.rglob("*.html")]
    assert len(pages) == 3 and not any(mark in page for page in pages)
    assert sum(html.escape(mark) in page for page in pages) == 2


def test_the_suite_has_a_page_of_its_own(tmp_path: Path) -> None:
    built(tmp_path)
    (page,) = (tmp_path / "expectations").rglob("*.html")
    assert "values must never be null." in text_of(page)
    assert "an airport that we know" in text_of(page)


def test_the_same_run_again_has_the_same_page(tmp_path: Path) -> None:
    assert built(tmp_path) == built(tmp_path)
    assert len(list((tmp_path / "validations").rglob("*.html"))) == 1


def test_a_name_that_is_no_file_name_is_made_one(tmp_path: Path) -> None:
    page = built(tmp_path, "[2013-01-01 00:00, 2013-01-08 00:00) ../profiling/1")
    assert page.exists()
    assert page.relative_to(tmp_path).parts[2] == "2013-01-01-00-00-2013-01-08-00-00-profiling-1"


def test_pages_are_built_without_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*address: object) -> None:
        raise AssertionError(f"a connection was tried: {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert built(tmp_path).exists()
