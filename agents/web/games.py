"""The games in progress on a server: found by random id, bounded in number, forgotten when idle."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from agents.play.session import GameSession

_ID_BYTES: Final = 12

# Idle time after which a game makes room for a new one if the server is full, in seconds.
_MIN_IDLE_SECONDS: Final = 300.0


class UnknownGameError(KeyError):
    """No game has this id: it never existed, or it was idle for too long."""


class TooManyGamesError(RuntimeError):
    """The server is full of games in use."""


class StaleRevisionError(Exception):
    """The game has changed since the page was drawn."""


class ActiveGame:
    """A session on the server. All changes happen in the thread of the event loop.

    keys: the players of black and white as named in requests.
    """

    def __init__(self, session: GameSession, keys: tuple[str, str]) -> None:
        self.id = secrets.token_urlsafe(_ID_BYTES)
        self.session, self.keys = session, keys
        self._busy = asyncio.Lock()
        self._thinking: asyncio.Task[None] | None = None
        self._thinking_revision = -1

    def check_revision(self, revision: int) -> None:
        """Raise `StaleRevisionError` unless the game is at this revision."""
        if revision != self.session.revision:
            raise StaleRevisionError

    async def play_agent_move(self, executor: Executor) -> None:
        """Ask the agent to move in a thread, and play its move unless the game has changed.

        Requests for the same revision share one search. Raises `AgentError` if the agent fails.
        """
        if self._thinking is None or self._thinking.done() or self._thinking_revision != self.session.revision:
            self._thinking_revision = self.session.revision
            self._thinking = asyncio.create_task(self._think(executor, self.session.revision))
        # A page that is closed must not cancel the search, which other pages may wait for.
        await asyncio.shield(self._thinking)

    async def _think(self, executor: Executor, revision: int) -> None:
        # The randomness of a session is not thread-safe: one search per game at a time.
        async with self._busy:
            if revision != self.session.revision:
                return
            try:
                move = await asyncio.get_running_loop().run_in_executor(executor, self.session.think)
            except ValueError:
                if revision == self.session.revision:
                    raise
                return  # the position changed while the agent was reading it
            if revision == self.session.revision:
                self.session.play(move)


class GameStore:
    """The games of a server.

    max_games: number of games held. idle_seconds: time without a request after which a game is
    forgotten. now: clock to read, in seconds.
    """

    def __init__(self, *, max_games: int, idle_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._max_games, self._idle_seconds, self._now = max_games, idle_seconds, now
        self._games: OrderedDict[str, tuple[float, ActiveGame]] = OrderedDict()  # longest idle first

    def __len__(self) -> int:
        return len(self._games)

    def add(self, game: ActiveGame) -> None:
        """Hold a game. Raises `TooManyGamesError` if there is no room and no game has been idle."""
        self._drop_idle(self._idle_seconds)
        if len(self._games) >= self._max_games:
            self._drop_idle(min(self._idle_seconds, _MIN_IDLE_SECONDS), most=1)
        if len(self._games) >= self._max_games:
            raise TooManyGamesError(f"{self._max_games} games are in progress, the server has no room for more; try again later")
        self._games[game.id] = self._now(), game

    def get(self, game_id: str) -> ActiveGame:
        """Return a game and restart its idle time. Raises `UnknownGameError`."""
        self._drop_idle(self._idle_seconds)
        if game_id not in self._games:
            raise UnknownGameError("no such game; games are forgotten after a long time without a move")
        game = self._games[game_id][1]
        self._games[game_id] = self._now(), game
        self._games.move_to_end(game_id)
        return game

    def _drop_idle(self, seconds: float, *, most: int | None = None) -> None:
        """Drop the games that were idle for `seconds`, at most `most` of them."""
        while self._games and most != 0:
            last_use, game = next(iter(self._games.values()))
            if self._now() - last_use < seconds:
                return
            del self._games[game.id]
            most = None if most is None else most - 1
