"""What the set-up installs is locked whole, and what it needs of a machine is said in plain words."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LOCKED = re.compile(
    r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n?)+)", re.M
)


def locked_versions() -> dict[str, str]:
    return {name: version for name, version, _ in LOCKED.findall((ROOT / "requirements.txt").read_text())}


def wanted() -> dict[str, str | None]:
    """The direct requirements, each with its pin if it has one."""
    texts = [(ROOT / name).read_text() for name in ("requirements.in", "requirements-dev.in")]
    lines = [line for text in texts for line in text.splitlines()]
    named = [
        re.fullmatch(r"([A-Za-z0-9-]+)(?:\[[a-z,]+\])?(?:==(\S+))?", line)
        for line in lines
        if line[:1] not in ("", "#")
    ]
    return {found[1].lower(): found[2] for found in named if found}


def test_every_requirement_is_locked_with_its_hashes() -> None:
    lines = [
        line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith(" ")
    ]
    assert len(lines) == len(locked_versions()) > 100


def test_every_direct_requirement_is_in_the_lock_as_it_was_pinned() -> None:
    versions = locked_versions()
    assert len(wanted()) > 20
    for name, pin in wanted().items():
        assert name in versions, f"run `make lock`: {name}"
        assert pin is None or versions[name].startswith(pin.removesuffix("*")), f"run `make lock`: {name}"


def test_spark_and_its_client_are_one_version() -> None:
    # Both own the same folder.
    assert locked_versions()["pyspark"] == locked_versions()["pyspark-client"]


def test_the_jars_are_there_as_locked_and_of_the_version_of_delta() -> None:
    rows = [
        line.split() for line in (ROOT / "jars.lock").read_text().splitlines() if not line.startswith("#")
    ]
    for digest, name in rows:
        jar = Path(sys.prefix, "jars", name)
        assert hashlib.sha256(jar.read_bytes()).hexdigest() == digest
        assert name.endswith(f"-{locked_versions()['delta-spark']}.jar")
    assert len(rows) == 2


@pytest.mark.parametrize("java_home", [None, "/nowhere"])
def test_without_java_the_set_up_says_what_to_install(java_home: str | None) -> None:
    environment = {"PATH": "/nowhere"} if java_home is None else {**os.environ, "JAVA_HOME": java_home}
    command = [sys.executable, str(ROOT / "tools" / "set_up.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Install a Java 17 runtime" in done.stdout
    assert (java_home or "PATH") in done.stdout


def test_every_target_says_what_it_is_for() -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert [line.split()[1] for line in done.stdout.splitlines()] == targets
