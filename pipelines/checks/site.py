"""Where Data Docs lie in a folder: pages, the index over them, and the results that they were made from.

The index is made from the kept results, so none of them may go while its page is to be listed.
"""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Protocol, cast

from pipelines.checks.configurations import Details
from pipelines.checks.importing import imported

LISTED = 200
"""How many runs the index lists."""
KEPT = 1_000
"""Of how many the results and pages are kept: Great Expectations goes through all of them at each gate."""


class Context(Protocol):
    """As much of Great Expectations' context as is used here."""

    stores: dict[str, Store]

    def build_data_docs(self, *, resource_identifiers: list[object]) -> object: ...


class Store(Protocol):
    """A store of suites or of results, by their own identifiers."""

    def set(self, key: object, value: object) -> object: ...


def site_context(folder: Path) -> Context:
    """A context that keeps suites and results in the folder, and writes its pages there."""
    great_expectations = imported()
    from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

    in_memory = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
    config = DataContextConfig(
        store_backend_defaults=in_memory,
        expectations_store_name="expectations",
        validation_results_store_name="results",
        stores={
            **in_memory.stores,
            "expectations": _store("ExpectationsStore", folder / "json" / "expectations"),
            "results": _store("ValidationResultsStore", _results(folder)),
        },
        data_docs_sites={"pages": _site(folder)},
    )
    return cast(Context, great_expectations.get_context(project_config=config, mode="ephemeral"))


def forget_old_results(folder: Path) -> None:
    """Let the oldest results go with their pages, so that with the next there are as many as are kept."""
    # By suite, name of the run, and when it looked.
    looks = sorted(_results(folder).glob("*/*/*"), key=lambda it: it.name)
    for look in looks[: max(0, len(looks) - KEPT + 1)]:
        page = folder / "validations" / look.relative_to(_results(folder))
        for one in (look, page):
            # Others may be at it too, or have looked again under the same name.
            shutil.rmtree(one, ignore_errors=True)
            with suppress(OSError):
                one.parent.rmdir()


def _results(folder: Path) -> Path:
    return folder / "json" / "validations"


def _store(kind: str, folder: Path) -> Details:
    return {"class_name": kind, "store_backend": _files(folder, suffix=".json")}


def _site(folder: Path) -> Details:
    return {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": _files(folder),
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder", "validation_results_limit": LISTED},
        "site_section_builders": {
            # Whatever a pipeline is called, its results are no profiling.
            "validations": {"run_name_filter": {"matches_regex": ".*"}, "validation_results_limit": None},
            "profiling": "None",
        },
    }


def _files(folder: Path, *, suffix: str | None = None) -> Details:
    files: Details = {
        "class_name": "TupleFilesystemStoreBackend",
        # Great Expectations puts values of the environment in the place of what begins with a dollar.
        "base_directory": str(folder.absolute()).replace("$", r"\$"),
        "suppress_store_backend_id": True,
    }
    return files if suffix is None else {**files, "filepath_suffix": suffix}


def file_name(name: str) -> str:
    """A name as a file can have it, on every system."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "run"
