"""What upkeep has let go, and of which sessions that leaves parts only.

It lets sessions and their partial sessions go up to where the first session begins that is still needed. So
one that begins there or later is whole, and one that began before may have lost partial sessions.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Frames and sessions that end at `until_us` or before are not sure to be there any more.

    Of sessions have gone those that end at `sessions_us` or before; `None`: none have. `newest_us` is where
    the newest batch ended when they went: what later ones brought is not of them.
    """

    until_us: int
    sessions_us: int | None = None
    newest_us: int | None = None

    def further(self, other: Gone) -> Gone:
        """What has gone where both have."""
        until_us = max(self.until_us, other.until_us)
        mine, others = [(it.sessions_us is not None, it.sessions_us or 0) for it in (self, other)]
        reaching = self if mine >= others else other
        return Gone(until_us=until_us, sessions_us=reaching.sessions_us, newest_us=reaching.newest_us)

    def leaves_whole(self, start_us: Column, end_us: Column) -> Column:
        """Whether no part of a session between two instants has gone."""
        if self.sessions_us is None:
            return F.lit(True)
        return (start_us >= F.lit(self.sessions_us)) | (end_us > F.lit(self.until_us))
