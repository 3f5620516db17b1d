"""What Sash's answers should be, by plain loops over plain values.

In come a described pipeline and the rows of its input, batch by batch, out go all tables as lists of rows.
Promised: no code of `pipelines` is used here, nothing is clever, and each batch is computed from all events.
"""

from tests.oracle.model import LATEST, Aggregate, Batch, Event, Pipeline, Source, Window
from tests.oracle.walk import Walk

__all__ = ["LATEST", "Aggregate", "Batch", "Event", "Pipeline", "Source", "Walk", "Window"]
