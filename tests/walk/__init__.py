"""The whole walk over a real store, held against the oracle.

In comes a case (pipeline, rows, batches), out come the tables that Sash made of it, read without Spark.
Promised: rows are compared whole and exactly, table by table.
"""

from tests.walk.stand import Stand, same_tables

__all__ = ["Stand", "same_tables"]
