"""The application: the page, and its interface in JSON.

| Request | Body | Effect |
|---|---|---|
| `GET /api/status` | | list of players, progress of the compilation |
| `POST /api/games` | board_size, black, white, optional position or text | new game |
| `GET /api/games/ID` | | state of a game |
| `POST /api/games/ID/play` | revision, square | play a move of a person |
| `POST /api/games/ID/agent-move` | revision | let the agent to move play |
| `POST /api/games/ID/undo`, `/redo`, `/resign` | revision | as in `GameSession` |
| `POST /api/games/ID/hint` | revision | values of the legal moves |
| `GET /api/games/ID/record?format=ggf` | | transcript, GGF or SGF |

The answer is the state of the game (`agents.web.view`), or `{"error": ...}`. A request with an old
revision gets status 409 and the current state.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from agents.play.session import GameSession
from agents.play.source import read_text
from agents.web.access import AccessCheck
from agents.web.body import RequestError, read_object
from agents.web.games import ActiveGame, GameStore, StaleRevisionError, TooManyGamesError, UnknownGameError
from agents.web.record import SUFFIXES, format_session
from agents.web.roster import Roster
from agents.web.view import PERSON, game_view, hint_view, resigning_color
from othello_env.agent import AgentError
from othello_env.game import Game
from othello_env.opening import parse_opening
from othello_env.position import Position
from othello_env.squares import check_board_size

STATIC: Final = Path(__file__).parent / "static"
_FILES: Final = {"/": ("index.html", "text/html"), "/board.css": ("board.css", "text/css"), "/board.js": ("board.js", "text/javascript")}

_REVISION: Final = {"revision": 0}
_NEW_GAME: Final = {"board_size": 0, "black": 200, "white": 200, "position": 200, "text": 20_000}

_Endpoint = Callable[[Request], Awaitable[Response]]


def create_app(
    roster: Roster | None = None,
    *,
    host: str = "127.0.0.1",
    names: Collection[str] = (),
    token: str | None = None,
    store: GameStore | None = None,
    workers: int = 2,
    prepare: bool = True,
) -> Starlette:
    """Return the ASGI application.

    roster: the agents (default: the levels). host: the address that the server is bound to; names,
    token: see `AccessCheck`. store: the games (default: 500, forgotten after a
    day). workers: number of agents that think at the same time. prepare: True to compile all agents
    in the background at the start.
    """
    roster = roster or Roster()
    if store is None:  # an empty one is false
        store = GameStore(max_games=500, idle_seconds=86_400)
    server = _Server(roster, store, workers)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if prepare:
            roster.prepare_in_background()
        else:
            roster.preparation.done = roster.preparation.total
        yield
        server.executor.shutdown(wait=False, cancel_futures=True)

    game = "/api/games/{id}"
    routes = [
        *(Route(path, _static(*file), methods=["GET"]) for path, file in _FILES.items()),
        Route("/api/status", server.status, methods=["GET"]),
        Route("/api/games", server.create, methods=["POST"]),
        Route(game, server.show, methods=["GET"]),
        Route(f"{game}/record", server.record, methods=["GET"]),
        *(
            Route(f"{game}/{action.__name__.replace('_', '-')}", action, methods=["POST"])
            for action in (server.play, server.agent_move, server.undo, server.redo, server.resign, server.hint)
        ),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(AccessCheck, host=host, names=names, token=token)],
        exception_handlers={
            RequestError: _answer_request_error,
            UnknownGameError: _answer_unknown_game,
            TooManyGamesError: _answer_full,
            AgentError: _answer_agent_error,
            HTTPException: _answer_http_exception,
        },
        lifespan=lifespan,
    )


class _Server:
    """The endpoints.

    All of them run in the thread of the event loop; agents think in `executor`.
    """

    def __init__(self, roster: Roster, store: GameStore, workers: int) -> None:
        self.roster, self.store = roster, store
        self.executor = ThreadPoolExecutor(workers, "agent")

    async def status(self, _: Request) -> Response:
        """List the players and tell how far the compilation is."""
        preparation = self.roster.preparation
        return JSONResponse(
            {
                "players": [
                    {"key": PERSON, "title": "Person", "board_sizes": [4, 6, 8]},
                    *(
                        {"key": choice.key, "title": choice.title, "board_sizes": list(choice.board_sizes)}
                        for choice in self.roster.choices
                    ),
                ],
                "ready": preparation.is_done,
                "done": preparation.done,
                "total": preparation.total,
                "preparing": preparation.current,
                "failures": preparation.failures,
            }
        )

    async def create(self, request: Request) -> Response:
        """Begin a game from the start, from a position, or at the end of a recorded game."""
        body = await read_object(request, _NEW_GAME, optional=frozenset({"position", "text"}))
        keys = (body["black"], body["white"])
        with _bad_request():
            game, more = await self._game_of(body)
            black, white = (None if key == PERSON else self.roster.agent(key, game.start.board_size) for key in keys)
        active = ActiveGame(GameSession((black, white), game), keys)
        self.store.add(active)
        return JSONResponse({**game_view(active), "more_games": more}, 201)

    @staticmethod
    async def _game_of(body: dict[str, Any]) -> tuple[Game, bool]:
        """Return the game to continue, and True if more games follow it in the text."""
        size = check_board_size(body["board_size"])
        if "position" in body and "text" in body:
            raise ValueError("position and text: expected at most one of them")
        if "text" in body:
            record, more = await run_in_threadpool(read_text, body["text"], board_size=size)
            return record.game, more
        if "position" not in body:
            return Game((), Position.start(size)), False
        game = parse_opening(body["position"], board_size=size)
        if game.moves:
            raise ValueError("position: expected the squares and the side to move, not a transcript")
        return game, False

    async def show(self, request: Request) -> Response:
        """Return the state of a game."""
        return JSONResponse(game_view(self._game(request)))

    async def record(self, request: Request) -> Response:
        """Return a game as a text file."""
        game = self._game(request)
        form = request.query_params.get("format", "transcript")
        with _bad_request():
            text = format_session(game.session, game.session.player_names, form)
        return Response(
            text,
            media_type="text/plain; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="othello.{SUFFIXES[form]}"'},
        )

    async def play(self, request: Request) -> Response:
        """Play a move of a person."""
        game = self._game(request)
        body = await read_object(request, {**_REVISION, "square": 4})

        def play() -> None:
            if game.session.player is not None and not game.session.is_over:
                raise RequestError(400, "an agent is to move")
            with _bad_request():
                game.session.play(body["square"])

        return self._change(game, body["revision"], play)

    async def agent_move(self, request: Request) -> Response:
        """Let the agent to move play."""
        game = self._game(request)
        body = await read_object(request, _REVISION)
        try:
            game.check_revision(body["revision"])
        except StaleRevisionError:
            return JSONResponse(game_view(game), 409)
        if game.session.player is None or game.session.is_over:
            raise RequestError(400, "no agent is to move")
        await game.play_agent_move(self.executor)
        return JSONResponse(game_view(game))

    async def undo(self, request: Request) -> Response:
        """Take back moves."""
        return await self._simple(request, lambda session: session.undo())

    async def redo(self, request: Request) -> Response:
        """Play moves again that were taken back."""
        return await self._simple(request, lambda session: session.redo())

    async def resign(self, request: Request) -> Response:
        """End the game as lost for the person to move, else for the other person."""

        def resign(session: GameSession) -> None:
            color = resigning_color(session)
            if color is None:
                raise RequestError(400, "no person plays in this game")
            with _bad_request():
                session.resign(color)

        return await self._simple(request, resign)

    async def hint(self, request: Request) -> Response:
        """Return the values of all legal moves, best first."""
        game = self._game(request)
        body = await read_object(request, _REVISION)
        position = game.session.position
        try:
            game.check_revision(body["revision"])
        except StaleRevisionError:
            return JSONResponse(game_view(game), 409)
        if game.session.is_over:
            raise RequestError(400, "the game is over")
        lines = await asyncio.get_running_loop().run_in_executor(self.executor, self.roster.rate_moves, position)
        return JSONResponse({"revision": body["revision"], "values": hint_view(lines, position.board_size)})

    def _game(self, request: Request) -> ActiveGame:
        return self.store.get(request.path_params["id"])

    async def _simple(self, request: Request, action: Callable[[GameSession], object]) -> Response:
        game = self._game(request)
        body = await read_object(request, _REVISION)
        return self._change(game, body["revision"], lambda: action(game.session))

    @staticmethod
    def _change(game: ActiveGame, revision: int, action: Callable[[], object]) -> Response:
        try:
            game.check_revision(revision)
        except StaleRevisionError:
            return JSONResponse(game_view(game), 409)
        action()
        return JSONResponse(game_view(game))


def _static(name: str, media_type: str) -> _Endpoint:
    content = (STATIC / name).read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return answer


@contextmanager
def _bad_request() -> Iterator[None]:
    """Answer errors of the input in the `with` block with status 400."""
    try:
        yield
    except ValueError as error:
        raise RequestError(400, str(error)) from error


def _error(status: int, error: Exception) -> Response:
    return JSONResponse({"error": " ".join(str(error.args[0] if error.args else error).split())[:500]}, status)


async def _answer_request_error(_: Request, error: Exception) -> Response:
    return _error(error.status if isinstance(error, RequestError) else 400, error)


async def _answer_unknown_game(_: Request, error: Exception) -> Response:
    return _error(404, error)


async def _answer_full(_: Request, error: Exception) -> Response:
    return _error(503, error)


async def _answer_agent_error(_: Request, error: Exception) -> Response:
    return _error(502, error)


async def _answer_http_exception(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)
