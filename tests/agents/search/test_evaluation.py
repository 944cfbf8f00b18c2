from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents.board import BOARD, embedded, embedded_square, flips_at, moves_on
from agents.heuristics import HeuristicEvaluator
from agents.ntuple.layout import Layout, straight_and_corner_groups
from agents.ntuple.network import NTupleNetwork
from agents.positional import TABLES, PositionalEvaluator
from agents.search.evaluation import (
    FEATURES,
    LARGEST,
    afterstate_value,
    feature_evaluation,
    look_at,
    network_evaluation,
    network_of_square_weights,
)
from othello_env import PositionBatch
from othello_env.batch import Afterstates
from tests.agents.ntuple.test_network import staged_network
from tests.agents.search.test_alpha_beta import network
from tests.kernels import kept_kernel


@kept_kernel
def values_of(own: Any, opp: Any, squares: Any, board: Any, values: Any, evaluation: Any) -> None:
    for entry in range(len(own)):
        look_at(own[entry], opp[entry], evaluation)
        flipped = flips_at(own[entry], opp[entry], squares[entry])
        placed = flipped | (np.uint64(1) << np.uint64(squares[entry]))
        next_own, next_opp = opp[entry] & ~placed, own[entry] | placed
        replies = moves_on(next_own, next_opp, board)
        values[entry] = afterstate_value(squares[entry], flipped, next_opp, next_own, replies, evaluation)


def played(board_size: int, rng: np.random.Generator, count: int = 400) -> PositionBatch:
    """Positions of all stages of random games."""
    games = PositionBatch.start(count, board_size)
    for _ in range(board_size**2 - 5):
        going = np.flatnonzero(rng.random(count) < 0.5)
        games.step(games.take(going).sample_moves(rng), going)
    return games.take(~games.is_over)


def compiled_values(positions: PositionBatch, evaluation: tuple[Any, float]) -> tuple[Afterstates, npt.NDArray[np.float64]]:
    n, after = positions.board_size, positions.afterstates()
    squares = np.array([embedded_square(square, n) for square in range(n * n)])[after.squares]
    own, opp = (embedded(discs[after.rows], n) for discs in (positions.own, positions.opp))
    values = np.empty(len(after), dtype=np.int64)
    values_of(own, opp, squares, BOARD[n], values, evaluation[0])
    assert np.abs(values).max() <= LARGEST
    return after, values / evaluation[1]


def test_a_network_has_the_values_that_it_has_alone(rng: np.random.Generator) -> None:
    for board_size in (4, 6, 8):
        net = network(board_size)
        after, values = compiled_values(played(board_size, rng), network_evaluation(net))
        np.testing.assert_allclose(values, net.values(after.own, after.opp), atol=1e-5)


def test_the_trainers_patterns_have_the_values_that_they_have_alone(rng: np.random.Generator) -> None:
    layout = Layout(straight_and_corner_groups())
    net = NTupleNetwork(layout, rng.normal(size=layout.num_weights).astype(np.float32))
    after, values = compiled_values(played(8, rng), network_evaluation(net))
    np.testing.assert_allclose(values, net.values(after.own, after.opp), atol=1e-3)


@pytest.mark.parametrize(("board_size", "num_stages"), [(4, 1), (4, 12), (6, 5), (8, 1), (8, 6), (8, 60)])
def test_stages_and_numbers_of_moves_have_the_values_that_they_have_alone(
    board_size: int, num_stages: int, rng: np.random.Generator
) -> None:
    net = staged_network(board_size, num_stages)
    after, values = compiled_values(played(board_size, rng), network_evaluation(net))
    np.testing.assert_allclose(values, net.values(after.own, after.opp), atol=1e-3)


@pytest.mark.parametrize("table", ["swh", "heur", "bench"])
def test_square_weights_have_the_values_of_the_positional_agent(table: Any, rng: np.random.Generator) -> None:
    after, values = compiled_values(played(8, rng), network_evaluation(network_of_square_weights(TABLES[table])))
    np.testing.assert_allclose(values, PositionalEvaluator(table)(after), atol=1e-4 * np.abs(TABLES[table]).max())


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_features_have_the_values_of_the_heuristics_agent(board_size: int, rng: np.random.Generator) -> None:
    positions = played(board_size, rng)
    everything = HeuristicEvaluator(**dict(zip(FEATURES, [1.5, -2, 3, -4, 5, -6, 7, -8, 9, -1, 0.5], strict=True)))
    for evaluator in (HeuristicEvaluator(), everything, *(HeuristicEvaluator(**only(name)) for name in FEATURES)):
        after, values = compiled_values(positions, feature_evaluation(evaluator, board_size))
        running = np.setdiff1d(np.arange(len(after)), after.results()[0])
        np.testing.assert_allclose(values[running], evaluator(after)[running], atol=1e-3)


def only(name: str) -> dict[str, float]:
    return {feature: float(feature == name) for feature in FEATURES}


def test_weights_of_any_size_stay_below_the_results_of_games(rng: np.random.Generator) -> None:
    for factor in (0, 1e-12, 1e9):
        net = NTupleNetwork(network(8).layout, network(8).weights.astype(np.float64) * factor)
        after, values = compiled_values(played(8, rng, 50), network_evaluation(net))
        np.testing.assert_allclose(values, net.values(after.own, after.opp), atol=1e-5 * factor)
