from __future__ import annotations

import pytest
from hypothesis import given

from othello_env import Game, Position, RecordFormatError
from othello_env.records import GameRecord, RecordedResult
from othello_env.records.transcript import format_transcript
from tests.othello_env.records.samples import FULL, GAMES, PASS_AT_THE_END, PASSES, RUNNING, SMALL, WHITE_FIRST, WIPEOUT, read, read_one
from tests.strategies import positions

SQUARES = str(Position.start())[:64]
ASYMMETRIC = "-------------------O-------OO------XO--------------------------- X"


@pytest.mark.parametrize(
    "text",
    [
        "f5d6c3d3c4f4f6",
        "F5D6C3D3C4F4F6",
        "F5d6C3d3C4f4F6",
        "f5 d6 c3 d3 c4 f4 f6",
        "f5, d6, c3, d3, c4, f4, f6",
        "F5-D6-C3-D3-C4-F4-F6",
        "1. f5 d6 2. c3 d3 3. c4 f4 4. f6",
        "1. f5 2. d6 3. c3 4. d3 5. c4 6. f4 7. f6",
        "1. f5 d6\n2. c3 d3\n3. c4 f4\n4. f6\n",
        "# a comment\n\n1. f5 d6\n3. c3 d3\n5. c4 f4\n7. f6",
        "% a comment\r\nf5d6c3d3c4f4f6\r\n",
        "1\nf5d6c3d3c4f4f6\n",
    ],
)
def test_transcripts_are_read_in_all_spellings(text: str) -> None:
    assert read_one("transcript", text).game == RUNNING


@pytest.mark.parametrize("token", ["", "pa", "PASS", "--", "@@", "@@@@", "pp", "ps"])
def test_passes_may_be_written(token: str) -> None:
    assert read_one("transcript", f"{PASS_AT_THE_END}{token}c5").game == Game.parse("f5f6d3g5h5h4f7h6c5")


def test_a_lone_hyphen_is_a_pass() -> None:
    assert read_one("transcript", "f5 f6 d3 g5 h5 h4 f7 h6 - c5").game == Game.parse("f5f6d3g5h5h4f7h6c5")


def test_numbered_games_over_several_lines_end_where_the_numbers_begin_again() -> None:
    text = "1. f5 d6\n2. c3\n1. f5 f6\n2. e6\n\nf5f4\n1. e6 f4\n"
    assert [(str(record.game), record.place.line) for record in read("transcript", text)] == [
        ("f5d6c3", 1),
        ("f5f6e6", 3),
        ("f5f4", 6),
        ("e6f4", 7),
    ]


def test_positions_are_read_with_and_without_moves() -> None:
    assert read_one("transcript", f"{ASYMMETRIC};D2C3").game == Game.parse("d2c3", Position.parse(ASYMMETRIC))  # Edax
    for text in (ASYMMETRIC, f"{ASYMMETRIC};", ASYMMETRIC.replace(" ", "").replace("X", "*")):
        assert read_one("transcript", text).game == Game((), Position.parse(ASYMMETRIC))
    record = read_one("transcript", f"012;{SQUARES.replace('-', '.').replace('X', 'b').replace('O', 'w')};b;the start; # a remark")
    assert (record.game, record.tags) == (Game(), {"id": "012", "description": "the start"})


def logbook(game: Game, score: str) -> str:
    sides = ["+-"[position.side_to_move] for position in game.positions()[:-1]]
    moves = str(game)
    return "".join(f"{side}{moves[2 * ply : 2 * ply + 2]}" for ply, side in enumerate(sides)) + score


def test_logistellos_logbook_signs_the_sides() -> None:
    record = read_one("transcript", logbook(FULL, ": -08 10"))
    assert (record.game, record.result, record.contradictions()) == (FULL, RecordedResult.from_score(-8), ())
    assert read_one("transcript", logbook(PASSES, ": -64 10")).game == PASSES
    assert read_one("transcript", logbook(RUNNING, "")).result is None
    with pytest.raises(RecordFormatError, match="^games, line 1: move 2 of black, but white is to move"):
        read("transcript", "+f5+d6: +00 10")


def test_vongs_files_have_a_character_for_each_square() -> None:
    moves = "".join(chr(32 + square) for square in FULL.moves)
    assert " " in moves  # a1
    record = read_one("transcript", f"-WZebra   -08 d16      {moves}\r\n")
    assert (record.game, record.black, record.white, record.result) == (FULL, "WZebra", "d16", RecordedResult.from_score(-8))
    with pytest.raises(RecordFormatError, match="^games, line 1: move 1: square 94 is illegal for black"):
        read("transcript", "-WZebra   -08 d16      ~")


def test_lists_of_the_world_championships_have_players_and_discs() -> None:
    line = f"Inoue H. 28-36 Van den Berg :  {str(FULL).upper()}"
    record = read_one("transcript", line + "\r")
    assert (record.game, record.black, record.white) == (FULL, "Inoue H.", "Van den Berg")
    assert record.result == RecordedResult.from_discs(28, 36)
    assert [record.game for record in read("transcript", line * 3)] == [FULL] * 3  # without line ends
    with pytest.raises(RecordFormatError, match=r"^games, line 1, column 153: expected `Black 25-39 White : F5D6...`, not 'rest'"):
        read("transcript", line + " rest")


def test_lists_of_openings_have_names_or_values() -> None:
    text = "2\r\nC4c3D3c5B2                               X-square Opening\r\nC4c3D3c5B3  Snake, Peasant\r\n"
    assert [(str(record.game), record.tags) for record in read("transcript", text)] == [
        ("c4c3d3c5b2", {"opening": "X-square Opening"}),
        ("c4c3d3c5b3", {"opening": "Snake, Peasant"}),
    ]
    assert read_one("transcript", "C4c3D3c5B2X-21").tags == {"value": "-21"}
    with pytest.raises(RecordFormatError, match="^games, line 1: announces 3 lines, but 2 follow$"):
        read("transcript", text.replace("2", "3", 1))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("f5d6c", "games, line 1: transcript, character 5: 'c' names no square"),
        ("f5d6 hello", "games, line 1: transcript, character 6: 'he' names no square"),
        ("f5f5", "games, line 1: move 2: f5 is illegal for white"),
        ("f5pa", "games, line 1: transcript, character 3: a pass, but white can move before move 2"),
        ("2. f5", "games, line 1: transcript, character 1: move number 2 after 0 moves: expected 1"),
        ("1. f5 d6\n3. c3 c3\n5. c3", "games, line 1: move 4: c3 is illegal for white"),
        (f"{ASYMMETRIC};A1", "games, line 1: move 1: a1 is illegal for black"),
        (f"{ASYMMETRIC};A9", "games, line 1: transcript, character 1: 'A9' names no square"),
    ],
)
def test_lines_that_are_no_games_are_refused(text: str, error: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        read("transcript", text)
    assert str(caught.value).startswith(error)


def test_reading_goes_on_with_the_next_line() -> None:
    errors: list[RecordFormatError] = []
    records = read("transcript", "f5d6\nf5f5\nf5d\n\nf5f6\n", on_error=errors.append)
    assert [str(record.game) for record in records] == ["f5d6", "f5f6"]
    assert [str(error)[:13] for error in errors] == ["games, line 2", "games, line 3"]


def test_a_numbered_transcript_may_not_go_on_for_ever() -> None:
    with pytest.raises(RecordFormatError, match="a transcript of more than 10000 characters"):
        read("transcript", "1. f5\n" + "2. d6\n" * 3000)


@pytest.mark.parametrize("game", [*GAMES, WHITE_FIRST, SMALL, Game()])
def test_what_is_written_is_read_again(game: Game) -> None:
    text = format_transcript(GameRecord(game))
    assert text.count("\n") == 1
    assert read_one("transcript", text) == GameRecord(game)


@given(positions)
def test_positions_are_written_and_read(position: Position) -> None:
    assert read_one("transcript", format_transcript(GameRecord(Game((), position)))).game == Game((), position)


def test_only_moves_are_written() -> None:
    assert format_transcript(GameRecord(WIPEOUT, black="one", date="2006")) == "f5d6c5f4e3f6g5e6e7\n"
    assert format_transcript(GameRecord(WHITE_FIRST)) == f"{WHITE_FIRST.start};f5d6\n"
