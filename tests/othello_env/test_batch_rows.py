"""What a batch says of its rows, against `Position`, for both ways to do the array work."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from othello_env import Position, PositionBatch
from othello_env.batch import Afterstates
from tests.conftest import BACKENDS, using_backend
from tests.strategies import board_sizes, played_positions, scattered_positions

same_size_positions = board_sizes.flatmap(
    lambda n: st.lists(st.one_of(scattered_positions(n), played_positions(n)), min_size=1, max_size=12)
)


def assert_rows(positions: PositionBatch, expected: list[Position]) -> None:
    """Every array of the batch says what the expected positions say."""
    assert list(positions) == expected
    assert positions.legal_moves.tolist() == [position.legal_moves for position in expected]
    assert positions.is_over.tolist() == [position.is_over for position in expected]
    assert positions.discs.tolist() == [list(position.discs) for position in expected]
    assert positions.empties.tolist() == [position.empties for position in expected]
    for scoring in ("discs", "empties_to_winner"):
        assert positions.score(scoring).tolist() == [position.score(scoring) for position in expected]
    outcomes = [position.outcome if position.is_over else np.nan for position in expected]
    np.testing.assert_array_equal(positions.outcome, np.array(outcomes, dtype=np.float32))
    n = positions.board_size
    masks = [[int(s in (position.legal_squares() or (n * n,))) for s in range(n * n + 1)] for position in expected]
    assert positions.legal_action_mask().tolist() == masks


@given(same_size_positions)
def test_rows_are_the_positions_with_forced_passes_made(positions: list[Position]) -> None:
    passed = [position.resolve_pass() for position in positions]
    for backend in BACKENDS:
        with using_backend(backend):
            assert_rows(PositionBatch.from_positions(positions), passed)
            assert_rows(PositionBatch.from_positions(positions, auto_pass=False), positions)


@given(same_size_positions, st.booleans(), st.integers(0, 2**32))
def test_step_does_what_play_does(positions: list[Position], auto_pass: bool, seed: int) -> None:
    batches = {}
    for backend in BACKENDS:
        with using_backend(backend):
            batches[backend] = PositionBatch.from_positions(positions, auto_pass=auto_pass)
    expected = list(batches["numpy"])
    rng = np.random.default_rng(seed)
    for _ in range(5):
        moves = batches["numpy"].sample_moves(rng)
        expected = [p if p.is_over else p.play(int(m), auto_pass=auto_pass) for p, m in zip(expected, moves, strict=True)]
        for backend, stepped in batches.items():
            with using_backend(backend):
                stepped.step(moves)
                assert_rows(stepped, expected)


@given(same_size_positions, st.booleans())
def test_legal_are_the_moves_that_play_accepts(positions: list[Position], auto_pass: bool) -> None:
    # The pass of a game that is over moves nothing; the batch takes it so that finished rows can be
    # stepped along.
    n = positions[0].board_size
    moves = (-1, *range(n * n + 2))
    seen = [position.resolve_pass() if auto_pass else position for position in positions]
    expected = [[move in (position.legal_squares() or (n * n,)) for position in seen] for move in moves]
    for backend in BACKENDS:
        with using_backend(backend):
            games = PositionBatch.from_positions(positions, auto_pass=auto_pass)
            assert [games.is_legal([move] * len(games)).tolist() for move in moves] == expected


@given(same_size_positions, st.booleans())
def test_children_are_the_positions_after_every_move(positions: list[Position], auto_pass: bool) -> None:
    seen = [position.resolve_pass() if auto_pass else position for position in positions]
    expected = sorted(str(p.play(move, auto_pass=auto_pass)) for p in seen for move in p.legal_squares())
    for backend in BACKENDS:
        with using_backend(backend):
            parents = PositionBatch.from_positions(positions, auto_pass=auto_pass)
            assert sorted(map(str, parents.children())) == expected


@given(same_size_positions)
def test_afterstates_are_seen_by_the_side_that_moved(positions: list[Position]) -> None:
    seen = [position.resolve_pass() for position in positions]
    moves = [(row, p, move) for row, p in enumerate(seen) for move in p.legal_squares()]
    children = [p.play(move, auto_pass=False) for _, p, move in moves]
    for backend in BACKENDS:
        with using_backend(backend):
            check_afterstates(PositionBatch.from_positions(positions).afterstates(), moves, children)


def check_afterstates(after: Afterstates, moves: list[tuple[int, Position, int]], children: list[Position]) -> None:
    assert after.rows.tolist() == [row for row, _, _ in moves]
    assert after.squares.tolist() == [move for _, _, move in moves]
    assert after.own.tolist() == [child.opp for child in children]
    assert after.opp.tolist() == [child.own for child in children]
    assert after.side.tolist() == [p.side_to_move for _, p, _ in moves]
    ends, differences = after.results()
    assert ends.tolist() == [index for index, child in enumerate(children) if child.is_over]
    assert differences.tolist() == [child.opp.bit_count() - child.own.bit_count() for child in children if child.is_over]
