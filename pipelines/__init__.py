"""Sash: event-time windowed aggregation in batches, on Spark and Delta, run by Airflow.

The walk, down the page and never up: `ingest` turns raw rows into events with a fate, `accumulate` turns
events into partial frames, `combine` turns partial frames into frames, `finalise` slides along event time
and makes panes, and publishing turns panes into windows. Every interval here is half-open, `[start,
end)`, in whole microseconds of UTC.
"""
