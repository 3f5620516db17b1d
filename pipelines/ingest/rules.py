"""A rule about single rows, as two conditions over one event.

Neither condition is ever null, and only a row that counts can be unexpected.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRule:
    """What a row rule asks of an event.

    `counted` tells whether the rule looks at the row at all, `unexpected` whether the row then breaks it. A
    rule that `quarantines` takes such a row out of the batch, under the rule's `name`.
    """

    name: str
    counted: Column
    unexpected: Column
    quarantines: bool
