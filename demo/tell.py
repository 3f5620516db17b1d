"""What the demo has made: the ledger, some windows, what the checks found, a picture, and where it all is.

Everything is read from the tables, without Spark, as anyone can.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from pathlib import Path

import pandas as pd
from tabulate import tabulate

from demo.line import say
from demo.place import DAG, DATA_DOCS, LOGS, PICTURE, ROOT, SPEC, STORE, TASK_LOGS, VARIABLES
from demo.plot import draw
from pipelines.store.reader import read_table

WEEK = "origin = 'EWR' AND window_start >= '2013-02-05' AND window_end <= '2013-02-12'"


def tell_all() -> None:
    """The whole page."""
    runs, panes = rows_of("runs"), rows_of("panes")
    tell("The ledger, one row a batch", ledger(runs))
    tell(
        "A window of which some flights landed after it was due: published ON_TIME, then LATE",
        corrected(panes),
    )
    tell("The busiest hours of the year", busiest(rows_of("windows", "window = 'hourly' AND flights >= 37")))
    tell("What is wrong with the flights, all batches together", findings(rows_of("checks")))
    draw(
        rows_of("windows", WEEK),
        PICTURE,
        title="Newark in the week of the blizzard",
        told=f"Windows of {DAG} with origin EWR, February 5 to 11, 2013. Days and hours are UTC.",
    )
    say(places())


def rows_of(table: str, where: str | None = None) -> pd.DataFrame:
    """Rows of a table of the demo."""
    rows: pd.DataFrame = read_table(str(STORE), DAG, table=table, where=where).to_pandas()
    return rows


def tell(title: str, rows: pd.DataFrame) -> None:
    """A table under its title: instants to the minute, one digit after the point."""
    shown = rows.copy()
    for name in rows.select_dtypes("datetimetz"):
        shown[name] = rows[name].dt.strftime("%Y-%m-%d %H:%M")
    lines = tabulate(shown.to_dict("list"), headers="keys", intfmt=",", floatfmt=".1f")
    say(f"\n{title}\n\n{textwrap.indent(lines, '  ')}")


def ledger(runs: pd.DataFrame) -> pd.DataFrame:
    """What was read and decided."""
    columns = ["batch_start", "batch_end", "status", "ingested", "accepted", "late", "quarantined", "panes"]
    return runs.sort_values("batch_start")[[*columns, "watermark_after"]]


def corrected(panes: pd.DataFrame) -> pd.DataFrame:
    """All panes of the first window that was published again."""
    again = panes[panes["pane_index"] == 1].sort_values(["window_start", "window", "origin"])
    one = ["origin", "window", "window_start"]
    found = panes.merge(again.head(1)[one], on=one).sort_values("pane_index")
    return found[[*one, "timing", "pane_index", "flights", "mean_delay", "worst_delay", "batch_start"]]


def busiest(hours: pd.DataFrame) -> pd.DataFrame:
    """Some windows, as they stand."""
    columns = [
        "origin",
        "window_start",
        "window_end",
        "flights",
        "delayed",
        "mean_delay",
        "worst_delay",
        "miles",
    ]
    return hours.sort_values("window_start")[columns]


def findings(checks: pd.DataFrame) -> pd.DataFrame:
    """Which rules were broken, by how many rows, and what became of these."""
    broken = read_table(str(STORE), DAG, table="quarantine")["rules"].to_pylist()
    quarantined = Counter(rule for rules in broken for rule in rules)
    warned = checks[(checks["on_failure"] == "warn") & (checks["unexpected_count"] > 0)]
    rules = warned["expectation"] + ": " + warned["column"]
    counts = warned.groupby(rules)["unexpected_count"].sum().sort_values(ascending=False)
    found = [(rule, rows, "quarantined") for rule, rows in quarantined.most_common()]
    found += [(str(rule), int(rows), "warned of") for rule, rows in counts.items()]
    return pd.DataFrame(found, columns=["rule", "rows that broke it", "they were"])


def places() -> str:
    """Where to look, and how to go on."""
    lines = [
        ("Picture", short(PICTURE)),
        ("Tables", f"{short(STORE / DAG)}, in Delta: windows, panes, frames, runs, quarantine, checks, …"),
        ("Data Docs", short(DATA_DOCS)),
        ("Logs", f"{short(TASK_LOGS)} of the tasks, {short(LOGS)} of Airflow and Spark"),
    ]
    once_more = '--conf \'{"from": "2013-01-08", "to": "2013-01-15"}\''
    return f"""
{tabulate(lines, tablefmt="plain")}

All columns of the newest windows:

  .venv/bin/sash show {short(SPEC)} windows --store {short(STORE)} --limit 20

Airflow's own page, at http://localhost:8080 until Ctrl-C; and, from another terminal, a week once more, which
finds the same data and changes nothing:

  source {short(VARIABLES)} && airflow standalone
  source {short(VARIABLES)} && airflow dags trigger {DAG} {once_more}
"""


def short(path: Path) -> Path:
    return path.relative_to(ROOT)
