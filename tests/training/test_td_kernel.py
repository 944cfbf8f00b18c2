from __future__ import annotations

import copy
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.training.test_td_ntuple import SMALL, give_weights, move_without_learning
from training.td_kernel import NUM_COLUMNS, learn, play_and_learn
from training.td_ntuple import Learner


def learned_slowly(
    lookups: npt.NDArray[np.int32], errors: npt.NDArray[np.float64], before: tuple[Any, Any], mirrored: Any, step_size: float
) -> tuple[Any, Any]:
    """What `learn` does, weight by weight."""
    weights, memory = before[0].copy(), before[1].copy()
    asked = defaultdict(list)
    for error, row in zip(errors.ravel(), lookups.reshape(errors.size, -1), strict=True):
        for weight in row if error else []:
            stage = weight // len(mirrored) * len(mirrored)
            asked[min(weight, stage + mirrored[weight - stage])].append(error)
    for weight, hits in asked.items():
        coherence = abs(memory[weight, 0]) / memory[weight, 1] if memory[weight, 1] else 1.0
        stage = weight // len(mirrored) * len(mirrored)
        weights[weight] += step_size * coherence * np.mean(hits)
        weights[stage + mirrored[weight - stage]] = weights[weight]
        memory[weight, 0] += sum(hits)
        memory[weight, 1] += sum(map(abs, hits))
    return weights, memory


@pytest.mark.parametrize("seed", range(20))
def test_learning_is_the_rule_applied_to_each_weight(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mirrored = np.array([0, 2, 1, 3, 5, 4, 6], dtype=np.int32)
    drawn = rng.normal(size=(2, 7))
    weights = ((drawn + drawn[:, mirrored]) / 2).astype(np.float32).ravel()
    memory = np.zeros((14, NUM_COLUMNS))
    memory[:, 1] = rng.random(14)
    memory[:, 0] = memory[:, 1] * rng.uniform(-1, 1, size=14)
    lookups = (rng.integers(7, size=(5, 2, 4)) + 7 * rng.integers(2, size=(5, 2, 1))).astype(np.int32)
    errors = rng.normal(size=(5, 2)) * rng.integers(2, size=(5, 2))
    expected = learned_slowly(lookups, errors, (weights, memory), mirrored, 0.3)
    learn(lookups, errors, weights, memory, mirrored, 0.3)
    np.testing.assert_allclose(weights, expected[0], atol=1e-6)
    np.testing.assert_allclose(memory, expected[1], atol=1e-12)


def test_the_first_steps_of_a_weight_are_those_worked_out_by_hand() -> None:
    mirrored, weights, memory = np.arange(2, dtype=np.int32), np.zeros(2, dtype=np.float32), np.zeros((2, NUM_COLUMNS))
    lookups = np.zeros((1, 2, 1), dtype=np.int32)
    # The first step is as large as can be: 0.5 * 0.4. So is the second one, since all errors before
    # it had one sign. Then there are
    # two of different signs: the third step is |0.4 - 0.3| / (0.4 + 0.3) = 1/7 as large.
    for error, total in ((0.4, 0.2), (-0.3, 0.05), (0.7, 0.1)):
        learn(lookups, np.array([[error, 0.0]]), weights, memory, mirrored, 0.5)
        assert weights[0] == pytest.approx(total, rel=1e-6)
    assert weights[1] == 0


def test_totals_are_those_of_the_updates() -> None:
    """Games that ended, the sum of the absolute errors, and the number of errors; with steps of size 0 the weights stay."""
    learner = Learner(SMALL)
    give_weights(learner)
    member, totals = learner.members[0], np.array([1000.0, 2000.0, 3000.0])
    member.weights[:] = (member.weights + member.weights[:, learner._mirrored]) / 2
    twin = copy.deepcopy(learner)
    learning = (member.weights.reshape(-1), member.memory, learner._mirrored, 0.0)
    play_and_learn(40, totals, member.games, learner.params, learner.layout.num_lookups, *learning)
    updates = [move_without_learning(twin) for _ in range(40)]
    ended, errors = np.stack([update.ended for update in updates]), np.stack([update.errors for update in updates])
    assert min(ended.sum(), (errors > 0).sum(), (errors < 0).sum(), (errors == 0).sum()) > 20
    np.testing.assert_allclose(totals - [1000, 2000, 3000], [ended.sum(), np.abs(errors).sum(), np.count_nonzero(errors)])
    np.testing.assert_array_equal(member.games.own, twin.members[0].games.own)


@pytest.mark.parametrize(("epsilon", "random_plies", "explores"), [(0.0, 0, False), (0.0, 4, True), (1.0, 0, True)])
def test_moves_are_random_at_the_start_of_a_game_and_with_probability_epsilon(epsilon: float, random_plies: int, explores: bool) -> None:
    """Without exploration all games of one network are the same."""
    learner = Learner(replace(SMALL, epsilon=epsilon, random_plies=0, greedy_share=0.0))
    give_weights(learner)
    games = learner.members[0].games
    games.random_plies[:] = random_plies
    for ply in range(4):
        move_without_learning(learner)
        assert games.random_plies.tolist() == [max(0, random_plies - ply - 1)] * len(games.own)
    num_positions = len(np.unique(np.stack([games.own, games.opp]), axis=1).T)
    assert num_positions > 20 if explores else num_positions == 1
