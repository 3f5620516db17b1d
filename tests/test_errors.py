"""Errors tell the reader what to do next, and the command line how to leave."""

from __future__ import annotations

import pytest

from pipelines import errors

EXIT_CODES = {
    "SashError": 1,
    "CorrectTheSpec": 2,
    "CorrectTheCall": 2,
    "LookAtTheData": 3,
    "WaitForTheBatch": 4,
    "ChooseAnotherBatch": 4,
    "RunAgain": 1,
}


def test_every_error_has_the_exit_code_of_the_contract() -> None:
    kinds = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    found = {name: kind.exit_code for name, kind in kinds.items() if issubclass(kind, errors.SashError)}
    assert found == EXIT_CODES


def test_there_is_one_root_with_at_most_six_children_and_no_grandchildren() -> None:
    children = errors.SashError.__subclasses__()
    assert len(children) <= 6
    assert [kind for child in children for kind in child.__subclasses__()] == []


@pytest.mark.parametrize(
    "kind", [kind for kind in errors.SashError.__subclasses__() if kind is not errors.CorrectTheSpec]
)
def test_a_message_is_shown_as_it_was_written(kind: type[errors.SashError]) -> None:
    assert str(kind("batch 1 is unfinished; run it again")) == "batch 1 is unfinished; run it again"


def test_one_problem_of_a_spec_is_told_in_a_line() -> None:
    assert str(errors.CorrectTheSpec("a.yml", ("line 3: found x",))) == "a.yml: line 3: found x"


def test_several_problems_of_a_spec_are_listed_all() -> None:
    error = errors.CorrectTheSpec("a.yml", ("line 3: found x", "line 7: found y"))
    assert str(error) == "a.yml has 2 problems:\n  - line 3: found x\n  - line 7: found y"
    assert error.problems == ("line 3: found x", "line 7: found y")
