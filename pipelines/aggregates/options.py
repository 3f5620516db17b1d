"""What the spec tells an operation beside its name: the expressions, and numbers like `n`, `q`, `k`."""

from __future__ import annotations

from pipelines.errors import CorrectTheSpec
from pipelines.spec.model import Aggregate, Scalar


def told(aggregate: Aggregate, option: str) -> Scalar | tuple[Scalar, ...]:
    """An option as the spec has it, `None` where it does not."""
    return dict(aggregate.options).get(option)


def number(aggregate: Aggregate, option: str) -> int:
    """An option that is a whole number. Raises `CorrectTheSpec` where it is none."""
    found = told(aggregate, option)
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    raise CorrectTheSpec(
        f"aggregate `{aggregate.name}`",
        (f"found `{option}: {found}`; {aggregate.op} needs a whole number above zero",),
    )


def expression(aggregate: Aggregate) -> str | None:
    """The expression that the aggregate is of, as SQL; `None` where rows are what counts."""
    of = told(aggregate, "of") if aggregate.op == "custom" else aggregate.of
    return None if of is None or str(of).strip() == "*" else str(of)


def by_expression(aggregate: Aggregate) -> str | None:
    """The expression `by`, as SQL."""
    by = told(aggregate, "by")
    return None if by is None else str(by)
