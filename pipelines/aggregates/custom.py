"""Operations of users: `{custom: "module:attribute", of: price}`.

The attribute is an `Operation`, or a function of the `Aggregate` that gives one. It is imported when the
operation is needed, so a spec can be read where its module is not.
"""

from __future__ import annotations

from pipelines.aggregates.operation import Operation
from pipelines.errors import CorrectTheSpec
from pipelines.spec.model import Aggregate
from pipelines.spec.modules import attribute_of

WANTED = (
    "allowed is `module:attribute`, an Operation or a function of the Aggregate that gives one, of a module "
    "beside the spec or on Python's path"
)


def custom(aggregate: Aggregate) -> Operation:
    """The operation that the attribute is or gives. Raises `CorrectTheSpec` where there is none."""
    attribute = str(aggregate.of)
    try:
        found = attribute_of(attribute)
        made = found(aggregate) if callable(found) else found
    # A script that leaves at its end may not leave for Sash.
    except (Exception, SystemExit) as error:
        raise _refused(aggregate, f"{type(error).__name__}: {error}") from error
    if not isinstance(made, Operation):
        how = "gives" if callable(found) else "is"
        raise _refused(aggregate, f"it {how} a value of the type {type(made).__name__}")
    names = [part.name for part in made.parts]
    if not names or len(set(names)) < len(names):
        raise _refused(aggregate, f"its parts are called {', '.join(names) or 'nothing'}; give each a name")
    return made


def _refused(aggregate: Aggregate, why: str) -> CorrectTheSpec:
    return CorrectTheSpec(f"aggregate `{aggregate.name}`", (f"custom `{aggregate.of}`: {why}; {WANTED}",))
