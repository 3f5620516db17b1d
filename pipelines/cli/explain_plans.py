"""How each result of each window is put together, in words.

Nothing is read, so the types of the values are not known: where they decide, both answers are told.
"""

from __future__ import annotations

from operator import add

from pyspark.sql.types import ArrayType, DataType, DoubleType, LongType

from pipelines.aggregates import Part, operation_of
from pipelines.aggregates.sums import ROWS, SUM_DIGITS
from pipelines.cli.written import Value, table
from pipelines.finalise.parts import MOST_DIGITS, SPARE_DIGITS, StatePart
from pipelines.finalise.planner import Choice, plan_of
from pipelines.spec import Aggregate, Cumulate, Pipeline, Sliding, Window
from pipelines.windows import Grid, grid_of

WORDS = (
    "recombine: each frame is put into all windows that it is in, and each window combines its frames",
    "deduct: what a window's block began with, and what entered since, without what left since",
    "prefix–suffix: the end of one block merged with the beginning of the next, blocks as long as windows",
    "prefix: the beginning of a block, in which each frame is combined with what came before it",
    "combines are at most so many: where frames have gaps, windows between two changes share theirs",
)
EITHER = " where types are exact, else "
DIGITS = MOST_DIGITS - 1 - SPARE_DIGITS - SUM_DIGITS
EXACT = f"exact: whole numbers, and decimals of up to {DIGITS} digits, whose running totals have room"


def plans(pipeline: Pipeline) -> str:
    """A line for each result of each window, and what the strategies in them mean."""
    listed = [
        [window.name, aggregate.name, *_told(aggregate, window, grid=grid_of(pipeline, window.name))]
        for window in pipeline.windows
        for aggregate in pipeline.aggregates
    ]
    told = {str(strategy) for _, _, strategy, *_ in listed}
    used = {word for strategy in told for word in strategy.replace(",", "").split()}
    words = [line for line in WORDS if line.split(":")[0] in used]
    if any(EITHER in strategy for strategy in told):
        words.append(EXACT)
    if used - {"recombine"}:
        words.append(WORDS[-1])
    return "\n".join([table(("window", "result", "strategy", "combines a result", "why"), listed), *words])


def _told(aggregate: Aggregate, window: Window, *, grid: Grid) -> list[Value]:
    """The strategy, how many combines a result takes, and why."""
    if isinstance(window.shape, Sliding | Cumulate) and grid.frame_us is not None:
        return _planned(aggregate, window.shape, frame_us=grid.frame_us)
    if grid.of_sessions:
        return ["recombine", "its partials", "what a session holds is known once its partial sessions are"]
    return ["recombine", "1", "a window is one frame, and shares it with no other"]


def _planned(aggregate: Aggregate, shape: Sliding | Cumulate, *, frame_us: int) -> list[Value]:
    exact = _dearest(aggregate, shape, frame_us=frame_us, kind=LongType())
    rounding = _dearest(aggregate, shape, frame_us=frame_us, kind=DoubleType())
    if exact == rounding:
        return [exact.strategy, _number(exact), exact.why]
    strategy = f"{exact.strategy}{EITHER}{rounding.strategy}"
    return [strategy, f"{_number(exact)} or {_number(rounding)}", rounding.why]


def _dearest(aggregate: Aggregate, shape: Sliding | Cumulate, *, frame_us: int, kind: DataType) -> Choice:
    """The choice for the part that takes the most combines, if values are of that type. Counts are long."""
    parts = [
        StatePart(column=aggregate.name, part=part, kind=_kind(part, aggregate, kind=kind))
        for part in operation_of(aggregate).parts
    ]
    plan = plan_of(parts, shape=shape, frame_us=frame_us)
    return max(plan.choices, key=lambda choice: choice.combines)


def is_exact(aggregate: Aggregate) -> bool:
    """Whether what left can be taken away again whatever the type of the values."""
    return not any(
        isinstance(_kind(part, aggregate, kind=DoubleType()), DoubleType)
        for part in operation_of(aggregate).parts
    )


def _kind(part: Part, aggregate: Aggregate, *, kind: DataType) -> DataType:
    """The type of a part where values are of that type. What is deducted of our own without adding up is an
    array; a custom operation's parts may be anything, and are taken for numbers like the values.
    """
    if part == ROWS or aggregate.op.startswith("bit_"):
        return LongType()
    is_number = part.merge is add or part.deduct is None or aggregate.op == "custom"
    return kind if is_number else ArrayType(kind)


def _number(choice: Choice) -> str:
    return f"{choice.combines:,}"
