"""SQL in a spec is an expression over the row: what passes, and what is refused however it is written."""

from __future__ import annotations

import pytest
import yaml

from pipelines.spec.functions import LIKE_COLUMNS
from pipelines.spec.sql import problems_of, shown, taken_for_functions
from pipelines.spec.tokens import tokens_of

FINE = [
    "60 * distance / nullif(air_time, 0)",
    "CASE WHEN a THEN 1 END",
    "CAST(a AS double)",
    "a::int",
    "a <=> b",
    "1e5 + 1.5BD",
    "extract(year FROM t)",
    "trim(FROM d)",
    "trim(both 'x' from d)",
    "t IS DISTINCT FROM u",
    "d LIKE ANY ('a%', 'b%')",
    "d NOT LIKE ALL ('a%')",
    "filter(a, x -> x > 1)",
    "aggregate(a, 0, (x, y) -> x + y)",
    "unix_timestamp(t)",
    "v:field",
    "v['k']:field",
    "x'1F'",
]
NAMED_LIKE_FUNCTIONS = [
    "`now` + 1",
    "`user`",
    "payload.user",
    "user.name",
    "`select`",
    "over + 1",
    "table IS NULL",
]
IN_TEXT_OR_COMMENT = [
    "kind = 'select'",
    'kind = "rand()"',
    "kind = 'it''s; rand()'",
    "kind = 'a\\'; rand()'",
    "kind = r'a\\'",
    "a /* rand() /* (SELECT 1) */ */ + 1",
    "a -- rand()",
    "d LIKE 'now'",
    "d LIKE 'no' 'w'",
    "d = 'no''w'",
    r"d = R'n\ow'",
]
QUERIES = [
    "(SELECT 1)",
    "a IN (select b FROM t)",
    "EXISTS (WITH t AS (SELECT 1) SELECT * FROM t)",
    "(VALUES (1))",
    "(TABLE t)",
    "(FROM t)",
    "x > (FROM (t) AS u)",
    "EXISTS(FROM(delta.`/etc/other`) AS l)",
    "x IN (FROM (t) u)",
    "(REDUCE a USING 'cat' FROM t)",
    "a |> b",
    "a; b",
    "ſelect",
]
NOT_THE_SAME = [
    "rand()",
    "RAND ( )",
    "`rand`()",
    "rand/* of /* what */ */()",
    "rand -- of what\n ()",
    "system.builtin.rand()",
    "`system`.`builtin`.`rand`()",
    "a + uuid()",
    "shuffle(a, 42)",
    "uniform(1, 2, 3)",
    "aes_encrypt(a, b)",
    "monotonically_increasing_id()",
    "now()",
    "CURRENT_DATE",
    "current_timestamp",
    "Current_User",
    "user",
    "localtimestamp()",
    "curdate()",
    "unix_timestamp()",
    "unix_timestamp /* now */ ( )",
    "version()",
    "current_timezone()",
    "input_file_name()",
]
OTHER_ROWS = [
    "sum(x)",
    "count(*)",
    "first(a) IGNORE NULLS",
    "row_number()",
    "lag(a) OVER (w)",
    "window(t, '1 hour')",
]
OF_THE_CLOCK = [
    "CAST('now' AS timestamp)",
    "DATE 'today'",
    "t > ' Yesterday '",
    "'now'::timestamp",
    "t = R'tomorrow'",
    r"CAST('n\ow' AS timestamp)",
    r"CAST('\u006eow' AS timestamp)",
    r"CAST('\156ow' AS timestamp)",
    "CAST('no' 'w' AS timestamp)",
]
UNFINISHED = ["", "  ", "-- nothing", "'abc", '"abc', "`abc", "/* abc", "(a", "a)", "a) OR (b", "a[1", "(a]"]


@pytest.mark.parametrize("sql", [*FINE, *NAMED_LIKE_FUNCTIONS, *IN_TEXT_OR_COMMENT])
def test_an_expression_over_the_row_passes(sql: str) -> None:
    assert problems_of(sql) == ()


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_is_refused(sql: str) -> None:
    assert problems_of(sql)


@pytest.mark.parametrize("sql", NOT_THE_SAME)
def test_what_is_not_the_same_in_a_second_run_is_refused(sql: str) -> None:
    assert any("is not the same in a second run" in problem for problem in problems_of(sql))


@pytest.mark.parametrize("sql", ["user", "Session_User", "user <> 'bot'"])
def test_a_name_that_a_column_may_have_passes_where_columns_are_looked_at(sql: str) -> None:
    assert problems_of(sql, may_be_columns=LIKE_COLUMNS) == ()


@pytest.mark.parametrize(
    "sql", ["user()", "`user` ()", "current_user", "current_date", "a + current_timestamp"]
)
def test_a_call_and_what_no_column_is_called_pass_nowhere(sql: str) -> None:
    assert problems_of(sql, may_be_columns=LIKE_COLUMNS)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("user <> 'bot'", ("user",)),
        ("`USER` <> `current_date`", ("user", "current_date")),
        ("user() || session_user", ("session_user",)),
        ("team.user || user.name || 'user'", ()),
        ("struct(team AS user)", ()),
        ("CAST(team AS struct<user: string>)", ()),
        ("TEAM", ()),
    ],
)
def test_spark_takes_a_name_without_a_column_for_a_function_also_in_backquotes(
    sql: str, names: tuple[str, ...]
) -> None:
    assert taken_for_functions(sql, ["team"]) == names
    assert taken_for_functions(sql, ["Team", "User", "SESSION_USER", "current_date"]) == ()


@pytest.mark.parametrize("sql", ["current_date", "values"])
def test_how_a_column_of_a_refused_name_is_written_is_told_as_yaml_reads_it(sql: str) -> None:
    (problem,) = problems_of(sql)
    hint = problem.split("is written ")[1].split(",")[0]
    assert yaml.safe_load(f"substream: {hint}") == {"substream": f"`{sql}`"}


@pytest.mark.parametrize(
    "sql", ["reflect('a', 'b')", "java_method ('a')", "`try_reflect`('a')", "REFLECT/**/('a')"]
)
def test_what_reaches_outside_is_refused(sql: str) -> None:
    (problem,) = problems_of(sql)
    assert "which reaches outside the row; allowed is what depends on the row alone" in problem


@pytest.mark.parametrize(
    ("plain", "with_options"),
    [
        ("from_xml(f(a, b), 'a INT')", "from_xml(f(a, b), 'a INT', map('rowValidationXSDPath', '/x.xsd'))"),
        ("schema_of_xml(a)", "schema_of_xml(a, map(lower('ROWVALIDATIONXSDPATH'), '/x.xsd'))"),
        ("from_avro(a, s)", "from_avro(a, s, map('avroSchemaUrl', 'file:///x'))"),
    ],
)
def test_options_by_which_a_function_reads_a_file_are_refused(plain: str, with_options: str) -> None:
    assert problems_of(plain) == ()
    (problem,) = problems_of(with_options)
    assert "with options, of which one names a file to read; allowed is it without" in problem


@pytest.mark.parametrize("sql", [*OTHER_ROWS, "explode(a)", "stack(2, a, b)"])
def test_what_needs_or_makes_other_rows_is_refused(sql: str) -> None:
    assert problems_of(sql)


@pytest.mark.parametrize("sql", OF_THE_CLOCK)
def test_text_that_spark_reads_as_the_clock_is_refused(sql: str) -> None:
    (problem,) = problems_of(sql)
    assert "which Spark may read as the clock; allowed as text is `LIKE" in problem


@pytest.mark.parametrize("sql", ["?", "a + :limit", ":a:b", "IDENTIFIER('rand')()", "$$a$$", "{fn now()}"])
def test_what_stands_for_something_from_elsewhere_is_refused(sql: str) -> None:
    assert problems_of(sql)


@pytest.mark.parametrize("sql", UNFINISHED)
def test_what_is_not_one_whole_expression_is_refused(sql: str) -> None:
    assert problems_of(sql)


@pytest.mark.parametrize("sql", ["/*+ BROADCAST(a) */ a", "/* /*+ */ rand() --*/"])
def test_a_hint_is_refused_for_it_can_end_a_comment_early(sql: str) -> None:
    assert problems_of(sql) == ("found a hint `/*+`; allowed are comments without a plus",)


def test_several_problems_are_told_together_and_each_once() -> None:
    assert len(problems_of("rand() + rand() + reflect('a')")) == 2


def test_comments_and_blanks_are_no_tokens_and_text_is_one() -> None:
    tokens = tokens_of("a /* b */ + -- c\n'd -- e' `f g`")
    assert [(token.kind, token.written) for token in tokens] == [
        ("word", "a"),
        ("mark", "+"),
        ("text", "'d -- e'"),
        ("quoted", "`f g`"),
    ]


@pytest.mark.parametrize(
    "sql",
    [
        *(
            "timestamp '10:15'",
            "TIMESTAMP 'T9:00:00'",
            "timestamp_ltz '0' '9:00'",
            "cast('12:30' AS timestamp)",
        ),
        *("to_timestamp('9:05')", "try_to_timestamp('9:05')", "'1:' '2'::timestamp", "timestamp('10:15')"),
    ],
)
def test_a_time_without_its_date_is_refused_where_spark_takes_todays(sql: str) -> None:
    (problem,) = problems_of(sql)
    assert "which Spark reads as a time of today; allowed is one with its date" in problem


@pytest.mark.parametrize(
    "sql",
    ["timestamp '2013-01-01 10:15'", "slot = '10:15'", "d LIKE '10:15'", "to_timestamp('9:05', 'HH:mm')"],
)
def test_a_time_with_its_date_and_a_text_that_is_none_are_allowed(sql: str) -> None:
    assert list(problems_of(sql)) == []


@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [
        ("(", "a", ")"),
        ("f(", "a", ")"),
        ("CASE WHEN ", "a", " THEN b END"),
        ("NOT ", "a", ""),
        ("- ", "a", ""),
        ("array<", "a", ">"),
        ("map<a, ", "a", ">"),
        ("from_xml(", "a", ", 'a INT')"),
    ],
)
def test_what_is_nested_too_deeply_for_a_parser_is_refused_at_once(
    before: str, inside: str, after: str
) -> None:
    assert problems_of(100 * before + inside + 100 * after) == ()
    (problem,) = problems_of(5000 * before + inside + 5000 * after)
    assert problem == "found an expression nested 5000 deep; allowed are 100"


def test_much_that_stands_side_by_side_is_not_nested() -> None:
    assert problems_of("a IN (" + ", ".join(["f(-1)"] * 5000) + ") AND NOT b" + " AND NOT b" * 1000) == ()


def test_of_a_long_expression_a_message_shows_the_beginning() -> None:
    assert shown("a + b") == "a + b"
    assert shown("a + " * 5000) == ("a + " * 5000)[:500] + "…"
