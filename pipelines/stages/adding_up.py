"""The law that `windows` is what `panes` add up to, held over what a run has just published.

Asked of delta-rs, so that it takes milliseconds: for each window of the run's panes, as many events have
to stand in `windows` as its last pane tells of, under its index, none after a retract, and in discarding
mode as many as all its panes together; and nothing may stand there for the run that no pane of it tells of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pipelines.checks import CheckRow
from pipelines.errors import RunAgain
from pipelines.stages.site import Work
from pipelines.stages.told import is_this, of_run
from pipelines.store import small
from pipelines.store.instants import in_microseconds
from pipelines.store.reader import ask
from pipelines.store.sql import NONE, not_after, not_before, text

LAW = "panes_add_up_to_windows"
BOUNDS = ("window", "window_start", "window_end")
DAY_US = 86_400_000_000


class Firsts(NamedTuple):
    """How many panes of a run are the first of their window, of which nothing can stand, and from the first
    day to the last on which such windows begin; no panes, if the run told of others too. `told`: how many
    panes there are of any sort.
    """

    panes: int
    days: int
    told: int


def first_panes(work: Work) -> Firsts:
    """Whether all that the run told is new, and how much it is."""
    others = "count(*) FILTER (WHERE NOT (kind = 'insert' AND is_first))"
    starts = "min(window_start) AS first, max(window_start) AS last"
    sql = f"SELECT count(*) AS told, {others} AS others, {starts} FROM panes WHERE {of_run(work)}"
    (found,) = in_microseconds(ask(work.tables.root, ("panes",), sql=sql)).to_pylist()
    if found["others"] or not found["told"]:
        return Firsts(panes=0, days=0, told=found["told"])
    days = 1 if found["first"] is None else 1 + found["last"] // DAY_US - found["first"] // DAY_US
    return Firsts(panes=found["told"], days=days, told=found["told"])


def hold_to_panes(work: Work, *, all_first: bool = False) -> None:
    """Write into `checks` how many windows differ from their panes. Raises `RunAgain` if any does.

    `all_first`: no window has two panes of the run, which are not put in order then.
    """
    names = [name.replace('"', '""') for name in (*work.pipeline.key, *BOUNDS)]
    key = ", ".join(f'"{name}"' for name in names)
    told, differing = _compared(work, key, all_first=all_first)
    found = f"{differing:,} of {told:,} windows differ"
    row = CheckRow(
        stage="panes",
        expectation=LAW,
        column=None,
        on_failure="stop",
        success=differing == 0,
        observed=found,
        unexpected_count=differing,
    )
    batch = {"batch_start": work.batch.start_us, "batch_end": work.batch.end_us}
    small.put(
        work.tables,
        "checks",
        rows=[{**row._asdict(), **batch, "revision": work.run.revision}],
        where=f"{of_run(work)} AND expectation = '{LAW}'",
        fence=work.run.fence(f"checks/{LAW}"),
    )
    if differing:
        raise RunAgain(
            f"table `windows`: {found} from what the panes of batch {work.batch} add up to. Something else "
            "has changed the table meanwhile: run the batch again, which puts them right; if it says so "
            "again, compute all anew, with --rebuild"
        )


def _compared(work: Work, key: str, *, all_first: bool) -> tuple[int, int]:
    """How many windows the run has published, and how many of them are not as they should be."""
    place = f"row_number() OVER (PARTITION BY {key} ORDER BY pane_index DESC, kind)"
    last = f"""
        SELECT {key}, kind, event_count, pane_index FROM (
            SELECT *, {1 if all_first else place} AS _place
            FROM panes WHERE {of_run(work)} AND {_is_one_of(_looked_at(work))})
        WHERE _place = 1"""
    told, near, stands = _where_they_stand(work, last)
    is_summed = _is_one_of(_discarding(work))
    differing = ask(
        work.tables.root,
        ("panes", "windows"),
        sql=f"""
        SELECT count(*) AS differing FROM (
            SELECT {key} FROM (
                SELECT {key}, 1 AS _told, 0 AS _is_mine, 0 AS _found,
                    CASE WHEN kind = 'insert' AND NOT {is_summed} THEN event_count ELSE 0 END AS _wanted,
                    CASE WHEN kind = 'insert' THEN pane_index ELSE 0 END AS _index
                FROM ({last})
                UNION ALL
                SELECT {key}, 0, 0, 0, CASE WHEN kind = 'insert' THEN event_count ELSE -event_count END, 0
                FROM panes WHERE {is_summed} AND {near}
                UNION ALL
                SELECT {key}, 0, CASE WHEN {is_this(work.run)} THEN 1 ELSE 0 END, event_count, 0, -pane_index
                FROM windows WHERE {_is_one_of(_looked_at(work))} AND {stands})
            GROUP BY {key}
            HAVING CASE WHEN max(_told) = 1 THEN sum(_wanted) <> sum(_found) OR sum(_index) <> 0
                ELSE max(_is_mine) = 1 END)""",
    )
    return told, int(differing["differing"][0].as_py())


def _where_they_stand(work: Work, last: str) -> tuple[int, str, str]:
    """How many windows the last panes are of, and predicates: when those are, and which rows tell of them.

    Both keep the rows that are read few.
    """
    bounds = ask(
        work.tables.root,
        ("panes",),
        sql=f"""
        SELECT count(*) AS told, count(*) FILTER (WHERE kind = 'retract') AS retracted,
            count(*) FILTER (WHERE window_start IS NULL) AS unbounded,
            min(window_start) AS first_start, max(window_start) AS last_start FROM ({last})""",
    )
    said = in_microseconds(bounds).to_pylist()[0]
    near = "window_start IS NULL" if said["unbounded"] else NONE
    if said["first_start"] is not None:
        start_us, last_us = int(said["first_start"]), int(said["last_start"])
        reach = f"{not_before('window_start', start_us)} AND {not_after('window_start', last_us)}"
        near = f"({near} OR ({reach}))"
    # What was retracted stands under an older batch, if it does; all else under this one.
    mine = is_this(work.run)
    stands = f"({near} OR ({mine}))" if said["retracted"] else mine
    return int(said["told"]), near, stands


def _looked_at(work: Work) -> list[str]:
    """All windows; but panes do not add up where the mode may have been another one before."""
    was_respelled = work.was_respelled
    return [it.name for it in work.pipeline.windows if not was_respelled or it.panes.mode != "discarding"]


def _discarding(work: Work) -> list[str]:
    return [it.name for it in work.pipeline.windows if it.panes.mode == "discarding"]


def _is_one_of(names: Sequence[str]) -> str:
    # DataFusion takes no empty list.
    return f'("window" IN ({", ".join(text(name) for name in ["", *names])}))'
