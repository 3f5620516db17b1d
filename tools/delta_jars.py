"""Delta's jars by Spark's own resolver: `delta_jars.py fetch FOLDER` by the lock, `delta_jars.py lock` anew.

What lands in the folder has the names and sums of jars.lock, to the byte, or nothing lands. Runs in `.venv`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import pyspark

LOCK = Path(__file__).resolve().parent.parent / "jars.lock"

SPARK_HAS = ("org.*:*", "com.*:*", "commons-*:*", "javax.*:*", "io.airlift:*")
NOT_USED = ("io.delta:delta-kernel-*", "io.unitycatalog:*")
"""A second connector and a catalog: reading, writing, merging and maintaining by path goes without them."""


def main(arguments: list[str]) -> int:
    match arguments:
        case ["fetch", folder]:
            return fetch(Path(folder))
        case ["lock"]:
            return lock()
        case _:
            return complain(f"there are `fetch FOLDER` and `lock`; found `{' '.join(arguments)}`")


def fetch(folder: Path) -> int:
    """Resolves the jars, compares every sum with the lock, and only then puts them in the folder's place."""
    rows = [line.split() for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    wanted = {name: digest for digest, name in rows}
    if folder.is_dir() and sums(folder) == wanted:
        return 0
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="jars-") as scratch:
        resolved = resolve(Path(scratch))
        if sums(resolved) != wanted:
            return complain(f"jars.lock names {wanted}; what was resolved is {sums(resolved)}")
        if folder.exists():
            folder.rename(Path(scratch, "before"))
        resolved.rename(folder)
    return 0


def lock() -> int:
    """Writes jars.lock for the Delta and the Spark that are installed."""
    with tempfile.TemporaryDirectory() as scratch:
        rows = [f"{digest}  {name}\n" for name, digest in sorted(sums(resolve(Path(scratch))).items())]
    LOCK.write_text("".join(["# sha256 sums of Delta's jars; `make lock` writes them.\n", *rows]))
    return 0


def resolve(scratch: Path) -> Path:
    """A folder of jars from Spark's resolver, with nothing taken from or left in the user's own folders."""
    program = scratch / "nothing.py"
    program.touch()
    spark = Path(pyspark.__file__).parent
    command = [str(spark / "bin" / "spark-submit"), "--master", "local[1]", "--packages", coordinate()]
    command += ["--exclude-packages", ",".join(SPARK_HAS + NOT_USED)]
    command += ["--conf", f"spark.jars.ivy={scratch / 'ivy'}", str(program)]
    environment = {**os.environ, "SPARK_HOME": str(spark), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    jars = scratch / "ivy" / "jars"
    if done.returncode != 0 or not jars.is_dir():
        raise SystemExit(f"{done.stdout}{done.stderr}\nSpark could not resolve {coordinate()}.")
    return jars


def coordinate() -> str:
    """Delta's build for this Spark, in the version of its Python package."""
    spark = ".".join(version("pyspark").split(".")[:2])
    return f"io.delta:delta-spark_{spark}_2.13:{version('delta-spark')}"


def sums(folder: Path) -> dict[str, str]:
    return {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.iterdir()}


def complain(problem: str) -> int:
    sys.stderr.write(f"tools/delta_jars.py: {problem}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
