"""Expressions of a spec against the columns that its sources have."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.ingest import RowRule, fated, verify
from pipelines.ingest.events import ARRIVAL_US, BROKEN, EVENT_US, IS_BROKEN
from pipelines.ingest.fate import FATE, QUARANTINED
from pipelines.ingest.holding import _as_told
from pipelines.ingest.read import schemas_of
from pipelines.ingest.verify import _disagreements
from pipelines.spec import load

pytestmark = pytest.mark.spark

SPEC = """\
name: scores
source:
  format: csv
  path: data/scores.csv
  schema: "user STRING, team STRING, score BIGINT, t TIMESTAMP"
  where: "user <> 'bot'"
  event_time: t
  substream: user
key: [team]
aggregates:
  users: {distinct: user}
  best: {max_by: user, by: score}
windows:
  hourly: {tumbling: 1 hour}
"""


def problems_of(spark: SparkSession, folder: Path, *changes: tuple[str, str]) -> tuple[str, ...]:
    """What is wrong with the spec after each `old` in it was replaced by `new`."""
    text = SPEC
    for old, new in changes:
        assert old in text, f"the spec has no {old!r}"
        text = text.replace(old, new)
    path = folder / "scores.yml"
    path.write_text(text)
    pipeline = load(path)
    return verify(spark, pipeline, schemas=schemas_of(spark, pipeline))


def test_ids_are_spelled_alike_in_all_sources(tmp_path: Path) -> None:
    path = tmp_path / "scores.yml"
    ids = {"one": "id", "other": "ID"}
    told = "{{format: parquet, path: data, event_time: t, event_id: {{of: [{}]}}}}"
    sources = ", ".join(f"{source}: {told.format(name)}" for source, name in ids.items())
    path.write_text(f"name: scores\nsources: {{{sources}}}\n{SPEC[SPEC.index('key:') :]}")
    found = list(_disagreements(load(path), {it: {"team": "string", ids[it]: "bigint"} for it in ids}))
    assert found == ["event_id `ID` is `id` elsewhere; allowed is one spelling: rename it in `select`"]


def test_a_column_may_be_called_as_spark_calls_who_runs_it(spark: SparkSession, tmp_path: Path) -> None:
    assert problems_of(spark, tmp_path) == ()


@pytest.mark.parametrize("written", ["user", '"`user`"'])
def test_who_runs_spark_is_no_column(written: str, spark: SparkSession, tmp_path: Path) -> None:
    changes = ("user STRING", "player STRING"), ("{distinct: user}", f"{{distinct: {written}}}")
    problems = problems_of(spark, tmp_path, *changes)
    places = ("where", "substream", "aggregate `users`: distinct", "aggregate `best`: max_by")
    assert len(problems) == len(places)
    for place, problem in zip(places, problems, strict=True):
        assert f"source `main`: {place}: " in problem
        assert "found `user`, which is no column, so that Spark takes it for a function" in problem
        assert problem.endswith("its columns are player, team, score, t")


def test_a_wrong_select_hides_no_other_problem_and_makes_none(spark: SparkSession, tmp_path: Path) -> None:
    problems = problems_of(
        spark,
        tmp_path,
        ("  event_time: t", "  select: {gain: scroe + 1, rank: score, city: town}\n  event_time: tt"),
        ("key: [team]", "key: [city, taem]"),
        ("{distinct: user}", "{sum: gain}"),
        ("by: score", "by: ranc"),
    )
    select_gain, select_city, key, event_time, by = problems
    assert select_gain.startswith("source `main`: select `gain`: `scroe + 1`: ")
    assert select_city.startswith("source `main`: select `city`: `town`: ")
    assert key.startswith("source `main`: key `taem` is no column of it; its columns are ")
    assert event_time.startswith("source `main`: event_time: `tt`: ")
    assert by.startswith("source `main`: aggregate `best`: by: `ranc`: ")


def test_what_is_compared_and_grouped_has_a_type(spark: SparkSession, tmp_path: Path) -> None:
    problems = problems_of(
        spark,
        tmp_path,
        ("  event_time: t", '  select: {side: "NULL"}\n  event_time: t'),
        ("key: [team]", "key: [side]"),
        ("{distinct: user}", '{collect_list: "array()"}\n  nulls: {count: side}'),
        ("by: score", 'by: "NULL"'),
    )
    told = (
        "key `side` is VOID",
        "users`: collect_list: `array()` is ARRAY<VOID>",
        "best`: by: `NULL` is VOID",
    )
    assert len(problems) == len(told)
    for words, problem in zip(told, problems, strict=True):
        assert problem.endswith(f"{words}; allowed is what has a type, like `CAST(NULL AS INT)`")


def test_a_total_has_no_room_for_more_than_35_digits_after_the_point(
    spark: SparkSession, tmp_path: Path
) -> None:
    changes = (
        ("score BIGINT", "score DECIMAL(38,36), fee DECIMAL(38,35)"),
        (
            "{distinct: user}",
            "{sum: score}\n  costs: {sum: fee}\n  mean: {avg: fee + score}",
        ),
    )
    (problem,) = problems_of(spark, tmp_path, *changes)
    assert problem == (
        "source `main`: aggregate `users`: sum: `score` is DECIMAL(38,36); allowed are at most 35 digits "
        "after the point: `CAST(… AS DECIMAL(38, 35))`"
    )


def test_a_window_takes_its_length_from_a_column_of_any_letters(spark: SparkSession, tmp_path: Path) -> None:
    changes = ("score BIGINT", "score BIGINT, `länge` BIGINT"), ("{tumbling: 1 hour}", "{tumbling: länge}")
    assert [it for it in problems_of(spark, tmp_path, *changes) if "parse" in it or "no column" in it] == []


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (
            "struct<left: timestamp, at: array<timestamp>>",
            "struct<left:timestamp_ntz,at:array<timestamp_ntz>>",
        ),
        ("map<timestamp, string>", "map<timestamp_ntz,string>"),
        ("struct<a: int>", "struct<a:int>"),
    ],
)
def test_a_function_is_told_instants_in_utc_wherever_they_stand(
    spark: SparkSession, kind: str, told: str
) -> None:
    rows = spark.createDataFrame([], f"trip {kind}")
    assert rows.select(_as_told(rows.schema["trip"])).schema["trip"].dataType.simpleString() == told


def test_a_function_is_told_nothing_of_dates_that_python_has_no_word_for(spark: SparkSession) -> None:
    first, late = "timestamp_micros(-62135596800000000)", "timestamp_micros(253402318799000000)"
    columns = {
        "at": late,
        "early": "timestamp_micros(-62135596800000001)",
        "day": "date_from_unix_date(2932897)",
        "first": first,
        "some": f"array({first}, {late}, null)",
        "trip": f"named_struct('left', {late}, 'stops', array(date_from_unix_date(2932897)), 'n', 1)",
        "by": f"map({late}, 1, {first}, 2)",
        "of": f"map('x', {late})",
        "none": "CAST(NULL AS STRUCT<at: TIMESTAMP>)",
    }
    rows = spark.range(1).select(*[F.expr(sql).alias(name) for name, sql in columns.items()])
    (told,) = rows.select(*[_as_told(field) for field in rows.schema]).collect()
    year_one = datetime(1, 1, 1)  # noqa: DTZ001  # as a function is told it
    assert told.asDict(recursive=True) == {
        "at": None,
        "early": None,
        "day": None,
        "first": year_one,
        "some": [year_one, None, None],
        "trip": {"left": None, "stops": [None], "n": 1},
        "by": {year_one: 2},
        "of": {"x": None},
        "none": None,
    }


def test_columns_may_not_be_called_like_those_that_stand_beside_ids(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = ("score BIGINT", "score BIGINT, _known_USER STRING, _one INT")
    assert problems_of(spark, tmp_path, columns, ("substream: user", 'substream: "string(_one)"')) == ()
    (problem,) = problems_of(spark, tmp_path, columns, ("substream: user", "event_id: {of: [user]}"))
    assert "its column `_known_USER` is named like one of Sash's own" in problem


def test_two_rules_that_read_alike_quarantine_each_what_breaks_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.createDataFrame([(0, "a"), (1, "b")], "id INT, user STRING")
    events = rows.withColumns(
        {
            IS_BROKEN: F.lit(False),
            BROKEN: F.array().cast("array<string>"),
            ARRIVAL_US: F.lit(0).cast("bigint"),
            EVENT_US: F.lit(0).cast("bigint"),
        }
    )
    rules = [
        RowRule(name="in_set", counted=F.lit(True), unexpected=F.col("user") == it, quarantines=True)
        for it in ("a", "b")
    ]
    (tmp_path / "scores.yml").write_text(SPEC)
    fates = fated(events, load(tmp_path / "scores.yml"), watermark_us=None, rules=rules)
    found = fates.select("user", FATE).collect()
    assert {it.user: it[FATE] for it in found} == {"a": QUARANTINED, "b": QUARANTINED}
