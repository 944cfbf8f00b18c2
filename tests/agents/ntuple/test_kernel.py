from __future__ import annotations

import numpy as np
import pytest

from agents.ntuple.layout import Layout
from agents.ntuple.network import NTupleNetwork
from othello_env import PositionBatch, backend
from tests.agents.ntuple.test_network import staged_network


@pytest.mark.parametrize(("board_size", "dtype"), [(4, np.float32), (6, np.float32), (6, np.float64), (8, np.float32), (8, np.float64)])
def test_compiled_values_are_those_of_numpy_to_the_last_bit(board_size: int, dtype: type, rng: np.random.Generator) -> None:
    games = PositionBatch.start(300, board_size)
    for _ in range(board_size**2 - 6):
        going = np.flatnonzero(rng.random(300) < 0.6)
        games.step(games.take(going).sample_moves(rng), going)
    after = games.afterstates()
    for network in (
        staged_network(board_size, 3, dtype),
        NTupleNetwork(Layout((((0, 1),),), board_size), rng.normal(size=9).astype(dtype)),
    ):
        values = []
        for switch in (backend.use_numpy, backend.use_compiled):
            switch()
            values.append(network.values(after.own, after.opp))
        assert values[0].dtype == values[1].dtype == dtype
        np.testing.assert_array_equal(values[0], values[1])
    assert len(after) > 300
