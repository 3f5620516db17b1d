"""The tables as they now are, read by delta-rs: without Spark and without a JVM.

Rows come newest first. What is asked for with `where` is a predicate over one row and nothing else, since
DataFusion, which answers it, could also write files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

import pyarrow as pa
from arro3.core import RecordBatchReader
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError
from deltalake.schema import PrimitiveType

from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval
from pipelines.store.instants import in_microseconds
from pipelines.store.ledger_rows import OPENING, LedgerRow
from pipelines.store.remembered import rows_of

FLAGS = ("final", "replace", "ignore_lateness")
"""What may be asked of a run beside its batch, and is so or not."""
IN_ORDER = ('"run started"', "pane_index", "batch_start", "revision", "kind DESC")
"""The order of the panes of a window: as their runs came, for a session that is gone is taken back with the
index of what came, and one that came back begins anew."""
KEY = "the key"
"""Stands for the columns of the key, in whatever order."""

NEWEST_FIRST: Mapping[str, tuple[str, ...]] = {
    "partial_frames": ("frame_start DESC", "batch_start DESC", "source"),
    "frames": ("frame_start DESC",),
    "watermarks": ("batch_start DESC", "source NULLS FIRST", "substream"),
    "partial_sessions": ("window_start DESC", "batch_start DESC", "source"),
    "sessions": ("window_start DESC", "window"),
    "panes": ("window_start DESC", "window_end DESC", "window", KEY, *IN_ORDER),
    "windows": ("window_start DESC", "window"),
    "event_ids": ("batch_start DESC", "source"),
    "late_events": ("batch_start DESC", "source"),
    "quarantine": ("batch_start DESC", "source"),
    "checks": ("batch_start DESC", "revision DESC", "stage", "expectation"),
    "runs": ("batch_start DESC", "revision DESC"),
}
"""Every table that there is, and the order in which its rows come.

The newest first, but the panes of a window tell its story from its beginning.
"""

WITH_RUNS = """ LEFT JOIN (
    SELECT batch_start AS "run start", batch_end AS "run end", revision AS "run revision",
        started_at AS "run started" FROM runs
) ON batch_start = "run start" AND batch_end = "run end" AND revision = "run revision" """
"""Beside each pane, when its run started; no column of a user's is called so."""

PARTITION = "day"
EXACT_NAMES = "SET datafusion.sql_parser.enable_ident_normalization = false"
TOKEN = re.compile(r"(?i:(?<!\w)(?:[bnqrx]|e|br|rb|nq|u&)')|'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|--|/\*|\w+|\S")
REFUSED = (";", "--", "/*", "'", '"', "`", "$", "select")
"""What a predicate has no use for; a quotation mark that stands alone was not closed. In `E'…'` and its like,
and between dollars, a text ends elsewhere.
"""
QUERIES = ("from", "table", "values", "with")
"""Words by which a query begins, behind a bracket."""


def left_over(store: str, pipeline_name: str) -> list[str]:
    """The tables that have rows, but for the ledger: where it has none, a rebuild was cut off, or somebody is
    at one.
    """
    tables = NEWEST_FIRST.keys() - {"runs"}
    paths = {table: table_path(store, pipeline_name, table=table) for table in tables}
    there = {table: DeltaTable(path) for table, path in paths.items() if DeltaTable.is_deltatable(path)}
    return sorted(table for table, opened in there.items() if opened.file_uris())


def has_ledger(store: str, pipeline_name: str) -> bool:
    """Whether there is a ledger, be it an empty one."""
    return DeltaTable.is_deltatable(table_path(store, pipeline_name, table="runs"))


def table_path(store: str, pipeline: str, *, table: str) -> str:
    """Where a table lies: `<store>/<pipeline>/<table>`, as delta-rs writes it."""
    return _address(f"{store.rstrip('/')}/{pipeline}/{table}")


def read_ledger(store: str, pipeline_name: str) -> list[LedgerRow]:
    """All rows of the ledger; none when nothing has run yet."""
    try:
        return rows_of(DeltaTable(table_path(store, pipeline_name, table="runs")))
    except TableNotFoundError:
        return []


def replay_of(what: str) -> str:
    """What an attempt notes that replays such rows."""
    return f"replays_{what}"


def wishes_of(store: str, pipeline_name: str, *, batch: Interval, revision: int) -> Mapping[str, int]:
    """What the newest attempt at a batch was asked for beside it: flags as 1, and `watermark_us`."""
    try:
        attempts = DeltaTable(table_path(store, pipeline_name, table="attempts"))
    except TableNotFoundError:
        return {}
    noted = _answer({"rows": attempts}, f"SELECT * FROM rows WHERE what = 'noted' AND stage = '{OPENING}'")
    rows = in_microseconds(noted).to_pylist(maps_as_pydicts="strict")
    of_run = [
        row
        for row in rows
        if (Interval(row["batch_start"], row["batch_end"]), row["revision"]) == (batch, revision)
    ]
    newest = max(of_run, key=lambda row: (row["attempt"], row["at"]), default=None)
    return {} if newest is None else newest["counts"] or {}


def read_table(
    store: str, pipeline_name: str, *, table: str, where: str | None = None, limit: int | None = None
) -> pa.Table:
    """The newest rows of a table that `where`, a SQL predicate, is true of; the partition column is left out.

    Raises `CorrectTheCall` for a table that there is not, or not yet, and for a predicate that has no answer.
    """
    opened = _open(store, pipeline_name, table=table)
    tables = {"rows": opened}
    if table == "panes":
        tables["runs"] = _open(store, pipeline_name, table="runs")
    shown = [field for field in opened.schema().fields if field.name != PARTITION]
    # Rows that are equally new come in the order of all else, so that the same question has the same answer.
    others = [quoted(field.name) for field in shown if isinstance(field.type, PrimitiveType)]
    key = others[: others.index('"window"')] if KEY in NEWEST_FIRST[table] else []
    chosen = [name for names in NEWEST_FIRST[table] for name in (key if names == KEY else [names])]
    order = ", ".join([*chosen, *others])
    columns = ", ".join(quoted(field.name) for field in shown)
    some = "" if limit is None else f" LIMIT {limit}"
    rest = f"{WITH_RUNS if table == 'panes' else ''} ORDER BY {order}{some}"
    return _matching(tables, f"SELECT {columns}", where=where, rest=rest)


def rows_by_batch(store: str, pipeline_name: str, *, table: str) -> dict[Interval, int]:
    """How many rows of a table each batch has; a batch without is not among them."""
    counted = _answer(
        {"rows": _open(store, pipeline_name, table=table)},
        'SELECT batch_start, batch_end, count(*) AS "rows" FROM rows GROUP BY batch_start, batch_end',
    )
    return {
        Interval(row["batch_start"], row["batch_end"]): row["rows"]
        for row in in_microseconds(counted).to_pylist()
    }


def ledger_changed(store: str, pipeline_name: str) -> datetime | None:
    """When the ledger was last written; `None` where there is none."""
    try:
        runs = DeltaTable(table_path(store, pipeline_name, table="runs"))
    except TableNotFoundError:
        return None
    # Of a table that is written meanwhile more commits are told.
    last_ms = max(commit["timestamp"] for commit in runs.history(limit=1))
    return datetime.fromtimestamp(last_ms / 1000, UTC)


def count_rows(store: str, pipeline_name: str, *, table: str, where: str | None = None) -> int:
    """How many rows of a table `where` is true of."""
    tables = {"rows": _open(store, pipeline_name, table=table)}
    counted = _matching(tables, 'SELECT count(*) AS "rows"', where=where, rest="")
    return int(counted["rows"][0].as_py())


FAR = r"(?:0\d{3}|1[0-5]\d\d|16[0-7]\d|226[2-9]|22[7-9]\d|2[3-9]\d\d|[3-9]\d{3})"
"""Years that no count of nanoseconds in 64 bits reaches, which is what a literal is taken for."""
REST = r"-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z?)?"
INSTANTS = re.compile(rf"(?<!DATE )('{FAR}{REST}')")
IS_FAR = re.compile(rf"'{FAR}-\d\d-\d\d")
ANY_INSTANT = re.compile(rf"(?:\b(?:DATE|TIMESTAMP)\s*)?('\d{{4}}{REST}')", re.I)
IN_MICROSECONDS = r"""arrow_cast(\1, 'Timestamp(Microsecond, Some("UTC"))')"""


def ask(
    root: str, tables: Sequence[str], *, sql: str, versions: Mapping[str, int | None] | None = None
) -> pa.Table:
    """The answer to a question about the tables below `<store>/<pipeline>` as they now are, or were at these
    versions.

    Instants in it are written as `Instant` writes them, from the first to the last that there is.
    """
    return pa.table(stream(root, tables, sql=sql, versions=versions).read_all())


def stream(
    root: str, tables: Sequence[str], *, sql: str, versions: Mapping[str, int | None] | None = None
) -> RecordBatchReader:
    """The same, some rows after the others."""
    at = versions or {}
    opened = {table: DeltaTable(_address(f"{root}/{table}"), version=at.get(table)) for table in tables}
    return _asked(opened, INSTANTS.sub(IN_MICROSECONDS, sql))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _address(path: str) -> str:
    return path.replace("s3a://", "s3://", 1)


def _open(store: str, pipeline_name: str, *, table: str) -> DeltaTable:
    if table not in NEWEST_FIRST:
        raise CorrectTheCall(f"there is no table `{table}`; there are {', '.join(NEWEST_FIRST)}")
    path = table_path(store, pipeline_name, table=table)
    try:
        return DeltaTable(path)
    except TableNotFoundError as error:
        first = "first batch under a spec with `event_id`" if table == "event_ids" else "first batch"
        raise CorrectTheCall(
            f"there is no table `{table}` of pipeline `{pipeline_name}` yet: nothing is at {path}. The "
            f"{first} makes it: run one, with `sash run`, or name the store that has it, with --store"
        ) from error


def _matching(tables: Mapping[str, DeltaTable], select: str, *, where: str | None, rest: str) -> pa.Table:
    if where is None:
        return _answer(tables, f"{select} FROM rows{rest}")
    _refuse_more_than_a_predicate(where)

    def answer(predicate: str) -> pa.Table:
        return _answer(tables, f"{select} FROM (SELECT * FROM rows WHERE ({predicate})){rest}")

    try:
        try:
            return answer(where)
        except Exception:
            # What looks like a far instant may be a text or a date; if it is one, there is no answer so far.
            # Near ones beside it, as in BETWEEN, would have it taken for nanoseconds too.
            if IS_FAR.search(where) is None:
                raise
            return answer(ANY_INSTANT.sub(IN_MICROSECONDS, where))
    except Exception as error:  # delta-rs raises nothing finer where a row cannot be worked out
        names = ", ".join(field.name for field in tables["rows"].schema().fields)
        raise CorrectTheCall(
            f"--where `{where}`: {_cause(error)}. Wanted is a SQL predicate like `event_count "
            f"> 10 AND window_start >= '2013-01-31'`; the columns are {names}"
        ) from error


def _answer(tables: Mapping[str, DeltaTable], sql: str) -> pa.Table:
    return pa.table(_asked(tables, sql).read_all())


def _asked(tables: Mapping[str, DeltaTable], sql: str) -> RecordBatchReader:
    builder = QueryBuilder()
    for name, opened in tables.items():
        builder = builder.register(name, opened)
    builder.execute(EXACT_NAMES).read_all()
    return builder.execute(sql)


def _cause(error: Exception) -> str:
    """The first line of what is at the bottom of an error that DataFusion has wrapped."""
    return str(error).split("caused by\n")[-1].splitlines()[0]


def _refuse_more_than_a_predicate(where: str) -> None:
    depth, refused, before = 0, None, ""
    for token, after in pairwise([*TOKEN.findall(where), ""]):
        depth += (token == "(") - (token == ")")
        # A column of that name has an operator after it.
        begins = before == "(" and token.lower() in QUERIES and (after[:1] in "(\"'" or after.isidentifier())
        if token.lower() in REFUSED or begins or depth < 0 or (token[-1] == "'" != token[0]):
            refused = token
            break
        before = token
    if refused is None and depth > 0:
        refused = "("
    if refused is not None or not where.strip():
        found = f"`{refused}`" if refused else "nothing"
        raise CorrectTheCall(
            f"--where `{where}`: found {found} where it has no place; wanted is one SQL predicate over the "
            "columns of a row, with its quotation marks and brackets closed, and no subquery"
        )
