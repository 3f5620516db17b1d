"""Which strategy puts a window together, told for each part of the state, with the reason and the cost.

It is decided from the algebra of the part and from how many windows a frame is in; one window is put together
in one pass, so either all of its parts are recombined or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql.types import DecimalType, DoubleType, FloatType, IntegralType

from pipelines.finalise.parts import StatePart
from pipelines.spec import Cumulate, Sliding

Strategy = Literal["deduct", "prefix–suffix", "prefix", "recombine"]

FEW_WINDOWS = 3
"""A frame in so many windows or fewer is put into each of them: measured, docs/performance.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The strategy for one part, why, and how many combines a result takes of keys with all their frames.

    `is_gathered`: the change points of a block are gathered for it, since Spark cannot combine its states.
    """

    column: str
    strategy: Strategy
    why: str
    combines: int
    is_gathered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How one window is put together from frames of that length: a choice for each part of the state."""

    shape: Sliding | Cumulate
    frame_us: int
    choices: tuple[Choice, ...]

    def __post_init__(self) -> None:
        if len({choice.strategy == "recombine" for choice in self.choices}) > 1:
            raise ValueError("either all parts of a window are recombined, or none")
        for length_us in (self.shape.size_us, self.shape.step_us, self.shape.offset_us):
            if length_us % self.frame_us:
                raise ValueError(f"frames of {self.frame_us} µs do not divide {length_us} µs")

    @property
    def recombines(self) -> bool:
        """Whether each frame is given to all of its windows."""
        return all(choice.strategy == "recombine" for choice in self.choices)

    @property
    def looks_ahead(self) -> bool:
        """Whether some part needs to know of what is still to leave."""
        return any(choice.strategy == "prefix–suffix" for choice in self.choices)

    @property
    def gathers(self) -> bool:
        """Whether the change points of a block are gathered for some part."""
        return bool(self.gathered)

    @property
    def gathered(self) -> frozenset[str]:
        """The columns of those parts."""
        return frozenset(choice.column for choice in self.choices if choice.is_gathered)


def plan_of(
    parts: Sequence[StatePart],
    *,
    shape: Sliding | Cumulate,
    frame_us: int,
    only: Strategy | None = None,
) -> Plan:
    """The plan of a window over frames of that length.

    `only` asks for a strategy; what cannot be deducted is then put together by prefix and suffix. Growing
    windows have prefixes alone.
    """
    windows = most_windows(shape)
    if only == "recombine" or (only is None and windows <= FEW_WINDOWS):
        combines = shape.size_us // frame_us
        choices = [
            Choice(column=part.column, strategy="recombine", why=_few(windows), combines=combines)
            for part in parts
        ]
    else:
        choices = [
            _growing(part) if isinstance(shape, Cumulate) else _choice(part, only=only) for part in parts
        ]
    return Plan(shape=shape, frame_us=frame_us, choices=tuple(choices))


def most_windows(shape: Sliding | Cumulate) -> int:
    """How many windows a frame is in at most."""
    return -(-shape.size_us // shape.step_us)


def _growing(part: StatePart) -> Choice:
    why = "a window is the beginning of its block, and what entered stays"
    gathers = part.part.gathers
    return Choice(column=part.column, strategy="prefix", why=why, combines=1, is_gathered=gathers)


def _choice(part: StatePart, *, only: Strategy | None) -> Choice:
    cheap = isinstance(part.kind, IntegralType | DecimalType)
    if part.deducts and (only == "deduct" or (only is None and cheap)):
        why = "its type is exact: what leaves a window is taken away again"
        return Choice(column=part.column, strategy="deduct", why=why, combines=2)
    if part.deducts:
        why = "merging states of its type costs less than taking one away"
    elif part.part.deduct is None:
        why = "what left a window cannot be taken away again"
    elif isinstance(part.kind, DoubleType | FloatType):
        why = "taking doubles away would leave a residue"
    else:
        why = "a running total has no room in its type"
    return Choice(
        column=part.column,
        strategy="prefix–suffix",
        why=why,
        combines=3,
        is_gathered=part.part.gathers,
    )


def _few(windows: int) -> str:
    most = "one window" if windows == 1 else f"{windows:,} windows"
    return f"a frame is in {most} at most, so it is put into each"
