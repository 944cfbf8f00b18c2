"""Features of a position: stable discs, frontier, corners, X and C squares, parity; and agents that weigh them.

The features are sets of squares. Like the rules kernel they use the operators `& | ^ ~ << >>` only, so the same source serves
`uint64` arrays (elementwise) and single boards in compiled code, see `FEATURE_FUNCTIONS`. They take
`own` and `opp`, the discs of a side and of its opponent, no matter who is to move, and the board as
`GEOMETRY[board_size]`, whose words are all `uint64`, because numba turns a mixture with literals
into floating point.
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

# Beginners are told to flip few discs until about this share of the board is full.
_EARLY_SHARE: Final = 0.75


class Line(NamedTuple):
    """One of the four directions of lines, as shifts and the squares that the shifts may reach; uint64 each.

    step, two_steps, four_steps: shift by one, two and four squares along a line. up, up_two,
    up_four: the squares with at least one, two or four squares before them on their line, where a
    shift to the left may end. down, down_two, down_four: the same with squares behind them, for
    shifts to the right. ends: the first and last squares of all lines.
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
    """Lines and squares of a board, uint64 each.

    straight: rows and columns. diagonal: the two directions of diagonals.
    """

    straight: tuple[Line, Line]
    diagonal: tuple[Line, Line]
    full: np.uint64
    corners: np.uint64


def _line(n: int, rows: int, columns: int) -> Line:
    """The line whose step is `rows` rows down and `columns` columns to the right."""

    def reached(steps: int) -> int:
        """The squares with at least `steps` squares before them on their line."""
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
    """Return whether any of the sets has a square. Compiled code has its own version of this function, in `agents.board`."""
    return bool(np.any(squares))


def settled_squares(empty: Bits, line: Line) -> Bits:
    """The squares whose discs cannot flip along a line: the squares of full lines, and the ends of all lines."""
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
    """The squares one step up or down a line. A step that leaves the board gives a square at its other edge."""
    near: Bits = (squares << step) | (squares >> step)
    return near


def stable_discs(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Discs of `own` that can never flip, whatever both sides play. The set is not always complete.

    A disc is in the set if along each of the four lines either the line is full, or the disc is at
    its end, or one of the two neighbors is in the set. No move can be the first to flip a disc of
    the set: among the discs of the set that it flips along a line, the one that entered the set
    first has a neighbor on the line that entered the set earlier.
    """
    (row, column), (rising, falling) = geometry.straight, geometry.diagonal
    empty = (own | opp) ^ geometry.full
    settled_row, settled_column = settled_squares(empty, row), settled_squares(empty, column)
    settled_rising, settled_falling = settled_squares(empty, rising), settled_squares(empty, falling)
    stable = own & settled_row & settled_column & settled_rising & settled_falling
    before = own ^ own
    while any_square(stable ^ before):
        before = stable
        # A neighbor across the edge of the board does no harm: it is the end of a line, which is
        # settled.
        stable = own & (settled_row | beside(before, row.step)) & (settled_column | beside(before, column.step))
        stable = stable & (settled_rising | beside(before, rising.step)) & (settled_falling | beside(before, falling.step))
    return stable


def neighbors(squares: Bits, lines: tuple[Line, Line]) -> Bits:
    """The squares next to one of `squares` along the given lines."""
    near = squares ^ squares
    for line in lines:
        near = near | ((squares << line.step) & line.up) | ((squares >> line.step) & line.down)
    return near


def surroundings(squares: Bits, geometry: Geometry) -> Bits:
    """The squares that touch one of `squares` at a side or a corner."""
    return neighbors(squares, geometry.straight) | neighbors(squares, geometry.diagonal)


def frontier_discs(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Discs of `own` that touch an empty square."""
    return own & surroundings((own | opp) ^ geometry.full, geometry)


def potential_moves(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Empty squares that touch a disc of `opp`: possible moves of `own`, now or later."""
    return ((own | opp) ^ geometry.full) & surroundings(opp, geometry)


def x_squares(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Discs of `own` diagonally next to an empty corner."""
    return own & neighbors(geometry.corners & ~(own | opp), geometry.diagonal)


def c_squares(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Discs of `own` on the edge next to an empty corner."""
    return own & neighbors(geometry.corners & ~(own | opp), geometry.straight)


def odd_regions(own: Bits, opp: Bits, geometry: Geometry) -> tuple[Bits, Bits]:
    """Regions with an odd number of empty squares: all their squares, and the first square of each region.

    A region is a connected set of empty squares, at sides or corners. A side that moves into an odd
    region expects to have the last move there; where all regions are even, that is the side that is
    not to move.
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
    neighbors,
    surroundings,
    frontier_discs,
    potential_moves,
    x_squares,
    c_squares,
    odd_regions,
)
"""The functions that `agents.board` registers with numba, so that compiled code can call them."""


Counts = npt.NDArray[np.float64]


def _count(squares: BitboardArray) -> Counts:
    return popcount(squares).astype(np.float64)


def _difference(
    feature: Callable[[BitboardArray, BitboardArray, Geometry], BitboardArray],
) -> Callable[[BitboardArray, BitboardArray, int], Counts]:
    """The count of a feature for the side that has just moved minus the count for the other side."""

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
"""The features of `HeuristicEvaluator`: functions of own and opp, [N] uint64 discs of the side that has just moved, and the board size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeuristicEvaluator:
    """A weighted sum of features; afterstates that end the game have the values of `agents.base.set_results` instead.

    Each field is the weight of one unit of a feature, for the side that has just moved. corners,
    x_squares, c_squares, stability,
    frontier, potential_mobility, discs: a disc or square in the set of that name; those of the
    other side are subtracted. mobility: a move that the side would have if it were to move.
    replies: a legal move of the other side. corner_replies: a reply that takes a corner.
    odd_regions: a region with an odd number of empty squares.

    The default weights are round numbers near those that a search over matches found. Further
    weights, and weights that change with the number of discs, did not score measurably better.
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
    """Agent that plays the move with the highest weighted sum of features. All board sizes."""
    return AfterstateAgent("heuristics", HeuristicEvaluator())


def beginner_advice(own: BitboardArray, opp: BitboardArray, board_size: int) -> npt.NDArray[np.float64]:
    """Score of afterstates by the advice for beginners, from the view of `own`, who has just moved.

    own, opp: [N] uint64. Returns [N] float64. Each line below is a piece of advice, the most
    important first.
    """
    geometry = GEOMETRY[board_size]
    early_mask = _count(own | opp) < board_size**2 * _EARLY_SHARE
    edges = geometry.straight[0].ends | geometry.straight[1].ends
    replies = legal_moves(opp, own, board_size)
    advice = 200 * _count(own & geometry.corners)  # take corners
    advice -= 100 * _count(replies & geometry.corners)  # give none away
    advice -= 40 * _count(x_squares(own, opp, geometry))  # stay off the squares next to an empty corner
    advice -= 15 * _count(c_squares(own, opp, geometry))
    advice -= 5 * _count(replies)  # leave the other side few moves
    advice += np.where(early_mask, -1, 1) * _count(own)  # flip few discs early, many late
    advice += np.where(early_mask, -1, 1) * _count(own & edges)  # edges can wait
    return advice


@dataclass(frozen=True, slots=True)
class BeginnerEvaluator:
    """`beginner_advice`; afterstates that end the game have the values of `agents.base.set_results` instead."""

    def __call__(self, afterstates: Afterstates) -> npt.NDArray[np.float64]:
        """See `AfterstateAgent`."""
        return _values(beginner_advice, afterstates)


def beginner_agent() -> AfterstateAgent:
    """Agent that follows the advice for beginners. All board sizes."""
    return AfterstateAgent("beginner", BeginnerEvaluator())


def _values(
    evaluate: Callable[[BitboardArray, BitboardArray, int], npt.NDArray[np.float64]], afterstates: Afterstates
) -> npt.NDArray[np.float64]:
    """The values of `evaluate`, computed in chunks, with the results of finished games in their place."""
    values = np.empty(len(afterstates))
    for start in range(0, len(afterstates), CHUNK):
        chunk = slice(start, start + CHUNK)
        values[chunk] = evaluate(afterstates.own[chunk], afterstates.opp[chunk], afterstates.board_size)
    set_results(values, afterstates)
    return values
