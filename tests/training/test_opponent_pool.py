from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.networks import Architecture, PolicyValueNetwork
from training.opponent_pool import OpponentPool

ARCHITECTURE = Architecture(board_size=4, blocks=1, channels=4)


def numbered(number: int) -> PolicyValueNetwork:
    network = PolicyValueNetwork(ARCHITECTURE)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(number)
    return network


def numbers_in(pool: OpponentPool) -> list[int]:
    rng = np.random.default_rng(0)
    return sorted({int(pool.draw(rng).value.bias.item()) for _ in range(200)})


def test_a_new_snapshot_takes_the_place_of_the_oldest() -> None:
    pool = OpponentPool(3)
    for number in range(1, 8):
        pool.add(numbered(number))
        assert numbers_in(pool) == list(range(max(1, number - 2), number + 1))
        assert len(pool) == min(number, 3)
        assert pool.added == number


def test_a_snapshot_stays_when_the_network_goes_on() -> None:
    network, pool = numbered(1), OpponentPool(2)
    pool.add(network)
    with torch.no_grad():
        network.value.bias.fill_(5)
    assert numbers_in(pool) == [1]


def test_snapshots_are_drawn_equally_often() -> None:
    pool = OpponentPool(4)
    for number in range(4):
        pool.add(numbered(number))
    rng = np.random.default_rng(1)
    counts = np.bincount([int(pool.draw(rng).value.bias.item()) for _ in range(4000)])
    assert (abs(counts - 1000) < 120).all()  # four standard deviations


@pytest.mark.parametrize("added", [1, 3, 5])
def test_a_pool_that_was_saved_goes_on_as_it_would_have(added: int) -> None:
    pool, restored = OpponentPool(3), OpponentPool(3)
    for number in range(added):
        pool.add(numbered(number))
    restored.restore(pool.state(), pool.added, like=numbered(9))
    for number in range(10, 14):
        assert numbers_in(pool) == numbers_in(restored)
        first, second = pool.state(), restored.state()
        assert list(first) == list(second)
        assert all(np.array_equal(first[name], second[name]) for name in first)
        pool.add(numbered(number))
        restored.add(numbered(number))


def test_snapshots_that_do_not_fit_are_refused() -> None:
    pool = OpponentPool(3)
    for number in range(2):
        pool.add(numbered(number))
    state = pool.state()
    for arrays, added in (
        (state, 1),
        (state, 3),
        ({}, 2),
        (state | {"0.value.bias": np.zeros(2, dtype=np.float32)}, 2),
        (state | {"0.value.bias": np.full(1, np.nan, dtype=np.float32)}, 2),
        (state | {"x.value.bias": np.zeros(1, dtype=np.float32)}, 2),
        (state | {"-1.value.bias": np.zeros(1, dtype=np.float32)}, 2),
    ):
        restored = OpponentPool(3)
        with pytest.raises(ValueError):  # noqa: PT011 - the messages are those of the arrays
            restored.restore(arrays, added, like=numbered(0))
        assert (len(restored), restored.added) == (0, 0)


def test_a_pool_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity 0"):
        OpponentPool(0)
    with pytest.raises(ValueError, match="empty"):
        OpponentPool(1).draw(np.random.default_rng(0))
