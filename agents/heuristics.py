"""What players look at: stable discs, frontier, corners and the squares beside them, parity; and agents that weigh them.

The features are sets of squares, written like the rules kernel over `& | ^ ~ << >>` alone: the same lines serve `uint64` arrays
(a batch, elementwise) and, once `numba.extending.register_jitable` has been applied to them, single boards in compiled code.
They speak of `own` and `opp`, the discs of the side whose view is taken and of the other; it does not matter who is to move.
The board comes in as `GEOMETRY[board_size]`, whose words are all `uint64`, because numba turns a mixture with literals into
floating point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.base import AfterstateAgent, set_results
from othello_env.batch import CHUNK, Afterstates
from othello_env.bitboard import FULL, BitboardArray, legal_moves, popcount
from othello_env.squares import BOARD_SIZES

# [B] uint64, or one uint64 in compiled code.
Bits = BitboardArray

_ONE: Final = np.uint64(1)
_HALVES: Final = tuple(np.uint64(half) for half in (32, 16, 8, 4, 2, 1))

# Beginners are told to turn few discs until about this share of the board is full.
_EARLY_SHARE: Final = 0.75


class Line(NamedTuple):
    """One of the four lines through a square, as shifts and as the squares that they may reach; uint64 each.

    step, two_steps, four_steps: so many bits lie between squares of the line. up, up_two, up_four: the squares that have one, two or
    four squares of the line before them, so that a shift to the left that ends there has not left the board. down, down_two,
    down_four: the same behind them, for shifts to the right. ends: the first and the last square of every such line.
    """

    step: np.uint64
    two_steps: np.uint64
    four_steps: np.uint64
    up: np.uint64
    up_two: np.uint64
    up_four: np.uint64
    down: np.uint64
    down_two: np.uint64
    down_four: np.uint64
    ends: np.uint64


class Geometry(NamedTuple):
    """A board's lines and squares, uint64 each.

    straight: its rows and columns. diagonal: its two kinds of diagonals.
    """

    straight: tuple[Line, Line]
    diagonal: tuple[Line, Line]
    full: np.uint64
    corners: np.uint64


def _line(n: int, rows: int, columns: int) -> Line:
    """The line whose next square is so many rows and columns on."""

    def reached(steps: int) -> int:
        """The squares that are still on the board so many steps back."""
        squares = ((row, column) for row in range(n) for column in range(n))
        back = ((row, column, row - steps * rows, column - steps * columns) for row, column in squares)
        return sum(1 << (row * n + column) for row, column, *origin in back if all(0 <= place < n for place in origin))

    step = rows * n + columns
    distances = (1, 2, 4)
    ups, downs = [reached(distance) for distance in distances], [reached(-distance) for distance in distances]
    ends = FULL[n] & ~(ups[0] & downs[0])
    return Line(*(np.uint64(word) for word in (step, 2 * step, 4 * step, *ups, *downs, ends)))


GEOMETRY: Final = {
    n: Geometry(
        (_line(n, 0, 1), _line(n, 1, 0)),
        (_line(n, 1, -1), _line(n, 1, 1)),
        np.uint64(FULL[n]),
        np.uint64(1 | 1 << (n - 1) | 1 << (n * n - n) | 1 << (n * n - 1)),
    )
    for n in BOARD_SIZES
}


def any_square(squares: Bits) -> bool:
    """Whether any of the sets has a square. The one function here that compiled code has in a form of its own."""
    return bool(np.any(squares))


def settled_squares(empty: Bits, line: Line) -> Bits:
    """The squares where nothing turns over along a line: those of lines without an empty square, and all lines' ends."""
    step, two_steps, four_steps, up, up_two, up_four, down, down_two, down_four, ends = line
    # An empty square first reaches the last square of its line, and from there the whole of it.
    open_squares = empty | ((empty << step) & up)
    open_squares = open_squares | ((open_squares << two_steps) & up_two)
    open_squares = open_squares | ((open_squares << four_steps) & up_four)
    open_squares = open_squares | ((open_squares >> step) & down)
    open_squares = open_squares | ((open_squares >> two_steps) & down_two)
    open_squares = open_squares | ((open_squares >> four_steps) & down_four)
    settled: Bits = ~open_squares | ends
    return settled


def beside(squares: Bits, step: np.uint64) -> Bits:
    """The squares one step up or down a line, and squares on the other side of the board where the step leaves it."""
    near: Bits = (squares << step) | (squares >> step)
    return near


def stable_discs(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Discs of `own` that can never be turned, whatever both sides play: a lower bound, the set is not always complete.

    A disc is in the set if along each of the four lines either no square is empty, or the disc is at the line's end, or one of
    its two neighbours is in the set. No move can be the first to turn a disc of the set: of the discs that it turns along a
    line, the one that came first into the set would need such a neighbour, which came in even earlier.
    """
    (row, column), (rising, falling) = geometry.straight, geometry.diagonal
    empty = (own | opp) ^ geometry.full
    settled_row, settled_column = settled_squares(empty, row), settled_squares(empty, column)
    settled_rising, settled_falling = settled_squares(empty, rising), settled_squares(empty, falling)
    stable = own & settled_row & settled_column & settled_rising & settled_falling
    before = own ^ own
    while any_square(stable ^ before):
        before = stable
        # A neighbour across the board's edge does no harm: it falls on a line's end, which is settled.
        stable = own & (settled_row | beside(before, row.step)) & (settled_column | beside(before, column.step))
        stable = stable & (settled_rising | beside(before, rising.step)) & (settled_falling | beside(before, falling.step))
    return stable


def neighbours(squares: Bits, lines: tuple[Line, Line]) -> Bits:
    """The squares next to one of `squares` along some of the lines."""
    near = squares ^ squares
    for line in lines:
        near = near | ((squares << line.step) & line.up) | ((squares >> line.step) & line.down)
    return near


def surroundings(squares: Bits, geometry: Geometry) -> Bits:
    """The squares that touch one of `squares` with a side or a corner."""
    return neighbours(squares, geometry.straight) | neighbours(squares, geometry.diagonal)


def frontier_discs(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Discs of `own` that touch an empty square: what the other side might outflank."""
    return own & surroundings((own | opp) ^ geometry.full, geometry)


def potential_moves(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Empty squares that touch a disc of `opp`: where `own` might move, now or later."""
    return ((own | opp) ^ geometry.full) & surroundings(opp, geometry)


def x_squares(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Discs of `own` diagonally beside an empty corner."""
    return own & neighbours(geometry.corners & ~(own | opp), geometry.diagonal)


def c_squares(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Discs of `own` on the edge, beside an empty corner."""
    return own & neighbours(geometry.corners & ~(own | opp), geometry.straight)


def odd_regions(own: Bits, opp: Bits, geometry: Geometry) -> tuple[Bits, Bits]:
    """The regions of empty squares that have an odd number of squares: all their squares, and the first square of each.

    A region is what a king could walk over: squares that touch with a side or a corner. A side that moves into an odd region
    expects to have the last move there; where all regions are even, that is the side that is not to move.
    """
    rest = (own | opp) ^ geometry.full
    squares, firsts = own & opp, own & opp  # empty sets
    while any_square(rest):
        empty = rest
        first = rest & (~rest + _ONE)
        region = first
        before = first ^ first
        while any_square(region ^ before):
            before = region
            region = region | (empty & surroundings(region, geometry))
        rest = rest ^ region
        odd = region
        for half in _HALVES:
            odd = odd ^ (odd >> half)
        odd = ~(odd & _ONE) + _ONE  # all squares where the number is odd, none where it is even
        squares, firsts = squares | (region & odd), firsts | (first & odd)
    return squares, firsts


FEATURE_FUNCTIONS: Final[tuple[Callable[..., Any], ...]] = (
    settled_squares,
    beside,
    stable_discs,
    neighbours,
    surroundings,
    frontier_discs,
    potential_moves,
    x_squares,
    c_squares,
    odd_regions,
)
"""What `agents.board` makes known to numba, so that compiled code can call any of them."""


Counts = npt.NDArray[np.float64]


def _count(squares: BitboardArray) -> Counts:
    return popcount(squares).astype(np.float64)


def _difference(
    feature: Callable[[BitboardArray, BitboardArray, Geometry], BitboardArray],
) -> Callable[[BitboardArray, BitboardArray, int], Counts]:
    """A feature's count for the side that has just moved, less the other side's."""

    def difference(own: BitboardArray, opp: BitboardArray, n: int) -> Counts:
        return _count(feature(own, opp, GEOMETRY[n])) - _count(feature(opp, own, GEOMETRY[n]))

    return difference


FEATURE_COUNTS: Final[dict[str, Callable[[BitboardArray, BitboardArray, int], Counts]]] = {
    "corners": lambda own, opp, n: _count(own & GEOMETRY[n].corners) - _count(opp & GEOMETRY[n].corners),
    "corner_replies": lambda own, opp, n: _count(legal_moves(opp, own, n) & GEOMETRY[n].corners),
    "x_squares": _difference(x_squares),
    "c_squares": _difference(c_squares),
    "stability": _difference(stable_discs),
    "frontier": _difference(frontier_discs),
    "potential_mobility": _difference(potential_moves),
    "mobility": lambda own, opp, n: _count(legal_moves(own, opp, n)),
    "replies": lambda own, opp, n: _count(legal_moves(opp, own, n)),
    "discs": lambda own, opp, _: _count(own) - _count(opp),
    "odd_regions": lambda own, opp, n: _count(odd_regions(own, opp, GEOMETRY[n])[1]),
}
"""What `HeuristicEvaluator` weighs. Each takes [N] uint64 discs of the side that has just moved and of the other, and a board size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeuristicEvaluator:
    """A weighted sum of features; an afterstate that ends the game counts by its result, and for more than any other.

    Each field is the weight of one unit of a feature, for the side that has just moved. corners, x_squares, c_squares, stability,
    frontier, potential_mobility, discs: a disc or square in the set of that name; those of the other side count against it.
    mobility: a move that it would have, were it to move. replies: a move that the other side has. corner_replies: such a move that
    takes a corner. odd_regions: a region with an odd number of empty squares.

    The default weights are round numbers near those that a search over matches found. Further weights, and weights that change
    as the board fills, did not score measurably better.
    """

    corners: float = 20
    corner_replies: float = -7
    x_squares: float = -4
    c_squares: float = -2.5
    stability: float = 1.5
    frontier: float = -0.6
    potential_mobility: float = 0
    mobility: float = 0.2
    replies: float = -1
    discs: float = 0
    odd_regions: float = 0

    def __call__(self, afterstates: Afterstates) -> npt.NDArray[np.float64]:
        """See `AfterstateAgent`."""
        return _values(self._weigh, afterstates)

    def _weigh(self, own: BitboardArray, opp: BitboardArray, board_size: int) -> npt.NDArray[np.float64]:
        values = np.zeros(len(own))
        for name, count in FEATURE_COUNTS.items():
            weight = getattr(self, name)
            if weight:
                values += weight * count(own, opp, board_size)
        return values


def heuristics_agent() -> AfterstateAgent:
    """Plays the move after which the weighted features are best. All board sizes."""
    return AfterstateAgent("heuristics", HeuristicEvaluator())


def beginner_advice(own: BitboardArray, opp: BitboardArray, board_size: int) -> npt.NDArray[np.float64]:
    """How well each afterstate follows the advice that beginners get, from the view of `own`, who has just moved.

    own, opp: [N] uint64. Returns [N] float64. Each line below is a piece of advice, the weightiest first.
    """
    geometry = GEOMETRY[board_size]
    early_mask = _count(own | opp) < board_size**2 * _EARLY_SHARE
    edges = geometry.straight[0].ends | geometry.straight[1].ends
    replies = legal_moves(opp, own, board_size)
    advice = 200 * _count(own & geometry.corners)  # take corners
    advice -= 100 * _count(replies & geometry.corners)  # give none away
    advice -= 40 * _count(x_squares(own, opp, geometry))  # so stay off the squares beside an empty corner
    advice -= 15 * _count(c_squares(own, opp, geometry))
    advice -= 5 * _count(replies)  # leave the other side few moves
    advice += np.where(early_mask, -1, 1) * _count(own)  # turn few discs early, many late
    advice += np.where(early_mask, -1, 1) * _count(own & edges)  # edges can wait
    return advice


@dataclass(frozen=True, slots=True)
class BeginnerEvaluator:
    """`beginner_advice`; an afterstate that ends the game counts by its result, and for more than any other."""

    def __call__(self, afterstates: Afterstates) -> npt.NDArray[np.float64]:
        """See `AfterstateAgent`."""
        return _values(beginner_advice, afterstates)


def beginner_agent() -> AfterstateAgent:
    """Plays by the advice that beginners get, one move ahead. All board sizes."""
    return AfterstateAgent("beginner", BeginnerEvaluator())


def _values(
    evaluate: Callable[[BitboardArray, BitboardArray, int], npt.NDArray[np.float64]], afterstates: Afterstates
) -> npt.NDArray[np.float64]:
    """The values that `evaluate` gives to discs, a chunk at a time, and the results of finished games in their place."""
    values = np.empty(len(afterstates))
    for start in range(0, len(afterstates), CHUNK):
        chunk = slice(start, start + CHUNK)
        values[chunk] = evaluate(afterstates.own[chunk], afterstates.opp[chunk], afterstates.board_size)
    set_results(values, afterstates)
    return values
