"""What to compute: frozen values, read from YAML and held against each other. No Spark here.

In comes a spec file, out goes a pipeline. Promised: what is not understood is refused, with all problems
in one message, each with its line, what was found and what is allowed; and a pipeline that was read is
consistent in itself.
"""

from pipelines.spec.changes import (
    Changes,
    changes_between,
    has_ids,
    have_other_triggers,
    have_other_windows,
    known_as,
    latenesses_of,
    sources_of,
    windows_of,
    without_reading,
)
from pipelines.spec.check import frame_us, warnings
from pipelines.spec.coarser import coarser_us
from pipelines.spec.durations import parse_duration, parse_instant, show_duration
from pipelines.spec.fingerprint import state_fingerprint
from pipelines.spec.model import (
    Aggregate,
    Cumulate,
    Custom,
    EachBatch,
    EventId,
    Every,
    Global,
    Mode,
    Panes,
    PerElement,
    Pipeline,
    Retention,
    Rows,
    Schedule,
    Session,
    Shape,
    Sliding,
    Source,
    Trigger,
    Unaligned,
    Window,
)
from pipelines.spec.modules import find_modules_beside
from pipelines.spec.parse import load, understood
from pipelines.spec.paths import (
    expand_paths,
    glob_of,
    is_uri,
    refuse_too_many_paths,
    shares_files,
    span_of,
    store_at,
)
from pipelines.spec.secret_values import hide, secrets_in, secrets_of

__all__ = [
    "Aggregate",
    "Changes",
    "Cumulate",
    "Custom",
    "EachBatch",
    "EventId",
    "Every",
    "Global",
    "Mode",
    "Panes",
    "PerElement",
    "Pipeline",
    "Retention",
    "Rows",
    "Schedule",
    "Session",
    "Shape",
    "Sliding",
    "Source",
    "Trigger",
    "Unaligned",
    "Window",
    "changes_between",
    "coarser_us",
    "expand_paths",
    "find_modules_beside",
    "frame_us",
    "glob_of",
    "has_ids",
    "have_other_triggers",
    "have_other_windows",
    "hide",
    "is_uri",
    "known_as",
    "latenesses_of",
    "load",
    "parse_duration",
    "parse_instant",
    "refuse_too_many_paths",
    "secrets_in",
    "secrets_of",
    "shares_files",
    "show_duration",
    "sources_of",
    "span_of",
    "state_fingerprint",
    "store_at",
    "understood",
    "warnings",
    "windows_of",
    "without_reading",
]
