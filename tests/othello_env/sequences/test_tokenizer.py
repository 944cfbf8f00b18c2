from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from othello_env import Game, IllegalMoveError, Position, RecordFormatError
from othello_env.sequences import (
    PADDING,
    Orientation,
    TokenizerName,
    label_games,
    make_tokenizer,
    omit_passes,
    pad_games,
    random_games,
    write_passes,
)
from othello_env.sequences.tokenizer import IGNORE_INDEX

D3C3 = [[19, 18]]
NAMES = get_args(TokenizerName)


def test_othello_gpt_has_the_61_tokens_of_li_and_nanda() -> None:
    tokenizer = make_tokenizer("othello_gpt")
    assert (tokenizer.vocab_size, tokenizer.pad_id, tokenizer.pass_id, tokenizer.context_length) == (61, 0, None, 59)
    # The table of the published code: squares 0 to 26 are 1 to 27, 29 to 34 are 28 to 33, 37 to 63
    # are 34 to 60.
    assert tokenizer.squares.tolist() == [PADDING, *range(27), *range(29, 35), *range(37, 64)]
    assert tokenizer.encode(D3C3).tolist() == [[20, 19, *[0] * 58]]


def test_inductive_bias_has_the_same_squares_from_0_and_padding_60() -> None:
    tokenizer = make_tokenizer("inductive_bias")
    assert (tokenizer.vocab_size, tokenizer.pad_id, tokenizer.pass_id, tokenizer.context_length) == (61, 60, None, 59)
    assert tokenizer.encode(D3C3).tolist() == [[19, 18, *[60] * 58]]
    assert np.array_equal(tokenizer.squares[:60], make_tokenizer("othello_gpt").squares[1:])


def test_squares_writes_passes_as_64() -> None:
    tokenizer = make_tokenizer("squares")
    assert (tokenizer.vocab_size, tokenizer.pad_id, tokenizer.pass_id, tokenizer.context_length) == (66, 65, 64, None)
    moves = pad_games([Game.parse("f5f6d3g5h5h4f7h6c5").moves, (19,)])
    tokens = tokenizer.encode(moves)
    assert tokens.tolist() == [[37, 45, 19, 38, 39, 31, 53, 47, 64, 34], [19, *[65] * 9]]
    assert tokenizer.decode(tokens)[0].tolist() == tokens[0].tolist(), "a written pass stays"
    assert np.array_equal(omit_passes(tokenizer.decode(tokens)), moves)


def test_the_6x6_tokenizer_has_32_squares() -> None:
    tokenizer = make_tokenizer("othello_gpt_6x6")
    assert (tokenizer.board_size, tokenizer.vocab_size, tokenizer.pad_id, tokenizer.context_length) == (6, 33, 32, 31)
    assert tokenizer.squares.tolist() == [*range(14), *range(16, 20), *range(22, 36), PADDING]


def test_wthor_numbers_columns_and_rows_from_1() -> None:
    tokenizer = make_tokenizer("wthor")
    assert tokenizer.decode([[11, 18, 81, 88, 34, 0, 0]]).tolist() == [[0, 7, 56, 63, 19, PADDING, PADDING]]
    with pytest.raises(RecordFormatError, match="game 0, column 1: 19 is no token of wthor"):
        tokenizer.decode([[19]])


@pytest.mark.parametrize("orientation", get_args(Orientation))
@pytest.mark.parametrize("name", NAMES)
def test_decoding_undoes_encoding(name: TokenizerName, orientation: Orientation) -> None:
    tokenizer = make_tokenizer(name, orientation=orientation)
    moves = random_games(300, tokenizer.board_size, 1)
    tokens = tokenizer.encode(moves)
    decoded = tokenizer.decode(tokens)
    assert np.array_equal(omit_passes(decoded, tokenizer.board_size), moves)
    assert np.array_equal(decoded, write_passes(moves, tokenizer.board_size) if tokenizer.pass_id is not None else moves)
    assert tokens.max() < tokenizer.vocab_size
    assert np.array_equal(tokens == tokenizer.pad_id, decoded == PADDING)


@pytest.mark.parametrize("board_size", [4, 6])
@pytest.mark.parametrize("name", ["othello_gpt", "inductive_bias", "squares"])
def test_small_boards_have_tokens_too(name: TokenizerName, board_size: int) -> None:
    tokenizer = make_tokenizer(name, board_size)
    assert tokenizer.vocab_size == board_size**2 + (2 if name == "squares" else -3)
    moves = random_games(100, board_size, 1)
    assert np.array_equal(omit_passes(tokenizer.decode(tokenizer.encode(moves)), board_size), moves)


def test_transposed_squares_count_column_by_column() -> None:
    """The shared OthelloBoardState class numbers d3 as 26: its letters are rows."""
    tokenizer = make_tokenizer("squares", orientation="transposed")
    their_numbers = np.arange(64)
    assert tokenizer.decode([[26]]).tolist() == [[19]]
    assert np.array_equal(tokenizer.decode(their_numbers[None])[0], their_numbers % 8 * 8 + their_numbers // 8)
    assert make_tokenizer("othello_gpt", orientation="transposed").names[27] == "d3"
    # The same game in both numberings: legal in both, as the rules are the same after a reflection.
    moves = pad_games([Game.parse("f5d6c3d3c4f4f6f3e6e7d7c5b6d8c6c7d2b5a5a6a7g5e3b4c8g6g4c2e8d1f7e2g3h4f1e1f2g1b1f8g8b3h3b2h5b7").moves])
    theirs = tokenizer.encode(moves)
    assert not np.array_equal(theirs[0, : moves.shape[1]], moves[0])
    assert np.array_equal(label_games(np.where(theirs == 65, PADDING, theirs)).lengths, label_games(moves).lengths)


def test_boards_in_the_order_of_their_states() -> None:
    """`get_state` after d3: white 0, empty 1, black 2, letters as rows."""
    order = make_tokenizer("squares", orientation="transposed").squares[:64]
    states = label_games([[19]]).boards("color")[0, 1, order] + 1
    black = {26, 27, 28, 35}  # d3, d4, d5 and e4 there
    assert {square: int(state) for square, state in enumerate(states) if state != 1} == {**dict.fromkeys(black, 2), 36: 0}


def test_mirrored_boards_start_with_the_first_player_on_c3_and_d4() -> None:
    tokenizer = make_tokenizer("othello_gpt_6x6", orientation="mirrored")
    start = Position.start(6)
    # Their numbers of the squares: row by row from the left, on a board that is the mirror image of
    # ours.
    theirs = {square // 6 * 6 + 5 - square % 6 for square in range(36) if start.black >> square & 1}
    assert theirs == {14, 21}
    # Their first player flips a disc on c4 (20) or d3 (15): the squares below and beside those.
    first_moves = {26, 19, 16, 9}
    tokens = {place: token for token, place in enumerate(square for square in range(36) if square not in (14, 15, 20, 21))}
    decoded = tokenizer.decode([[tokens[place]] for place in first_moves])
    assert {int(row[0]) for row in decoded} == {square for square in range(36) if start.legal_moves >> square & 1}


def test_sequences_of_open_spiel_are_read_as_they_are() -> None:
    pyspiel: Any = pytest.importorskip("pyspiel")
    game, rng, sequences, tokenizer = pyspiel.load_game("othello"), np.random.default_rng(5), [], make_tokenizer("squares")
    for _ in range(40):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(int(rng.choice(state.legal_actions())))
        sequences.append(state.history())
    padded = pad_games(sequences)
    moves = tokenizer.decode(np.where(padded == PADDING, tokenizer.pad_id, padded))
    assert any(64 in sequence for sequence in sequences)
    tokens = tokenizer.encode(omit_passes(moves))
    assert [[token for token in row if token != 65] for row in tokens.tolist()] == sequences


def test_masks_are_put_into_the_order_of_the_tokens() -> None:
    moves = random_games(50, 8, 2)
    labels = label_games(moves)
    for name in NAMES:
        tokenizer = make_tokenizer(name, orientation="transposed" if name == "othello_gpt" else "standard")
        if tokenizer.board_size != 8 or tokenizer.pass_id is not None:
            continue
        tokens, mask = tokenizer.encode(moves), tokenizer.token_mask(labels.legal_mask())
        assert mask.shape == (50, 61, tokenizer.vocab_size)
        played = moves != PADDING
        assert np.take_along_axis(mask[:, :-1], tokens[..., None].astype(np.int64), axis=2)[played].all(), "every move is legal"
        assert np.array_equal(mask.sum(axis=2), labels.legal_mask().sum(axis=2))
        assert not mask[..., tokenizer.pad_id].any()


def test_masks_have_the_forced_pass_where_passes_are_written() -> None:
    tokenizer = make_tokenizer("squares", 4)
    tokens = tokenizer.encode(random_games(50, 4, 2))
    mask = tokenizer.token_mask(label_games(tokenizer.decode(tokens), 4, auto_pass=False).legal_mask())
    assert np.array_equal(mask[:, :-1, 16] == 1, tokens == 16)


def test_names_are_those_of_the_standard_board() -> None:
    tokenizer = make_tokenizer("squares", orientation="transposed")
    assert tokenizer.names[26] == "d3"
    assert tokenizer.names[64:] == ("pass", "padding")
    assert make_tokenizer("othello_gpt").names[:3] == ("padding", "a1", "b1")
    assert make_tokenizer("wthor").names[10:13] == ("", "a1", "b1")
    assert len(set(make_tokenizer("othello_gpt").names)) == 61


def test_tokens_have_the_type_and_length_asked_for() -> None:
    tokens = make_tokenizer("othello_gpt").encode(D3C3, length=59, dtype=np.int64)
    assert tokens.dtype == np.int64
    assert tokens.shape == (1, 59)
    with pytest.raises(ValueError, match="game 0: 2 entries; expected at most 1"):
        make_tokenizer("othello_gpt").encode(D3C3, length=1)


def test_written_passes_are_left_out_where_there_is_no_token_for_them() -> None:
    moves = random_games(100, 8, 3)
    tokenizer = make_tokenizer("othello_gpt")
    assert np.array_equal(tokenizer.encode(write_passes(moves)), tokenizer.encode(moves))


def test_minus_100_is_padding(either_backend: None) -> None:
    for name in NAMES:
        tokenizer = make_tokenizer(name)
        tokens = tokenizer.encode(random_games(1, tokenizer.board_size, 1), dtype=np.int64)
        padded = np.append(tokens, [[IGNORE_INDEX] * 3], axis=1)
        decoded = tokenizer.decode(padded)
        assert (decoded[:, -3:] == PADDING).all()
        assert np.array_equal(decoded[:, :-3], tokenizer.decode(tokens))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([[1, 61]], "game 0, column 2: 61 is no token of othello_gpt"),
        ([[1], [-1]], "game 1, column 1: -1 is no token of othello_gpt"),
        ([1, 2], r"int64 of shape \(2,\); expected integers of shape \[N, T\]"),
        ([[0.5]], "float64"),
    ],
)
def test_numbers_that_are_no_tokens_are_refused(tokens: Any, message: str) -> None:
    with pytest.raises(RecordFormatError, match=message):
        make_tokenizer("othello_gpt").decode(tokens)


def test_moves_without_a_token_are_refused() -> None:
    with pytest.raises(ValueError, match="game 1, move 2: d4 has no token in othello_gpt"):
        make_tokenizer("othello_gpt").encode([[19, 18], [19, 27]])
    with pytest.raises(ValueError, match="game 0, move 1: 99 has no token in wthor"):
        make_tokenizer("wthor").encode([[99]])
    with pytest.raises(IllegalMoveError, match="game 0, move 1"):
        make_tokenizer("squares").encode([[20]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gpt2",), "tokenizer 'gpt2': expected one of othello_gpt, inductive_bias, squares, othello_gpt_6x6, wthor"),
        (("squares", 7), "board_size 7"),
        (("wthor", 6), "tokenizer 'wthor' with board_size 6: it has board_size 8 only"),
        (("othello_gpt_6x6", 8), "it has board_size 6 only"),
    ],
)
def test_unknown_tokenizers_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_tokenizer(*arguments)
    with pytest.raises(ValueError, match="orientation 'rotated': expected one of standard, transposed, mirrored"):
        make_tokenizer("squares", orientation="rotated")  # type: ignore[arg-type]


def test_the_tables_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        make_tokenizer("squares").squares[0] = 1
