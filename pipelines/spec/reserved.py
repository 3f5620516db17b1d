"""The names that Sash's own columns take in its tables, in lower case: SQL does not tell cases apart."""

from __future__ import annotations

BATCH_COLUMNS = frozenset({"batch_start", "batch_end", "day"})
RESULT_COLUMNS = BATCH_COLUMNS | {
    *("grid", "frame_start", "frame_end", "event_count", "source"),
    *("window", "window_start", "window_end", "kind", "timing", "pane_index"),
    *("is_first", "is_final", "restated", "revision", "closes_at"),
    # Bounds as they are while windows are put together.
    *("start_us", "end_us", "window_start_us", "window_end_us", "group_start_us", "group_end_us"),
    # The newest times of a state, for watermarks.
    *("newest_event_us", "newest_arrival_us"),
}
"""What a key or a result may not be called."""

LATE_EVENT_COLUMNS = BATCH_COLUMNS | {"window", "missed", "kept", "watermark", "source"}
"""What a column that is read may not be called: late events are kept beside these."""

EVENT_ID_COLUMNS = BATCH_COLUMNS | {"arrival_time", "source"}
"""What a column of an `event_id` may not be called: ids are remembered beside these."""

GRIDS = frozenset({"aligned", "arrival"})
"""What `grid` says of frames that windows share: no window may be called so."""

ILLEGAL = " .,;{}()\n\t=`"
"""Characters that a Delta table without column mapping has in no name, and the dot of SQL."""
