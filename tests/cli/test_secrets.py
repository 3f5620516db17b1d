"""What a source keeps secret is in nothing that is kept, written or said, of a run that works or fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet

import pipelines

SECRETS = ("open-sesame", "word-in-the-address")
SPEC = """\
name: rides
source:
  format: jdbc
  options:
    url: "URL;password=word-in-the-address"
    driver: org.apache.derby.iapi.jdbc.AutoloadedDriver
    dbtable: APP.rides
    user: me
    password: open-sesame
  select: {dear: "fare > 5"}
  event_time: at
key: [city]
aggregates: {rides: count, mean_fare: {avg: fare}}
windows: {hourly: {tumbling: 1 hour}}
expectations: dags/suite.yml
"""
SUITE = """\
events:
  - expect_column_values_to_be_between: {column: fare, min_value: 0}
    on_failure: quarantine
  - expect_column_values_to_not_be_null: {column: city}
    on_failure: warn
panes:
  - expect_column_max_to_be_between: {column: mean_fare, max_value: 1}
    on_failure: warn
"""
RUNS = """\
import sys
from pathlib import Path
from pipelines.cli.main import main
from pipelines.session import open_session

spec, url = Path(sys.argv[1]), sys.argv[2]
batch = ["--from", "2024-01-01", "--to", "2024-01-02"]
rides = open_session("local[2]").sql(
    "SELECT * FROM VALUES ('Bern', 1.0D, TIMESTAMP '2024-01-01 07:00:00'), "
    "('Bern', -1.0D, TIMESTAMP '2024-01-01 08:00:00'), (null, 9.0D, TIMESTAMP '2024-01-01 09:00:00') "
    "AS rides(city, fare, at)"
)
rides.write.format("jdbc").options(url=url, dbtable="rides").save()

def sash(*words):
    print("EXIT", words[0], main([words[0], str(spec), *words[1:]]))

works = spec.read_text()
sash("validate")
sash("explain")
sash("plan", *batch)
sash("run", *batch, "--final", "--yes")
sash("status")
for table in ("runs", "checks", "quarantine", "windows"):
    sash("show", table)
sash("maintain")
fails = ("event_time: at", 'where: "1 / (fare - fare) > 0"\\n  event_time: at')
for old, new in (("APP.rides", "APP.walks"), (url, "jdbc:nowhere:db"), fails):
    spec.write_text(works.replace(old, new))
    sash("validate", "--debug")
    sash("run", *batch, "--debug")
    sash("status")
"""


def text_of(path: Path) -> str:
    """What a file says; of one in Parquet, its rows and what it says of itself."""
    if path.suffix == ".parquet":
        whole = parquet.read_table(path)
        return f"{whole.schema.metadata} {whole.to_pylist()}"
    return path.read_bytes().decode(errors="replace")


@pytest.mark.slow
@pytest.mark.spark
def test_a_secret_of_a_source_is_in_no_table_no_page_no_log_and_no_message(tmp_path: Path):
    url = f"jdbc:derby:{tmp_path}/derby;create=true"
    (tmp_path / "dags").mkdir()
    spec = tmp_path / "dags" / "rides.yml"
    spec.write_text(SPEC.replace("URL", url))
    (tmp_path / "dags" / "suite.yml").write_text(SUITE)
    work = tmp_path / "work"
    work.mkdir()
    root = Path(pipelines.__file__).parents[1]
    ended = subprocess.run(
        [sys.executable, "-c", RUNS, str(spec), url],
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    said = ended.stdout + ended.stderr
    codes = [line.split()[1:] for line in ended.stdout.splitlines() if line.startswith("EXIT")]
    assert codes[:10] == [
        [name, "0"] for name in ("validate", "explain", "plan", "run", "status", *["show"] * 4, "maintain")
    ], said
    failed = [code != "0" for name, code in codes[10:] if name == "run"]
    assert failed == [True, True, True], said
    assert "password=***" in said and "Traceback" in said
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".yml"]
    kept = [path for path in kept if tmp_path / "derby" not in path.parents]
    suffixes = {path.suffix for path in kept}
    assert {".parquet", ".json", ".html"} <= suffixes, suffixes
    for secret in SECRETS:
        assert secret not in said
        assert [str(path) for path in kept if secret in text_of(path)] == []
