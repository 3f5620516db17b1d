"""Names of pipelines and sources become folders, and are refused where they could be more than that."""

from __future__ import annotations

import json

import pytest

from tests.spec.conftest import Refused

SOURCE = "source: {format: parquet, path: data/rides, event_time: at}"


@pytest.mark.parametrize(
    "name",
    [
        *("../rides", "..", ".", "a/b", "/tmp/rides", "s3://there/rides", "~", "rides\\..\\x", "rides "),
        *("rides;drop", "rides'--", "`rides`", "${HOME}", "%2e%2e", "rides\n", "Rides", "1st"),
    ],
)
def test_a_name_that_becomes_a_folder_is_made_of_letters(name: str, refused: Refused) -> None:
    written = json.dumps(name)
    (pipeline,) = refused(("name: rides", f"name: {written}"))
    assert pipeline.startswith("line 1: ") and "allowed is [a-z][a-z0-9_]*" in pipeline
    (source,) = refused((SOURCE, f"{SOURCE}\nsources: {{{written}: {{path: data}}}}"))
    assert source.startswith("line 3: ") and "allowed is a name of lower-case letters" in source
