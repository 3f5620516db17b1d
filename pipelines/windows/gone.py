"""What upkeep has let go, and of which sessions that leaves parts only."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneSessions:
    """Sessions and partial sessions have gone that end at `before_us` or before, where the first session
    began that was still needed: those that ended after `until_us`.

    `newest_us` is where the newest batch ended then: what later ones brought is not of them.
    """

    before_us: int
    until_us: int
    newest_us: int

    def leave_whole(self, start_us: Column, end_us: Column) -> Column:
        """Whether no part of a session between two instants has gone."""
        return (start_us >= F.lit(self.before_us)) | (end_us > F.lit(self.until_us))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Frames and sessions that end at `until_us` or before are not sure to be there; of `sessions` it is told
    which have gone, if any have.
    """

    until_us: int
    sessions: GoneSessions | None = None

    def further(self, other: Gone) -> Gone:
        """What has gone where both have."""
        reaching = [it for it in (self.sessions, other.sessions) if it is not None]
        return Gone(
            until_us=max(self.until_us, other.until_us),
            sessions=max(reaching, key=lambda it: (it.before_us, it.until_us), default=None),
        )

    def leaves_whole(self, start_us: Column, end_us: Column) -> Column:
        """Whether no part of a session between two instants has gone."""
        return F.lit(True) if self.sessions is None else self.sessions.leave_whole(start_us, end_us)
