"""What a run can be asked for: the fields of the trigger form, and what was filled in.

Airflow checks types only where a DAG declares the fields, and never that an instant is one, so everything
is checked here again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow.sdk import Param

from pipelines.errors import CorrectTheCall
from pipelines.intervals import LATEST_US, Interval
from pipelines.spec import parse_instant

FIELDS = ("from", "to", "watermark", "final", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for; `batch` is `None` where the run itself is to say which.

    Nobody can ask Airflow to ignore lateness, but a run may go on with a batch for which it was asked.
    """

    batch: Interval | None = None
    watermark_us: int | None = None
    final: bool = False
    replace: bool = False
    ignore_lateness: bool = False

    def beside(self, known: Mapping[str, int]) -> Wishes:
        """These, and what was asked for the batch before, as the ledger notes it; of the watermark these
        alone, where they say anything of it.
        """
        final = self.final or ("final" in known and self.watermark_us is None)
        asked_us = known.get("watermark_us") if self.watermark_us is None else self.watermark_us
        return Wishes(
            batch=self.batch,
            watermark_us=None if final else asked_us,
            final=final,
            replace=self.replace or "replace" in known,
            ignore_lateness=self.ignore_lateness or "ignore_lateness" in known,
        )


def batch_params() -> dict[str, Param]:
    """The fields of the trigger form, for the `params` of a DAG."""
    return {
        "from": _instant(
            "From",
            "Where the batch begins: the first **arrival time** that belongs to it (UTC unless you give "
            "a zone). Leave it empty, and `To` too, to run the next batch after the newest, or the "
            "newest again if it has failed.",
        ),
        "to": _instant(
            "To", "Where the batch ends: the first arrival time that does *not* belong to it any more."
        ),
        "watermark": _instant(
            "Raise the watermark to",
            "After this batch no event before this instant is expected any more: windows that end by "
            "then become due. Leave it empty to let the events say; a watermark never goes back.",
        ),
        "final": Param(
            False,
            type="boolean",
            title="Final",
            description_md="Publish and close **every** window after this batch, for good. Every event that "
            "comes later is late.",
        ),
        "replace": Param(
            False,
            type="boolean",
            title="Replace older batches",
            description_md="Put this batch in the place of older ones that it covers whole, for example a "
            "month for its days.",
        ),
    }


def read_wishes(answers: Mapping[str, object], *, others: frozenset[str] | None = None) -> Wishes:
    """What the answers ask for. With `others`, the DAG's further params, one that is neither ours nor
    among them is refused.

    Raises `CorrectTheCall` for what is unknown, not an instant, of the wrong type, or half an interval.
    """
    if others is not None:
        _refuse_unknown(set(answers) - set(FIELDS) - others)
    start_us, end_us = _read_instant(answers, "from"), _read_instant(answers, "to")
    watermark_us, final = _read_instant(answers, "watermark"), _read_flag(answers, "final")
    if final and watermark_us is not None:
        raise CorrectTheCall(
            "params of this run: `final` closes everything, so `watermark` beside it says nothing: give one "
            "of them"
        )
    if watermark_us == LATEST_US:
        raise CorrectTheCall("params of this run: such a `watermark` closes everything; say `final`")
    return Wishes(
        batch=_read_batch(start_us, end_us),
        watermark_us=watermark_us,
        final=final,
        replace=_read_flag(answers, "replace"),
    )


def _instant(title: str, description: str) -> Param:
    return Param(None, type=["null", "string"], format="date-time", title=title, description_md=description)


def _refuse_unknown(unknown: set[str]) -> None:
    if unknown:
        listed = ", ".join(f"`{name}`" for name in sorted(unknown))
        raise CorrectTheCall(
            f"params of this run: found {listed}; allowed are {', '.join(FIELDS)}. Trigger it again "
            "without what is not allowed"
        )


def _read_batch(start_us: int | None, end_us: int | None) -> Interval | None:
    if start_us is None and end_us is None:
        return None
    if start_us is None or end_us is None:
        found, missing = ("`from`", "`to`") if end_us is None else ("`to`", "`from`")
        raise CorrectTheCall(
            f"params of this run: found {found} without {missing}. Give both to name a batch, or neither "
            "to run the next one"
        )
    if start_us >= end_us:
        raise CorrectTheCall(
            "params of this run: `from` is not before `to`; wanted is a batch that ends after it begins"
        )
    return Interval(start_us, end_us)


def _read_instant(answers: Mapping[str, object], name: str) -> int | None:
    answer = answers.get(name)
    if answer is None or answer == "":
        return None
    if not isinstance(answer, str):
        raise CorrectTheCall(
            f"params of this run: `{name}` is {answer!r}; wanted is an instant like 2013-01-31T00:00:00Z"
        )
    try:
        return parse_instant(answer)
    except ValueError as error:
        raise CorrectTheCall(f"params of this run: `{name}` is `{answer}`: {error}") from error


def _read_flag(answers: Mapping[str, object], name: str) -> bool:
    answer = answers.get(name, False)
    if not isinstance(answer, bool):
        raise CorrectTheCall(f"params of this run: `{name}` is {answer!r}; allowed are true and false")
    return answer
