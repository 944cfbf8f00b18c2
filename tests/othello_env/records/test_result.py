from __future__ import annotations

import pytest

from othello_env.records.result import (
    RecordedResult,
    discs_of,
    format_ggf_result,
    format_sgf_result,
    parse_ggf_result,
    parse_result,
    parse_sgf_result,
    parse_winner,
)

UNFINISHED = RecordedResult(is_unfinished=True)
UNCLEAR = RecordedResult()


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("33-31", RecordedResult.from_discs(33, 31)),
        ("62-1", RecordedResult.from_discs(62, 1)),
        ("64-0", RecordedResult.from_discs(64, 0)),
        (" 31 - 33 ", RecordedResult.from_discs(31, 33)),
        ("1-0", RecordedResult(1)),
        ("0-1", RecordedResult(-1)),
        ("1/2-1/2", RecordedResult(0)),
        ("-2", RecordedResult.from_score(-2)),
        ("+17", RecordedResult.from_score(17)),
        ("0", RecordedResult.from_score(0)),
        ("*", UNFINISHED),
        ("?", UNFINISHED),
        ("0-0", UNFINISHED),
        ("33-32", UNCLEAR),
        ("999-0", UNCLEAR),
        ("-31-95", UNCLEAR),
        ("+65", UNCLEAR),
        ("33", UNCLEAR),
        ("９-１", UNCLEAR),
        ("9" * 5000, UNCLEAR),
    ],
)
def test_results_of_tags_put_black_first(text: str, result: RecordedResult) -> None:
    assert parse_result(text) == result
    assert parse_result(text).text == text.strip()
    assert parse_result(text).is_unclear == (result == UNCLEAR)


def test_the_discs_must_fit_the_board() -> None:
    assert parse_result("20-16", 6).discs == (20, 16)
    assert parse_result("20-17", 6).is_unclear


@pytest.mark.parametrize(("text", "outcome"), [("1", 1), ("-1", -1), ("0", 0), ("Black", 1), ("white", -1), ("draw", 0), ("2", None)])
def test_columns_name_the_winner(text: str, outcome: int | None) -> None:
    assert parse_winner(text).outcome == outcome


@pytest.mark.parametrize(
    ("text", "komi", "result"),
    [
        ("+0.000", 0, RecordedResult.from_score(0)),
        ("-2.00", 0, RecordedResult.from_score(-2)),
        ("-12", 0, RecordedResult.from_score(-12)),
        ("+8.500", -0.5, RecordedResult.from_score(8)),
        ("-22.87", -3.133, RecordedResult.from_score(-26)),
        ("-64.000:t", 0, RecordedResult.from_score(-64, reason="time")),
        ("+10.00:r", 0, RecordedResult.from_score(10, reason="resignation")),
        ("+2.00:s", 0, RecordedResult.from_score(2, reason="agreement")),
        ("?", 0, UNFINISHED),
        ("-127.000", 0, UNFINISHED),
        ("+2.00:x", 0, UNCLEAR),
        ("+2.50", 0, UNCLEAR),
        ("+66.00", 0, UNCLEAR),
        ("won", 0, UNCLEAR),
        ("1e5", 0, UNCLEAR),
    ],
)
def test_ggf_results_are_scores_minus_the_komi(text: str, komi: float, result: RecordedResult) -> None:
    assert parse_ggf_result(text, 8, komi) == result


@pytest.mark.parametrize(
    ("result", "komi", "text"),
    [
        (RecordedResult.from_score(8), -0.5, "+8.500"),
        (RecordedResult.from_discs(31, 33), 0, "-2.000"),
        (RecordedResult.from_score(-64, reason="time"), 0, "-64.000:t"),
        (RecordedResult(1), 0, "?"),
        (UNFINISHED, 0, "?"),
        (None, 0, "?"),
    ],
)
def test_ggf_results_are_written(result: RecordedResult | None, komi: float, text: str) -> None:
    assert format_ggf_result(result, komi) == text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("B+10", RecordedResult.from_score(10)),
        ("W+2", RecordedResult.from_score(-2)),
        ("B+2.0", RecordedResult.from_score(2)),
        ("B+", RecordedResult(1)),
        ("W+R", RecordedResult(-1, reason="resignation")),
        ("W+Resign", RecordedResult(-1, reason="resignation")),
        ("B+T", RecordedResult(1, reason="time")),
        ("B+Time", RecordedResult(1, reason="time")),
        ("B+F", RecordedResult(1, reason="forfeit")),
        ("0", RecordedResult.from_score(0)),
        ("Draw", RecordedResult.from_score(0)),
        ("Void", UNFINISHED),
        ("?", UNFINISHED),
        ("", UNFINISHED),
        ("B+65", UNCLEAR),
        ("B+X", UNCLEAR),
        ("Black", UNCLEAR),
    ],
)
def test_sgf_results_name_the_winner_and_the_margin(text: str, result: RecordedResult) -> None:
    assert parse_sgf_result(text, 8) == result


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (RecordedResult.from_score(10), "B+10"),
        (RecordedResult.from_discs(31, 33), "W+2"),
        (RecordedResult(1), "B+"),
        (RecordedResult.from_score(0), "0"),
        (RecordedResult.from_score(-64, reason="time"), "W+T"),
        (RecordedResult.from_score(4, reason="agreement"), "B+4"),
        (UNFINISHED, "Void"),
    ],
)
def test_sgf_results_are_written(result: RecordedResult, text: str) -> None:
    assert format_sgf_result(result) == text


def test_discs_follow_from_even_scores() -> None:
    assert discs_of(RecordedResult.from_score(-8), 8) == (28, 36)
    assert discs_of(RecordedResult.from_discs(62, 1), 8) == (62, 1)
    assert discs_of(RecordedResult.from_score(13), 8) is None
    assert discs_of(RecordedResult(1), 8) is None
