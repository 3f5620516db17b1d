"""A small process that is the parent of one Spark Connect server: `spark_server.py FOLDER PORT
IDLE_SECONDS COMMAND…`.

The server never outlives it, nor it the server. It ends when it is told to (SIGTERM), when the server
dies, and when no client has been connected for so long. It imports neither Airflow nor Spark, so it is up
in a tenth of a second; `FOLDER/server.json` tells about it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import psutil  # type: ignore[import-untyped]  # it ships no types

RECORD = "server.json"
LOG = "server.log"
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
"""The variable by which Spark takes the secret that its clients have to know: other users of this machine
do not.
"""
LOOK_SECONDS = 0.2
LOOK_SECONDS_WHEN_READY = 2.0
GRACE_SECONDS = 10.0


def main(arguments: list[str]) -> int:
    """Run the command until there is a reason to end it; returns the command's exit code, or 0 when it
    was ended.
    """
    folder, port, idle_seconds, *command = arguments
    signal.signal(signal.SIGTERM, _told_to_end)
    record(Path(folder), port=int(port), is_ready=False)
    server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL)
    try:
        return watch(server, Path(folder), port=int(port), idle_seconds=float(idle_seconds))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end(server)


def watch(server: subprocess.Popen[bytes], folder: Path, *, port: int, idle_seconds: float) -> int:
    """Look at the server again and again, until it is dead (its exit code) or has been idle for too long
    (0).
    """
    is_ready = False
    last_used = time.monotonic()
    while server.poll() is None:
        states = connections(server.pid, port)
        if not is_ready and psutil.CONN_LISTEN in states:
            is_ready = True
            record(folder, port=port, is_ready=True)
        if psutil.CONN_ESTABLISHED in states:
            last_used = time.monotonic()
        if time.monotonic() - last_used > idle_seconds:
            say(f"no client for {idle_seconds:g} seconds: the server ends")
            return 0
        time.sleep(LOOK_SECONDS_WHEN_READY if is_ready else LOOK_SECONDS)
    say(f"the server has ended with exit {server.returncode}")
    return server.returncode


def connections(pid: int, port: int) -> set[str]:
    """The states of the process's own sockets at that port: one that another process holds is not among
    them.
    """
    try:
        return {
            it.status
            for it in psutil.Process(pid).net_connections("tcp")
            if it.laddr and it.laddr.port == port
        }
    except psutil.Error:
        return set()


def record(folder: Path, *, port: int, is_ready: bool) -> None:
    """Tell the others: written beside and renamed, so that nobody reads half of it."""
    me = psutil.Process()
    values = {
        "pid": me.pid,
        "began": me.create_time(),
        "port": port,
        "token": os.environ[TOKEN],
        "is_ready": is_ready,
    }
    fresh = folder / f"{RECORD}.new"
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(values))
    fresh.replace(folder / RECORD)


def end(server: subprocess.Popen[bytes]) -> None:
    """End the server: kindly, then not."""
    if server.poll() is None:
        server.terminate()
        try:
            server.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def say(line: str) -> None:
    sys.stderr.write(f"spark_server {os.getpid()}: {line}\n")
    sys.stderr.flush()


def _told_to_end(_signal: int, _frame: FrameType | None) -> None:
    say("told to end")
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
