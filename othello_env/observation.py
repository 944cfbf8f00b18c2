"""What agents see: planes, masks, and the spaces that hold them. All environments take theirs from here."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from othello_env.position import BLACK, Position
from othello_env.squares import BOARD_SIZES

Planes = npt.NDArray[np.int8]
Observation = dict[str, npt.NDArray[np.int8]]


def observation_space(board_size: int) -> spaces.Dict:
    """The space of `observe`: "observation" (n, n, 2) int8 and "action_mask" (n * n + 1,) int8, both 0 or 1."""
    n = board_size
    return spaces.Dict(
        {
            "observation": spaces.Box(0, 1, (n, n, 2), np.int8),
            "action_mask": spaces.Box(0, 1, (n * n + 1,), np.int8),
        }
    )


def action_space(board_size: int) -> spaces.Discrete[Any]:
    """The squares row by row, and last the pass: `Discrete(65)` on 8x8."""
    return spaces.Discrete(board_size**2 + 1)


def state_space(board_size: int) -> spaces.Box:
    """The space of `state_planes`: (n, n, 3) int8, 0 or 1."""
    return spaces.Box(0, 1, (board_size, board_size, 3), np.int8)


def observe(position: Position, side: int, *, to_act: bool, over: bool = False) -> Observation:
    """What one side sees: its own and the other's discs, and the moves it may choose. Fresh arrays on every call.

    side: whose view. to_act: whether this side is the one to act; the mask of the other is all zero. over: whether the game has
    ended, by its rules or otherwise. The side to act never has an all-zero mask: where no square is legal, since it must pass
    or the game is over, the pass is 1.

    Returns {"observation": (n, n, 2) int8, own discs and the other side's, "action_mask": (n * n + 1,) int8}.
    """
    squares = position.board_size**2
    own, opp = (position.own, position.opp) if side == position.side_to_move else (position.opp, position.own)
    actions = 0
    if to_act:
        actions = 0 if over else position.legal_moves
        actions = actions or 1 << squares
    values = _spread(own | opp << squares | actions << 2 * squares, position.board_size)
    n = position.board_size
    return {"observation": values[: 2 * squares].reshape(n, n, 2), "action_mask": values[2 * squares : 3 * squares + 1]}


def state_planes(position: Position) -> Planes:
    """The whole state, the same for both sides: (n, n, 3) int8, black's discs, white's discs, 1 everywhere if black is to move."""
    n = position.board_size
    planes = np.empty((n, n, 3), dtype=np.int8)
    planes[..., :2] = observe(position, BLACK, to_act=False)["observation"]
    planes[..., 2] = position.side_to_move == BLACK
    return planes


# For each board size, where in the row of all bits (own discs, the other's, actions) each number of an observation comes from:
# own and the other's side by side for each square, then the actions.
_ORDER: Final = {
    n: np.concatenate([np.arange(2 * n * n).reshape(2, n * n).T.ravel(), np.arange(2 * n * n, 3 * n * n + 1)]) for n in BOARD_SIZES
}


def _spread(bits: int, n: int) -> npt.NDArray[np.int8]:
    """The bits of one int as a row of 0 and 1, in the order of an observation."""
    octets = np.frombuffer(bits.to_bytes(3 * n * n // 8 + 1, "little"), dtype=np.uint8)
    return np.unpackbits(octets, bitorder="little").view(np.int8).take(_ORDER[n])
