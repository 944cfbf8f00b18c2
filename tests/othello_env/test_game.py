from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from othello_env import WHITE, Game, IllegalMoveError, Position, RecordFormatError, bitboard
from othello_env.game import check_move_number
from othello_env.squares import BOARD_SIZES
from tests.strategies import board_sizes

PASS_AFTER_EIGHT = "f5f6d3g5h5h4f7h6"  # Black cannot move then; White has c5 e7


@given(board_sizes, st.integers(0, 2**32))
def test_transcripts_round_trip_with_and_without_written_passes(board_size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    position, moves, text = Position.start(board_size), [], ""
    while not position.is_over:
        moves.append(int(rng.choice(position.legal_squares())))
        after = position.play(moves[-1])
        text += str(Game((moves[-1],), position)) + ("PA" if after.side_to_move == position.side_to_move else " ")
        position = after
    start = Position.start(board_size)
    game = Game(tuple(moves), start)
    assert Game.parse(str(game), start) == Game.parse(text, start) == game
    assert game.final == position
    assert len(game.positions()) == len(moves) + 1


def test_upper_case_and_white_space_are_read() -> None:
    assert Game.parse("F5 d6\nC3\t") == Game.parse("f5d6c3")
    assert str(Game.parse("F5 D6 C3")) == "f5d6c3"
    assert Game.parse("").moves == ()


@pytest.mark.parametrize(
    "text",
    ["1. f5 d6 2. c3 d3", "1.f5 2.d6 3.c3 4.d3", "1. F5 D6\n3. C3 D3", "f5, d6, c3, d3", "F5-D6-C3-D3", "1... f5 d6 2. c3 2... d3"],
)
def test_numbers_and_separators_are_read(text: str) -> None:
    assert Game.parse(text) == Game.parse("f5d6c3d3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1. f5 d6 3. e6 7. f4", "character 16: move number 7 after 3 moves: expected 2 or 4"),
        ("2. f5", "character 1: move number 2 after 0 moves: expected 1"),
        ("f5-", "character 3: '-' names no square"),
        ("-f5", "character 1: '-f' names no square"),
        ("f5 9", "character 4: '9' names no square"),
    ],
)
def test_numbers_that_do_not_count_the_moves_are_refused(text: str, message: str) -> None:
    with pytest.raises(RecordFormatError, match=f"^transcript, {message}"):
        Game.parse(text)


def test_numbers_may_count_written_passes_or_not() -> None:
    moves = "1. f5 f6 2. d3 g5 3. h5 h4 4. f7 h6"
    for rest in ("5. pass c5", "5. -- c5", "5. c5", "9. c5", "9. pass 10. c5"):
        assert Game.parse(f"{moves} {rest}") == Game.parse(PASS_AFTER_EIGHT + "c5")


def test_the_first_pass_that_is_not_forced_is_found() -> None:
    squares = list(Game.parse(PASS_AFTER_EIGHT).moves)
    game = Game(tuple(squares))
    assert game.find_unforced_pass(squares) is None
    assert game.find_unforced_pass([*squares, 64]) is None
    assert game.find_unforced_pass([*squares, 64, 64]) == 9
    assert game.find_unforced_pass([squares[0], 64, *squares[1:]]) == 1
    assert Game().find_unforced_pass([64]) == 0


@pytest.mark.parametrize("token", ["pa", "PA", "pass", "Pass", "ps", "pp", "PP", "--", "@@", "@@@@", " - "])
def test_a_written_pass_is_read_where_it_is_forced(token: str) -> None:
    written = Game.parse(f"{PASS_AFTER_EIGHT}{token}c5")
    assert written == Game.parse(PASS_AFTER_EIGHT + "c5")
    assert written.positions()[8].side_to_move == WHITE


def test_passes_after_the_end_are_read() -> None:
    assert len(Game.parse("f5f4c3c6c5d6f3c4c7papa").moves) == 9


@pytest.mark.parametrize(
    ("transcript", "error", "message"),
    [
        ("f5d6c", RecordFormatError, "character 5: 'c' names no square"),
        ("f5d9", RecordFormatError, "character 3: 'd9'"),
        ("f5pa", RecordFormatError, "character 3: a pass, but white can move before move 2"),
        (PASS_AFTER_EIGHT + "papa", RecordFormatError, "character 19"),
        ("f5f5", IllegalMoveError, "move 2: f5 is illegal for white"),
        ("a1", IllegalMoveError, "move 1: a1 is illegal for black"),
    ],
)
def test_a_faulty_transcript_is_refused_with_the_place(transcript: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Game.parse(transcript)


def test_a_game_with_an_illegal_move_is_refused_with_its_number() -> None:
    with pytest.raises(IllegalMoveError, match="move 2: "):
        Game((37, 37))
    with pytest.raises(IllegalMoveError, match="move 1 is a pass"):
        Game((64,))


def test_a_game_may_start_anywhere() -> None:
    blocked = Position.parse("XO" + "-" * 62 + " O")
    game = Game.parse("--c1", blocked)
    assert game.start == blocked
    assert game.positions()[0] == blocked.resolve_pass()
    assert game.final.is_over
    assert game.final.discs == (3, 0)


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_random_games_have_the_wanted_length_and_go_on(board_size: int, rng: np.random.Generator) -> None:
    for num_plies in (0, 1, 5, 8):
        game = Game.random(num_plies, rng, Position.start(board_size))
        assert len(game.moves) == num_plies
        assert not game.final.is_over


def test_random_games_repeat_with_their_seed() -> None:
    first, second = (Game.random(10, np.random.default_rng(5)) for _ in range(2))
    assert first == second
    assert first != Game.random(10, np.random.default_rng(6))


def test_a_random_game_that_cannot_exist_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="13 random plies"):
        Game.random(13, rng, Position.start(4))


def test_moves_are_kept_as_a_tuple_of_ints() -> None:
    moves: Any = [37, np.int64(43)]
    assert Game(moves) == Game((37, 43))
    assert hash(Game(moves)) == hash(Game((37, 43)))
    names: Any = ("f5",)
    with pytest.raises(TypeError):
        Game(names)


def test_a_negative_number_of_random_plies_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="num_plies -1"):
        Game.random(-1, rng)


@pytest.mark.parametrize(("num_written", "num_placed"), [(0, 0), (1, 1), (2, 2), (7, 7), (20, 19), (21, 17), (59, 58)])
def test_a_move_number_counts_moves_or_pairs_of_moves_with_passes_or_without(num_written: int, num_placed: int) -> None:
    allowed = {1 + count // step for count in (num_written, num_placed) for step in (1, 2)}
    for number in range(-2, 70):
        if number in allowed:
            check_move_number(number, num_written, num_placed)
        else:
            with pytest.raises(RecordFormatError, match=f"move number {number} after {num_written} moves"):
                check_move_number(number, num_written, num_placed)


@given(board_sizes, st.integers(0, 99))
def test_the_flipped_discs_of_a_move_are_those_that_the_rules_flip(board_size: int, seed: int) -> None:
    game = Game.random(6, np.random.default_rng(seed), Position.start(board_size))
    assert len(game.flips()) == 6
    for position, move, flipped in zip(game.positions(), game.moves, game.flips(), strict=False):
        assert flipped == bitboard.flips(position.own, position.opp, 1 << move, board_size)
