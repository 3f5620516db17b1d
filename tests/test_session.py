"""What a session says to its JVM, as the JVM understands it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from pipelines.errors import CorrectTheCall
from pipelines.session import (
    OPTIONS_OF_A_JVM,
    WARNINGS_ASIDE,
    collector,
    connect_server_environment,
    open_session,
)

COLLECTORS = ("UseSerialGC", "UseParallelGC", "UseG1GC", "UseZGC", "UseShenandoahGC")


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


@pytest.mark.spark
def test_nothing_is_put_into_sql_before_it_is_read(spark: SparkSession) -> None:
    """Or it would be another text than the one that was looked at, with what the environment holds."""
    told = "concat('${env:PATH}', '${total}', regexp_replace('ab', '(?<one>a)', '${one}x'))"
    assert spark.range(1).selectExpr(told).collect() == [("${env:PATH}${total}axb",)]


@pytest.mark.system
def test_a_session_starts_in_utc_wherever_it_is_and_without_a_word_of_its_levels(tmp_path: Path) -> None:
    """Also where another Spark is installed; and it leaves no folder where it was started. What Java itself
    says of its modules nobody can keep it from.
    """
    program = (
        "from pipelines.session import open_session; spark = open_session('local[1]'); "
        "print(spark.catalog.currentDatabase()); "
        "print(spark._jvm.java.util.TimeZone.getDefault().getID())"
    )
    abroad = {**os.environ, "TZ": "America/New_York", "SPARK_HOME": str(tmp_path / "another")}
    here = tmp_path / "here"
    here.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=abroad, cwd=here
    )
    assert [line for line in done.stderr.splitlines() if "incubator modules" not in line] == []
    assert done.stdout.split() == ["default", "UTC"]
    assert list(here.iterdir()) == []


def test_a_server_that_the_environment_names_is_not_left_out_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://elsewhere/;token=secret")
    with pytest.raises(CorrectTheCall, match=r"SPARK_REMOTE, .* at local\[2\]: unset it") as refused:
        open_session("local[2]")
    assert "secret" not in str(refused.value)


def test_a_server_of_ones_own_is_the_spark_that_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/another")
    assert connect_server_environment()["SPARK_HOME"] == str(Path(pyspark.__file__).parent)


@pytest.mark.parametrize("variable", OPTIONS_OF_A_JVM)
@pytest.mark.parametrize("named", ["", "-Xmx1g", "-Xmx1g -XX:+UseSerialGC", "-XX:+UseG1GC"])
def test_a_jvm_starts_with_one_collector_whichever_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, named: str
) -> None:
    for name in OPTIONS_OF_A_JVM:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, named)
    options = [*named.split(), *collector()]
    shown = subprocess.run(
        ["java", *options, "-XX:+PrintFlagsFinal", "-version"], capture_output=True, text=True, check=True
    )
    used = {collector for collector in COLLECTORS if re.search(rf"\b{collector} += true", shown.stdout)}
    assert used == {named.split("+")[1] if "GC" in named else "UseParallelGC"}
