"""The DAG that keeps the tables of all pipelines in a folder small: one task a spec."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path

from airflow.sdk import DAG, task

from pipelines.errors import CorrectTheSpec
from pipelines.orchestration.choosing import store_of
from pipelines.orchestration.group import beside_caller
from pipelines.spec import find_modules_beside, load
from pipelines.spec.yaml import MOST_BYTES, read_yaml

PROOF = frozenset({"aggregates", "windows"})
"""What only a spec has."""
PROOF_AS_TEXT = re.compile(rb"^(?:aggregates|windows)[ \t]*:", re.MULTILINE)

log = logging.getLogger(__name__)


def upkeep_dag(
    folder: str | Path = ".",
    *,
    store: str | None = None,
    schedule: object = "@daily",
    **dag_kwargs: object,
) -> DAG:
    """A DAG named `upkeep`: what `sash maintain` does, for every spec of a folder beside the DAG file.

    The specs are looked for when it runs, and batches may run meanwhile. `store` as in `windowed_dag`;
    everything else is handed to Airflow's `DAG`.
    """
    settings: dict[str, object] = {"dag_id": "upkeep", "tags": ["sash"], "catchup": False}
    with DAG(**{**settings, "max_active_runs": 1, "schedule": schedule, **dag_kwargs}) as dag:
        specs = task(find_specs)(str(beside_caller(folder)))

        def maintained(spec: str) -> dict[str, int]:
            """What `sash maintain` does for a spec."""
            # Not by an argument, which Airflow shows: the store's address may have a password.
            return maintain(spec, store)

        task(task_id="maintain", map_index_template="{{ spec }}")(maintained).expand(spec=specs)
    return dag


def find_specs(folder: str) -> list[str]:
    """The specs of a folder, also such as have mistakes; other YAML files are let be."""
    files = [path for path in Path(folder).glob("*.y*ml") if path.is_file()]
    return sorted(str(path) for path in files if _may_be_spec(path))


def _may_be_spec(path: Path) -> bool:
    try:
        document = read_yaml(path).value
        found = isinstance(document, Mapping) and not PROOF.isdisjoint(document)
    except CorrectTheSpec:
        # It has anchors, tags or several documents, as no spec may, or is a spec with a mistake.
        try:
            with path.open("rb") as file:
                found = PROOF_AS_TEXT.search(file.read(MOST_BYTES)) is not None
        except OSError as error:
            log.warning("%s cannot be read, and is left out: %s", path, error)
            return False
    if not found:
        log.info("%s has none of %s: it is no spec", path, ", ".join(sorted(PROOF)))
    return found


def maintain(spec: str, store: str | None) -> dict[str, int]:
    """Keep one pipeline's tables small; returns how many files each has."""
    from pipelines.stages.site import folder_of
    from pipelines.store.upkeep import maintain_table, tables_of, why_states_stay

    pipeline = load(Path(spec))
    find_modules_beside(pipeline)
    tables = folder_of(store_of(pipeline, store), pipeline)
    kept = [maintain_table(tables, table, pipeline=pipeline) for table in tables_of(tables)]
    for one in kept:
        log.info("%s: %d files, now %d; %d rows let go", one.table, one.before, one.after, one.let_go)
    if kept and (why := why_states_stay(tables, pipeline=pipeline)):
        log.warning("%s", why)
    if not kept:
        log.warning("%s has no tables in the store that this DAG is given: no batch has run there", spec)
    return {one.table: one.after for one in kept}
