"""Only a failed `stop` stops, and its message holds all that a reader needs to decide."""

from __future__ import annotations

from pipelines.checks.expectation import Expectation, OnFailure, Value
from pipelines.checks.gate import CheckRow, check_rows, failed, stop_advice, stop_message, table, warning
from pipelines.checks.results import Result, result_of_counts


def not_null(on_failure: OnFailure = "stop", **more: Value) -> Expectation:
    return Expectation(
        stage="events",
        name="expect_column_values_to_not_be_null",
        arguments=(("column", "origin"), *more.items()),
        on_failure=on_failure,
        line=2,
    )


def latest(observed: str) -> Result:
    expectation = Expectation(
        stage="panes",
        name="expect_column_max_to_be_between",
        arguments=(("column", "mean_delay"), ("max_value", 600)),
        line=9,
    )
    return Result(expectation=expectation, column="mean_delay", success=False, observed=observed)


def test_failed_results_are_told_apart_by_what_they_ask_for() -> None:
    stops, warns = not_null("stop"), not_null("warn")
    results = [
        result_of_counts(stops, 10, unexpected=1),
        result_of_counts(warns, 10, unexpected=1),
        result_of_counts(stops, 10, unexpected=0),
    ]
    assert failed(results, "stop") == (results[0],)
    assert failed(results, "warn") == (results[1],)
    assert failed(results, "quarantine") == ()


def test_the_checks_table_keeps_every_result_failed_or_not() -> None:
    results = [result_of_counts(not_null("warn"), 10, unexpected=1), latest("812.5")]
    assert check_rows(results) == (
        CheckRow(
            "events",
            "expect_column_values_to_not_be_null",
            "origin",
            "warn",
            False,
            "1 of 10 rows (10 %) unexpected",
            1,
        ),
        CheckRow("panes", "expect_column_max_to_be_between", "mean_delay", "stop", False, "812.5", None),
    )


def test_an_expectation_about_the_table_has_a_null_column() -> None:
    about_table = Expectation(
        stage="panes", name="expect_table_row_count_to_equal", arguments=(("value", 1),)
    )
    result = Result(expectation=about_table, column=about_table.column, success=True, observed="1")
    assert check_rows([result])[0].column is None


def test_the_message_of_a_stop_names_what_where_found_wanted_and_rows() -> None:
    rule = not_null(mostly=0.99)
    rows = [
        {"origin": None, "dest": "LAX", "distance": 2475},
        {"dest": "SFO", "origin": None, "distance": 2586},
    ]
    message = stop_message([result_of_counts(rule, 100, unexpected=2)], {rule: rows})
    assert message == "\n".join(
        [
            "A check at stage events stopped the run:",
            "  - expect_column_values_to_not_be_null of column origin (line 2): "
            "found 2 of 100 rows (2 %) unexpected; wanted mostly: 0.99; some of the rows:",
            "    origin    dest    distance",
            "    --------  ------  ----------",
            "    null      LAX     2475",
            "    null      SFO     2586",
        ]
    )


def test_the_advice_after_a_stop_names_the_page_and_what_to_do() -> None:
    assert stop_advice("docs/page.html") == (
        "All results are on the Data Docs page docs/page.html. Nothing after this stage was written. Mend "
        "the data and run the batch again (in Airflow clear `accumulate` of all sources, which reads them, "
        "with what comes after), or, if the rows are right, relax the rule in the expectations file."
    )


def test_several_failed_checks_are_all_in_one_message() -> None:
    message = stop_message([result_of_counts(not_null(), 4, unexpected=1), latest("812.5")], {})
    assert message.startswith("2 checks at stage events, panes stopped the run:")
    assert "found 812.5; wanted max_value: 600" in message


def test_where_no_rows_are_given_the_values_that_were_found_are_told() -> None:
    result = result_of_counts(not_null(), 4, unexpected=1, samples=("a", "b"))
    assert "some of the values: a, b" in stop_message([result], {})


def test_ten_rows_are_shown_and_the_columns_in_question_come_first() -> None:
    rows = [{"at": number, "_fate": "late", "speed": 1000 + number} for number in range(12)]
    lines = table(rows, first=["speed"]).splitlines()
    assert lines[0].split() == ["speed", "at"]
    assert len(lines) == 2 + 10
    assert lines[-1].split() == ["1009", "9"]


def test_a_long_value_is_cut_in_the_table() -> None:
    assert table([{"text": "x" * 41}]).splitlines()[-1].strip() == "x" * 39 + "…"
    assert table([{"text": "x" * 40}]).splitlines()[-1].strip() == "x" * 40


def test_no_value_reaches_a_terminal_or_begins_a_line_of_a_log() -> None:
    forged = "\x1b[2J\n[2026-01-01] INFO - published"
    assert "\\x1b[2J\\n[2026-01-01] INFO" in table([{"city": forged}])
    result = result_of_counts(not_null(), 4, unexpected=1, samples=(forged,))
    assert "\x1b" not in stop_message([result], {}) and "\\x1b[2J\\n" in stop_message([result], {})


def test_a_warning_is_one_line() -> None:
    told = warning(result_of_counts(not_null("warn"), 100, unexpected=2))
    assert told == (
        "expect_column_values_to_not_be_null of column origin: "
        "found 2 of 100 rows (2 %) unexpected; wanted none"
    )
