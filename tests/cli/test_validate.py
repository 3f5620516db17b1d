"""`sash validate`: all that is wrong, and what could not be told yet."""

from __future__ import annotations

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from tests.cli.conftest import Place, day

RIDES = [("Bern", 12.0, day(1, 8), day(1, 9))]

UNKNOWN = """\
events:
  - expect_column_values_to_not_be_nul: {column: city}
"""
MISFIT = """\
events:
  - expect_column_values_to_not_be_null: {column: town}
  - expect_column_values_to_match_regex: {column: city, regex: "(("}
panes:
  - expect_column_max_to_be_between: {column: max_fare, max_value: 600}
  - expect_column_values_to_match_regex: {column: city, regex: "[["}
  - expect_column_max_to_be_between:
      {column: rides, max_value: 9, row_condition: day > 1, condition_parser: spark}
"""

WRONG = {
    "an unknown column": (
        ("{avg: fare}", "{avg: fair}"),
        ("aggregate `mean_fare`", "`fair`", "its columns are city"),
    ),
    "an unknown key": (("key: [city]", "key: [town]"), ("key `town` is no column of it",)),
    "an expression that does not parse": (
        ("{avg: fare}", "{avg: fare +}"),
        ("`fare +` does not parse as SQL",),
    ),
    "a wrong type": (("{avg: fare}", "{avg: city}"), ("`city` is STRING; allowed is a number",)),
    "a value without an order": (
        ("{avg: fare}", '{max: "map(city, fare)"}'),
        ("is MAP<STRING,DOUBLE>; allowed is what has an order: no maps",),
    ),
    "a text with a collation": (
        ("{avg: fare}", '{approx_distinct: "city COLLATE UTF8_LCASE"}'),
        ("is STRING COLLATE UTF8_LCASE; allowed is text without a collation",),
    ),
    "bits of what has none": (("{avg: fare}", "{bit_or: fare}"), ("DOUBLE; allowed is a whole number",)),
    "a `by` that is no number": (
        ("{avg: fare}", "{covariance: fare, by: city}"),
        ("by: `city` is STRING; allowed is a number",),
    ),
    "a time that is none": (
        ("event_time: at", "event_time: fare"),
        ("event_time", "is DOUBLE; allowed is TIMESTAMP"),
    ),
    "a number of more digits than there are": (
        ("{avg: fare}", "{avg: 1" + 40 * "0" + "}"),
        ("aggregate `mean_fare`", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"),
    ),
    "a format of several words": (("format: parquet", "format: of my own"), ("cannot be read as of my own",)),
    "no window at all": (
        (
            "windows:\n  hourly: {tumbling: 1 hour}\n  rolling: {sliding: 2 hours, step: 30 minutes}",
            "windows: 1",
        ),
        ("windows: found `1`; allowed is a mapping",),
    ),
    "a reserved name": (
        ("  arrival_time: arrived\n", "  arrival_time: arrived\n  select: {window: fare}\n"),
        ("`window` is the name of one of Sash's own columns",),
    ),
}


def test_without_data_the_rest_is_checked_and_it_is_said_what_was_not(place: Place):
    said = place.sash("validate")
    assert (said.code, said.err) == (0, "")
    assert "not checked: columns and expressions of source `main`: there is no file at" in said.out
    assert said.out.splitlines()[-1].endswith(
        "rides.yml is valid: 1 source, 2 aggregates, 2 windows, 0 expectations"
    )


def test_what_is_unwise_is_warned_of(place: Place):
    place.write_spec(("{tumbling: 1 hour}", "{sliding: 1 hour, step: 7 s}"))
    said = place.sash("validate")
    assert said.code == 0
    assert said.out.startswith("warning: frames are 1 second long, tiny beside")


def test_a_spec_that_fits_its_data_is_valid(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    said = place.sash("validate")
    assert (said.code, said.err) == (0, "")
    assert "not checked" not in said.out


@pytest.mark.parametrize("case", WRONG)
def test_a_spec_that_does_not_fit_its_data_is_refused_for(case: str, place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    change, told = WRONG[case]
    place.write_spec(change)
    said = place.sash("validate")
    assert (said.code, said.out) == (2, "")
    assert all(words in said.err for words in told), said.err
    assert "\tat " not in said.err and "JVM" not in said.err


@pytest.mark.parametrize("declared", ["", '\n  schema: "city STRING, fare DOUBLE, at TIMESTAMP"'])
def test_a_format_that_there_is_not_is_told_in_a_paragraph(place: Place, spark: SparkSession, declared: str):
    place.write_rides(RIDES)
    place.write_spec(("format: parquet", f"format: parket{declared}"))
    said = place.sash("validate")
    assert said.code == 2
    assert "rides.yml: line 2: source `main`: cannot be read as parket: [DATA_SOURCE_NOT_FOUND]" in said.err
    assert said.err.count("\n") == 1 and "\tat " not in said.err


def test_what_is_wrong_by_itself_does_not_hide_what_only_data_tells(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec(
        ("key: [city]", "key: [town]\nkye: 1"),
        ("event_time: at", 'event_time: at\n  where: "rand() > fare"\n  colour: red'),
        ("{tumbling: 1 hour}", "{tumbling: 1 month}"),
        ("{avg: fare}", "{avg: city}"),
    )
    said = place.sash("validate")
    assert (said.code, said.out) == (2, "")
    told = [line.split(": ", 1) for line in said.err.splitlines()[1:]]
    lines = [int(line.removeprefix("  - line ")) for line, _ in told]
    assert lines == sorted(lines) and len(told) == 6, said.err
    problems = ("`town` is no column", "`kye`", "rand", "`colour`", "1 month", "`city` is STRING")
    assert all(any(words in problem for _, problem in told) for words in problems), said.err


def test_a_schema_that_is_none_is_told_with_its_source(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec(("format: parquet", 'format: parquet\n  schema: "city STRNG"'))
    said = place.sash("validate")
    assert said.code == 2
    assert said.err.startswith("sash: rides.yml: line 2: source `main`: `schema` is not Spark DDL"), said.err


def test_problems_of_spec_and_expectations_are_told_together(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec(("{avg: fare}", "{avg: fair}"), ("key: [city]", "key: [city]\nexpectations: suite.yml"))
    (place.home / "suite.yml").write_text(UNKNOWN)
    said = place.sash("validate")
    assert said.code == 2
    assert said.err.startswith("sash: rides.yml has 2 problems:")
    assert "suite.yml, line 2: there is no expectation `expect_column_values_to_not_be_nul`" in said.err
    assert "`fair`" in said.err


def test_expectations_about_columns_that_are_not_there_are_refused(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec(("key: [city]", "key: [city]\nexpectations: suite.yml"))
    (place.home / "suite.yml").write_text(MISFIT)
    said = place.sash("validate")
    assert said.code == 2
    assert "suite.yml, line 2: " in said.err and "have no column `town`" in said.err
    assert "suite.yml, line 5: " in said.err and "have no column `max_fare`" in said.err
    assert "suite.yml, line 3: " in said.err and "`((` is no regular expression" in said.err
    assert "suite.yml, line 6: " in said.err and "`[[` is no regular expression" in said.err
    assert "suite.yml, line 7: " in said.err and "`row_condition`: " in said.err and "`day`" in said.err


def test_a_suite_that_cannot_be_read_does_not_hide_the_rest(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec(("{avg: fare}", "{avg: fair}"), ("key: [city]", "key: [city]\nexpectations: suite.yml"))
    (place.home / "suite.yml").write_text("evnts: []\n")
    said = place.sash("validate")
    assert said.code == 2
    assert "unknown stage `evnts`" in said.err and "`fair`" in said.err


def test_an_expectations_file_that_is_not_there_is_a_problem(place: Place):
    place.write_spec(("key: [city]", "key: [city]\nexpectations: suite.yml"))
    said = place.sash("validate")
    assert said.code == 2
    assert said.err.startswith("sash: rides.yml: line 8: expectations: suite.yml cannot be read: "), said.err


OWN = "  mean_fare: {avg: fare}", "  mean_fare: {{custom: 'tests.aggregates.mine:{}', of: {}}}"


def test_a_custom_operation_that_keeps_the_laws_is_valid(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec((OWN[0], OWN[1].format("SUM_OF_SQUARES", "fare")))
    said = place.sash("validate")
    assert (said.code, said.err) == (0, "")


def test_a_custom_operation_that_breaks_a_law_is_refused_by_it(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec((OWN[0], OWN[1].format("WHATEVER_CAME_LAST", "fare")))
    said = place.sash("validate")
    assert said.code == 2
    assert "custom `tests.aggregates.mine:WHATEVER_CAME_LAST` breaks the laws that combining is" in said.err


def test_a_custom_operation_that_cannot_bear_its_type_is_refused(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec((OWN[0], OWN[1].format("SUM_OF_SQUARES", "city")))
    said = place.sash("validate")
    assert said.code == 2
    assert "fails on sample events of type STRING" in said.err and "\tat " not in said.err


def test_a_custom_operation_that_is_not_there_is_told_without_data(place: Place):
    place.write_spec((OWN[0], OWN[1].format("NOTHING", "fare")))
    said = place.sash("validate")
    assert said.code == 2
    assert "has no attribute 'NOTHING'; allowed is `module:attribute`" in said.err


def test_a_custom_window_that_is_not_there_is_told_without_data(place: Place):
    place.write_spec(("{tumbling: 1 hour}", "{custom: 'tests.windows.gone:NOTHING'}"))
    said = place.sash("validate")
    assert said.code == 2
    assert "window `hourly`: " in said.err and "tests.windows.gone:NOTHING" in said.err


def test_a_custom_window_that_is_not_there_is_told_once(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec(("{tumbling: 1 hour}", "{custom: 'tests.windows.gone:NOTHING'}"))
    said = place.sash("validate")
    assert said.code == 2
    assert said.err.count("window `hourly`: ") == 1


def test_a_column_that_no_table_can_have_is_to_be_renamed(place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    file = place.home / "data" / "rides" / "part-0.parquet"
    rides = parquet.read_table(file)
    parquet.write_table(rides.append_column("dep time", rides["at"]), file)
    said = place.sash("validate")
    assert said.code == 2
    assert "its column `dep time` cannot be a column of a table; rename it in `select`, like" in said.err
    place.write_spec(("  event_time: at", '  select: {dep_time: "`dep time`"}\n  event_time: at'))
    assert place.sash("validate").code == 0
    assert place.sash("run", "--from", "2024-01-01", "--to", "2024-01-02").code == 0
    # It has its old name no more.
    place.write_spec(
        ("  event_time: at", '  select: {dep_time: "`dep time`"}\n  event_time: at'),
        ("  rides: count", '  rides: {max: "`dep time`"}'),
    )
    gone = place.sash("validate")
    assert gone.code == 2 and "aggregate `rides`: max: ``dep time``: [UNRESOLVED_COLUMN" in gone.err


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("map(city, fare)", "MAP<STRING,DOUBLE>; allowed is what has an order: no maps"),
        ("array(city COLLATE UTF8_LCASE)", "allowed is text without a collation, like `lower(…) COLLATE UTF"),
    ],
)
def test_a_key_can_be_compared(written: str, told: str, place: Place, spark: SparkSession):
    place.write_rides(RIDES)
    place.write_spec(
        ("  event_time: at", f"  select: {{tags: '{written}'}}\n  event_time: at"),
        ("key: [city]", "key: [tags]"),
    )
    said = place.sash("validate")
    assert said.code == 2
    assert "key `tags` is" in said.err and told in said.err


@pytest.mark.parametrize(
    ("window", "told"),
    [
        ("{tumbling: lenght}", "window `hourly`: tumbling: `lenght`"),
        (
            "{tumbling: city}",
            "window `hourly`: tumbling: `city` is STRING; allowed is a number or an interval",
        ),
        ("{tumbling: 1 hour, unaligned: fair * 60}", "window `hourly`: unaligned: `fair * 60`"),
    ],
)
def test_what_tells_a_length_has_to_be_there_and_be_one(
    place: Place, spark: SparkSession, window: str, told: str
):
    place.write_rides(RIDES)
    place.write_spec(("{tumbling: 1 hour}", window))
    said = place.sash("validate")
    assert said.code == 2
    assert told in said.err


def test_what_the_spec_keeps_secret_is_not_told(place: Place, spark: SparkSession) -> None:
    place.write_spec(("path: data/rides", "path: 'file:///nowhere?password=open-sesame'"))
    said = place.sash("validate", "--debug")
    assert said.code == 2
    assert "password=***" in said.err
    assert "open-sesame" not in said.err + said.out
