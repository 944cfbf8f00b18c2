from __future__ import annotations

import numpy as np
import pytest

from agents.greedy import disc_difference
from agents.search.leaf import AfterstateEvaluator, RolloutEvaluator
from othello_env import Position, PositionBatch
from tests.agents.test_base import mixed_positions

# The one move, a1, leaves one side without discs.
WON = Position.parse("-OX-" + "----" * 3 + "X")


def running(positions: PositionBatch) -> PositionBatch:
    return positions.take(~positions.is_over)


def exact_mean_outcome(position: Position) -> float:
    """The mean outcome of uniformly random play, from the view of the side to move."""
    if position.is_over:
        return position.outcome * (1 - 2 * position.side_to_move)
    children = [position.play(square) for square in position.legal_squares()]
    values = [(1 if c.side_to_move == position.side_to_move else -1) * exact_mean_outcome(c) for c in children]
    return sum(values) / len(values)


def late_positions(rng: np.random.Generator, *, count: int, empties: int, board_size: int) -> list[Position]:
    """Unfinished positions of random games with so many empty squares."""
    positions: list[Position] = []
    while len(positions) < count:
        position = Position.start(board_size)
        while position.empties > empties and not position.is_over:
            position = position.play(int(rng.choice(position.legal_squares())))
        if not position.is_over:
            positions.append(position)
    return positions


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_playouts_have_the_mean_outcome_of_random_play(board_size: int, rng: np.random.Generator) -> None:
    positions = late_positions(rng, count=40, empties=5, board_size=board_size)
    logits, values = RolloutEvaluator(rollouts=2000).evaluate(PositionBatch.from_positions(positions), rng)
    expected = [exact_mean_outcome(position) for position in positions]
    assert logits is None
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, expected, atol=5 / 2000**0.5)
    assert len(set(expected)) > 10


def test_a_playout_sees_the_side_to_move_as_the_winner() -> None:
    black_to_move = PositionBatch.from_positions([WON])
    white_to_move = PositionBatch([WON.own], [WON.opp], [1], board_size=4)
    for positions in (black_to_move, white_to_move):
        assert RolloutEvaluator().evaluate(positions, np.random.default_rng(0)).values.tolist() == [1.0]


def test_one_playout_has_one_outcome_and_draws_are_zero(rng: np.random.Generator) -> None:
    positions = PositionBatch.start(3000, board_size=4)
    values = RolloutEvaluator().evaluate(positions, rng).values
    assert set(values.tolist()) == {-1.0, 0.0, 1.0}


def test_playouts_do_not_depend_on_threads_or_on_later_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    positions = running(mixed_positions(np.random.default_rng(1)))
    evaluator = RolloutEvaluator(3)
    monkeypatch.setenv("OTHELLO_ENV_THREADS", "1")
    alone = evaluator.evaluate(positions, np.random.default_rng(5)).values
    few = evaluator.evaluate(positions.take(np.arange(10)), np.random.default_rng(5)).values
    monkeypatch.setenv("OTHELLO_ENV_THREADS", "3")
    together = evaluator.evaluate(positions, np.random.default_rng(5)).values
    assert alone.tolist() == together.tolist()
    assert few.tolist() == alone[:10].tolist()


def test_playouts_leave_the_positions_alone(rng: np.random.Generator) -> None:
    positions = running(mixed_positions(rng))
    before = list(positions)
    RolloutEvaluator().evaluate(positions, rng)
    assert list(positions) == before


def test_fewer_than_one_playout_is_refused() -> None:
    with pytest.raises(ValueError, match="rollouts 0: must be at least 1"):
        RolloutEvaluator(0)


def test_afterstate_values_become_a_policy_and_a_value(rng: np.random.Generator) -> None:
    positions = running(mixed_positions(rng, 100))
    logits, values = AfterstateEvaluator(disc_difference, temperature=4.0, scale=10.0).evaluate(positions, rng)
    assert logits is not None
    assert logits.shape == (len(positions), 65)
    assert (np.isfinite(logits) == positions.legal_action_mask().astype(bool)).all()
    for row, position in enumerate(positions):
        differences = []
        for square in position.legal_squares():
            after = position.play(square, auto_pass=False)
            difference = after.opp.bit_count() - after.own.bit_count()
            assert logits[row, square] == pytest.approx(difference / 4)
            differences.append(difference)
        assert values[row] == pytest.approx(np.tanh(max(differences) / 10))


@pytest.mark.parametrize("name", ["temperature", "scale"])
def test_divisors_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} 0.0: must be positive"):
        AfterstateEvaluator(disc_difference, **{name: 0.0})
