"""A month of days, a file each, and the DAGs that fill it in, `forwards` and `backwards`, from one spec."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.system.serving import DAG_FILE

SPEC = """\
source:
  format: csv
  path: "data/{from:%Y-%m-%d}.csv"
  schema: "page STRING, seen TIMESTAMP, arrived TIMESTAMP, seconds BIGINT"
  event_time: seen
  arrival_time: arrived
schedule: {start: 2024-01-01}
key: [page]
aggregates: {visits: count, seconds: {sum: seconds}}
windows: {daily: {tumbling: 1 day}, rolling: {sliding: 3 days, step: 1 day}}
"""
# Its runs look more often whether they may begin: a batch takes seconds here.
DAG = """\
windowed_dag("{name}.yml", spark_conn_id="always", end_date=datetime(2024, 1, {last}))
dag.get_task("choose_batch").max_wait = timedelta(seconds=10)
"""
#         day n-1        day n                              each day's file is what arrived on it, whatever
#              23:30     06:00     23:00                    page has it; `b` is of the day before
#  a                     n         1
#  b           n
#  c                               100, on the third, and 7 that arrive on the 25th: late, forwards
LAST = 31
EARLY_DAY, LATE_DAY = 3, 25
"""When `c` is seen, and when it arrives once more."""


def day(number: int) -> datetime:
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number - 1)


def write_day(folder: Path, number: int, *, more: int = 0) -> None:
    """The file of a day; its first visit of `a` lasts `more` seconds longer."""
    this, before = (f"{day(it):%Y-%m-%d}" for it in (number, number - 1))
    rows = [
        f"b,{before} 23:30,{this} 00:10,{number}",
        f"a,{this} 06:00,{this} 06:00,{number + more}",
        *([f"c,{this} 12:00,{this} 12:00,100"] if number == EARLY_DAY else []),
        *([f"c,{day(EARLY_DAY):%Y-%m-%d} 12:00,{this} 12:00,7"] if number == LATE_DAY else []),
        f"a,{this} 23:00,{this} 23:00,1",
    ]
    (folder / "data" / f"{this}.csv").write_text("".join(f"{row}\n" for row in rows))


def lay_out(folder: Path) -> None:
    for name in ("dags", "data"):
        (folder / name).mkdir()
    for number in range(1, LAST + 1):
        write_day(folder, number)
    for name in ("forwards", "backwards"):
        (folder / "dags" / f"{name}.yml").write_text(f"name: {name}\n{SPEC}")
        (folder / "dags" / f"{name}.py").write_text(DAG_FILE + DAG.format(name=name, last=LAST))
    (folder / "dags" / "upkeep.py").write_text(DAG_FILE + "upkeep_dag(schedule=None)\n")


def dates(first: int, last: int) -> tuple[str, str]:
    return f"{day(first):%Y-%m-%d}", f"{day(last):%Y-%m-%d}"
