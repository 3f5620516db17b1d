"""The fence that keeps an attempt which was taken over from writing.

Every write stands in a lane and carries its attempt's number. Delta keeps the highest number of each lane
with the table.
"""

from __future__ import annotations

from dataclasses import dataclass

BY_SOURCE = ("partial_frames", "partial_sessions", "late_events", "quarantine", "event_ids", "watermarks")
"""The tables in which each source has a lane of its own."""


def lane_of(table: str, source: str) -> str:
    """The lane of a source in such a table."""
    return f"{table}/{source}"


@dataclass(frozen=True, slots=True)
class Fence:
    """A lane of writes and the number of the attempt that writes in it. `is_first`: no attempt before it can
    have written there, or be writing still.
    """

    lane: str
    attempt: int
    is_first: bool = False

    def of_older(self) -> Fence:
        """What shuts all attempts before this one out of the lane, and leaves it open to this one."""
        return Fence(lane=self.lane, attempt=self.attempt - 1)

    def options(self) -> dict[str, str]:
        """Options of a Spark writer: it skips a write whose number is not above the lane's."""
        return {"txnAppId": self.lane, "txnVersion": str(self.attempt)}
