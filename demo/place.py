"""Where the demo keeps what it makes: the feed in `data/flights`, all else in `var/demo`.

A demo begins with an empty `var/demo`, so that it shows the same the second time, or what a changed spec
makes of the flights. It never touches `var/store`, where the reader's own runs write.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DAG = "airport_traffic"
SPEC = ROOT / "dags" / f"{DAG}.yml"
FEED = ROOT / "data" / "flights"
PLACE = ROOT / "var" / "demo"
STORE = PLACE / "store"
AIRFLOW_HOME = PLACE / "airflow"
LOGS = PLACE / "logs"
VARIABLES = PLACE / "variables"
"""For a shell, to work with the demo's Airflow and store by hand."""
TASK_LOGS = AIRFLOW_HOME / "logs"
PICTURE = PLACE / "newark.png"
DATA_DOCS = STORE / DAG / "data_docs" / "index.html"

SETTINGS = """\
# Airflow as the demo runs it. Everything that is not here is as Airflow has it.
[core]
dags_folder = {dags}
executor = pipelines.orchestration.executor.ReadyLocalExecutor
parallelism = 3
load_examples = False
# Else Airflow passes over DAG files without the word airflow, and says nothing.
dag_discovery_safe_mode = False
# Whoever reaches the page may do anything, without a password. Only this machine reaches it.
simple_auth_manager_all_admins = True

[api]
host = 127.0.0.1
secret_key = {key}

[api_auth]
jwt_secret = {secret}

[dag_processor]
refresh_interval = 10
min_file_process_interval = 300
"""


class DemoError(Exception):
    """The demo cannot go on. One paragraph: what, where, found, and what to do."""


@contextmanager
def alone() -> Iterator[None]:
    """One demo at a time in this checkout; one that was killed lets go."""
    PLACE.parent.mkdir(exist_ok=True)
    with PLACE.with_name("demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DemoError(
                f"another demo is running in {ROOT}; let it end, or end it with Ctrl-C"
            ) from error
        yield


def begin_afresh() -> None:
    """An empty place, with Airflow's settings in it. Refused while an Airflow works there."""
    if airflow_is_alive(AIRFLOW_HOME / "airflow.db"):
        raise DemoError(
            f"an Airflow is running in {AIRFLOW_HOME}, where the demo would begin afresh; end it with Ctrl-C "
            "where it was started, wait half a minute, and run `make demo` again"
        )
    if PLACE.exists():
        shutil.rmtree(PLACE)
    for folder in (STORE, AIRFLOW_HOME, LOGS):
        folder.mkdir(parents=True)
    settings = AIRFLOW_HOME / "airflow.cfg"
    settings.touch(mode=0o600)
    settings.write_text(
        SETTINGS.format(dags=SPEC.parent, key=secrets.token_urlsafe(32), secret=secrets.token_urlsafe(48))
    )
    variables = {
        "AIRFLOW_HOME": AIRFLOW_HOME,
        "SASH_STORE": STORE,
        "PATH": f"{Path(sys.executable).parent}:$PATH",
    }
    VARIABLES.write_text("".join(f'export {name}="{value}"\n' for name, value in variables.items()))


def airflow_is_alive(database: Path) -> bool:
    """Whether an Airflow has left a sign of life there in the last half minute."""
    if not database.is_file():
        return False
    heard = (
        "SELECT count(*) FROM job WHERE state = 'running' "
        "AND julianday(latest_heartbeat) > julianday('now') - 30.0 / 86400"
    )
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return bool(connection.execute(heard).fetchone()[0])
    except sqlite3.Error:
        return False


def environment() -> dict[str, str]:
    """What the demo's processes run in: this Python, this store, no settings of another Airflow or Sash."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "SASH_"))}
    here = "localhost,127.0.0.1"
    return {
        **others,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "NO_PROXY": ",".join(filter(None, [os.environ.get("NO_PROXY", ""), here])),
        "no_proxy": ",".join(filter(None, [os.environ.get("no_proxy", ""), here])),
        "AIRFLOW_HOME": str(AIRFLOW_HOME),
        "SASH_HOME": str(ROOT),
        "SASH_STORE": str(STORE),
    }
