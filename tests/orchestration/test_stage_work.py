"""What a task does before its session is open: whatever it logs from then on has no secret in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow.sdk.log import redact

from pipelines.orchestration import stage_work
from pipelines.orchestration.batches import Chosen
from pipelines.spec import load
from tests.orchestration.conftest import SPEC

ADDRESS = "sc://spark:15002/;token=token-of-the-server"
CHOSEN: Chosen = {
    "from": "2024-01-01",
    "to": "2024-01-02",
    **dict.fromkeys(("watermark", "final", "replace", "ignore_lateness")),
}
SECRETS = ("open-sesame", "word-in-the-address", "token-of-the-server")


class NotReached(Exception):
    """The server is not there."""


def test_before_a_session_is_opened_airflow_is_told_what_it_has_to_mask(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "{password: open-sesame, url: 'jdbc:postgresql://me:word-in-the-address@db/visits'}"
    spec.write_text(SPEC.replace("event_time: seen", f"event_time: seen, options: {options}"))

    def refuses(address: str) -> None:
        raise NotReached(address)

    monkeypatch.setattr(stage_work, "open_session", refuses)
    said = f"cannot reach {ADDRESS} with {' and '.join(SECRETS)}"
    assert redact(said) == said, "it was masked before"
    with pytest.raises(NotReached), stage_work.at_work(load(spec), CHOSEN, store="s", address=ADDRESS):
        pass
    assert redact(said) == "cannot reach sc://spark:15002/;token=*** with *** and *** and ***"
