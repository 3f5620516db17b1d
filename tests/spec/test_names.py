"""Names that become folders, ids and words of a command are refused where they could be more than that."""

from __future__ import annotations

import json

import pytest

from tests.spec.conftest import Read, Refused

ALLOWED = "allowed are letters, one at least, digits, _ and -"
SOURCE = "source: {format: parquet, path: data/rides, event_time: at}"


@pytest.mark.parametrize(
    "name",
    [
        *("../rides", "..", ".", "a/b", "/tmp/rides", "s3://there/rides", "~", "rides\\..\\x", "rides "),
        *("rides;drop", "rides'--", "`rides`", "${HOME}", "%2e%2e", "rides\n", "--rides", "3000-01-01", "12"),
    ],
)
def test_a_name_is_made_of_letters(name: str, refused: Refused) -> None:
    written = json.dumps(name)
    (pipeline,) = refused(("name: rides", f"name: {written}"))
    assert pipeline.startswith("line 1: ") and "allowed is [a-z][a-z0-9_]*" in pipeline
    (source,) = refused((SOURCE, f"{SOURCE}\nsources: {{{written}: {{path: data}}}}"))
    assert source.startswith("line 3: sources: ") and ALLOWED in source
    (window,) = refused(("hourly:", f"{written}:"))
    assert window.startswith("line 7: windows: ") and ALLOWED in window


@pytest.mark.parametrize("name", ["Rides", "1st", "per-day"])
def test_a_folder_is_named_in_lower_case(name: str, refused: Refused, read: Read) -> None:
    (problem,) = refused(("name: rides", f"name: {name}"))
    assert problem.startswith("line 1: ") and "allowed is [a-z][a-z0-9_]*" in problem
    pipeline = read((SOURCE, f"{SOURCE}\nsources: {{{name}: {{path: data}}}}"), ("hourly:", f"{name}:"))
    assert [pipeline.sources[0].name, pipeline.windows[0].name] == [name, name]


def test_a_name_is_no_longer_than_that_of_a_group_of_tasks(refused: Refused, read: Read) -> None:
    longest = f"r{199 * 'i'}"
    assert read(("name: rides", f"name: {longest}")).name == longest
    (problem,) = refused(("name: rides", f"name: {longest}i"))
    assert "found one of 201 letters; allowed are 200" in problem


@pytest.mark.parametrize(("longest", "letters"), [("r" * 200, 200), (33 * "ä" + "rr", 35)])
def test_a_folder_has_a_place_for_every_name(
    longest: str, letters: int, refused: Refused, read: Read
) -> None:
    def sources(name: str) -> tuple[str, str]:
        return SOURCE, f"{SOURCE}\nsources: {{{name}: {{path: data}}}}"

    pipeline = read(sources(longest), ("hourly:", f"{longest}:"))
    assert [pipeline.sources[0].name, pipeline.windows[0].name] == [longest, longest]
    problems = refused(sources(f"{longest}r"), ("hourly:", f"{longest}r:"))
    told = f"found the name `{longest[:20]}…` of {letters + 1} letters; allowed are 200"
    assert [it.split(told)[0] for it in problems] == ["line 3: sources: ", "line 8: windows: "]


def test_what_is_no_flag_is_refused_once(refused: Refused) -> None:
    (problem,) = refused(("{tumbling: 1 hour}", "{global: 3}"))
    assert "found `3`; allowed is true or false" in problem
