"""The DAG that keeps tables small: what it does for each spec when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from pipelines.orchestration.upkeep import find_specs, maintain, upkeep_dag
from tests.cli.conftest import Place, day, place

__all__ = ["place"]


def test_it_goes_through_every_spec_of_a_folder(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    assert maintain(str(place.spec), place.store) == {}
    assert f"{place.spec} has no tables in the store that this DAG is given" in caplog.text
    for number in (1, 2, 3):
        place.write_run(day(number), day(number + 1), "published", fingerprint="f")
    dag = upkeep_dag(place.spec.parent, store=place.store)
    assert dag.get_task("maintain").upstream_task_ids == {"find_specs"}
    (place.spec.parent / "dbt_project.yml").write_text("name: other\nmodels: {}\n")
    assert find_specs(str(place.spec.parent)) == [str(place.spec)]
    assert maintain(str(place.spec), place.store) == {"runs": 1}


def test_own_windows_are_found_beside_the_spec(place: Place) -> None:
    own = "class Halves:\n    def assign(self, event):\n        return []\n\n\nHALVES = Halves()\n"
    (place.spec.parent / "windows_for_upkeep.py").write_text(own)
    custom = ("{tumbling: 1 hour}", "{custom: 'windows_for_upkeep:HALVES'}")
    place.write_spec(custom, ("schedule:", "retention: {frames: 1 day}\nschedule:"))
    place.write_run(day(1), day(2), "published", fingerprint="f")
    # What windows reach is asked once something may go.
    DeltaTable(Path(place.store) / "rides" / "runs").update({"watermark_after": "batch_end"})
    assert maintain(str(place.spec), place.store) == {"runs": 1}


def test_a_file_that_cannot_be_read_leaves_the_others_their_upkeep(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    # Permissions stop nobody who is root, as tests may be; nobody may read what is at address 0.
    (place.spec.parent / "unreadable.yml").symlink_to("/proc/self/mem")
    assert find_specs(str(place.spec.parent)) == [str(place.spec)]
    assert "unreadable.yml cannot be read, and is left out" in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        "default: &default {retries: 1}\nmine:\n  <<: *default\n",
        "services:\n  db: {command: !reset null}\n",
        "kind: Service\n---\nkind: Pod\n  windows: 1\n",
        "name: Z\xfcrich\n",
    ],
)
def test_yaml_that_sash_does_not_read_is_let_be(text: str, place: Place) -> None:
    (place.spec.parent / "other.yml").write_bytes(text.encode("latin-1"))
    (place.spec.parent / "folder.yml").mkdir()
    assert find_specs(str(place.spec.parent)) == [str(place.spec)]


@pytest.mark.parametrize(("old", "new"), [("key: [city]", "key: [city"), ("name: rides", "name: &it rides")])
def test_a_spec_that_is_no_yaml_is_still_one(old: str, new: str, place: Place) -> None:
    place.write_spec((old, new))
    assert find_specs(str(place.spec.parent)) == [str(place.spec)]
