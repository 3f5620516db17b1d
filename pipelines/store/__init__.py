"""The only room that knows Delta: tables, repeatable writes, and the ledger.

In come data frames and what they replace, out come tables. Promised: every write can be done again with
the same result, an attempt that was taken over writes nothing more, and there is one unfinished batch at
most.
"""
