"""Moves that lead to a position, for engines that accept moves but not positions."""

from __future__ import annotations

from typing import Final

from othello_env.bitboard import squares_of
from othello_env.position import Position

Move = tuple[int, int]
"""Color and square. Passes are left out."""
Game = tuple[Move, ...]

# Maximum number of moves played in the search for the moves between two positions.
_MAX_TRIES: Final = 20_000
# Maximum number of moves from a position of a known game to the position to find. More than two are
# possible because of passes and the random moves of a match.
_MAX_STEPS: Final = 8
_MAX_GAMES: Final = 4096


class History:
    """Finds a game that leads to each position, and remembers it for later positions."""

    def __init__(self) -> None:
        self._games: dict[Position, Game] = {}

    def find(self, position: Position) -> Game | None:
        """Return moves that lead from the start position to this one, or None if not found.

        The search is bounded: it finds continuations of known games at once, and openings of up to
        about ten moves quickly.
        """
        if position in self._games:
            return self._games[position]
        discs = position.own | position.opp
        for earlier in reversed(self._games):
            before = earlier.own | earlier.opp
            if earlier.board_size == position.board_size and not before & ~discs and 0 < (discs ^ before).bit_count() <= _MAX_STEPS:
                moves = _find_moves(earlier, position)
                if moves is not None:
                    return self._remember(position, self._games[earlier] + moves)
        moves = _find_moves(Position.start(position.board_size), position)
        return None if moves is None else self._remember(position, moves)

    def _remember(self, position: Position, moves: Game) -> Game:
        if len(self._games) >= _MAX_GAMES:
            del self._games[next(iter(self._games))]
        self._games[position] = moves
        return moves


def _find_moves(start: Position, goal: Position) -> Game | None:
    """Return moves from one position to another, found by depth-first search.

    Returns None if no moves lead there or the search exceeds `_MAX_TRIES`.
    """
    occupied = goal.own | goal.opp
    visited: set[Position] = set()
    path: list[Move] = []
    num_tries = 0

    def search(position: Position) -> bool:
        nonlocal num_tries
        if position == goal:
            return True
        if position in visited:
            return False
        visited.add(position)
        for square in squares_of(position.legal_moves & occupied):
            num_tries += 1
            if num_tries > _MAX_TRIES:
                return False
            path.append((position.side_to_move, square))
            if search(position.play(square)):
                return True
            path.pop()
        return False

    return tuple(path) if search(start.resolve_pass()) else None
