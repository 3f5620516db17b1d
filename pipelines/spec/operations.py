"""The `aggregates` section: which operations there are, and what each is told."""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.spec.fields import Fields, Problems, kind_of
from pipelines.spec.model import Aggregate, Scalar
from pipelines.spec.modules import parse_attribute
from pipelines.spec.yaml import Located

OPTIONS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("count", "sum", "avg", "min", "max"), ()),
    **dict.fromkeys(("variance", "variance_pop", "stddev", "stddev_pop", "skewness", "kurtosis"), ()),
    **dict.fromkeys(("covariance", "correlation", "linear_trend"), ("by",)),
    **dict.fromkeys(("first", "last"), ()),
    **dict.fromkeys(("min_by", "max_by"), ("by",)),
    **dict.fromkeys(("top", "bottom"), ("n",)),
    **dict.fromkeys(("any", "all", "bit_and", "bit_or", "bit_xor"), ()),
    **dict.fromkeys(("distinct", "approx_distinct", "histogram", "collect_list", "collect_set"), ()),
    "approx_quantile": ("q",),
    "approx_top_k": ("k",),
    "custom": ("of",),
}
"""Every operation with the options that it needs."""

OPTIONAL = {"custom": ("of",)}
MOST = 2**31 - 1
"""As Spark counts the items of an array."""
WITHOUT_EXPRESSION = ("count",)


def read_aggregates(document: Fields, problems: Problems) -> tuple[Aggregate, ...]:
    """The aggregates in the order of the spec."""
    section = document.within("aggregates")
    document.refuse_empty("aggregates", "allowed is a mapping of names to operations like `{avg: delay}`")
    found = []
    for name, located in section.items.items():
        section.take(name)
        aggregate = _read(name, located, problems=problems)
        if aggregate is not None:
            found.append(aggregate)
    return tuple(found)


def _read(name: str, located: Located, *, problems: Problems) -> Aggregate | None:
    where = f"aggregates.{name}"
    if isinstance(located.value, str):
        if located.value in WITHOUT_EXPRESSION:
            return Aggregate(name=name, op=located.value)
        problems.add(located.line, f"{where}: found `{located.value}`; {_allowed(located.value)}")
        return None
    if not isinstance(located.value, Mapping) or not located.value:
        allowed = "allowed is an operation like `count` or `{avg: delay}`"
        problems.add(located.line, f"{where}: found {kind_of(located)}; {allowed}")
        return None
    fields = Fields(located, where, problems=problems)
    ops = [key for key in located.value if key in OPTIONS]
    if len(ops) != 1:
        said = (
            f"found {len(ops)} operations" if ops else f"found no operation among {', '.join(located.value)}"
        )
        problems.add(located.line, f"{where}: {said}; allowed is one of {', '.join(OPTIONS)}")
        return None
    return _operation(name, ops[0], fields=fields)


def _operation(name: str, op: str, *, fields: Fields) -> Aggregate | None:
    before = len(fields.problems)
    of = _attribute(op, fields) if op == "custom" else _expression(op, fields)
    options: list[tuple[str, Scalar | tuple[Scalar, ...]]] = []
    for option in OPTIONS[op]:
        located = fields.take(option)
        if located is None:
            if option not in OPTIONAL.get(op, ()):
                fields.refuse(None, f"`{option}` is missing; {op} needs it")
            continue
        options.append((option, _option(fields, option)))
    where = fields.sql("where")
    is_understood = len(fields.problems) == before
    fields.close()
    return Aggregate(name=name, op=op, of=of, where=where, options=tuple(options)) if is_understood else None


def _option(fields: Fields, option: str) -> Scalar | tuple[Scalar, ...]:
    match option:
        case "by" | "of":
            return fields.sql(option)
        case "q":
            return fields.read(option, _quantiles)
        case _:
            return fields.read(option, _number)


def _number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MOST:
        return value
    raise ValueError(f"found `{value}`; allowed is a whole number above zero, {MOST:,} at most")


def _quantiles(value: object) -> Scalar | tuple[Scalar, ...]:
    if isinstance(value, list) and value:
        return tuple(_quantile(one) for one in value)
    return _quantile(value)


def _quantile(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise ValueError(f"found `{value}`; allowed are a number from 0 to 1, or several in a list")


def _attribute(op: str, fields: Fields) -> str | None:
    if fields.take(op) is None:
        fields.refuse(fields.items[op], "found nothing; allowed is `module:attribute`", name=op)
    return fields.read(op, parse_attribute)


def _expression(op: str, fields: Fields) -> str | None:
    if str(fields.items[op].value).strip() == "*":
        fields.take(op)
        if op not in WITHOUT_EXPRESSION:
            fields.refuse(
                fields.items[op],
                "found `*`; allowed is an expression: only rows can be counted by `*`",
                name=op,
            )
        return "*"
    return fields.sql(op, required=True)


def _allowed(found: str) -> str:
    if found in OPTIONS:
        return f"{found} needs to know of what: write `{{{found}: <expression>}}`"
    return f"allowed is `count` or a mapping like `{{avg: delay}}`; operations are {', '.join(OPTIONS)}"
