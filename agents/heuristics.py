"""Positional features, such as stability, frontier and parity, and agents that weigh them.

The features are sets of squares. Like the rules kernel, they use only the operators
`& | ^ ~ << >>`, so the same source serves `uint64` arrays (elementwise) and single boards in
compiled code; see `FEATURE_FUNCTIONS`. They take `own` and `opp`, the discs of a side and of its
opponent, regardless of the side to move, and the board as `GEOMETRY[board_size]`. All words of a
geometry are `uint64`, because numba converts a mixture with integer literals to floating point.
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

# Beginners are told to flip few discs while less than this fraction of the board is filled.
_EARLY_SHARE: Final = 0.75


class Line(NamedTuple):
    """One of the four line directions: shifts, and masks of the squares that they may reach.

    All fields are uint64. step, two_steps, four_steps: shift by one, two and four squares along a
    line. up, up_two, up_four: the squares with at least one, two or four squares before them on
    their line, to which a left shift may lead. down, down_two, down_four: the same with squares
    behind them, for right shifts. ends: the first and last squares of all lines.
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
    """Lines and square sets of a board, uint64 each.

    straight: rows and columns. diagonal: the two directions of diagonals. full: all squares.
    """

    straight: tuple[Line, Line]
    diagonal: tuple[Line, Line]
    full: np.uint64
    corners: np.uint64


def _line(n: int, rows: int, columns: int) -> Line:
    """Return the `Line` whose step is `rows` rows down and `columns` columns to the right."""

    def reached(steps: int) -> int:
        """Return the squares with at least `steps` squares before them on their line."""
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
    """Return True if any of the sets is not empty. `agents.board` has the compiled version."""
    return bool(np.any(squares))


def settled_squares(empty: Bits, line: Line) -> Bits:
    """Return the squares whose discs cannot flip along a line: full lines, and ends of lines."""
    step, two_steps, four_steps, up, up_two, up_four, down, down_two, down_four, ends = line
    # Empty squares spread to the end of their line, and from there over the whole line.
    open_squares = empty | ((empty << step) & up)
    open_squares = open_squares | ((open_squares << two_steps) & up_two)
    open_squares = open_squares | ((open_squares << four_steps) & up_four)
    open_squares = open_squares | ((open_squares >> step) & down)
    open_squares = open_squares | ((open_squares >> two_steps) & down_two)
    open_squares = open_squares | ((open_squares >> four_steps) & down_four)
    settled: Bits = ~open_squares | ends
    return settled


def beside(squares: Bits, step: np.uint64) -> Bits:
    """Return the squares next to the given ones along a line, in both directions.

    A step across the edge of the board wraps around to the opposite edge.
    """
    near: Bits = (squares << step) | (squares >> step)
    return near


def stable_discs(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Return discs of `own` that can never flip. The set is not always complete.

    A disc is in the set if on each of its four lines the line is full, or the disc is at its end,
    or one of its two neighbors on it is in the set. The set is built up one disc after the other:
    each disc is protected on every line by a full line, the edge, or a disc added before it, so no
    move can flip it.
    """
    (row, column), (rising, falling) = geometry.straight, geometry.diagonal
    empty = (own | opp) ^ geometry.full
    settled_row, settled_column = settled_squares(empty, row), settled_squares(empty, column)
    settled_rising, settled_falling = settled_squares(empty, rising), settled_squares(empty, falling)
    stable = own & settled_row & settled_column & settled_rising & settled_falling
    before = own ^ own
    while any_square(stable ^ before):
        before = stable
        # A step that wraps around the edge does no harm: the disc there is at the end of its line,
        # hence settled.
        stable = own & (settled_row | beside(before, row.step)) & (settled_column | beside(before, column.step))
        stable = stable & (settled_rising | beside(before, rising.step)) & (settled_falling | beside(before, falling.step))
    return stable


def neighbors(squares: Bits, lines: tuple[Line, Line]) -> Bits:
    """Return the squares adjacent to one of `squares` along the given lines."""
    near = squares ^ squares
    for line in lines:
        near = near | ((squares << line.step) & line.up) | ((squares >> line.step) & line.down)
    return near


def surroundings(squares: Bits, geometry: Geometry) -> Bits:
    """Return the squares adjacent to one of `squares`, diagonals included."""
    return neighbors(squares, geometry.straight) | neighbors(squares, geometry.diagonal)


def frontier_discs(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Return the discs of `own` adjacent to an empty square."""
    return own & surroundings((own | opp) ^ geometry.full, geometry)


def potential_moves(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Return the empty squares adjacent to a disc of `opp`: present or future moves of `own`."""
    return ((own | opp) ^ geometry.full) & surroundings(opp, geometry)


def x_squares(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Return the discs of `own` diagonally adjacent to an empty corner."""
    return own & neighbors(geometry.corners & ~(own | opp), geometry.diagonal)


def c_squares(own: Bits, opp: Bits, geometry: Geometry) -> Bits:
    """Return the discs of `own` on the edge adjacent to an empty corner."""
    return own & neighbors(geometry.corners & ~(own | opp), geometry.straight)


def odd_regions(own: Bits, opp: Bits, geometry: Geometry) -> tuple[Bits, Bits]:
    """Return the squares of all odd regions, and the first square of each of them.

    A region is a connected set of empty squares, diagonals included; it is odd if the number of its
    squares is. A side that moves into an odd region can expect to make the last move there. If all
    regions are even, the side that is not to move can expect this.
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
"""Functions that `agents.board` registers with numba, so that compiled code can call them."""


Counts = npt.NDArray[np.float64]


def _count(squares: BitboardArray) -> Counts:
    return popcount(squares).astype(np.float64)


def _difference(
    feature: Callable[[BitboardArray, BitboardArray, Geometry], BitboardArray],
) -> Callable[[BitboardArray, BitboardArray, int], Counts]:
    """Return a function: the count of a feature for `own` minus the count for `opp`."""

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
"""Features of `HeuristicEvaluator` as functions of own, opp and the board size.

own, opp: [N] uint64, discs of the side that has just moved and of the other side. A function
returns [N] float64.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeuristicEvaluator:
    """Weighted sum of features.

    Afterstates that end the game have the values of `agents.base.set_results` instead. Each field
    is a weight per unit of a feature, from the perspective of the side that has just moved.
    corners, x_squares, c_squares, stability, frontier, potential_mobility, discs: per disc or
    square in the set of that name; those of the other side are subtracted. mobility: per move that
    the side would have if it were to move. replies: per legal move of the other side.
    corner_replies: per reply that takes a corner. odd_regions: per region with an odd number of
    empty squares.

    The default weights are rounded results of an optimization by matches. More weights, and weights
    that depend on the number of discs, did not score measurably better.
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
    """Return the agent that plays by a weighted sum of features, on all board sizes."""
    return AfterstateAgent("heuristics", HeuristicEvaluator())


def beginner_advice(own: BitboardArray, opp: BitboardArray, board_size: int) -> npt.NDArray[np.float64]:
    """Return the score of afterstates by the usual advice for beginners.

    own, opp: [N] uint64, discs of the side that has just moved and of the other side. Returns [N]
    float64, from the perspective of `own`. Each line below is a piece of advice, the most important
    first.
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
    """Values by `beginner_advice`.

    Afterstates that end the game have the values of `agents.base.set_results` instead.
    """

    def __call__(self, afterstates: Afterstates) -> npt.NDArray[np.float64]:
        """See `AfterstateAgent`."""
        return _values(beginner_advice, afterstates)


def beginner_agent() -> AfterstateAgent:
    """Return the agent that follows the usual advice for beginners, on all board sizes."""
    return AfterstateAgent("beginner", BeginnerEvaluator())


def _values(
    evaluate: Callable[[BitboardArray, BitboardArray, int], npt.NDArray[np.float64]], afterstates: Afterstates
) -> npt.NDArray[np.float64]:
    """Return the values of `evaluate`, computed in chunks; finished games get their results."""
    values = np.empty(len(afterstates))
    for start in range(0, len(afterstates), CHUNK):
        chunk = slice(start, start + CHUNK)
        values[chunk] = evaluate(afterstates.own[chunk], afterstates.opp[chunk], afterstates.board_size)
    set_results(values, afterstates)
    return values
