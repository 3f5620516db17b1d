"""What is wrong with a spec, told by every command alike: exit code 2, the line, found and allowed."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Place

WRONG = {
    "an unknown key": (("key: [city]", "key: [city]\nkye: 1"), "line 8: found the unknown key `kye`"),
    "a bad duration": (("tumbling: 1 hour", "tumbling: 1 huor"), "there is no unit `huor`"),
    "a duration without a fixed length": (
        ("tumbling: 1 hour", "tumbling: 1 month"),
        "months and years have no",
    ),
    "a window of no length": (("tumbling: 1 hour", "tumbling: 0 hours"), "allowed is a length above zero"),
    "a wrong type": (
        ("event_time: at", "event_time: [at]"),
        "line 5: source.event_time: found a list; allowed is",
    ),
    "a missing key": (("  event_time: at\n", ""), "`event_time` is missing"),
    "a duplicate name": (("mean_fare:", "city:"), "the name `city` stands for two columns"),
    "a reserved name": (
        ("mean_fare:", "event_count:"),
        "`event_count` is the name of one of Sash's own columns",
    ),
    "a subquery": (("{avg: fare}", "{avg: (SELECT 1)}"), "no subqueries"),
    "what differs in a re-run": (("{avg: fare}", "{avg: fare * rand()}"), "not the same in a second run"),
    "what reaches outside": (("{avg: fare}", "{avg: \"reflect('a', 'b')\"}"), "reaches outside the row"),
    "a trigger that there is not": (
        ("{tumbling: 1 hour}", "{tumbling: 1 hour, panes: {early: {rows: 0}}}"),
        "windows.hourly.panes.early",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_spec_is_refused_for(case: str, place: Place):
    change, told = WRONG[case]
    place.write_spec(change)
    said = place.sash("explain")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("sash: rides.yml")
    assert "line " in said.err and told in said.err


def test_all_problems_are_told_at_once(place: Place):
    place.write_spec(
        ("tumbling: 1 hour", "tumbling: 1 huor"), ("event_time: at", "event_time: 7\n  colour: red")
    )
    said = place.sash("validate")
    assert said.code == 2
    assert "rides.yml has 2 problems:" in said.err
    assert "huor" in said.err and "colour" in said.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("validate", []),
        ("explain", []),
        ("status", []),
        ("show", ["windows"]),
        ("run", []),
        ("stage", ["combine", "--from", "2024-01-01", "--to", "2024-01-02"]),
    ],
)
def test_every_command_says_where_it_looked_for_a_spec_that_is_not_there(
    command: str, words: list[str], place: Place
):
    place.spec.unlink()
    said = place.sash(command, *words)
    assert (said.code, said.out) == (2, "")
    assert "rides.yml" in said.err and said.err.count("\n") == 1


def test_text_that_is_not_yaml_is_told_with_its_line(place: Place):
    place.write_spec(("key: [city]", "key: [city"))
    said = place.sash("explain")
    assert said.code == 2
    assert "rides.yml" in said.err and "line" in said.err


def test_an_error_nobody_expected_is_a_paragraph_and_a_traceback_only_with_debug(place: Place):
    place.spec.unlink()
    place.spec.mkdir()
    said = place.sash("explain")
    assert said.code in (1, 2)
    assert said.err.startswith("sash: ") and said.err.count("\n") == 1
    assert "Traceback" in place.sash("explain", "--debug").err
