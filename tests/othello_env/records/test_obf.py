from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from othello_env import Game, Position, RecordFormatError
from othello_env.records import GameRecord, read_records
from othello_env.records.obf import ObfEntry, format_obf, parse_obf, parse_obf_line, read_obf
from othello_env.squares import parse_square
from tests.othello_env.records.samples import WIPEOUT, read, read_one, write_one
from tests.strategies import positions

# FFO endgame suite #1 (Feldmann, Mysliwietz and Monien), the first two of its moves; scores with
# the empties to the winner.
FFO_1 = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"
LINE = f"{FFO_1}; G8:+18; H1:+12;"


@st.composite
def entries(draw: st.DrawFn) -> ObfEntry:
    """A position with scores for some of its moves, best first."""
    position = draw(positions)
    n = position.board_size
    squares = draw(st.permutations(position.legal_squares()))
    scores = sorted(draw(st.lists(st.integers(-(n * n) // 2, n * n // 2), min_size=len(squares), max_size=len(squares))), reverse=True)
    num_scores = draw(st.integers(0, len(squares)))
    return ObfEntry(position, {square: 2 * score for square, score in list(zip(squares, scores, strict=True))[:num_scores]})


def test_a_line_gives_the_position_and_the_scores_in_their_order() -> None:
    entry = parse_obf_line(LINE, line=7)
    assert entry.position == Position.parse(FFO_1)
    assert list(entry.scores.items()) == [(parse_square("g8"), 18), (parse_square("h1"), 12)]
    assert (entry.best_score, entry.best_squares, entry.line) == (18, (parse_square("g8"),), 7)


def test_all_moves_with_the_highest_score_are_best() -> None:
    assert parse_obf_line(f"{FFO_1}; G8:+0; H1:-2; G2:+0;").best_squares == (parse_square("g8"), parse_square("g2"))


def test_a_position_may_have_no_scores() -> None:
    entry = parse_obf_line(f"{FFO_1};")
    assert (entry.scores, entry.best_score, entry.best_squares) == ({}, None, ())


@pytest.mark.parametrize(
    "line",
    [
        f"  {LINE}  ",
        f"{LINE}\r\n",
        f"{LINE} % FFO #1; best G8:+18",
        f"{FFO_1};G8:+18;H1:+12;",
        f"{FFO_1} ;\tG8 : 18 ; h1:+12;",
        f"{FFO_1}; G8:+18; H1:+12; --:-127;",
        f"{FFO_1.replace('-', '.').replace('X', '*')}; G8:+18; H1:+12;",
        f"{FFO_1.lower()}; G8:+18; H1:+12;",
    ],
)
def test_spaces_comments_fillers_and_other_signs_change_nothing(line: str) -> None:
    assert parse_obf_line(line) == parse_obf_line(LINE)


def test_white_to_move_and_smaller_boards_are_read() -> None:
    entry = parse_obf_line("-----OX--XO----- O; C1:-4;")
    assert str(entry.position) == "-----OX--XO----- O"
    assert entry.scores == {parse_square("c1", 4): -4}


def test_a_forced_pass_may_have_a_score() -> None:
    position = Position.parse("OXX-" + "----" * 3 + " X")
    assert position.must_pass
    assert parse_obf_line(f"{position}; --:-6;").scores == {16: -6}
    assert parse_obf_line(f"{position}; pass:-6; --:-127;").scores == {16: -6}
    assert format_obf(position, {16: -6}) == f"{position}; --:-6;"


BOARD = FFO_1[:-2]


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("", 1, "0 squares; expected 16, 36, 64, a space, and the side to move"),
        (BOARD[:50], 1, "50 squares; expected 16, 36, 64"),
        (BOARD, 65, "no side to move after the squares: expected X or O"),
        (f"{BOARD};", 65, "no side to move after the squares"),
        (f"{BOARD}X;", 1, "65 squares"),
        (FFO_1, 67, "the line ends where a semicolon belongs, after the side to move"),
        (f"  {BOARD[:-1]} X;", 3, "63 squares"),
        (f"--Z{BOARD[3:]} X;", 3, "'Z' is no square: expected X, O or -"),
        (f"{BOARD} -; G8:+18;", 66, "'-' is no side to move: expected X or O"),
        (f"{BOARD} Black;", 67, "'lack' after the side to move: expected a semicolon"),
        (f"{FFO_1} G8:+18;", 67, "' G8:+18' after the side to move: expected a semicolon"),
        (f"{FFO_1}; G8:+18; H1:+12", 83, "the line ends where a semicolon belongs, after 'H1:+12'"),
        (f"{FFO_1}; G8:+18; H1:", 77, "'H1:' at the end: expected entries like G8:+18"),
        (f"{FFO_1}; G8:+18; solved", 77, "'solved' at the end: expected entries like G8:+18"),
        (f"{FFO_1}; G8:+18; solved;", 77, "'solved' is no entry like G8:+18"),
        (f"{FFO_1}; G8:+18;;", 76, "nothing before the semicolon: expected an entry like G8:+18"),
        (f"{FFO_1}; I9:+18;", 69, "'I9' names no square: expected a1 to h8"),
        (f"{FFO_1}; C1:+18;", 69, "c1 is illegal for black in --XXX"),
        (f"{FFO_1}; --:+18;", 69, "pass is illegal for black"),
        (f"{FFO_1}; G8:+18; G8:+12;", 77, "G8 has a score already, +18: expected each move once"),
        (f"{FFO_1}; G8:+18; g8:+18;", 77, "g8 has a score already, +18"),
        (f"{FFO_1}; G8:+18:+12;", 75, "a second colon in 'G8:+18:+12': expected one score for a move"),
        (f"{FFO_1}; G8;", 71, "no score after 'G8'"),
        (f"{FFO_1}; G8: ;", 72, "no score after 'G8:'"),
        (f"{FFO_1}; G8:win;", 72, "'win' is no score: expected an integer"),
        (f"{FFO_1}; G8:+1.5;", 72, "'+1.5' is no score"),
        (f"{FFO_1}; G8:+17;", 72, "score +17: expected an even integer from -64 to +64"),
        (f"{FFO_1}; G8:-66;", 72, "score -66: expected an even integer from -64 to +64"),
        (f"{FFO_1}; G8:{'9' * 5000};", 72, "'9999999999999999999999999999999999999999'... is no score"),
        ("-----OX--XO----- X; A1:+0;", 21, "a1 is illegal for black in -----OX--XO----- X; legal: "),
        ("X--------------- O; A2:+0;", 21, "a2 is illegal for white in X--------------- O; legal: none, the game is over"),
        ("X--------------- O; --:-16;", 21, "pass is illegal for white in X--------------- O; legal: none, the game is over"),
        ("OXX------------- X; D1:+0;", 21, "d1 is illegal for black in OXX------------- X; legal: pass"),
        ("-----OX--XO----- X; B1:+18;", 24, "score +18: expected an even integer from -16 to +16"),
    ],
)
def test_a_wrong_line_is_refused_with_line_and_column(line: str, column: int, message: str) -> None:
    with pytest.raises(RecordFormatError, match=re.escape(f"suite.obf, line 3, column {column}: {message}")) as caught:
        parse_obf_line(line, "suite.obf", line=3)
    assert "\n" not in str(caught.value)


def test_a_text_is_read_without_its_comments_and_empty_lines() -> None:
    read = parse_obf(f"% FFO\n\n{LINE}\r\n   \n{FFO_1};\n")
    assert [(entry.line, len(entry.scores)) for entry in read] == [(3, 2), (5, 0)]


def test_the_first_wrong_line_ends_the_reading() -> None:
    with pytest.raises(RecordFormatError, match="^suite.obf, line 2, column 1: 3 squares"):
        parse_obf(f"{LINE}\nXO-\n{LINE}", "suite.obf")


def test_reading_goes_on_where_errors_are_taken() -> None:
    errors: list[RecordFormatError] = []
    lines = [LINE, "XO-", f"{FFO_1}; G8:+17;", LINE]
    assert [entry.line for entry in read_obf(lines, "suite.obf", on_error=errors.append)] == [1, 4]
    assert [str(error).partition(", column")[0] for error in errors] == ["suite.obf, line 2", "suite.obf, line 3"]


def test_scores_are_written_best_first() -> None:
    scores = {parse_square("h1"): 12, parse_square("g8"): 18}
    assert format_obf(Position.parse(FFO_1), scores) == LINE


@pytest.mark.parametrize(("square", "score"), [(2, 0), (62, 17), (62, 66), (64, 0), (65, 0), (-1, 0)])
def test_nothing_is_written_that_cannot_be_read(square: int, score: int) -> None:
    with pytest.raises(ValueError, match="expected an even integer|is illegal for black|a 8x8 board has squares 0 to 63"):
        format_obf(Position.parse(FFO_1), {square: score})


@given(entries())
def test_what_is_written_is_read_again(entry: ObfEntry) -> None:
    read = parse_obf_line(format_obf(entry.position, entry.scores))
    assert read == entry
    assert list(read.scores) == list(entry.scores)


@given(st.text() | st.text("XO-;: +1289GH%\n\t", max_size=90).map(lambda tail: LINE[:67] + tail))
def test_no_text_raises_anything_but_its_own_error(text: str) -> None:
    errors: list[RecordFormatError] = []
    list(read_obf(text.splitlines(), "text", on_error=errors.append))
    try:
        parse_obf_line(text)
    except RecordFormatError as error:
        errors.append(error)
    assert all("column" in str(error) for error in errors)


@given(st.integers(0, len(LINE)), st.integers(0, len(LINE)), st.text(max_size=3))
def test_no_damage_to_a_line_raises_anything_but_its_own_error(start: int, stop: int, put: str) -> None:
    try:
        entry = parse_obf_line(LINE[:start] + put + LINE[stop:])
    except RecordFormatError:
        return
    assert parse_obf_line(format_obf(entry.position, entry.scores)) == entry


def test_the_published_suite_is_read_and_written(shared_data: Path) -> None:
    lines = (shared_data / "hard-20.obf").read_text(encoding="ascii").splitlines()
    read = parse_obf("\n".join(lines), "hard-20.obf")
    assert len(read) == 276
    for entry, line in zip(read, lines, strict=True):
        assert set(entry.scores) == set(entry.position.legal_squares())
        assert entry.position.empties == 20
        written = format_obf(entry.position, entry.scores)
        assert parse_obf_line(written) == entry
        assert sorted(written.split()) == sorted(line.replace(" --:-127;", "").split())  # two lines are not quite sorted


def test_lines_become_records_without_moves() -> None:
    record = read_one("obf", f"% a comment\n{LINE}\n")
    assert record == GameRecord(Game((), Position.parse(FFO_1)), theoretical_score=18, tags={"scores": "G8:+18; H1:+12;"})
    assert (record.place.line, record.is_complete) == (2, False)
    assert write_one("obf", record) == f"{LINE}\n"


def test_scores_of_records_are_seen_from_black() -> None:
    record = read_one("obf", "-----OX--XO----- O; C1:-4;")
    assert record.theoretical_score == 4
    assert write_one("obf", record) == "-----OX--XO----- O; C1:-4;\n"
    assert write_one("obf", GameRecord(record.game)) == "-----OX--XO----- O;\n"


def test_games_are_no_positions() -> None:
    with pytest.raises(ValueError, match=r"^OBF holds positions, not games \(this one has 9 moves\)$"):
        write_one("obf", GameRecord(WIPEOUT))


def test_records_of_the_published_suite_are_written_and_read(shared_data: Path) -> None:
    records = list(read_records(shared_data / "hard-20.obf"))
    assert len(records) == 276
    assert read("obf", "".join(write_one("obf", record) for record in records)) == records
