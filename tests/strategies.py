"""Hypothesis strategies for positions."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from othello_env import Position
from othello_env.squares import BOARD_SIZES

board_sizes = st.sampled_from(BOARD_SIZES)


@st.composite
def scattered_positions(draw: st.DrawFn, board_size: int | None = None) -> Position:
    """Discs anywhere: most of these positions no game reaches, and the rules hold for them too."""
    n = board_size or draw(board_sizes)
    contents = draw(st.lists(st.sampled_from("XO-"), min_size=n * n, max_size=n * n))
    return Position.parse("".join(contents) + draw(st.sampled_from("XO")))


@st.composite
def played_positions(draw: st.DrawFn, board_size: int | None = None) -> Position:
    """Positions of random games, finished ones among them."""
    position = Position.start(board_size or draw(board_sizes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    for _ in range(draw(st.integers(0, position.board_size**2))):
        if position.is_over:
            break
        position = position.play(int(rng.choice(position.legal_squares())))
    return position


positions = st.one_of(scattered_positions(), played_positions())
