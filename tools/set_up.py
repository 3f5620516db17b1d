"""Builds `.venv` from the locks, with nothing but Python 3.11 and Java 17: `python3.11 tools/set_up.py`.

Each step that is done leaves a mark of what it was done from: a second call finds the marks and does nothing,
and one after an interruption, or after a lock has changed, does what is missing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
MARKS = VENV / "marks"
LOCK = ROOT / "requirements.txt"
PYTHON = VENV / "bin" / "python"
JAVA_VERSIONS = (17, 21)
BUILDERS = ("uv", "setuptools")
"""What installs and builds all the rest; pip puts them in, by their hashes in the lock."""


class SetUpError(Exception):
    """One paragraph: what, where, found, wanted, and what to do."""


def main() -> int:
    """Runs every step that is not done yet."""
    try:
        java = check_machine()
        with LOCK.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            did = [step() for step in (make_environment, install_packages, install_sash, fetch_jars)]
            did.append(archive_classes(java))
    except SetUpError as problem:
        say(f"make setup: {problem}")
        return 1
    except KeyboardInterrupt:
        say("\nmake setup: stopped. The next one goes on from here.")
        return 1
    if any(did):
        say(f"Sash is set up in .venv, on Python {sys.version.split()[0]} and Java {java}.")
    return 0


def check_machine() -> str:
    """Java's version, once Python and Java are found to be ones that Sash runs on."""
    if sys.version_info[:2] != (3, 11):
        raise SetUpError(
            f"Sash runs on Python 3.11, and {sys.executable} is {sys.version.split()[0]}. Install Python "
            "3.11, or name it: make setup PYTHON=/path/to/python3.11"
        )
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home, "bin", "java")) if home else "java")
    version = re.search(r'version "((\d+)[^"]*)"', told_by([java, "-version"])) if java else None
    if version is None or int(version[2]) not in JAVA_VERSIONS:
        found = f"{java} is Java {version[1]}" if version else f"there is none in {home or 'the PATH'}"
        raise SetUpError(
            f"Spark runs on Java 17 (21 does as well), and {found}. Install a Java 17 runtime, put it in the "
            "PATH or in JAVA_HOME, and run `make setup` again."
        )
    return version[1]


def make_environment() -> bool:
    """`.venv` for this Python in this folder, with uv and setuptools; for another Python or folder, anew."""
    wanted = digest(sys.version, str(ROOT), *map(locked, BUILDERS))
    if is_done("environment", wanted):
        return False
    say("Making .venv ...")
    anew = ["--clear"] if (MARKS / "environment").exists() else []
    run([sys.executable, "-m", "venv", *anew, str(VENV)], "python -m venv")
    with tempfile.TemporaryDirectory() as scratch:
        builders = Path(scratch, "builders.txt")
        builders.write_text("".join(map(locked, BUILDERS)))
        pip = [
            str(PYTHON),
            "-m",
            "pip",
            "--disable-pip-version-check",
            "install",
            "--require-hashes",
            "--no-deps",
        ]
        run([*pip, "--only-binary", ":all:", "--requirement", str(builders)], "pip install")
    return mark("environment", wanted)


def install_packages() -> bool:
    """Exactly what the lock names: nothing else stays.

    It is compiled here, for not every process may keep what it compiles.
    """
    wanted = digest(LOCK.read_text(), "compiled")
    if is_done("packages", wanted):
        return False
    count = len(re.findall(r"^\S+==", LOCK.read_text(), re.MULTILINE))
    say(f"Installing the {count} packages of requirements.txt: about a minute, 1.1 GB ...")
    (MARKS / "project").unlink(missing_ok=True)
    run([*uv("sync"), "--compile-bytecode", "--require-hashes", str(LOCK)], "uv pip sync")
    return mark("packages", wanted)


def install_sash() -> bool:
    """The project itself, editable: the `sash` command runs what stands in `pipelines`."""
    wanted = digest((ROOT / "pyproject.toml").read_text(), (ROOT / "requirements.in").read_text())
    if is_done("project", wanted):
        return False
    say("Installing the `sash` command ...")
    run([*uv("install"), "--no-deps", "--editable", str(ROOT)], "uv pip install")
    return mark("project", wanted)


def fetch_jars() -> bool:
    """Delta's jars in `.venv/jars`, whole and as jars.lock has them."""
    wanted = digest((ROOT / "jars.lock").read_text())
    if is_done("jars", wanted):
        return False
    say("Fetching Delta's jars, so that no session needs the network for them ...")
    run([str(PYTHON), str(ROOT / "tools" / "delta_jars.py"), "fetch", str(VENV / "jars")], "delta_jars.py")
    return mark("jars", wanted)


def archive_classes(java: str) -> bool:
    """Java's classes as Spark uses them, in `.venv/classes.jsa`. Sash goes without, but starts slower."""
    texts = [
        (ROOT / name).read_text() for name in ("requirements.txt", "jars.lock", "tools/class_archive.py")
    ]
    wanted = digest(java, *texts)
    if is_done("classes", wanted):
        return False
    say("Teaching Java to start Spark a third faster: a minute and a half ...")
    command = [str(PYTHON), str(ROOT / "tools" / "class_archive.py"), str(VENV / "classes.jsa")]
    try:
        run(command, "class_archive.py")
    except SetUpError as problem:
        say(f"That did not work, and all works without it; `make setup` tries again. {problem}")
        return False
    return mark("classes", wanted)


def locked(package: str) -> str:
    """The lines of the lock that name a package and its hashes."""
    found = re.search(rf"^{package}==.*\n(?:[ \t]+.*\n)*", LOCK.read_text(), re.MULTILINE)
    if found is None:
        raise SetUpError(
            f"requirements.txt names no `{package}`, and the set-up needs it. Add it to requirements-dev.in."
        )
    return found[0]


def uv(command: str) -> list[str]:
    """Without build isolation: what has no wheel is built by the locked setuptools, and fetches nothing."""
    program = [str(VENV / "bin" / "uv"), "--quiet", "pip", command]
    return [*program, "--python", str(PYTHON), "--no-build-isolation"]


def run(command: list[str], name: str) -> None:
    """Runs it with its own output hidden, and shows the end of that where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join(done.stdout.strip().splitlines()[-30:])
        raise SetUpError(
            f"{name} failed with exit {done.returncode}; run `make setup` again. It said:\n{said}"
        )


def told_by(command: list[str]) -> str:
    """All that a short command prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def is_done(step: str, wanted: str) -> bool:
    path = MARKS / step
    return path.is_file() and path.read_text() == wanted


def mark(step: str, wanted: str) -> bool:
    """Says that a step is done; written beside and renamed, so that half a mark is never read."""
    MARKS.mkdir(exist_ok=True)
    fresh = MARKS / f"{step}.new"
    fresh.write_text(wanted)
    fresh.replace(MARKS / step)
    return True


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
