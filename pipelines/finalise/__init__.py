"""Frames → window states along event time → panes.

In come the frames that cover the windows concerned, and what was last published of these; out go the
panes of the batch. Promised: a window is ON_TIME once, at the batch whose watermark passes its end; a
closed one changes only by a restatement; and the same frames give the same panes.
"""

from pipelines.finalise.concern import Concern, concern_of
from pipelines.finalise.news import CAME, counts_news, frame_news, session_news
from pipelines.finalise.panes import panes
from pipelines.finalise.publication import Publication, Reached
from pipelines.finalise.reshaped import as_brought, as_if_taken_back, taken_back
from pipelines.finalise.results import RESULT_BOUNDS, finished, last_published, with_values
from pipelines.finalise.retractions import Present, retracted_sessions
from pipelines.finalise.sessions import kept_sessions, session_states, with_cut_anew, with_remade
from pipelines.finalise.windows import CORRECTED, CUT, all_of, window_states

__all__ = [
    "CAME",
    "CORRECTED",
    "CUT",
    "RESULT_BOUNDS",
    "Concern",
    "Present",
    "Publication",
    "Reached",
    "all_of",
    "as_brought",
    "as_if_taken_back",
    "concern_of",
    "counts_news",
    "finished",
    "frame_news",
    "kept_sessions",
    "last_published",
    "panes",
    "retracted_sessions",
    "session_news",
    "session_states",
    "taken_back",
    "window_states",
    "with_cut_anew",
    "with_remade",
    "with_values",
]
