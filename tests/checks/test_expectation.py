"""An expectation tells itself in the words of the suite that it came from."""

from __future__ import annotations

from datetime import date

import pytest

from pipelines.checks.expectation import Entries, Expectation, Suite, freeze, thaw


def expectation(name: str = "expect_column_values_to_be_between", **arguments: object) -> Expectation:
    frozen = tuple((argument, freeze(value)) for argument, value in arguments.items())
    return Expectation(stage="events", name=name, arguments=frozen, line=2)


def test_its_column_is_the_one_that_it_names() -> None:
    assert expectation(column="distance", min_value=1).column == "distance"


def test_two_columns_are_listed_in_their_order() -> None:
    assert expectation(column_B="b", column_A="a").column == "a, b"
    assert expectation(column_list=["z", "a", "m"]).column == "z, a, m"


def test_an_expectation_about_the_table_has_no_column() -> None:
    assert expectation("expect_table_row_count_to_be_between", min_value=1).column is None


def test_what_it_wants_are_its_arguments_beside_columns_and_remarks() -> None:
    told = expectation(column="distance", min_value=1, strict_min=True, mostly=0.99, notes="miles").wanted
    assert told == "min_value: 1, strict_min: true, mostly: 0.99"


def test_rules_of_one_column_have_different_names_when_they_ask_different_things() -> None:
    rules = [expectation(column="speed", max_value=bound).rule for bound in (600, 700)]
    assert rules == [
        "expect_column_values_to_be_between(speed, max_value=600)",
        "expect_column_values_to_be_between(speed, max_value=700)",
    ]


def test_arguments_are_hashable_and_come_back_as_they_were_read() -> None:
    read = {"quantiles": [0.5], "value_ranges": [[5, None]], "since": date(2013, 1, 1)}
    frozen = freeze(read)
    assert isinstance(frozen, Entries)
    assert hash(frozen) == hash(freeze(read))
    assert thaw(frozen) == read


def test_an_argument_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="found <class 'object'>"):
        freeze(object())


def test_a_suite_gives_the_expectations_of_a_stage_as_they_stand() -> None:
    here = [expectation(column=name) for name in "ba"]
    there = Expectation(stage="panes", name="expect_table_row_count_to_equal", arguments=(("value", 1),))
    suite = Suite(expectations=(here[0], there, here[1]))
    assert suite.at("events") == tuple(here)
    assert suite.at("frames") == ()
