"""What a session says to its JVM, as the JVM understands it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from pipelines.session import WARNINGS_ASIDE


def test_what_a_jvm_warns_of_does_not_come_between_the_answers(tmp_path: Path) -> None:
    """One option that is out of date, and one that ends in a report."""
    noisy = [f"-Xloggc:{tmp_path / 'gc.log'}", "-XX:+PrintCodeCache", "-version"]
    plain, aside = (
        subprocess.run(["java", *options, *noisy], capture_output=True, text=True, check=True)
        for options in ((), WARNINGS_ASIDE)
    )
    assert "is deprecated" in plain.stdout and "total_blobs" in plain.stdout
    assert aside.stdout == ""
    assert "is deprecated" in aside.stderr and "total_blobs" in aside.stderr
