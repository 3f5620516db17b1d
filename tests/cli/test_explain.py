"""`sash explain`: what a spec will do, in words that follow from it."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Place


def section(page: str, title: str) -> str:
    """The lines of one section of a page, blanks made single."""
    lines = page.partition(f"\n{title}\n")[2].partition("\n\n")[0].splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


def test_frames_say_their_length_and_where_it_comes_from(place: Place):
    said = place.sash("explain")
    frames = section(said.out, "Frames")
    assert (said.code, said.err) == (0, "")
    told = "aligned 30 minutes the greatest common divisor of size 1 hour, size 2 hours, step 30 minutes"
    assert told in frames and "hourly, rolling" in frames


def test_an_offset_counts_among_the_lengths(place: Place):
    place.write_spec(("{tumbling: 1 hour}", "{tumbling: 1 hour, offset: 20 minutes}"))
    frames = section(place.sash("explain").out, "Frames")
    assert "aligned 10 minutes" in frames and "size 1 hour, offset 20 minutes" in frames


def test_aggregates_say_their_parts(place: Place):
    aggregates = section(place.sash("explain").out, "Aggregates")
    assert "key: city" in aggregates
    assert "rides count(*) all rides__rows yes" in aggregates
    assert "mean_fare avg(fare) all mean_fare__total, mean_fare__rows where types are exact" in aggregates


def test_what_cannot_be_deducted_says_so_and_a_where_is_shown(place: Place):
    place.write_spec(("{avg: fare}", '{max: fare, where: "fare > 5"}'))
    aggregates = section(place.sash("explain").out, "Aggregates")
    assert "mean_fare max(fare) fare > 5 mean_fare__extreme no" in aggregates


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{top: fare, n: 3}", "top(fare, n 3) all mean_fare__extremes no"),
        (
            "{linear_trend: fare, by: 'hour(at)'}",
            "linear_trend(fare, by hour(at)) all mean_fare__comoments no",
        ),
        (
            "{approx_quantile: fare, q: [0.5, 0.9]}",
            "approx_quantile(fare, q 0.5 and 0.9) all mean_fare__sketch no",
        ),
        ("{histogram: fare}", "histogram(fare) all mean_fare__counts yes"),
        (
            "{custom: 'tests.aggregates.mine:SUM_OF_SQUARES', of: fare}",
            "tests.aggregates.mine:SUM_OF_SQUARES(fare) all mean_fare__total where types are exact",
        ),
    ],
)
def test_options_are_told_beside_what_the_aggregate_is_of(written: str, told: str, place: Place):
    place.write_spec(("{avg: fare}", written))
    assert told in section(place.sash("explain").out, "Aggregates")


def test_windows_say_how_they_are_put_together(place: Place):
    windows = section(place.sash("explain").out, "Windows")
    assert "hourly tumbling: size 1 hour 1 2 frames" in windows
    assert "rolling sliding: size 2 hours, step 30 minutes 4 4 frames" in windows


def test_windows_of_other_shapes_tell_what_they_are_made_of(place: Place):
    place.write_spec(
        ("{sliding: 2 hours, step: 30 minutes}", "{session: 10 minutes, max: 1 hour}\n  ever: {global: true}")
    )
    page = place.sash("explain").out
    assert "rolling a partial session events are in the table partial_sessions" in section(page, "Frames")
    windows = section(page, "Windows")
    assert "rolling session: gap 10 minutes, shorter than 1 hour, touching ones merge 1" in windows
    assert "ever global 1 1 frame" in windows


def test_every_result_of_a_sliding_window_says_its_strategy_and_why(place: Place):
    place.write_spec(("  mean_fare: {avg: fare}", "  mean_fare: {avg: fare}\n  most: {max: fare}"))
    page = place.sash("explain").out
    told = "\n".join(" ".join(line.split()) for line in page.splitlines())
    assert "hourly rides recombine 2 a frame is in one window at most, so it is put into each" in told
    assert "rolling rides deduct 2 its type is exact: what leaves a window is taken away again" in told
    assert "rolling most prefix–suffix 3 what left a window cannot be taken away again" in told
    either = "deduct where types are exact, else prefix–suffix"
    assert f"rolling mean_fare {either} 2 or 3 taking doubles away would leave a residue" in told
    assert "deduct: what a window's block began with" in told


def test_what_is_exact_is_told_where_that_decides(place: Place):
    told = "exact: whole numbers, and decimals of up to 17 digits, whose running totals have room"
    assert told in place.sash("explain").out
    place.write_spec(("{avg: fare}", "{max: fare}"))
    assert told not in place.sash("explain").out


def test_every_window_has_the_strategy_of_each_result(place: Place):
    more = "  ever: {global: true}\n  trips: {session: 1 hour}\n  own: {tumbling: 1 hour, unaligned: true}\n"
    place.write_spec(("schedule:", f"{more}schedule:"))
    page = place.sash("explain").out
    told = "\n".join(" ".join(line.split()) for line in page.splitlines())
    for result in ("rides", "mean_fare"):
        for window in ("ever", "own"):
            assert f"{window} {result} recombine 1 a window is one frame, and shares it with no other" in told
        assert f"trips {result} recombine its partials what a session holds is known once" in told
    assert "ever with --final alone when due" in told


def test_lists_are_merged_and_bits_are_deducted_whatever_the_values_are(place: Place):
    more = "  mean_fare: {avg: fare}\n  all: {collect_list: fare}\n  odd: {bit_xor: seats}"
    place.write_spec(("  mean_fare: {avg: fare}", more))
    told = "\n".join(" ".join(line.split()) for line in place.sash("explain").out.splitlines())
    assert "rolling all prefix–suffix 3 merging states of its type costs less" in told
    assert "rolling odd deduct 2 its type is exact" in told


def test_a_growing_window_is_the_beginning_of_its_block(place: Place):
    place.write_spec(("{sliding: 2 hours, step: 30 minutes}", "{cumulate: 1 day, step: 30 minutes}"))
    told = "\n".join(" ".join(line.split()) for line in place.sash("explain").out.splitlines())
    assert "rolling mean_fare prefix 1 a window is the beginning of its block, and what entered stays" in told
    assert "prefix: the beginning of a block, in which each frame is combined" in told
    assert "prefix–suffix" not in told


def test_a_size_that_is_no_multiple_of_the_step_has_two_answers(place: Place):
    place.write_spec(("{sliding: 2 hours, step: 30 minutes}", "{sliding: 50 minutes, step: 20 minutes}"))
    windows = section(place.sash("explain").out, "Windows")
    assert "rolling sliding: size 50 minutes, step 20 minutes 2 or 3 5 frames" in windows


def test_the_rules_of_time_are_told_of_each_source_and_window(place: Place):
    place.write_spec(
        ("  arrival_time: arrived\n", "  arrival_time: arrived\n  substream: city\n"),
        (
            "key: [city]",
            "key: [city]\ntime: {max_disorder: 5 min, idle_after: 1 h, max_ahead: 2 h, "
            "allowed_lateness: 1 d}",
        ),
    )
    time = section(place.sash("explain").out, "Time")
    watermark = "the newest event time seen − 5 minutes"
    assert f"main each `city` {watermark} 1 hour without arrivals over 2 hours ahead of its arrival" in time
    assert "when it is 1 day past the end" in place.sash("explain").out


def test_the_tasks_are_drawn_with_a_branch_per_source(place: Place):
    place.write_spec(("key: [city]", "sources: {east: {}, north: {}, west: {}}\nkey: [city]"))
    tasks = place.sash("explain").out.split("\nTasks\n")[1].splitlines()
    assert tasks[:3] == [
        "  accumulate east  ─┐",
        "  accumulate north ─┤─→ combine → finalise → publish",
        "  accumulate west  ─┘",
    ]
    assert "  checks between them: none" in tasks


def test_one_source_is_one_line_and_checks_are_counted(place: Place):
    suite = "panes:\n  - expect_column_max_to_be_between: {column: mean_fare, max_value: 600}\n"
    (place.home / "suite.yml").write_text(suite)
    place.write_spec(("key: [city]", "key: [city]\nexpectations: suite.yml"))
    tasks = place.sash("explain").out.split("\nTasks\n")[1].splitlines()
    assert tasks[0] == "  accumulate main → combine → finalise → publish"
    assert "  checks between them: 1 on panes" in tasks


def test_a_custom_operation_is_deducted_where_its_values_are_exact(place: Place):
    custom = "{custom: 'tests.aggregates.mine:SUM_OF_SQUARES', of: fare}"
    place.write_spec(("{avg: fare}", custom))
    told = "\n".join(" ".join(line.split()) for line in place.sash("explain").out.splitlines())
    assert "rolling mean_fare deduct where types are exact, else prefix–suffix 2 or 3" in told


def test_the_offset_of_windows_as_long_as_their_events_say_is_told(place: Place):
    place.write_spec(("{tumbling: 1 hour}", "{tumbling: length, offset: 5 minutes}"))
    told = "tumbling: as long as `length` says, offset 5 minutes"
    assert told in section(place.sash("explain").out, "Windows")


@pytest.mark.parametrize(
    ("module", "told"),
    [("import sys\n\nsys.exit(0)\n", "SystemExit: 0; allowed is"), ("", "AttributeError")],
)
@pytest.mark.parametrize("command", ["validate", "explain"])
def test_what_is_no_custom_window_is_told_with_its_line(place: Place, command: str, module: str, told: str):
    name = f"no_window_{command}_{len(module)}"
    (place.home / "dags" / f"{name}.py").write_text(module)
    place.write_spec(("{tumbling: 1 hour}", f"{{custom: '{name}:HERE'}}"))
    said = place.sash(command)
    assert (said.code, said.out) == (2, "")
    assert "rides.yml: line " in said.err and f"window `hourly`: custom `{name}:HERE`: {told}" in said.err
