from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from othello_env import Position, PositionBatch
from othello_env.observation import ObservationFormat
from tests.strategies import board_sizes, played_positions, scattered_positions

formats = st.builds(
    ObservationFormat,
    board_size=board_sizes,
    channels=st.sampled_from(["last", "first"]),
    dtype=st.sampled_from(["int8", "uint8", "bool", "float32"]),
    legal_plane=st.booleans(),
    flat=st.booleans(),
)


def expected_planes(layout: ObservationFormat, position: Position, side: int, legal: int) -> np.ndarray:
    """The planes, number by number."""
    n = layout.board_size
    own, opp = (position.black, position.white) if side == 0 else (position.white, position.black)
    sets = [own, opp, legal][: layout.num_planes]
    planes = np.array([[[bits >> (row * n + column) & 1 for column in range(n)] for row in range(n)] for bits in sets])
    planes = planes if layout.channels == "first" else np.moveaxis(planes, 0, -1)
    return (planes.ravel() if layout.flat else planes).astype(layout.dtype)


@given(formats.flatmap(lambda f: st.tuples(st.just(f), st.one_of(scattered_positions(f.board_size), played_positions(f.board_size)))))
def test_a_single_observation_has_the_layout_asked_for(drawn: tuple[ObservationFormat, Position]) -> None:
    layout, position = drawn
    space = layout.observation_space()
    n = layout.board_size
    for side in (0, 1):
        for to_act, over in ((True, False), (True, True), (False, False)):
            seen = layout.observe(position, side, to_act=to_act, over=over)
            legal = position.legal_moves if to_act and not over else 0
            np.testing.assert_array_equal(seen["observation"], expected_planes(layout, position, side, legal))
            assert seen["observation"].dtype == np.dtype(layout.dtype)
            mask = [legal >> square & 1 for square in range(n * n)] + [int(to_act and not legal)]
            assert seen["action_mask"].tolist() == mask
            assert space.contains(seen)


@given(formats.flatmap(lambda f: st.tuples(st.just(f), st.lists(played_positions(f.board_size), min_size=1, max_size=5))))
def test_a_batch_of_observations_is_made_of_single_ones(drawn: tuple[ObservationFormat, list[Position]]) -> None:
    layout, positions = drawn
    batch = PositionBatch.from_positions(positions)
    seen = layout.observe_batch(batch.own, batch.opp, batch.legal_moves)
    for row, position in enumerate(batch):
        single = layout.observe(position, position.side_to_move, to_act=True)
        for name in ("observation", "action_mask"):
            np.testing.assert_array_equal(seen[name][row], single[name])
            assert seen[name].dtype == single[name].dtype


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"board_size": 5}, "board_size 5"),
        ({"channels": "both"}, "channels 'both': expected one of last, first"),
        ({"dtype": "float16"}, "dtype 'float16': expected one of"),
        ({"legal_plane": "yes"}, "legal_plane 'yes': expected True or False"),
    ],
)
def test_an_unknown_option_value_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ObservationFormat(**options)


def test_layouts_are_equal_if_their_options_are_and_show_nothing_internal() -> None:
    assert ObservationFormat(6) == ObservationFormat(6)
    assert hash(ObservationFormat(6)) == hash(ObservationFormat(6))
    assert len({ObservationFormat(6, flat=flat, dtype=dtype) for flat in (True, False) for dtype in ("int8", "bool")}) == 4
    assert repr(ObservationFormat(4)) == (
        "ObservationFormat(board_size=4, channels='last', dtype='int8', legal_plane=False, flat=False, shape=(4, 4, 2))"
    )
