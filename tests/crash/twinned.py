"""What a soak runs with a twin beside it: whatever can be asked of a pipeline, restatements of sessions too,
replays of all kinds, rebuilding, and watermarks that somebody says.

The twin is the same spec over the same rows with a store of its own, and nothing ever happens to it: what is
asked of the one is asked of the other, and then all rows of all tables are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from pipelines.intervals import Interval
from pipelines.stages import Request
from tests.crash.aging import age
from tests.crash.changing import RECENT, Changing
from tests.crash.histories import FRAMES, LENGTH, LOWEST, TOLD, sources
from tests.crash.killing import written as files_written
from tests.crash.kills import of_batch
from tests.crash.workers import Asked, Command, Worker
from tests.crash.world import contents_of
from tests.generators import SECOND
from tests.walk.shaped import Shaped, growing, sliding, tumbling, written

WINDOWS: dict[str, Shaped] = {
    **{name: TOLD[name] for name in ("visits", "bursts", "undone")},
    "whole": sliding(40, 10, lateness=20 * SECOND, late=("rows", 2), mode="accumulating"),
}
ADDED = [
    written("longer", *sliding(60, 30, early="each batch", lateness=20 * SECOND, mode="retracting")),
    written("short", *tumbling(10, lateness=60 * SECOND, mode="discarding")),
    written("grown", *growing(60, 20, late=("rows", 2), lateness=40 * SECOND)),
]
"""Windows that frames of older batches serve."""


@dataclass(kw_only=True)
class Twinned(Changing):
    """Batches in order, again with the same rows and with others, late, in the place of others, judging
    nothing late; late and quarantined rows replayed; upkeep; all computed anew; and windows that are added.
    """

    name = "twins"
    pipeline = replace(
        FRAMES,
        sources=sources(110 * SECOND),
        aggregates=tuple(it for it in FRAMES.aggregates if it.name in ("total", "latest")),
        windows=(),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.added = list(ADDED)
        self.apart = self.folder / "twin"

    @cached_property
    def twin(self) -> Worker:
        return Worker(self.apart)

    def __getstate__(self) -> dict[str, object]:
        """All but the process."""
        return {name: it for name, it in vars(self).items() if name != "twin"}

    def text(self) -> str:
        return super().text() + "".join(written(name, *it) for name, it in WINDOWS.items())

    def next_asked(self) -> Asked:
        """A batch or something else; before it some rows may have changed, or the spec."""
        if self.done and self.chosen.random() < 0.3:
            self._change_rows(self.chosen.choice(self.done[-RECENT:]))
        if len(self.done) > 4 and self.added and self.chosen.random() < 0.08:
            self.spec.write_text(self.spec.read_text() + self.added.pop())
        others: list[tuple[float, Callable[[], Asked]]] = [
            (0.10, self._maintain),
            (0.10, self._replay),
            (0.06, self._replay_quarantine),
            (0.04, self._rebuild),
            (0.10, self._in_the_place_of_others),
            (0.40, self._again),
            (0.20, self._left_out),
        ]
        for probability, asks in others:
            if len(self.done) > 1 and self.chosen.random() < probability:
                return asks()
        if self.done and self.chosen.random() < 0.15:
            self.skipped.append(self.following())
        batch = self.following()
        is_said = self.chosen.random() < 0.1
        return Request(batch=batch, watermark_us=batch.end_us - 5 * SECOND if is_said else None)

    def foretell(self, asked: Asked) -> None:
        stood = files_written(self.apart, "commit")
        self.twin.tell(asked, spec=self.spec)
        said = self.twin.answer()
        assert said == "done", f"without any fault: {said}"
        self.most_writes = max(1, len(files_written(self.apart, "commit") - stood))

    def compare(self, asked: Asked) -> None:
        found, wanted = (contents_of(it / self.name) for it in (self.folder / "store", self.apart))
        assert found.keys() == wanted.keys(), f"{asked}: {found.keys() ^ wanted.keys()}"
        for table, rows in wanted.items():
            own, missing = without(found[table], rows), without(rows, found[table])
            assert not own + missing, "\n".join([f"{asked}: {table}", *own, "instead of", *missing])

    def note(self, asked: Asked) -> None:
        super().note(asked)
        if isinstance(asked, Command) and asked.name == "run":
            self.done = self._last_in_a_row()

    def end(self) -> None:
        """The twin's process, where something was asked of it: to look for it would start one."""
        if twin := vars(self).pop("twin", None):
            twin.kill()

    def _maintain(self) -> Asked:
        for store in (self.folder / "store", self.apart):
            age(store / self.name)
        return Command("maintain")

    def _replay(self) -> Asked:
        """Some batches that follow one another, for to replay all takes too long."""
        some = sorted(self.done[-RECENT:])[-3:]
        return Command("replay", ("late", *of_batch(Interval(some[0].start_us, some[-1].end_us))))

    def _replay_quarantine(self) -> Asked:
        """Numbers that were too low no longer are, or are too low again."""
        path = self.home / "expectations" / "all.yml"
        strict, lenient = (f"min_value: {it}" for it in (LOWEST, 2 * LOWEST))
        text = path.read_text()
        path.write_text(text.replace(strict, lenient) if strict in text else text.replace(lenient, strict))
        some = sorted(self.done[-RECENT:])[-3:]
        return Command("replay", ("quarantine", *of_batch(Interval(some[0].start_us, some[-1].end_us))))

    def _rebuild(self) -> Asked:
        """All tables emptied, and the newest batches computed as the first."""
        some = self._last_in_a_row()
        whole = Interval(some[0].start_us, some[-1].end_us)
        return Command("run", of_batch(whole, "--every", "20 s", "--rebuild", "--yes"))

    def _last_in_a_row(self) -> list[Interval]:
        """The newest two batches as they are cut by length."""
        end = max(it.end_us for it in self.done)
        return [Interval(end - 2 * LENGTH, end - LENGTH), Interval(end - LENGTH, end)]


def without(rows: list[str], others: list[str]) -> list[str]:
    """The rows that the others have not, or not as often."""
    rest = list(others)
    return [row for row in rows if row not in rest or rest.remove(row)]
