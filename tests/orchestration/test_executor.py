"""Our executor's processes repeat what tasks say, with stars for what these have said is a secret."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SAYS = """\
from airflow.sdk._shared.logging.structlog import reconfigure_logger
from airflow.sdk.execution_time.comms import MaskSecret
from airflow.sdk.execution_time.request_handlers import handle_mask_secret
from airflow.sdk.execution_time.supervisor import log
from structlog.processors import CallsiteParameterAdder

from pipelines.orchestration.executor import mask_output

mask_output()
handle_mask_secret(MaskSecret(value="open-sesame"))
as_the_supervisor = reconfigure_logger(log, CallsiteParameterAdder)
as_the_supervisor.error("no open-sesame", error_detail=[{"exc_value": "nor open-sesame", "frames": []}])
"""


def test_what_a_task_says_is_repeated_with_stars_for_its_secrets(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-c", SAYS],
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "no ***" in said and "nor ***" in said
    assert "open-sesame" not in said
