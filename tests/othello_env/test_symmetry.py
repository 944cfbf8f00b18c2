from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from othello_env import Position
from othello_env.squares import format_square, parse_square
from othello_env.symmetry import NUM_SYMMETRIES, inverse, transform, transform_policy, transform_position, transform_square
from tests.strategies import board_sizes, positions

symmetries = st.integers(0, NUM_SYMMETRIES - 1)


def test_b1_goes_to_eight_different_squares() -> None:
    images = {format_square(transform_square(parse_square("b1"), symmetry)) for symmetry in range(NUM_SYMMETRIES)}
    assert images == {"b1", "g1", "a2", "a7", "h2", "h7", "b8", "g8"}


def test_each_bit_is_one_reflection() -> None:
    assert [format_square(transform_square(parse_square("b1"), symmetry)) for symmetry in (1, 2, 4)] == ["g1", "b8", "a2"]


@given(board_sizes, symmetries, st.data())
def test_bitboards_squares_and_policies_go_to_the_same_place(n: int, symmetry: int, data: st.DataObject) -> None:
    square = data.draw(st.integers(0, n * n - 1))
    target = transform_square(square, symmetry, n)
    assert transform(1 << square, symmetry, n) == 1 << target
    assert transform(np.array([1 << square], dtype=np.uint64), symmetry, n).tolist() == [1 << target]
    policy = np.arange(n * n + 1)
    moved = transform_policy(np.stack([policy, 2 * policy]), symmetry, n)
    assert moved[:, target].tolist() == [square, 2 * square]
    assert moved[:, -1].tolist() == [n * n, 2 * n * n]  # the pass stays the pass
    assert transform_square(n * n, symmetry, n) == n * n


@given(positions, symmetries)
def test_the_inverse_undoes(position: Position, symmetry: int) -> None:
    assert transform_position(transform_position(position, symmetry), inverse(symmetry)) == position


@given(positions, symmetries, st.data())
def test_the_rules_are_symmetric(position: Position, symmetry: int, data: st.DataObject) -> None:
    n = position.board_size
    image = transform_position(position, symmetry)
    assert image.legal_moves == transform(position.legal_moves, symmetry, n)
    if not position.is_over:
        move = data.draw(st.sampled_from(position.legal_squares()))
        assert image.play(transform_square(move, symmetry, n)) == transform_position(position.play(move), symmetry)


def test_four_symmetries_keep_the_start_and_four_exchange_its_colours() -> None:
    start = Position.start()
    images = [transform_position(start, symmetry) for symmetry in range(NUM_SYMMETRIES)]
    assert [symmetry for symmetry, image in enumerate(images) if image == start] == [0, 3, 4, 7]
    assert all(image.black == start.white for symmetry, image in enumerate(images) if symmetry in (1, 2, 5, 6))


def test_the_numbers_of_positions_apart_from_symmetry_are_the_known_ones() -> None:
    # Egaroucid, documentation of its technology: unique positions after 0 to 6 moves.
    level = {Position.start()}
    counts = []
    for _ in range(7):
        counts.append(len(level))
        children = (position.play(move) for position in level for move in position.legal_squares())
        level = {min((transform_position(child, s) for s in range(NUM_SYMMETRIES)), key=lambda p: (p.own, p.opp)) for child in children}
    assert counts == [1, 1, 3, 14, 60, 322, 1773]


@pytest.mark.parametrize("symmetry", range(NUM_SYMMETRIES))
def test_a_transformed_policy_is_a_new_array(symmetry: int) -> None:
    policy = np.zeros(65)
    transform_policy(policy, symmetry)[0] = 1
    assert not policy.any()


@pytest.mark.parametrize("symmetry", [-1, 8])
def test_an_unknown_symmetry_is_refused(symmetry: int) -> None:
    for use in (lambda: transform(1, symmetry), lambda: transform_square(1, symmetry), lambda: transform_policy(np.zeros(65), symmetry)):
        with pytest.raises(ValueError, match=f"symmetry {symmetry}"):
            use()
