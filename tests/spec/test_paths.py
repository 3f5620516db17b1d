"""Which paths a path stands for over a batch."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval
from pipelines.spec import expand_paths, parse_instant, span_of, store_at
from pipelines.spec.paths import path_problems


def batch(start: str, end: str) -> Interval:
    return Interval(parse_instant(start), parse_instant(end))


CASES = [
    # the end of the batch is not in it
    ("d={from:%Y-%m-%d}", "2013-01-01", "2013-01-03", ("d=2013-01-01", "d=2013-01-02")),
    # a batch that begins and ends within a day takes the whole days that it touches
    ("{from:%d}", "2013-01-01T23:30", "2013-01-02T00:30", ("01", "02")),
    ("{from:%d}", "2013-01-01T23:30", "2013-01-02T00:00", ("01",)),
    ("{from:%d}", "2013-01-01T23:30", "2013-01-02T00:00:00.000001", ("01", "02")),
    ("{from:%d}/{from:%H}", "2013-01-01T23:00", "2013-01-02T01:00", ("01/23", "02/00")),
    ("{from:%Y}", "2012-12-31", "2013-01-02", ("2012", "2013")),
    ("{from:%Y-%m}", "2013-01-31", "2013-03-01", ("2013-01", "2013-02")),
    ("{from:%H%M}", "2013-01-01T00:58:30", "2013-01-01T01:00:30", ("0058", "0059", "0100")),
    ("{from:%F}", "1969-12-31", "1970-01-02", ("1969-12-31", "1970-01-01")),
    ("{from:%Y}", "0001-01-01", "0001-01-02", ("0001",)),
    ("m={from:%-m}", "2013-01-01", "2013-01-02", ("m=1",)),
    ("{from:%j}", "2013-02-01", "2013-02-02", ("032",)),
    ("{from:%G-W%V-%u}", "2013-01-01", "2013-01-02", ("2013-W01-2",)),
    ("{from:100%%%d}", "2013-01-01", "2013-01-02", ("100%01",)),
    ("until={to:%Y-%m-%d}", "2013-01-01", "2013-01-03", ("until=2013-01-03",)),
    ("{from:%d}-{to:%d}", "2013-01-01", "2013-01-03", ("01-03", "02-03")),
    ("data/*/part-[0-9]*.{csv,tsv}", "2013-01-01", "2013-01-03", ("data/*/part-[0-9]*.{csv,tsv}",)),
]


@pytest.mark.parametrize(("path", "start", "end", "paths"), CASES)
def test_a_path_stands_for_every_value_that_its_format_takes_over_the_batch(
    path: str, start: str, end: str, paths: tuple[str, ...]
) -> None:
    assert expand_paths(path, batch(start, end)) == paths


def test_more_paths_than_can_be_read_at_once_are_refused() -> None:
    with pytest.raises(CorrectTheCall, match="a smaller batch, or a coarser format"):
        expand_paths("{from:%H%M%S}", batch("2013-01-01", "2013-01-02"))


@pytest.mark.parametrize(
    ("path", "many"),
    [
        ("{from:%Y}", 30),
        ("{from:%Y%%}", 30),
        ("{from:%Y-%m}", 360),
        ("{from:%m}", 12),
        ("{from:%H}", 24),
        ("{from:%S}", 60),
        ("{from:%d}/{from:%S}", 31 * 60),
        ("{from:%m-%d}/{from:%H}", 366 * 24),
    ],
)
def test_of_a_long_batch_only_values_count_that_differ(path: str, many: int) -> None:
    assert len(expand_paths(path, batch("1990-01-01", "2020-01-01"))) == many


def test_all_years_that_there_are_can_be_read_at_once() -> None:
    years = expand_paths("{from:%Y}", batch("0001-06-01", "9999-12-31T23:59:59"))
    assert (years[0], years[-1], len(years)) == ("0001", "9999", 9999)


def test_what_a_day_that_was_begun_late_lacks_comes_from_a_later_one() -> None:
    paths = expand_paths("{from:%H}", batch("2013-01-01T22:30", "2013-01-05"))
    assert paths == ("22", "23", *(f"{hour:02}" for hour in range(22)))


@pytest.mark.parametrize("path", ["data", "*.{csv,tsv}", "{from:%Y-%m-%d}/{to:%H}", "{from:%-d of 100%%}"])
def test_a_path_with_known_formats_has_no_problem(path: str) -> None:
    assert list(path_problems(path)) == []


@pytest.mark.parametrize(
    "path", ["{from}", "{to:}", "{from:day}", "{from:%B}", "{from:%f}", "{to:%Z}", "{from:%Y%}"]
)
def test_a_place_without_a_format_that_is_known_is_refused(path: str) -> None:
    (problem,) = path_problems(path)
    assert "; allowed" in problem


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [
        ("data/{from:%Y-%m-%dT%R}.parquet", False),
        ("data/{from:%FT%T}.000Z/", False),
        ("data/{from:%T}/*.csv", True),
        ("data/*/a.csv", False),
        ("data/12:30/{from:%F}.csv", False),
        ("data/{from:%F}/at {from:%R}", False),
        ("data/1:2/*", True),
        ("s3a://lake/{from:%R}.csv", False),
        ("data/{from:%F}T{from:%H%M}.csv", False),
    ],
)
def test_a_glob_through_names_with_a_colon_is_refused(path: str, is_refused: bool) -> None:
    assert [("with a colon" in problem) for problem in path_problems(path)] == [True] * is_refused


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/", "`/` is the whole disk"),
        ("//", "is the whole disk"),
        ("/.", "`/.` is the whole disk"),
        ("/.//data/..", "is the whole disk"),
        (f"data/{'a' * 256}/b", "longer than the 255 bytes"),
        (f"data/{'ä' * 128}", "longer than the 255 bytes"),
        ("data/{from:%Y", "`{from:%Y` is not closed; write `{from:%Y}`"),
        ("data/{to:%Y-%m/a", "`{to:%Y-%m` is not closed"),
        ("data/{from:%Y{to:%m}", "`{from:%Y` is not closed"),
    ],
)
def test_what_is_no_path_on_a_disk_is_refused(path: str, told: str) -> None:
    (problem,) = path_problems(path)
    assert told in problem


def test_an_address_may_have_names_of_any_length() -> None:
    assert list(path_problems(f"s3a://lake/{'a' * 255}")) == []
    assert list(path_problems(f"s3a://lake/{'a' * 256}")) == []


REFUSED = ("[", "]", "\\", "^", "|", "\t", "%20")


@pytest.mark.parametrize("character", [*" !#$%&'()+,-.:;<=>?@_`{}~é日", *REFUSED])
def test_a_store_lies_where_delta_rs_can_name_its_tables_and_nowhere_else(
    tmp_path: Path, character: str
) -> None:
    named = f"{tmp_path}/a{character}b"
    if character in REFUSED:
        with pytest.raises(CorrectTheCall, match="allowed is a path without any of"):
            store_at(named, tmp_path)
        return
    table = f"{store_at(named, tmp_path)}/t"
    for number in (1, 2):
        write_deltalake(table, pa.table({"it": [number]}), mode="append")
    assert DeltaTable(table).to_pyarrow_table().num_rows == 2
    assert [it.name for it in tmp_path.iterdir()] == [f"a{character}b"]


def test_a_store_told_as_a_uri_of_a_file_is_the_folder_that_it_names(tmp_path: Path) -> None:
    folder = tmp_path / "my store, 100%"
    assert store_at(folder.as_uri(), tmp_path) == str(folder)


@pytest.mark.parametrize("named", ["foo://data/store", "http://host/store", "memory:/store"])
def test_a_store_that_spark_and_delta_rs_cannot_both_reach_is_refused(tmp_path: Path, named: str) -> None:
    with pytest.raises(CorrectTheCall, match=r"allowed is a folder, or a URI of abfs, .+, s3, s3a"):
        store_at(named, tmp_path)
    assert store_at("s3a://data/store/", tmp_path) == "s3a://data/store"


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("s3://", "found nothing behind `s3:`; wanted"),
        ("s3:/", "found nothing behind `s3:`; wanted"),
        ("~nobody_is_called_so/x", "Could not determine home directory; allowed is a folder"),
        ("a" * 300, "File name too long; allowed is a folder"),
    ],
)
def test_a_store_that_cannot_be_looked_for_is_told_with_why(tmp_path: Path, named: str, told: str) -> None:
    with pytest.raises(CorrectTheCall) as refused:
        store_at(named, tmp_path)
    assert told in str(refused.value)


def test_a_password_in_an_address_that_is_no_store_is_not_told(tmp_path: Path) -> None:
    with pytest.raises(CorrectTheCall, match="allowed is a folder") as told:
        store_at("s3n://AKIA:hunter2@data/store", tmp_path)
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize("below", ["", "/in/it"])
def test_a_file_is_no_store(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("rows")
    with pytest.raises(CorrectTheCall, match=f"{tmp_path}/file is a file; allowed is a folder, new or old"):
        store_at(f"file{below}", tmp_path)


@pytest.mark.parametrize(
    ("path", "start", "end"),
    [
        ("{from:%Y-%m-%d}.csv", "2013-01-15", "2013-01-17"),
        ("{from:%F}/{from:%-H}.csv", "2013-01-15T05:00:00", "2013-01-16T04:00:00"),
        ("{from:%G}/{from:%V}-{from:%u}", "2013-01-15", "2013-01-17"),
    ],
)
def test_a_path_with_a_date_tells_what_its_files_are_of(path: str, start: str, end: str) -> None:
    assert span_of(path, batch("2013-01-15T05:30:00", "2013-01-16T03:10:00")) == batch(start, end)


@pytest.mark.parametrize("path", ["rows.csv", "{from:%H}.csv", "{from:%Y-%m}.csv", "{from:%F}-{to:%F}.csv"])
def test_a_path_without_a_whole_date_tells_nothing_of_its_files(path: str) -> None:
    assert span_of(path, batch("2013-01-15", "2013-01-16")) is None
