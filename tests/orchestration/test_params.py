"""What a run can be asked for, and what is refused at once."""

from __future__ import annotations

import pytest

from pipelines.errors import CorrectTheCall
from pipelines.intervals import Interval
from pipelines.orchestration.params import FIELDS, Wishes, batch_params, read_wishes

HOUR_US = 3_600_000_000


def test_without_answers_nothing_is_asked_for() -> None:
    assert read_wishes({}) == Wishes()
    assert (
        read_wishes({"from": None, "to": "", "watermark": None, "final": False, "replace": False}) == Wishes()
    )


def test_instants_are_utc_unless_they_say_a_zone() -> None:
    asked = read_wishes({"from": "1970-01-01T01:00", "to": "1970-01-01T01:00:00-01:00"})
    assert asked.batch == Interval(HOUR_US, 2 * HOUR_US)


def test_the_instants_of_the_web_form_are_read() -> None:
    assert read_wishes({"watermark": "1970-01-01T01:00:00.000Z"}).watermark_us == HOUR_US


def test_flags_are_taken() -> None:
    asked = read_wishes({"final": True, "replace": True})
    assert (asked.final, asked.replace) == (True, True)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"from": "2013-01-01"}, "found `from` without `to`"),
        ({"to": "2013-01-01"}, "found `to` without `from`"),
        ({"from": "2013-01-02", "to": "2013-01-02"}, "`from` is not before `to`"),
        ({"from": "2013-01-02", "to": "2013-01-01"}, "`from` is not before `to`"),
        ({"from": "soon", "to": "2013-01-01"}, "`from` is `soon`: "),
        ({"watermark": "2013-13-01"}, "`watermark` is `2013-13-01`: "),
        ({"watermark": 5}, "`watermark` is 5"),
        ({"final": "yes"}, "`final` is 'yes'"),
        ({"replace": None}, "`replace` is None"),
    ],
)
def test_what_is_no_answer_is_refused(answers: dict[str, object], says: str) -> None:
    with pytest.raises(CorrectTheCall) as refused:
        read_wishes(answers)
    assert says in str(refused.value)


def test_an_unknown_param_is_refused_where_all_are_known() -> None:
    with pytest.raises(
        CorrectTheCall, match="found `form`, `too`; allowed are from, to, watermark, final, replace"
    ):
        read_wishes({"form": "2013-01-01", "too": 1, "mine": 2}, others=frozenset({"mine"}))


def test_a_dag_of_ones_own_may_have_other_params() -> None:
    assert read_wishes({"mine": 2}) == Wishes()


def test_what_was_asked_for_before_is_asked_for_again() -> None:
    known = {"final": 1, "replace": 1}
    assert Wishes().beside(known) == Wishes(final=True, replace=True)
    assert Wishes(final=True).beside({"watermark_us": HOUR_US}) == Wishes(final=True)
    # Who fills in a watermark now has thought again.
    raised = Wishes(watermark_us=HOUR_US)
    assert raised.beside(known) == Wishes(watermark_us=HOUR_US, replace=True)
    assert raised.beside({"watermark_us": 5}) == raised


def test_the_form_has_every_field_with_a_title_and_a_text_that_teaches() -> None:
    params = batch_params()
    assert tuple(params) == FIELDS
    for param in params.values():
        assert param.schema["title"]
        assert len(param.schema["description_md"]) > 40


def test_the_form_has_a_picker_of_instants_that_may_stay_empty_and_switches_that_are_off() -> None:
    params = batch_params()
    for name in ("from", "to", "watermark"):
        assert params[name].value is None
        assert params[name].schema["type"] == ["null", "string"]
        assert params[name].schema["format"] == "date-time"
    for name in ("final", "replace"):
        assert params[name].value is False
        assert params[name].schema["type"] == "boolean"
