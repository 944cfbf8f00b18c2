"""Observations for all environments and networks: planes, action masks, and their spaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal, TypedDict, get_args

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from othello_env.bitboard import BitboardArray, unpack
from othello_env.options import check_choice, check_switch
from othello_env.position import BLACK, Position
from othello_env.squares import check_board_size

Observation = dict[str, npt.NDArray[Any]]
Channels = Literal["last", "first"]
DType = Literal["int8", "uint8", "bool", "float32"]


class ObservationOptions(TypedDict, total=False):
    """Keyword arguments of `ObservationFormat` without the board size, for all environments."""

    channels: Channels
    dtype: DType
    legal_plane: bool
    flat: bool


@dataclass(frozen=True, slots=True)
class ObservationFormat:
    """Layout of an observation: {"observation": planes, "action_mask": (n * n + 1,) int8}.

    The planes hold 0 and 1: discs of the observing side, discs of the other side, and with
    `legal_plane` the squares where the observing side may play now. The mask is 1 for the actions
    that may be chosen now: the squares row by row, then the pass.

    channels: "last" for planes of shape (n, n, P), "first" for (P, n, n). dtype: of the planes.
    flat: True for planes of shape (n * n * P,), in the order of `channels`. Raises `ValueError` for
    an unknown value.
    """

    board_size: int = 8
    channels: Channels = "last"
    dtype: DType = "int8"
    legal_plane: bool = False
    flat: bool = False
    shape: tuple[int, ...] = field(init=False)
    _order: npt.NDArray[np.int64] = field(init=False, repr=False, compare=False)
    _sizes: tuple[int, int, int] = field(init=False, repr=False, compare=False)  # squares; numbers in the planes; bytes of all bits

    def __post_init__(self) -> None:
        n = check_board_size(self.board_size)
        for name, value, choices in (("channels", self.channels, get_args(Channels)), ("dtype", self.dtype, get_args(DType))):
            check_choice(name, value, choices)
        for name, switch in (("legal_plane", self.legal_plane), ("flat", self.flat)):
            check_switch(name, switch)
        planes = self.num_planes
        object.__setattr__(self, "_sizes", (n * n, planes * n * n, 3 * n * n // 8 + 1))
        shape = (planes, n, n) if self.channels == "first" else (n, n, planes)
        object.__setattr__(self, "shape", (planes * n * n,) if self.flat else shape)
        # For each number of an observation: its index among the bits of own discs, the other's
        # discs, legal squares and pass.
        by_plane = np.arange(planes * n * n).reshape(planes, n * n)
        order = (by_plane if self.channels == "first" else by_plane.T).ravel()
        object.__setattr__(self, "_order", np.concatenate([order, np.arange(2 * n * n, 3 * n * n + 1)]))

    @property
    def num_planes(self) -> int:
        """Number of planes, P: 2, or 3 with the plane of legal moves."""
        return 2 + self.legal_plane

    def planes_space(self) -> spaces.Box:
        """Return a new space of the planes alone."""
        return spaces.Box(0, 1, self.shape, np.dtype(self.dtype).type)

    def observation_space(self) -> spaces.Dict:
        """Return a new space of the observations of one side."""
        mask_shape = (self.board_size**2 + 1,)
        return spaces.Dict(
            {
                "observation": self.planes_space(),
                "action_mask": spaces.Box(0, 1, mask_shape, np.int8),
            }
        )

    def action_space(self) -> spaces.Discrete[Any]:
        """Return a new space of actions: the squares row by row, then the pass; 65 on 8x8."""
        return spaces.Discrete(self.board_size**2 + 1)

    def observe(self, position: Position, side: int, *, to_act: bool, over: bool = False) -> Observation:
        """Return one side's observation of one position, in new arrays.

        side: the observing side. to_act: True if this side is to act; otherwise its mask is all
        zero. over: True if the game has ended, by the rules or otherwise. The mask of the side to
        act is never all zero: if no square is legal because it must pass or the game is over, the
        pass is 1.
        """
        squares, mask_start, num_bytes = self._sizes
        own, opp = (position.own, position.opp) if side == position.side_to_move else (position.opp, position.own)
        actions = 0
        if to_act:
            actions = 0 if over else position.legal_moves
            actions = actions or 1 << squares
        octets = (own | opp << squares | actions << 2 * squares).to_bytes(num_bytes, "little")
        bits = np.unpackbits(np.frombuffer(octets, dtype=np.uint8), bitorder="little").view(np.int8).take(self._order)
        planes = bits[:mask_start].reshape(self.shape)
        return {"observation": planes if self.dtype == "int8" else planes.astype(self.dtype), "action_mask": bits[mask_start:]}

    def observe_batch(self, own: BitboardArray, opp: BitboardArray, legal_moves: BitboardArray) -> Observation:
        """Return the observations of the sides to act in B positions, in new arrays.

        own, opp: [B] uint64, discs of the observing side and of the other side. legal_moves: [B]
        uint64, its legal squares; without any, the only 1 in the mask is the pass. Returns planes
        [B, ...] and masks [B, n * n + 1].
        """
        squares = self.board_size**2
        mask = action_mask(legal_moves, self.board_size)
        if squares == 64 and self.channels == "last" and not self.legal_plane:
            planes = _side_by_side(own, opp)
            planes = planes.view(self.dtype) if self.dtype != "float32" else planes.astype(np.float32)
        else:
            planes = np.empty((len(own), self.num_planes, squares), dtype=self.dtype)
            channels = planes
            if self.channels == "last":
                planes = np.empty((len(own), squares, self.num_planes), dtype=self.dtype)
                channels = planes.transpose(0, 2, 1)
            for plane, values in enumerate((unpack(own, squares), unpack(opp, squares), mask[:, :-1])[: self.num_planes]):
                channels[:, plane] = values
        return {"observation": planes.reshape(len(own), *self.shape), "action_mask": mask}


def action_mask(legal_moves: BitboardArray, board_size: int) -> npt.NDArray[np.int8]:
    """Return the action masks of B positions: [B, n * n + 1] int8.

    1 for each legal square, or for the pass if no square is legal.
    """
    squares = board_size**2
    mask = np.empty((len(legal_moves), squares + 1), dtype=np.int8)
    mask[:, :-1] = unpack(legal_moves, squares)
    mask[:, -1] = legal_moves == 0
    return mask


@lru_cache(maxsize=1)
def _byte_pairs() -> npt.NDArray[np.void]:
    """Return a table from two bytes (own and other discs) to the 16 numbers of their squares.

    It has 65,536 entries of 16 bytes.
    """
    octets = np.arange(1 << 16, dtype="<u2").view(np.uint8).reshape(-1, 2)
    bits = np.unpackbits(octets, axis=1, bitorder="little").reshape(-1, 2, 8)
    return np.ascontiguousarray(bits.transpose(0, 2, 1)).reshape(-1, 16).view("V16").ravel()


def _side_by_side(own: BitboardArray, opp: BitboardArray) -> npt.NDArray[Any]:
    """Return the planes of the default layout on 8x8: [B, 64, 2] uint8.

    The table lookup takes a third of the time of two strided writes.
    """
    octets = np.empty((len(own), 8, 2), dtype=np.uint8)
    octets[..., 0] = np.ascontiguousarray(own, dtype="<u8").view(np.uint8).reshape(-1, 8)
    octets[..., 1] = np.ascontiguousarray(opp, dtype="<u8").view(np.uint8).reshape(-1, 8)
    return _byte_pairs().take(octets.view("<u2").reshape(-1, 8)).view(np.uint8).reshape(-1, 64, 2)


_PLAIN: Final = {n: ObservationFormat(n) for n in (4, 6, 8)}


def state_space(board_size: int) -> spaces.Box:
    """Return the space of `state_planes`: (n, n, 3) int8, 0 or 1."""
    return spaces.Box(0, 1, (board_size, board_size, 3), np.int8)


def state_planes(position: Position) -> npt.NDArray[np.int8]:
    """Return the state independent of a side: (n, n, 3) int8.

    The planes are black's discs, white's discs, and 1 everywhere if black is to move.
    """
    n = position.board_size
    planes = np.empty((n, n, 3), dtype=np.int8)
    planes[..., :2] = _PLAIN[n].observe(position, BLACK, to_act=False)["observation"]
    planes[..., 2] = position.side_to_move == BLACK
    return planes
