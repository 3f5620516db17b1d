"""A spec that is wrong is refused with its line, what was found and what is allowed, all of it at once."""

from __future__ import annotations

import pytest

from tests.spec.conftest import SPEC, Refused

SOURCE = "source: {format: parquet, path: data/rides, event_time: at}"
WINDOW = "{tumbling: 1 hour}"
COUNT = "rides: count"
ROWS = "a whole number from 1 to 9223372036854775807"

TOP: list[tuple[str, str, str, str]] = [
    ("key: [city]", "kye: [city]", "line 3: ", "did you mean `key`?"),
    ("name: rides", "name: Rides!", "line 1: ", "allowed is [a-z][a-z0-9_]*"),
    ("name: rides\n", "", "line 1: ", "`name` is missing"),
    ("key: [city]", "key: city", "line 3: ", "key: found `city`; allowed is a list of names, like `[city]`"),
    ("key: [city]", "key: {city: 1}", "line 3: ", "allowed is a list of names"),
    ("key: [city]", "key: [city,\n  5]", "line 4: ", "key: found `5`; allowed is a list of names"),
    ("key: [city]\n", "", "", "`key` is missing"),
    ("key: [city]", "key:", "", "`key` is missing"),
    ("key: [city]", "key: [city]\nschedule: {start: }", "line 4: ", "`start` is missing"),
    (WINDOW, "{tumbling: }", "", "found nothing; allowed is a length like `1 hour`, or a column"),
    (WINDOW, "{tumbling: P1M}", "", "months and years have no fixed length"),
    (WINDOW, "{tumbling: P1Y}", "", "months and years have no fixed length"),
    ("rides: count", "rides: {count: '*', where: }", "", "allowed is a SQL expression"),
    ("path: data/rides", "path: ", "", "`path` is missing"),
    (
        "key: [city]",
        "key: [city]\nsources:",
        "line 4: sources: found nothing; ",
        "allowed is a mapping of names to sources",
    ),
    (
        SOURCE,
        "source: 5\nsources: {a: {format: parquet, path: a, event_time: at}}",
        "line 2: source: ",
        "found `5`; allowed is a mapping",
    ),
    (WINDOW, "{session: null}", "", "found nothing; allowed is a gap like `10 minutes`"),
    (WINDOW, "{sliding: 2 hours, step: }", "", "`step` is missing"),
    (WINDOW, "{tumbling: 1 hour, panes: {early: {rows: }}}", "", "each batch | {every: <duration>}"),
    (
        SOURCE,
        "source: {format: parquet, path: data/rides, event_time: at, select: {at: }}",
        "",
        "`at` is missing",
    ),
    ("key: [city]", "key: [city, CITY]", "line 3: ", "stands for two columns"),
    ("key: [city]", "key: [window_start]", "line 3: ", "one of Sash's own columns"),
    ("key: [city]", "key: [the city]", "line 3: ", "cannot be a column"),
    ("key: [city]", "key: [rides__rows]", "line 3: ", "a part of the aggregate `rides`"),
    ("key: [city]", "key: [city]\ntime: {batch: 0}", "line 4: ", "allowed is a length above zero"),
    (
        "key: [city]",
        "key: [city]\ntime: {batch: 1 month}",
        "line 4: ",
        "months and years have no fixed length",
    ),
    ("key: [city]", "key: [city, Watermark]", "line 3: ", "the name of one of Sash's own columns"),
    ("key: [city]", "key: [city]\ntime: 1 day", "line 4: ", "allowed is a mapping"),
    ("key: [city]", "key: [city]\nschedule: {start: soon}", "line 4: ", "allowed is an ISO 8601 instant"),
    ("key: [city]", "key: [city]\nschedule: {catchup: true}", "line 4: ", "`start` is missing"),
    ("key: [city]", "key: [city]\nschedule: {start: 2013-01-01, catchup: 1}", "line 4: ", "true or false"),
    (
        "key: [city]",
        "key: [city]\npanes: {mode: retract}",
        "line 4: ",
        "accumulating | discarding | retracting",
    ),
    (
        "key: [city]",
        "key: [city]\npanes: {late: none}",
        "line 4: ",
        "allowed is each batch | {every: <duration>}",
    ),
    ("key: [city]", "key: [city]\npanes: {early: {rows: 0}}", "line 4: ", ROWS),
    ("key: [city]", f"key: [city]\npanes: {{late: {{rows: {2**63}}}}}", "line 4: ", ROWS),
    ("key: [city]", "key: [city]\nexpectations: [a.yml]", "line 4: ", "allowed is a text"),
]
SOURCES: list[tuple[str, str, str, str]] = [
    (SOURCE + "\n", "", "", "`source` is missing"),
    (SOURCE, "source: data/rides", "line 2: ", "allowed is a mapping"),
    ("format: parquet, ", "", "line 2: ", "`format` is missing"),
    (", event_time: at", "", "line 2: ", "`event_time` is missing"),
    ("path: data/rides, ", "", "line 2: ", "format parquet needs one"),
    ("format: parquet", "format: csv", "line 2: ", "format csv needs one, in Spark DDL"),
    ("format: parquet", "format: kafka", "line 2: ", "kafka is told by options where to read"),
    ("path: data/rides", "path: 'data/{from:%B}'", "line 2: ", "found `%B`; allowed are"),
    ("path: data/rides", "path: 'data/{from}'", "line 2: ", "allowed is one like `{from:%Y-%m-%d}`"),
    ("event_time: at", "event_time: [at]", "line 2: ", "source.event_time: found a list"),
    ("event_time: at", "event_time: now()", "line 2: ", "not the same in a second run"),
    ("event_time: at", "event_time: at, where: '(SELECT 1)'", "line 2: ", "no subqueries"),
    (
        "event_time: at",
        "event_time: at, options: {a: [b]}",
        "line 2: ",
        "source.options.a: found a list; allowed is a text",
    ),
    ("event_time: at", "event_time: at, max_disorder: x", "line 2: ", "source.max_disorder: found `x`"),
    (
        "event_time: at",
        "event_time: at, select: {day: x}",
        "line 2: ",
        "`day` is the name of one of Sash's own",
    ),
    ("event_time: at", "event_time: at, event_id: {of: [Source]}", "line 2: ", "like a column of event_ids"),
    ("event_time: at", "event_time: at, select: {a: x, A: y}", "line 2: ", "found `a` and `A`"),
    ("event_time: at", "event_time: at, select: {_a: x}", "line 2: ", "cannot be a column"),
    ("event_time: at", "event_time: at, event_id: {within: 1 day}", "line 2: ", "`of` is missing"),
    (
        "path: data/rides",
        "path: 'data/{date:%Y}'",
        "line 2: ",
        "`{date:%Y}` stands for no time",
    ),
    (SOURCE, SOURCE + "\nsources: {}", "line 3: ", "found an empty mapping; allowed is a mapping of names"),
    (SOURCE, SOURCE + "\nsources: 5", "line 3: ", "sources: found `5`; allowed is a mapping of names"),
    (SOURCE, SOURCE + "\nsources: [a]", "line 3: ", "sources: found a list; allowed is a mapping of names"),
    (SOURCE, SOURCE + "\nsources: {a: [1]}", "line 3: ", "sources.a: found a list; allowed is a mapping"),
    ("at}", "at, options: {a: NO}}", "line 2: ", "source.options.a: found `NO`, which YAML takes for false"),
    ("at}", "at, options: {a: on}}", "line 2: ", "allowed is true or false, or a text in quotes"),
    ("at}", "at, options: {a: }}", "line 2: ", "source.options.a: found nothing; allowed is a text"),
    ("at}", "at, options: {a: {b: c}}}", "line 2: ", "source.options.a: found a mapping; allowed is a text"),
    (SOURCE, SOURCE + "\nsources: {ewr: {}, EWR: {}}", "line 3: ", "found `ewr` and `EWR`; allowed are"),
    (SOURCE, SOURCE + "\nsources: {ewr: {pth: x}}", "line 3: ", "did you mean `path`?"),
]
AGGREGATES: list[tuple[str, str, str, str]] = [
    (COUNT, "rides: cuont", "line 5: ", "operations are count, sum"),
    (COUNT, "rides: sum", "line 5: ", "write `{sum: <expression>}`"),
    (COUNT, "rides: [sum]", "line 5: ", "found a list; allowed is an operation like `count`"),
    (COUNT, "rides: {}", "line 5: ", "found an empty mapping; allowed is an operation like `count`"),
    (COUNT, "rides: 5", "line 5: ", "found `5`; allowed is an operation like `count`"),
    (COUNT, "rides:", "line 5: ", "found nothing; allowed is an operation like `count`"),
    ("aggregates:\n  rides: count", "aggregates: {}", "line 4: ", "aggregates: found an empty mapping"),
    (COUNT, "'*': count", "line 5: ", "cannot be a column"),
    (
        COUNT,
        "rides: {summe: fare}",
        "line 5: ",
        "found no operation among summe; allowed is one of count, sum",
    ),
    (COUNT, "rides: {sum: fare, avg: fare}", "line 5: ", "found 2 operations"),
    (COUNT, "rides: {sum: '*'}", "line 5: ", "only rows can be counted"),
    (COUNT, "rides: {sum: fare, by: at}", "line 5: ", "found the unknown key `by`"),
    (COUNT, "rides: {sum: fare, where: 'rand() > 0'}", "line 5: ", "not the same in a second run"),
    (COUNT, "rides: {max_by: fare}", "line 5: ", "`by` is missing; max_by needs it"),
    (COUNT, "rides: {max_by: fare, by: uuid()}", "line 5: ", "not the same in a second run"),
    (COUNT, "rides: {top: fare}", "line 5: ", "`n` is missing; top needs it"),
    (COUNT, "rides: {top: fare, n: 0}", "line 5: ", "a whole number above zero"),
    (COUNT, "rides: {approx_top_k: fare, k: many}", "line 5: ", "a whole number above zero"),
    (COUNT, "rides: {approx_quantile: fare, q: 1.5}", "line 5: ", "a number from 0 to 1"),
    (COUNT, "rides: {approx_quantile: fare, q: []}", "line 5: ", "a number from 0 to 1"),
    (COUNT, "rides: {custom: mine, of: fare}", "line 5: ", "allowed is `module:attribute`"),
    (
        COUNT,
        "rides: {custom: , of: fare}",
        "line 5: ",
        "custom: found nothing; allowed is `module:attribute`",
    ),
    (COUNT, "event_count: count", "line 5: ", "one of Sash's own columns"),
    (COUNT, "Pane_Index: count", "line 5: ", "one of Sash's own columns"),
    (COUNT, "city: count", "line 5: ", "stands for two columns"),
    (COUNT, "a b: count", "line 5: ", "cannot be a column"),
    (COUNT, "a__b: count", "line 5: ", "two underscores"),
    ("  " + COUNT + "\n", "", "", "`aggregates` is missing"),
]
WINDOWS: list[tuple[str, str, str, str]] = [
    (WINDOW, "{tumbling: 1 huor}", "line 7: ", "there is no unit `huor`"),
    (WINDOW, "{tumbling: 1 month}", "line 7: ", "months and years have no fixed length"),
    (WINDOW, "{tumbling: 0}", "line 7: ", "allowed is a length above zero"),
    (WINDOW, "{tumbling: 1 hour, sliding: 1 hour}", "line 7: ", "found tumbling and sliding; allowed"),
    (WINDOW, "{tumblign: 1 hour}", "line 7: ", "allowed is one of tumbling, sliding"),
    (WINDOW, "{sliding: 2 hours}", "line 7: ", "`step` is missing; sliding needs one"),
    (WINDOW, "{sliding: 2 hours, step: 0}", "line 7: ", "allowed is a length above zero"),
    (WINDOW, "{cumulate: 1 hour, step: 7 minutes}", "line 7: ", "a size that is a multiple of the step"),
    (WINDOW, "{session: 1 hour, max: 1 hour}", "line 7: ", "allowed is more than the gap, 1 hour"),
    (WINDOW, "{session: 1 hour, touching: both}", "line 7: ", "allowed is merge | split"),
    (WINDOW, "{session: 1 hour, from: 2024-01-01}", "line 7: ", "do not start at the same instants"),
    (WINDOW, "{tumbling: 1 hour, from: soon}", "line 7: ", "found `soon`; allowed is an ISO 8601 instant"),
    (WINDOW, "{tumbling: 7 d, from: 9999-12-31T12:00}", "line 7: ", "before the year 10000; take an earlier"),
    (WINDOW, "{tumbling: 1 d, from: 2013-01-01T00:00:00.1234567}", "line 7: ", "six digits after the point"),
    (WINDOW, "{tumbling: 1 hour, unaligned: true, offset: 1 min}", "line 7: ", "beside `unaligned`"),
    (WINDOW, "{tumbling: 1 hour, step: 1 hour}", "line 7: ", "found the unknown key `step`"),
    (WINDOW, "{tumbling: 1 hour, time: processing}", "line 7: ", "allowed is event | arrival"),
    (WINDOW, "{custom: nomod}", "line 7: ", "found `nomod`; allowed is `module:attribute`"),
    (WINDOW, "{custom: [a:b]}", "line 7: ", "allowed is `module:attribute`"),
    (WINDOW, "{global: 1}", "line 7: ", "found `1`; allowed is true or false"),
    (WINDOW, "{global: false}", "line 7: ", "found false; allowed is true"),
    ("hourly:", "aligned:", "line 7: ", "what frames shared by windows are called"),
    ("hourly:", "by hour:", "line 7: ", "allowed are letters, one at least, digits, _ and -"),
    ("hourly:", "Hourly: {tumbling: 2 hours}\n  hourly:", "line 8: ", "found `Hourly` and `hourly`"),
    ("  hourly: {tumbling: 1 hour}\n", "", "", "`windows` is missing"),
]
OTHER = {
    "aggregates": [("key: [city]", f"key: [city]\nwindows: {{hourly: {WINDOW}}}")],
    "windows": [],
}
"""What is lost by cutting a spec at a section."""


@pytest.mark.parametrize(("old", "new", "line", "told"), [*TOP, *SOURCES, *AGGREGATES, *WINDOWS])
def test_a_mistake_is_refused_with_its_line_and_what_is_allowed(
    old: str, new: str, line: str, told: str, refused: Refused
) -> None:
    problems = refused((old, new))
    assert any(problem.startswith(line or "line ") and told in problem for problem in problems), problems


def test_all_problems_of_all_sections_are_told_at_once_and_by_line(refused: Refused) -> None:
    problems = refused(
        ("name: rides", "name: Rides"),
        ("path: data/rides", "path: 'd/{to}'"),
        ("key: [city]", "kee: [city]"),
        (COUNT, "rides: {top: fare}"),
        (WINDOW, "{tumbling: 1 hour, offset: x}"),
    )
    lines = [int(problem.split(":")[0].removeprefix("line ")) for problem in problems]
    assert lines == sorted(lines)
    assert {1, 2, 3, 5, 7} <= set(lines)
    assert any("`n` is missing; top needs it" in problem for problem in problems)


def test_a_mistake_in_what_sources_share_is_told_once_and_where_it_stands(refused: Refused) -> None:
    text = SPEC.replace("at}", "at, colour: red, max_disorder: x}\nsources: {a: {}, b: {path: y}}")
    disorder, unknown = sorted(refused(text=text), key=lambda problem: "unknown key" in problem)
    assert unknown.startswith("line 2: source: found the unknown key `colour`")
    assert disorder.startswith("line 2: source.max_disorder: found `x`")


def test_names_are_looked_at_also_where_something_else_is_wrong(refused: Refused) -> None:
    problems = refused(
        ("at}", "at, select: {day: now()}, colour: red}"),
        (COUNT, "window: {top: fare}\n  event_count: {sum: fare, n: 3}"),
        ("hourly: {tumbling: 1 hour}", "aligned: {sliding: 1 hour}"),
    )
    assert [problem for problem in problems if "choose another" in problem] == [
        "line 2: source.select: `day` is the name of one of Sash's own columns; choose another",
        "line 5: aggregates: `window` is the name of one of Sash's own columns; choose another",
        "line 6: aggregates: `event_count` is the name of one of Sash's own columns; choose another",
        "line 8: windows: `aligned` is what frames shared by windows are called; choose another",
    ]


@pytest.mark.parametrize("section", ["aggregates", "windows"])
def test_a_section_that_is_no_mapping_is_not_missing_too(section: str, refused: Refused) -> None:
    (problem,) = refused((SPEC[SPEC.index(f"{section}:") :], f"{section}: 5\n"), *OTHER[section])
    assert problem.endswith(f"{section}: found `5`; allowed is a mapping")


NAMES_IN_BLOCKS = """\
name: rides
source:
  format: parquet
  event_time: at
  select:
    day: x
    fine: y
sources:
  a: {path: a}
  b:
    path: b
    select:
      fine: x
      _b: y
key:
  - city
  - day
  - City
aggregates: {rides: count}
windows: {hourly: {tumbling: 1 hour}}
"""


def test_a_wrong_name_is_told_on_its_own_line_and_once(refused: Refused) -> None:
    own = "is the name of one of Sash's own columns; choose another"
    illegal = "cannot be a column of a table"
    day, b, key, city = refused(text=NAMES_IN_BLOCKS)
    assert day == f"line 6: source.select: `day` {own}"
    assert b.startswith(f"line 14: sources.b.select: `_b` {illegal}")
    assert key == f"line 17: key: `day` {own}"
    assert city == "line 18: key: the name `City` stands for two columns; rename one"


def test_a_key_that_stands_twice_is_refused_with_both_lines(refused: Refused) -> None:
    assert refused(("key: [city]", "key: [city]\nname: other")) == (
        "line 4: `name` stands twice, first on line 1; keep one of them",
    )


def test_a_key_that_stands_twice_hides_nothing_else(refused: Refused) -> None:
    twice, window = refused(("key: [city]", "key: [city]\nname: other"), (WINDOW, "{sliding: 2 hours}"))
    assert twice.startswith("line 4: `name` stands twice")
    assert window.startswith("line 8: windows.hourly: `step` is missing")


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n", "rides\n"])
def test_a_file_without_a_spec_is_refused(text: str, refused: Refused) -> None:
    assert refused(text=text)
