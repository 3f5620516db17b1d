"""Operations of users: imported when needed, and told clearly where they cannot be had."""

from __future__ import annotations

import pytest

from pipelines.aggregates import operation_of
from pipelines.errors import CorrectTheSpec
from pipelines.spec import Aggregate
from tests.aggregates.mine import SUM_OF_SQUARES

MINE = "tests.aggregates.mine"


@pytest.mark.parametrize("attribute", ["SUM_OF_SQUARES", "by_name"])
def test_an_operation_or_a_function_that_gives_one_is_taken(attribute: str) -> None:
    assert operation_of(Aggregate(name="it", op="custom", of=f"{MINE}:{attribute}")) is SUM_OF_SQUARES


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        ("no.such.module:IT", "No module named 'no'"),
        (f"{MINE}:NOTHING", "has no attribute 'NOTHING'"),
        (f"{MINE}:LIMIT", "it is a value of the type int"),
        (f"{MINE}:square", "ValueError"),
        (f"{MINE}:by_name", "there is nothing for `bad`"),
        (f"{MINE}:NAMELESS", "its parts are called nothing"),
    ],
)
def test_what_cannot_be_had_is_told(attribute: str, told: str) -> None:
    with pytest.raises(CorrectTheSpec) as refused:
        operation_of(Aggregate(name="bad", op="custom", of=attribute))
    if told != "ValueError":
        assert told in str(refused.value)
    assert f"aggregate `bad`: custom `{attribute}`: " in str(refused.value)
    assert "allowed is `module:attribute`, an Operation or a function" in str(refused.value)
