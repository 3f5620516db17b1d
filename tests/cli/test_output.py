"""Where nobody reads the outputs any more, or there is none: what writes tables goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COUNTS = """
import sys, time
from pipelines.cli.output import output_of
with output_of(['{command}']):
    for number in range(5):
        print(number, flush=True)
        print('said', number, file=sys.stderr)
        time.sleep(0.1)
sys.exit(number)
"""


def called(command: str, *, shell: str) -> subprocess.CompletedProcess[str]:
    line = f'set -o pipefail; "{sys.executable}" -c "$1" {shell}'
    words = ["bash", "-c", line, "-", COUNTS.format(command=command)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["run", "stage", "replay"])
@pytest.mark.parametrize("shell", ["| head -1", ">&-", "2>&1 | head -1", ">&- 2>&-", ">/dev/full 2>&1"])
def test_what_writes_goes_on(command: str, shell: str):
    assert called(command, shell=shell).returncode == 4


@pytest.mark.parametrize("command", ["run", "explain"])
def test_what_a_terminal_has_no_character_for_is_escaped(command: str):
    program = (
        "from pipelines.cli.output import output_of\n"
        f"with output_of(['{command}']): print('prefix–suffix, naïve')"
    )
    abroad = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=abroad)
    assert done.stdout.decode("latin-1") == "prefix\\u2013suffix, naïve\n"


def test_what_a_machine_reads_is_not_escaped():
    program = (
        "import sys\nfrom pipelines.cli.output import output_of\n"
        "with output_of(['show', '--format', 'csv']): print('prefix–suffix')"
    )
    abroad = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, env=abroad)
    assert done.returncode == 1 and b"UnicodeEncodeError" in done.stderr


def test_what_only_tells_ends():
    done = called("show", shell="| head -1")
    assert (done.stdout, done.returncode) == ("0\n", 1) and "BrokenPipeError" in done.stderr
