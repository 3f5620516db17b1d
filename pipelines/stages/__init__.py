"""The four stages of a batch: each reads from the store, calls the rooms, and writes to the store.

In comes a site (session, store, pipeline) and a request (a batch and how to run it), out come reports of
what was done. Promised: a stage may be killed at any moment and run again, and the tables end as if
nothing had happened.
"""

from pipelines.stages.running import STAGES, open_batch, run_batch, run_stage
from pipelines.stages.site import Report, Request, Site

__all__ = ["STAGES", "Report", "Request", "Site", "open_batch", "run_batch", "run_stage"]
