from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from othello_env import Position, bitboard
from othello_env.bitboard import flips, legal_moves, pack, popcount, sample_squares, unpack
from tests import oracle
from tests.strategies import positions

words = st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=50).map(lambda values: np.array(values, dtype=np.uint64))


def board_of(position: Position) -> oracle.Board:
    n = position.board_size
    line = str(position)
    return [list(line[row * n : (row + 1) * n]) for row in range(n)]


def as_set(bits: int) -> set[int]:
    return {square for square in range(64) if bits >> square & 1}


@given(positions)
def test_legal_moves_are_those_of_the_oracle(position: Position) -> None:
    expected = oracle.legal_squares(board_of(position), str(position)[-1])
    assert as_set(legal_moves(position.own, position.opp, position.board_size)) == set(expected)


@given(positions)
def test_flips_are_those_of_the_oracle_on_every_empty_square(position: Position) -> None:
    board, sign = board_of(position), str(position)[-1]
    for square in range(position.board_size**2):
        if not (position.own | position.opp) >> square & 1:
            turned = flips(position.own, position.opp, 1 << square, position.board_size)
            assert as_set(turned) == oracle.flipped(board, sign, square)


@given(positions)
def test_arrays_give_what_ints_give(position: Position) -> None:
    n = position.board_size
    empty = [1 << s for s in range(n * n) if not (position.own | position.opp) >> s & 1] or [0]
    own, opp, moves = (np.array(x, dtype=np.uint64) for x in ([position.own] * len(empty), [position.opp] * len(empty), empty))
    assert legal_moves(own, opp, n).tolist() == [legal_moves(position.own, position.opp, n)] * len(empty)
    assert flips(own, opp, moves, n).tolist() == [flips(position.own, position.opp, move, n) for move in empty]


def test_the_kernel_leaves_its_arguments_as_they_are() -> None:
    own, opp = np.array([Position.start().own], dtype=np.uint64), np.array([Position.start().opp], dtype=np.uint64)
    move = np.array([1 << 19], dtype=np.uint64)
    before = [x.copy() for x in (own, opp, move)]
    legal_moves(own, opp, 8)
    flips(own, opp, move, 8)
    assert [x.tolist() for x in (own, opp, move)] == [x.tolist() for x in before]


def test_no_move_flips_nothing() -> None:
    assert flips(Position.start().own, Position.start().opp, 0, 8) == 0


@given(words)
def test_popcount_counts_bits(bits: bitboard.BitboardArray) -> None:
    expected = [int(value).bit_count() for value in bits]
    assert popcount(bits).tolist() == expected
    assert (bitboard._byte_prefix_counts(bits) >> np.uint64(56)).tolist() == expected  # the way of NumPy 1


@given(words)
def test_pack_undoes_unpack(bits: bitboard.BitboardArray) -> None:
    assert unpack(bits).shape == (len(bits), 64)
    assert pack(unpack(bits)).tolist() == bits.tolist()
    assert pack(unpack(bits, 36)).tolist() == (bits & np.uint64(2**36 - 1)).tolist()


@given(words, st.integers(0, 2**32))
def test_sampled_squares_are_in_their_set(bits: bitboard.BitboardArray, seed: int) -> None:
    squares = sample_squares(bits, np.random.default_rng(seed))
    for value, square in zip(bits.tolist(), squares.tolist(), strict=True):
        assert square == 64 if value == 0 else value >> square & 1


@pytest.mark.parametrize("bits", [1, 1 << 63, 0b1011, 0x8100000000000081, 0xFF00FF00FF00FF00, 2**64 - 1])
def test_all_squares_of_a_set_are_sampled_equally_often(bits: int) -> None:
    count, draws = bits.bit_count(), 40_000
    sampled = sample_squares(np.full(draws, bits, dtype=np.uint64), np.random.default_rng(1))
    observed = np.bincount(sampled, minlength=64)[unpack(np.array([bits], dtype=np.uint64))[0] == 1]
    chi_squared = float(((observed - draws / count) ** 2 / (draws / count)).sum())
    assert chi_squared < count - 1 + 6 * (2 * count) ** 0.5  # six standard deviations; the seed is fixed
