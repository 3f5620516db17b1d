"""The `source` and `sources` sections, with the times that `time` sets for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.spec.fields import Fields, Problems, kind_of
from pipelines.spec.model import EventId, Source
from pipelines.spec.paths import path_problems
from pipelines.spec.secret_values import hide
from pipelines.spec.yaml import Located, as_key

TEXT_FORMATS = ("csv", "json")
OF_FILES = ("avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml")
WITHOUT_PATH = ("kafka", "jdbc")
NO_LIMIT = ("never", "none")
FLAGS = ("true", "false")
NAMED = "allowed is a mapping of names to sources"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTimes:
    """What the `time` section says of sources that do not say it themselves."""

    max_disorder_us: int
    idle_after_us: int | None
    max_ahead_us: int | None


def read_sources(document: Fields, times: SourceTimes, *, problems: Problems) -> tuple[Source, ...]:
    """The sources: `source` alone is named `main`; those of `sources` override it key by key."""
    common = document.take("source")
    several = document.take("sources")
    if several is None and "sources" in document:
        document.refuse(document.items["sources"], f"found nothing; {NAMED}", name="sources")
    if several is None:
        if common is None:
            document.refuse(None, "`source` is missing; it is required")
            return ()
        return _listed(_read(Fields(common, "source", problems=problems), "main", times=times))
    named = several.value if isinstance(several.value, Mapping) else {}
    if not named:
        document.refuse(several, f"found {kind_of(several)}; {NAMED}", name="sources")
    shared = common.value if common is not None and isinstance(common.value, Mapping) else {}
    if common is not None and not isinstance(common.value, Mapping):
        document.refuse(common, f"found {kind_of(common)}; allowed is a mapping", name="source")
    found: list[Source] = []
    for name, located in named.items():
        own = located.value if isinstance(located.value, Mapping) else {}
        if located.value is not None and not isinstance(located.value, Mapping):
            found_here = f"found {kind_of(located)}; allowed is a mapping"
            document.refuse(located, found_here, name=f"sources.{name}")
        whole = Located({**shared, **own}, located.line)
        fields = Fields(whole, f"sources.{name}", problems=problems, inherited=shared)
        found.extend(_listed(_read(fields, name, times=times)))
    return tuple(found)


def _read(fields: Fields, name: str, *, times: SourceTimes) -> Source | None:
    before = len(fields.problems)
    # Spark knows its formats in any case, but classes by their names.
    format_ = fields.text("format", required=True) or ""
    format_ = format_ if "." in format_ else format_.lower()
    path = _path(fields, format_)
    schema = fields.text("schema")
    if schema is None and format_ in TEXT_FORMATS:
        fields.refuse(
            None,
            f"`schema` is missing; format {format_} needs one, in Spark DDL like `origin STRING, at "
            "TIMESTAMP`",
        )
    options, select = _options(fields), _select(fields)
    event_time = fields.sql("event_time", required=True) or ""
    # Whatever else is wrong, its columns can be told.
    is_understood = len(fields.problems) == before
    source = Source(
        name=name,
        format=format_,
        path=path,
        options=options,
        schema=schema,
        select=select,
        where=fields.sql("where"),
        event_time=event_time,
        arrival_time=fields.sql("arrival_time"),
        event_id=_event_id(fields),
        substream=fields.sql("substream"),
        max_disorder_us=_either(fields.duration("max_disorder"), times.max_disorder_us) or 0,
        idle_after_us=limit_of(fields, "idle_after", common=times.idle_after_us),
        max_ahead_us=limit_of(fields, "max_ahead", common=times.max_ahead_us),
    )
    fields.close()
    return source if is_understood else None


def _path(fields: Fields, format_: str) -> str | None:
    """A path for what is read from files, none for what is not; its places for time have a known format."""
    path, located = fields.text("path"), fields.items.get("path")
    is_told = located is not None and located.value is not None
    if path is None and not is_told and format_ in OF_FILES:
        fields.refuse(None, f"`path` is missing; format {format_} needs one")
    if path is not None and format_ in WITHOUT_PATH:
        fields.refuse(
            located,
            f"found `{hide(path, ())}`; allowed is none: {format_} is told by options where to read",
            name="path",
        )
    for problem in path_problems(path or ""):
        fields.refuse(located, problem, name="path")
    return path


def _options(fields: Fields) -> tuple[tuple[str, str], ...]:
    asked = fields.items.get("options")
    if asked is not None and isinstance(asked.value, str):
        # Not told: it may be a password after a colon that was forgotten.
        fields.refuse(fields.take("options"), "found a text; allowed is a mapping", name="options")
        return ()
    options = []
    for name, located in fields.within("options").items.items():
        if isinstance(located.value, Mapping | tuple) or located.value is None:
            allowed = "allowed is a text, a number or true or false"
            fields.refuse(located, f"found {kind_of(located)}; {allowed}", name=f"options.{as_key(name)}")
            continue
        if isinstance(located.value, bool) and located.written.lower() not in FLAGS:
            taken = f"found `{located.written}`, which YAML takes for {str(located.value).lower()}"
            allowed = "allowed is true or false, or a text in quotes"
            fields.refuse(located, f"{taken}; {allowed}", name=f"options.{as_key(name)}")
            continue
        is_flag = isinstance(located.value, bool)
        options.append((name, located.written.lower() if is_flag else located.written))
    return tuple(options)


def _select(fields: Fields) -> tuple[tuple[str, str], ...]:
    selected = fields.within("select")
    return tuple(
        (name, sql) for name in selected.items if (sql := selected.sql(name, required=True)) is not None
    )


def _event_id(fields: Fields) -> EventId | None:
    if fields.take("event_id") is None:
        return None
    given = fields.within("event_id")
    of, within_us = given.texts("of"), given.duration("within", calendar=True)
    if not of:
        given.refuse(None, "`of` is missing; allowed is a list of columns")
    elif len({name.lower() for name in of}) < len(of):
        given.refuse(given.items["of"], "found a column twice; allowed is each once", name="of")
    given.close()
    return EventId(of=of, within_us=within_us) if of else None


def limit_of(fields: Fields, name: str, *, common: int | None = None) -> int | None:
    """A length that may be without a limit: one of the words for that takes back what is said in common."""
    located = fields.items.get(name)
    if located is not None and located.value in NO_LIMIT:
        fields.take(name)
        return None
    return _either(fields.duration(name), common)


def _either(own: int | None, common: int | None) -> int | None:
    return common if own is None else own


def _listed(source: Source | None) -> tuple[Source, ...]:
    return () if source is None else (source,)
