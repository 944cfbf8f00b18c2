from __future__ import annotations

from dataclasses import replace

import pytest

from othello_env import Game, Position, RecordFormatError
from othello_env.records import GameRecord, Place, RecordedResult
from othello_env.records.record import parse_date, parse_komi, parse_position
from tests.othello_env.records.samples import DRAW, FULL, PASSES, RUNNING, WIPEOUT


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2006.05.28", "2006-05-28"),
        ("2006-05-28", "2006-05-28"),
        ("2006/5/8", "2006-05-08"),
        ("20060528", "2006-05-28"),
        ("2003.12.15_12:33:18.MST", "2003-12-15"),
        ("2000-4-16 11:13 EST", "2000-04-16"),
        ("2004-11-24 13:47:34 GMT", "2004-11-24"),
        ("947375357", "2000-01-08"),
        ("2009", "2009"),
        ("2006.05.??", "2006-05"),
        ("2006.??.??", "2006"),
        ("2006.05.31", "2006-05-31"),
        ("2006.02.31", "2006-02"),
        ("2006.0.0", "2006"),
        ("0.0.0", ""),
        ("????.??.??", ""),
        ("0000.00.00", ""),
        ("..", ""),
        ("", ""),
        ("12345", ""),
        ("yesterday", ""),
    ],
)
def test_dates_are_iso_as_far_as_they_are_known(text: str, date: str) -> None:
    assert parse_date(text) == date


def test_a_place_says_where_a_record_stands() -> None:
    assert str(Place("games.pgn", 12)) == "games.pgn, line 12"
    assert str(Place("games.wtb", offset=84)) == "games.wtb, byte 84"
    assert str(Place("games.pgn")) == "games.pgn"


def test_records_that_differ_in_their_place_alone_are_equal() -> None:
    record = GameRecord(FULL, black="A", place=Place("one.pgn", 1))
    assert record == replace(record, place=Place("two.pgn", 9))
    assert record != replace(record, black="B")


def test_a_record_is_complete_where_its_game_is_over() -> None:
    assert [GameRecord(game).is_complete for game in (WIPEOUT, DRAW, RUNNING, Game())] == [True, True, False, False]


def test_without_a_recorded_result_that_of_the_board_counts() -> None:
    assert GameRecord(WIPEOUT).result_or_computed == RecordedResult.from_score(64)
    assert GameRecord(RUNNING).result_or_computed is None
    recorded = RecordedResult.from_score(-2)
    assert GameRecord(WIPEOUT, result=recorded).result_or_computed is recorded


@pytest.mark.parametrize(
    ("game", "result"),
    [
        (FULL, RecordedResult.from_discs(28, 36)),
        (FULL, RecordedResult.from_score(-8)),
        (FULL, RecordedResult(-1)),
        (WIPEOUT, RecordedResult.from_discs(13, 0)),
        (WIPEOUT, RecordedResult.from_discs(64, 0)),
        (WIPEOUT, RecordedResult.from_score(13)),
        (WIPEOUT, RecordedResult.from_score(64)),
        (PASSES, RecordedResult.from_discs(0, 59)),
        (DRAW, RecordedResult.from_discs(12, 12)),
        (DRAW, RecordedResult.from_discs(32, 32)),
        (DRAW, RecordedResult.from_score(0)),
        (DRAW, RecordedResult(0)),
        (FULL, RecordedResult.from_score(64, "+64.000:t", reason="time")),
        (RUNNING, RecordedResult.from_discs(44, 20)),
        (RUNNING, RecordedResult(is_unfinished=True, text="*")),
        (RUNNING, None),
        (FULL, None),
    ],
)
def test_results_that_agree_with_the_board_are_no_contradictions(game: Game, result: RecordedResult | None) -> None:
    assert GameRecord(game, result=result).contradictions() == ()


@pytest.mark.parametrize(
    ("game", "result", "message"),
    [
        (
            FULL,
            RecordedResult.from_discs(36, 28, "36-28"),
            "recorded '36-28', but the board says 28-36, a win for white; the sign is the opposite",
        ),
        (FULL, RecordedResult.from_discs(28, 35), "recorded '28-35', but the board says 28-36, a win for white"),
        (FULL, RecordedResult(1, text="1-0"), "recorded '1-0', but the board says 28-36, a win for white"),
        (
            WIPEOUT,
            RecordedResult.from_score(-64, "W+64"),
            "recorded 'W+64', but the board says 13-0, a win for black; "
            "the sign is the opposite, as Edax 4.6 writes it after an odd number of moves",
        ),
        (WIPEOUT, RecordedResult.from_score(62), "recorded '+62', but the board says 13-0, a win for black"),
        (DRAW, RecordedResult(1), "recorded '1-0', but the board says 12-12, a draw"),
        (FULL, RecordedResult(is_unfinished=True, text="*"), "recorded as unfinished ('*'), but the game is over: 28-36"),
        (RUNNING, RecordedResult(text="B+999"), "the recorded result 'B+999' is not understood"),
    ],
)
def test_results_that_contradict_the_board_are_described(game: Game, result: RecordedResult, message: str) -> None:
    assert GameRecord(game, result=result).contradictions() == (message,)


def test_two_recorded_results_that_differ_are_described() -> None:
    record = GameRecord(RUNNING, result=RecordedResult(is_unfinished=True, text="*"), tags={"ResultToken": "31-33"})
    assert record.contradictions() == ("the tag says '*', the end of the moves '31-33'",)


def test_games_of_other_rules_are_not_compared() -> None:
    assert GameRecord(FULL, result=RecordedResult(1), tags={"TY": "8a"}).contradictions() == ()


def test_komi_and_positions_are_read_or_refused_with_their_place() -> None:
    place = Place("games.csv", 3)
    assert (parse_komi("-3.133", place), parse_komi("", place)) == (-3.133, 0.0)
    with pytest.raises(RecordFormatError, match=r"^games.csv, line 3: komi 'nan': expected a number$"):
        parse_komi("nan", place)
    assert parse_position("-----OX--XO----- X", place) == Position.start(4)
    with pytest.raises(RecordFormatError, match=r"^games.csv, line 3: position 'XO': 2 signs"):
        parse_position("XO", place)
    with pytest.raises(RecordFormatError, match=r"^games.csv, line 3: a position of 5000 characters"):
        parse_position("9" * 5000, place)
