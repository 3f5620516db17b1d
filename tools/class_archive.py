"""Java's classes as Spark uses them, made ready once: `class_archive.py FILE`. Runs in `.venv`.

A JVM that finds them loaded and checked starts a third faster (docs/performance.md). They are those that a
Spark Connect server has loaded after two small batches with checks, windows and sessions.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.session import connect_server_command, connect_server_environment

SPEC = """
name: warm_up
source: {format: parquet, path: rows, event_time: at, arrival_time: arrived}
key: [sensor]
aggregates: {readings: {count: "*"}, total: {sum: value}, least: {min: value}, mean: {avg: value}}
windows:
  minutes: {tumbling: 1 minute, allowed_lateness: 1 hour}
  sliding: {sliding: 10 minutes, step: 1 minute, allowed_lateness: 1 hour}
expectations: expectations/warm_up.yml
"""
EXPECTATIONS = """
events:
  - expect_column_values_to_not_be_null: {column: sensor}
    on_failure: quarantine
panes:
  - expect_column_values_to_be_between: {column: readings, min_value: 1}
    on_failure: stop
"""
HOUR_US = 3_600_000_000
READY_SECONDS = 120
TURN_SECONDS = 600


class ArchiveError(Exception):
    """What went wrong, with the end of what was said."""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write(f"class_archive.py: there is FILE; found `{' '.join(arguments)}`\n")
        return 2
    try:
        archive(Path(arguments[0]))
    except ArchiveError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    return 0


def archive(file: Path) -> None:
    """Write the archive, whole or not at all; no session may use an older one while it is made."""
    fresh = file.with_suffix(".new")
    for old in (file, fresh):
        old.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lay_out(folder)
        log = folder / "server.log"
        token, port = secrets.token_urlsafe(32), free_port()
        environment = {
            **connect_server_environment(),
            "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
            "SPARK_SUBMIT_OPTS": f"-XX:ArchiveClassesAtExit={fresh}",
        }
        with log.open("wb") as said:
            server = subprocess.Popen(
                connect_server_command(port), cwd=folder, env=environment, stdout=said, stderr=said
            )
        try:
            await_listening(server, port, log=log)
            run_batches(folder, f"sc://localhost:{port}/;token={token}")
        finally:
            server.terminate()
            server.wait(TURN_SECONDS)
        if not fresh.is_file():
            raise ArchiveError(f"the JVM wrote no archive. It said:\n{end_of(log)}")
    fresh.replace(file)


def lay_out(folder: Path) -> None:
    """A spec, its expectations, and two hours of rows."""
    for path, text in (("dags/warm_up.yml", SPEC), ("expectations/warm_up.yml", EXPECTATIONS)):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(text)
    instants = pa.array(range(0, 2 * HOUR_US, HOUR_US // 30), pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    rows = {
        "sensor": pa.array([None if it % 20 == 0 else it % 3 for it in range(len(instants))], pa.int64()),
        "value": pa.array(range(len(instants)), pa.int64()),
        "at": instants,
        "arrived": instants,
    }
    (folder / "rows").mkdir()
    pq.write_table(pa.table(rows), folder / "rows" / "rows.parquet")


def await_listening(server: subprocess.Popen[bytes], port: int, *, log: Path) -> None:
    until = time.monotonic() + READY_SECONDS
    while server.poll() is None and time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise ArchiveError(f"the Spark server did not come up. It said:\n{end_of(log)}")


def run_batches(folder: Path, address: str) -> None:
    sash = [str(Path(sys.executable).with_name("sash")), "run", "dags/warm_up.yml", "--store", "store"]
    done = subprocess.run(
        [*sash, "--from", "1970-01-01", "--to", "1970-01-01T02:00"],
        cwd=folder,
        env={**os.environ, "SASH_SPARK": address},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TURN_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise ArchiveError(
            f"the batches failed with exit {done.returncode}. They said:\n{done.stdout.decode()[-3000:]}"
        )


def end_of(log: Path) -> str:
    return log.read_text(errors="replace")[-3000:]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
