from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from othello_env import Game, Position, RecordFormatError
from othello_env.records import GameRecord, RecordedResult
from othello_env.records.sgf import Dialect, format_sgf
from tests.othello_env.records.samples import DRAW, GAMES, PASSES, RUNNING, SMALL, WHITE_FIRST, WIPEOUT, read, read_one
from tests.strategies import positions

EDAX = """\
(;FF[4]GM[2]AP[edax:4.6]
PC[Edax]DT[2026-10-07]
PB[one]PW[?]
SZ[8]AB[e4][d5]AW[d4][e5]PL[B]
RE[Void]
B[f5];W[d6];
B[c3];)
"""
QUARRY = """\
(;GM[2]FF[4]
CA[UTF-8]
AP[Quarry:0.2.0]
SZ[8]
PB[one]
PW[two]
RE[B+4]
;B[fe]
;W[df];B[cc]
)
"""
CASSIO = (
    "(;GM[2]FF[4]SZ[8]TM[1500]BL[1500]WL[1500]AP[Cassio:9.0b1]US[somebody]CP[Copyleft 2026]PB[one]PW[two]EV[Open]DT[1979]RE[B+36]"
    "AB[e4][d5]AW[d4][e5]PL[B];B[f5];W[d6];B[c3])"
)
OTHELLO_TK = "(;GM[2]FF[4]\nSZ[8]\nAP[OthelloTk:0.1.1]\nAB[e4][d5]\nAW[d4][e5]\nPL[B]\n;B[f5]\n;W[d6]\n;B[c3]\n)\n"


@pytest.mark.parametrize(
    "text", [EDAX, EDAX.replace("\n", ""), QUARRY, CASSIO, OTHELLO_TK, EDAX.replace("\n", "\r"), EDAX.replace("\n", "\r\n")]
)
def test_the_programs_that_write_sgf_are_read(text: str) -> None:
    assert read_one("sgf", text).game == Game.parse("f5d6c3")


def test_the_properties_of_the_game_are_kept() -> None:
    record = read_one("sgf", CASSIO)
    assert (record.black, record.white, record.event, record.date) == ("one", "two", "Open", "1979")
    assert record.result == RecordedResult.from_score(36)
    assert (record.tags["AP"], record.tags["TM"], record.tags["US"]) == ("Cassio:9.0b1", "1500", "somebody")
    record = read_one("sgf", EDAX)
    assert (record.white, record.site, record.date) == ("", "Edax", "2026-10-07")
    assert record.result == RecordedResult(is_unfinished=True)


def test_results_that_cassio_and_edax_get_wrong_are_contradictions() -> None:
    white_won = format_sgf(GameRecord(PASSES)).replace("RE[W+64]", "RE[B+64]")
    assert "the sign is the opposite" in read_one("sgf", white_won).contradictions()[0]
    edax = format_sgf(GameRecord(WIPEOUT)).replace("RE[B+64]", "RE[W+64]")
    assert "as Edax 4.6 writes it after an odd number of moves" in read_one("sgf", edax).contradictions()[0]


@pytest.mark.parametrize("token", ["PA", "pa", "pass", "@@@@", "tt", "", "--"])
def test_passes_are_read_in_all_spellings_and_left_out(token: str) -> None:
    moves = ";B[f5];W[f6];B[d3];W[g5];B[h5];W[h4];B[f7];W[h6]"
    game = Game.parse("f5f6d3g5h5h4f7h6c5")
    assert read_one("sgf", f"(;GM[2]{moves};B[{token}];W[c5])").game == game
    assert read_one("sgf", f"(;GM[2]{moves};W[c5])").game == game


def test_discs_may_be_set_up_in_rectangles_and_in_either_dialect() -> None:
    start = Position.parse("XXXX" + "-" * 4 + "XXXX" + "-" * 44 + "O--OO--- O".replace(" ", ""))
    for text in ("AB[aa:db]AW[ah][dh:eh]", "AB[a1:d2]AW[a8][d8][e8]"):
        assert read_one("sgf", f"(;GM[2]SZ[8]{text}PL[W])").game == Game((), start)


def test_the_first_move_says_who_is_to_move_where_nothing_else_does() -> None:
    record = read_one("sgf", "(;GM[2]SZ[8]AB[d4][e5]AW[e4][d5];W[f5];B[d6])")
    assert record.game == WHITE_FIRST


def test_only_the_first_variation_is_read() -> None:
    assert read_one("sgf", "(;GM[2];B[f5](;W[d6](;B[c3])(;B[c4]))(;W[f4]))").game == Game.parse("f5d6c3")


def test_comments_are_kept_with_their_moves() -> None:
    record = read_one("sgf", "(;GM[2]C[a \\] bracket];B[f5]C[best\\: move];W[d6];B[c3]C[two\nlines \\\njoined])")
    assert record.tags["Comment"] == "a ] bracket"
    assert record.notes == {1: "best: move", 3: "two\nlines joined"}


def test_shift_jis_brackets_inside_of_characters_end_no_value() -> None:
    record = read_one("sgf", "(;GM[2]PB[従兄 ソ]PW[村上];B[f5])".encode("shift_jis"))
    assert (record.black, record.white) == ("従兄 ソ", "村上")


def test_small_letters_in_old_names_do_not_count() -> None:
    assert read_one("sgf", "(;GaMe[2]PlayerBlack[one];Black[f5])").black == "one"


@pytest.mark.parametrize("dialect", ["edax", "quarry"])
@pytest.mark.parametrize("game", [*GAMES, WHITE_FIRST, SMALL, Game()])
def test_what_is_written_is_read_again(game: Game, dialect: Dialect) -> None:
    record = GameRecord(
        game,
        black=r"Jérôme [a\b]",
        white="村上",
        date="2006-05-28",
        event="Open: 1",
        site="Paris",
        round="3/4",
        result=RecordedResult.from_score(-8),
        komi=-0.5,
        tags={"TM": "1500", "Comment": "good"},
        notes={1: "[best]"} if game.moves else {},
    )
    assert read_one("sgf", format_sgf(record, dialect=dialect)) == record


@given(positions, st.sampled_from(["edax", "quarry"]))
def test_positions_are_written_and_read(position: Position, dialect: Dialect) -> None:
    record = GameRecord(Game((), position), result=RecordedResult(is_unfinished=True))
    read_again = read_one("sgf", format_sgf(record, dialect=dialect))
    if position.black | position.white:  # without discs the standard start position is meant
        assert read_again == record


def test_edax_gets_letters_with_digits_and_passes_quarry_pairs_of_letters_without() -> None:
    edax, quarry = format_sgf(GameRecord(PASSES)), format_sgf(GameRecord(PASSES), dialect="quarry")
    assert edax.startswith("(;FF[4]GM[2]CA[UTF-8]AP[othello-env]SZ[8]AB[e4][d5]AW[d4][e5]PL[B]RE[W+64];B[f5];W[d6]")
    assert edax.count("[PA]") == 23
    assert quarry.startswith("(;GM[2]FF[4]CA[UTF-8]AP[othello-env]SZ[8]RE[W+64]\n;B[fe];W[df]")
    assert "PA" not in quarry
    assert "RE[0]" in format_sgf(GameRecord(DRAW))
    assert "RE" not in format_sgf(GameRecord(RUNNING))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("(;GM[1]SZ[8];B[dd])", "GM is '1', expected 2, Othello"),
        ("(;GM[2]SZ[19];B[f5])", "SZ is '19': the board sizes are 4, 6, 8"),
        ("(;GM[2];B[f5];W[f5])", "move 2: f5 is illegal for white"),
        ("(;GM[2];B[f5];B[d6])", "move 2 of black, but white is to move"),
        ("(;GM[2];B[f5][d6])", "2 moves of one side at once"),
        ("(;GM[2];B[f5];W[zz])", "'zz' names no square"),
        ("(;GM[2];B[f5];AB[a1])", "AB after the first node: discs are set up only before the game"),
        ("(;GM[2]AB[a1]AW[a1]PL[B])", "AB and AW have a square in common"),
        ("(;GM[2]AB[PA]AW[a1]PL[B])", "'PA' names no square"),
        ("(;GM[2]AB[b2:a1]PL[B])", "'b2:a1': expected the top left and the bottom right square"),
        ("(;GM[2]PL[X])", "PL is 'X', expected B or W"),
        ("(;GM[2]KM[x])", "komi 'x': expected a number"),
        ("(;GM[2]GM[2])", "GM appears twice"),
        ("(;GM[2];B[f5];Q[d6])", "'Q' is no property of SGF"),
        ("()", "expected a semicolon after the parenthesis"),
    ],
)
def test_games_that_do_not_follow_the_format_are_refused(text: str, error: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        read("sgf", f"\n{text}")
    assert str(caught.value).startswith("games, line 2: ")
    assert error in str(caught.value)
    errors: list[RecordFormatError] = []
    assert [record.game for record in read("sgf", f"{text}\n(;GM[2];B[f5])", on_error=errors.append)] == [Game.parse("f5")]
    assert len(errors) == 1
