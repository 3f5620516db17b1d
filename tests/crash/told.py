"""Windows of any shape with their triggers and modes, of several sources with ids and rules, in plain loops
batch after batch, and held against tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pipelines.intervals import EARLIEST_US, LATEST_US
from tests.oracle import Batch, Event, Pipeline
from tests.oracle import publishing as plain
from tests.oracle.duplicates import Known, counted, repeated
from tests.oracle.fates import is_broken, rows_of
from tests.oracle.tables import Row
from tests.oracle.watermarks import Standing, Substream, pipeline_watermark, standings_after
from tests.walk.shaped import Shaped
from tests.walk.stand import Stored, comparable, differences, quarantined


class Told:
    """The publishers of all definitions and keys, and the rows that came of the batches so far."""

    def __init__(self, *, pipeline: Pipeline, shapes: Mapping[str, Shaped], keys: Iterable[str]) -> None:
        self.pipeline = pipeline
        self.publishers = [
            plain.Publisher(replace(definition, name=name), key)
            for name, (_, definition) in shapes.items()
            for key in keys
        ]
        self.tables: dict[str, list[Row]] = {
            name: [] for name in ("panes", "late_events", "quarantine", "event_ids", "watermarks", "runs")
        }
        self.batches: list[Batch] = []
        self.standings: dict[Substream, Standing] = {}
        self.ids: Known = {}
        self.watermark: int | None = None

    def run(self, batch: Batch, events: Iterable[Event]) -> None:
        """Run a batch in its turn. The same again changes nothing."""
        if batch in self.batches:
            return
        self.batches.append(batch)
        rows = rows_of(events, batch, set())
        broken = [it for it in rows if is_broken(it, self.pipeline)]
        whole = [it for it in rows if it not in broken]
        repeats = repeated(whole, self.pipeline, self.ids)
        passing = [it for it in whole if it.id not in repeats]
        before = self.watermark
        self._go_on(batch, passing)
        losses, panes = self._publish(batch, passing, before=before)
        late = {it.number for it in losses} - {
            it.id for it in passing for one in self.publishers if self._keeps(one, it, before=before)
        }
        self._keep("quarantine", batch, [{"id": it.id, "source": it.source} for it in broken])
        self._keep("event_ids", batch, [self._named(it) for it in passing if it.values["ticket"] is not None])
        self._keep("late_events", batch, [_lost(it, before) for it in losses])
        self._keep("panes", batch, [_pane(it) for it in panes])
        self._keep("watermarks", batch, self._marks())
        counts = {"ingested": len(rows), "accepted": len(passing) - len(late), "late": len(late)}
        counts |= {"quarantined": len(broken), "duplicates": len(repeats), "panes": len(panes)}
        marks = {"watermark_before": before, "watermark_after": self.watermark}
        self._keep("runs", batch, [{"revision": 0, "status": "published", **counts, **marks}])

    def _go_on(self, batch: Batch, passing: list[Event]) -> None:
        self.ids |= counted(passing, self.pipeline)
        self.standings = standings_after(self.pipeline, batch, passing, self.standings)
        self.watermark = pipeline_watermark(
            self.pipeline,
            batch,
            before=self.watermark,
            standings=self.standings,
            first_start=self.batches[0].start,
        )

    def _publish(
        self, batch: Batch, passing: list[Event], *, before: int | None
    ) -> tuple[list[plain.Loss], list[plain.Row]]:
        losses, panes = [], []
        for one in self.publishers:
            stood = len(one.losses)
            mine = [_plain(it) for it in passing if it.key[0] == one.key]
            panes += one.run(mine, end=batch.end, before=before, after=self.watermark)
            losses += one.losses[stood:]
        return losses, panes

    def _keeps(self, one: plain.Publisher, event: Event, *, before: int | None) -> bool:
        """Whether a window of the definition keeps the event."""
        ends = [end for _, end in one.definition.alone(_plain(event))] if event.key[0] == one.key else []
        return any(not one.definition.is_closed(end, before) for end in ends)

    def _named(self, event: Event) -> Row:
        return {"ticket": event.values["ticket"], "arrival_time": event.arrives_us, "source": event.source}

    def _marks(self) -> list[Row]:
        """How far each substream has come, and all together: the newest that any of them has seen."""
        all_of_them = self.standings.values()
        together = {
            "newest_event_time": max((it.newest_event for it in all_of_them), default=None),
            "newest_arrival_time": max((it.newest_arrival for it in all_of_them), default=None),
            "watermark": self.watermark,
            "is_idle": bool(all_of_them) and all(it.is_idle for it in all_of_them),
        }
        each = [
            {
                "source": source,
                "substream": substream,
                "newest_event_time": it.newest_event,
                "newest_arrival_time": it.newest_arrival,
                "watermark": it.watermark,
                "is_idle": it.is_idle,
            }
            for (source, substream), it in self.standings.items()
        ]
        return [*each, {"source": None, "substream": None, **together}]

    def _keep(self, table: str, batch: Batch, rows: list[Row]) -> None:
        bounds = {"batch_start": batch.start, "batch_end": batch.end}
        self.tables[table] += [{**row, **bounds} for row in rows]

    def _standing(self) -> list[Row]:
        rows = []
        for one in self.publishers:
            for (window, key, start, end), (total, count) in one.standing().items():
                said = {"window": window, "key": key, "total": total, "event_count": count}
                rows.append({**said, **_bounds(start, end)})
        return rows

    def compare(self, stored: Stored) -> None:
        """Fail with the rows that only one of the two has, of the first table where they differ."""
        for table, wanted in {**self.tables, "windows": self._standing()}.items():
            if not wanted and not (stored.root / table).exists():
                continue
            columns = sorted({name for row in wanted for name in row})
            found = quarantined(stored) if table == "quarantine" else stored.rows(table)
            both = comparable(found, columns), comparable(wanted, columns)
            if both[0] != both[1]:
                raise AssertionError(differences(table, columns, *both))


def _plain(event: Event) -> plain.Event:
    return plain.Event(event.id, str(event.key[0]), event.event_us, event.arrives_us)


def _lost(loss: plain.Loss, watermark: int | None) -> Row:
    return {
        "id": loss.number,
        "window": loss.window,
        "missed": loss.missed,
        "kept": loss.kept,
        "watermark": watermark,
    }


def _pane(row: plain.Row) -> Row:
    told = row._asdict()
    bounds = _bounds(told.pop("start"), told.pop("end"))
    return {**told, **bounds, "restated": False}


def _bounds(start: int, end: int) -> Row:
    """All time has none."""
    is_all = (start, end) == (EARLIEST_US, LATEST_US)
    named = {"window_start": start, "window_end": end}
    return dict.fromkeys(named) if is_all else named
