"""Generated cases: which windows, which rules of time, which batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import strategies as st

from tests.generators.aggregates import CATALOGUE
from tests.generators.rows import SECOND, events_of
from tests.oracle import Batch, Event, Pipeline, Source, Window

FIRST_ARRIVAL, LAST_ARRIVAL = -70 * SECOND, 280 * SECOND

WINDOWS = (
    Window(name="tumbling", size=10 * SECOND, step=10 * SECOND),
    Window(name="shifted", size=10 * SECOND, step=10 * SECOND, offset=5 * SECOND, lateness=20 * SECOND),
    Window(name="sliding", size=50 * SECOND, step=10 * SECOND, lateness=5 * SECOND),
    Window(name="uneven", size=25 * SECOND, step=10 * SECOND),
    Window(name="gapped", size=10 * SECOND, step=30 * SECOND, lateness=300 * SECOND),
    Window(name="begun", size=50 * SECOND, step=10 * SECOND, lateness=20 * SECOND, begins=55 * SECOND),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A pipeline with the key `key`, whether its substreams are devices, its rows, its batches in order."""

    pipeline: Pipeline
    devices: bool
    events: list[Event]
    batches: list[Batch]

    def __repr__(self) -> str:
        rows = [(it.source, it.substream, it.key, it.event_us, it.arrival_us) for it in self.events]
        return f"Case({self.pipeline.sources}, {self.pipeline.windows}, {self.batches}, {rows})"

    @property
    def is_rich(self) -> bool:
        """Whether there is enough in it to be worth a run that takes long."""
        times = {event.event_us for event in self.events}
        return len(self.batches) > 1 and len(times) > len(self.events) // 3


@st.composite
def cases(draw: st.DrawFn, *, most_events: int, most_batches: int, repeated: bool = False) -> Case:
    """A whole case; batches follow one another, and rows may arrive before the first or after the last.

    `repeated`: events have ids, and some repeat others'.
    """
    devices = draw(st.booleans())
    told = draw(sources)
    pipeline = Pipeline(
        sources=tuple(draw(with_ids(source)) for source in told) if repeated else told,
        aggregates=CATALOGUE,
        windows=tuple(draw(st.lists(st.sampled_from(WINDOWS), min_size=1, max_size=3, unique=True))),
    )
    return Case(
        pipeline=pipeline,
        devices=devices,
        events=draw(events_of(pipeline, most=most_events, devices=devices)),
        batches=draw(batches(most_batches)),
    )


sources = st.one_of(
    st.builds(
        lambda disorder, ahead: (Source(max_disorder=disorder * SECOND, max_ahead=ahead),),
        st.sampled_from((0, 10)),
        st.sampled_from((None, 2 * SECOND)),
    ),
    st.builds(
        lambda disorder, idle: (
            Source(name="east", max_disorder=disorder * SECOND, idle_after=idle * SECOND),
            Source(name="west", idle_after=idle * SECOND),
        ),
        st.sampled_from((0, 10)),
        st.sampled_from((40, 100)),
    ),
)


def with_ids(source: Source) -> st.SearchStrategy[Source]:
    """The same source, with an id that is known for ever, for a tick, or for longer."""
    return st.sampled_from((None, 1, 20 * SECOND, 100 * SECOND)).map(
        lambda within: replace(source, event_id="ticket", within=within)
    )


@st.composite
def batches(draw: st.DrawFn, most: int) -> list[Batch]:
    """One batch after the other; now and then a flag raises the watermark or closes everything."""
    inner = st.integers(FIRST_ARRIVAL // SECOND + 1, LAST_ARRIVAL // SECOND - 1)
    cuts = [second * SECOND for second in sorted(draw(st.sets(inner, max_size=most - 1)))]
    bounds = [FIRST_ARRIVAL, *cuts, LAST_ARRIVAL]
    told = draw(st.sampled_from((None, None, 35 * SECOND)))
    is_final = draw(st.booleans())
    listed = [Batch(start=start, end=end) for start, end in pairwise(bounds)]
    return [*listed[:-1], Batch(start=bounds[-2], end=bounds[-1], watermark=told, final=is_final)]
