"""What a check found: one result per expectation, whoever looked at the rows.

The verdict on a row rule comes from two sums over the whole batch: sums of parts are judged, never parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.checks.expectation import Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One expectation and what was found. `samples` are up to ten of the values that it did not expect.

    `unexpected_count` and `counted` are null where the expectation is not about single rows. Where it was
    not `is_computed`, what was observed is why.
    """

    expectation: Expectation
    column: str | None
    success: bool
    observed: str
    unexpected_count: int | None = None
    counted: int | None = None
    samples: tuple[str, ...] = ()
    is_computed: bool = True


def result_of_counts(
    expectation: Expectation, counted: int, *, unexpected: int, samples: tuple[str, ...] = ()
) -> Result:
    """The verdict on a row rule over all rows that it counted. Of no rows, nothing can be wrong."""
    return Result(
        expectation=expectation,
        column=expectation.column,
        success=counted == 0 or _expected_share(counted, unexpected) >= mostly(expectation),
        observed=observed_share(counted, unexpected),
        unexpected_count=unexpected,
        counted=counted,
        samples=samples,
    )


def mostly(expectation: Expectation) -> float:
    """The share of the counted rows that has to be as expected: all, unless it says otherwise."""
    wanted = expectation.argument("mostly")
    return float(wanted) if isinstance(wanted, int | float) else 1.0


def observed_share(counted: int, unexpected: int) -> str:
    """`3 of 1,200 rows (0.25 %) unexpected`."""
    if counted == 0:
        return "no rows to look at"
    return f"{unexpected:,} of {counted:,} rows ({100 * unexpected / counted:.3g} %) unexpected"


def _expected_share(counted: int, unexpected: int) -> float:
    # Divided as Great Expectations does, so that the two agree to the last bit at the boundary.
    return (float(counted) - float(unexpected)) / float(counted)
