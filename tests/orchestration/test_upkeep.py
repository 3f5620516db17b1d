"""The DAG that keeps tables small: what it does for each spec when it runs."""

from __future__ import annotations

from pipelines.orchestration.upkeep import find_specs, maintain, upkeep_dag
from tests.cli.conftest import Place, day, place

__all__ = ["place"]


def test_it_goes_through_every_spec_of_a_folder(place: Place) -> None:
    for number in (1, 2, 3):
        place.write_run(day(number), day(number + 1), "published", fingerprint="f")
    dag = upkeep_dag(place.spec.parent, store=place.store)
    assert dag.get_task("maintain").upstream_task_ids == {"find_specs"}
    (place.spec.parent / "dbt_project.yml").write_text("name: other\nmodels: {}\n")
    assert find_specs(str(place.spec.parent)) == [str(place.spec)]
    assert maintain(str(place.spec), place.store) == {"runs": 1}
