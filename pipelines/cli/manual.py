"""What the help pages say: of each command its purpose, examples and exit codes.

A page is text and nothing else, so that `--help` comes at once.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The help of one command."""

    summary: str
    description: str
    examples: str

    @property
    def epilog(self) -> str:
        return f"examples:{self.examples}\n{EXIT_CODES}"


EXIT_CODES = """exit codes:
  0  done
  1  something else went wrong; running again may help
  2  the spec or the call is wrong
  3  a check stopped the run
  4  the pipeline is busy, or the batch conflicts with one that has run"""

ENVIRONMENT = f"""Relative paths in a spec begin at the pipeline's home: SASH_HOME, or else the parent of
the spec's folder. SASH_STORE and the default store, var/store, begin there too, so that a
command and the DAG agree wherever they are started; --store begins at the working
directory, as paths in a shell do. SASH_SPARK names the Spark to use, SASH_MEMORY the
memory of a local one.

{EXIT_CODES}"""

VALIDATE = Page(
    summary="checks a spec, its expectations and, where there is data, its expressions",
    description="""Checks a spec and its expectations, and tells all problems at once. Where a source can be
read, its columns and every expression over them are checked too. No row is read and
nothing is written.""",
    examples="""
  sash validate dags/airport_traffic.yml
""",
)
EXPLAIN = Page(
    summary="tells what a spec will do: frames, parts, windows, time, tasks",
    description="""Tells what a spec will do, without data and without Spark: how long frames are and why,
which parts each aggregate keeps, how windows are put together, when they are due and
closed, and the tasks.""",
    examples="""
  sash explain dags/airport_traffic.yml
""",
)
RUN = Page(
    summary="runs a batch, or several, through all stages",
    description="""Runs batches through all stages. No Airflow is needed.

A batch is every row that arrived in [from, to). Instants are ISO 8601, like 2013-01-01
or 2013-01-01T06:30; without a zone they are UTC.

Without --from and --to the next batch is run: the one after the newest, as long as
`time: batch` says in the spec; or the newest again, if it failed or a check stopped it.
A batch that has run can be run again: with the same data nothing changes, with other
data it is a restatement.""",
    examples="""
  sash run dags/airport_traffic.yml
  sash run dags/airport_traffic.yml --from 2013-01-01 --to 2013-01-08
  sash run dags/airport_traffic.yml --from 2013-01-01 --to 2013-02-01 --every 7d
  sash run dags/airport_traffic.yml --from 2013-12-31 --to 2014-01-02 --final --yes
""",
)
STAGE = Page(
    summary="runs one stage of a batch, as one Airflow task does",
    description="""Runs one stage of a batch, as one Airflow task does: accumulate, combine, finalise,
publish, in this order. A stage can be run again at any time; then the batch is unfinished, and
others wait, until `publish` has run or `sash abandon` has given it up. Without --source all sources
are accumulated, one after the other. With --rebuild, `accumulate` empties all tables first.

A batch is every row that arrived in [from, to). Instants are ISO 8601, like 2013-01-01
or 2013-01-01T06:30; without a zone they are UTC.""",
    examples="""
  sash stage dags/airport_traffic.yml accumulate --from 2013-01-01 --to 2013-01-08
  sash stage dags/airport_traffic.yml combine --from 2013-01-01 --to 2013-01-08
  sash stage dags/airport_traffic.yml accumulate --source jfk --from 2013-01-01 --to 2013-01-08
""",
)
STATUS = Page(
    summary="tells where a pipeline stands: batches, watermarks, counts, what to do",
    description="""Tells where a pipeline stands: its newest batches, how many rows had which fate, its
watermark and those of its substreams with how far they are behind, and what to do about
an unfinished batch.""",
    examples="""
  sash status dags/airport_traffic.yml
""",
)
SHOW = Page(
    summary="prints the newest rows of a table",
    description="""Prints rows of a table, newest first: 20 of them where --format is table, all in csv and
json, or as many as --limit says. Instants are UTC. In csv a null is empty; json is one
object a line.

The tables are windows (what holds now), panes (all that was published), runs (the
ledger), frames, partial_frames, sessions, partial_sessions, watermarks, late_events,
quarantine, checks and, with event_id, event_ids. The panes of a window come in the order in
which they were published.

--where is a SQL predicate over the columns of a row: names are written exactly as they
are, text and instants in single quotes.""",
    examples="""
  sash show dags/airport_traffic.yml windows --limit 5
  sash show dags/airport_traffic.yml windows --where "origin = 'JFK' AND window = 'hourly'"
  sash show dags/airport_traffic.yml panes --where "window_start >= '2013-01-31'" --format csv
  sash show dags/airport_traffic.yml checks --where 'NOT success'
""",
)

PLAN = Page(
    summary="tells what a run would do, and touches nothing",
    description="""Tells what a run of a batch would read, compute, replace and publish, and whether a check
would stop it, which is no failure of the plan: that ends with 0. It is found out by running the
batch on clones of the tables, which costs what the run costs and is what it does; only into
how many files it writes may differ. The flags are those of `sash run`; with --every each batch
is told after those before it, and with --replay those that `sash replay` would run. Of a run
with --rebuild, which empties the tables first, it tells what comes then.
json is one object for each batch, on a line of its own.""",
    examples="""
  sash plan dags/airport_traffic.yml --from 2013-01-08 --to 2013-01-15
  sash plan dags/airport_traffic.yml --from 2013-01-08 --to 2013-01-15 --format json
  sash plan dags/airport_traffic.yml --replay late
""",
)
ABANDON = Page(
    summary="gives an unfinished batch up, and undoes what it wrote",
    description="""Gives up the batch that is unfinished: running, stopped by a check, or failed. The
tables become what they were before it began, and other batches may run again. Whoever is
still at work for it can write nothing any more. In the ledger it is abandoned, until it
is run again.""",
    examples="""
  sash abandon dags/airport_traffic.yml --from 2013-01-08 --to 2013-01-15
""",
)
REPLAY = Page(
    summary="takes in late events, or sends quarantined rows through again",
    description="""Runs batches again: those that have late events, judging none of their events late, or
those that have quarantined rows, once the spec, the expectations or the files are right, and
those in which such a row arrives now that its time is mended.
Each is a restatement: only windows that change are published again. Cut off in the middle
and said again, it goes on with the batch that it was at.

--from and --to leave out batches that are not inside.""",
    examples="""
  sash replay dags/airport_traffic.yml late
  sash replay dags/airport_traffic.yml quarantine --from 2013-01-01 --to 2013-02-01
""",
)
FOLLOW = Page(
    summary="runs micro-batches as time goes on, in one session",
    description="""Runs a batch every so often, in one session: each takes what has arrived since the batch
before it, up to now. A row whose arrival time is before that and that can be read only
afterwards is in no batch that follows: --behind says how long that may take. Where somebody runs
another batch it ends, or waits, with --wait. Ctrl-C ends it after the batch that it is at (once
more: at once), and so does SIGTERM. The newest batch, if it failed or its process was killed, is run again at
the next start, which takes over what still runs it.

The first batch begins where the newest one ended, else at --from, else at the spec's
`schedule: {start: …}`, else now.""",
    examples="""
  sash follow dags/airport_traffic.yml --every 10s
  sash follow dags/airport_traffic.yml --every 1min --behind 20s --wait --from 2024-03-01
""",
)
MAINTAIN = Page(
    summary="keeps the tables small: compaction, old files, retention",
    description="""Puts small files of each table together, deletes files that no version of the last week
needs (none while a batch is unfinished), and lets go what `retention` in the spec says: frames
and sessions that have long closed, ids further back than `within`, and the raw rows of late
events. It may run beside a batch, and at any time again.""",
    examples="""
  sash maintain dags/airport_traffic.yml
""",
)

COMMANDS = {
    "validate": VALIDATE,
    "explain": EXPLAIN,
    "run": RUN,
    "stage": STAGE,
    "plan": PLAN,
    "abandon": ABANDON,
    "replay": REPLAY,
    "follow": FOLLOW,
    "maintain": MAINTAIN,
    "status": STATUS,
    "show": SHOW,
}
