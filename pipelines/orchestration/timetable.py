"""When a DAG runs by its spec: once for each batch, on the grid that begins where the schedule does.

Airflow's own timetable of a fixed length counts from 1970 when it skips to the latest interval, and from any
`--from-date` in a backfill: weeks would begin on other days than the batches before them, and overlap these
partly. And what ends a DAG for Airflow ends each of its tasks: a run triggered after that has none, and is
a success.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from airflow.plugins_manager import AirflowPlugin
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable
from pendulum import DateTime, instance

from pipelines.intervals import floor_to, from_us, to_us
from pipelines.spec import show_duration


class BatchTimetable(Timetable):  # type: ignore[misc] # Airflow's types are not looked at
    """Batches `length_us` long from `start_us`, the last of which begins at `until_us` at the latest."""

    def __init__(self, *, start_us: int, length_us: int, until_us: int | None = None) -> None:
        self.start_us, self.length_us, self.until_us = start_us, length_us, until_us
        self.description = (
            f"a batch every {show_duration(length_us)}, from {from_us(start_us):%Y-%m-%d %H:%M}"
        )

    @property
    def summary(self) -> str:
        """What a list of DAGs says of the schedule."""
        return f"every {show_duration(self.length_us)}"

    def serialize(self) -> dict[str, int | None]:
        """What Airflow keeps of it."""
        return {"start_us": self.start_us, "length_us": self.length_us, "until_us": self.until_us}

    @classmethod
    def deserialize(cls, data: dict[str, int | None]) -> BatchTimetable:
        """The one that was kept."""
        start_us, length_us = data["start_us"], data["length_us"]
        if start_us is None or length_us is None:
            raise ValueError(f"no timetable of batches: {data}")
        return cls(start_us=start_us, length_us=length_us, until_us=data["until_us"])

    def infer_manual_data_interval(self, *, run_after: DateTime) -> DataInterval:
        """The newest batch that has ended; a run that is triggered asks the ledger, not this.

        At the date of a batch it is that one: Airflow schedules no other run for it, and goes on after this.
        """
        date_us = us_of(run_after)
        start_us = self._floor(date_us)
        return self._batch(start_us if start_us == date_us else start_us - self.length_us).data_interval

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """The batch after the last one; without catching up, the newest that has ended if that is later."""
        starts = [self.start_us]
        if restriction.earliest is not None:
            starts.append(self._ceiling(us_of(restriction.earliest)))
        if not restriction.catchup:
            starts.append(self._floor(to_us(datetime.now(UTC))) - self.length_us)
        if last_automated_data_interval is not None:
            # The grid may have changed since: then a shorter batch leads to the new one.
            starts.append(us_of(last_automated_data_interval.end))
        start_us = max(starts)
        ends_us = [self.until_us, None if restriction.latest is None else us_of(restriction.latest)]
        if any(end_us is not None and start_us > end_us for end_us in ends_us):
            return None
        return self._batch(start_us)

    def _floor(self, instant_us: int) -> int:
        return floor_to(instant_us, self.length_us, offset_us=self.start_us % self.length_us)

    def _ceiling(self, instant_us: int) -> int:
        return self._floor(instant_us - 1) + self.length_us

    def _batch(self, start_us: int) -> DagRunInfo:
        """The batch from there to the next point of the grid."""
        start, end = (instance(from_us(it)) for it in (start_us, self._floor(start_us) + self.length_us))
        return DagRunInfo.interval(start=start, end=end)


def us_of(instant: datetime) -> int:
    """Microseconds since 1970, of Airflow's instants too."""
    # Airflow's instants are of a kind that does its own arithmetic.
    return to_us(datetime.fromisoformat(instant.isoformat()))


class SashPlugin(AirflowPlugin):  # type: ignore[misc] # likewise
    """How Airflow finds the timetable: an entry point of the package names this."""

    name = "sash"
    timetables: ClassVar[list[type[Timetable]]] = [BatchTimetable]
