"""Command that plays in the browser.

`python -m agents.web` prints the address to open.
"""

from __future__ import annotations

import argparse
import secrets
import socket
from collections.abc import Sequence
from typing import Final

from agents.registry import agents_help
from othello_env.command import CommandError, Parser, command

_HOST: Final = "127.0.0.1"
_PORT: Final = 8064
_WORKERS: Final = 2
_MAX_GAMES: Final = 500
_IDLE_HOURS: Final = 24.0


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an integer from 1 to 100,000")
    return int(text)


def _hours(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a positive number of hours")
    return value


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r}: expected an integer from 0 to 65535")
    return int(text)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m agents.web",
        description="Play in the browser: against a person, a level or an agent, or watch agents.",
        epilog=agents_help(),
    )
    agent_help = "agent to offer besides the levels, see below; may be repeated (default: the levels only)"
    parser.add_argument("--agent", action="append", default=[], metavar="SPEC", help=agent_help)
    host_help = f"address to listen on; any but loopback, such as 0.0.0.0, demands a token (default: {_HOST}, this machine only)"
    parser.add_argument("--host", default=_HOST, help=host_help)
    parser.add_argument("--port", type=_port, default=_PORT, metavar="N", help=f"TCP port; 0 takes a free one (default: {_PORT})")
    name_help = "further host name under which browsers reach the server, such as that of a reverse proxy; demands a token; may be repeated"
    parser.add_argument("--allow-host", action="append", default=[], metavar="NAME", help=name_help)
    token_help = (
        "secret that browsers must know, printed as part of the address (default: a random one where a token is demanded, else none)"
    )
    parser.add_argument("--token", help=token_help)
    workers_help = f"number of agents that think at the same time (default: {_WORKERS})"
    parser.add_argument("--workers", type=_count, default=_WORKERS, metavar="N", help=workers_help)
    games_help = f"number of games held in memory (default: {_MAX_GAMES})"
    parser.add_argument("--max-games", type=_count, default=_MAX_GAMES, metavar="N", help=games_help)
    idle_help = f"hours without a request after which a game is forgotten (default: {_IDLE_HOURS:g})"
    parser.add_argument("--idle-hours", type=_hours, default=_IDLE_HOURS, metavar="H", help=idle_help)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: command-line arguments (default: those of the process)."""
    parser = _parser()
    with command("web", interrupted="stopped"):
        arguments = parser.parse_args(argv)
        # Late, so that the help needs no extra.
        import uvicorn

        from agents.web.access import is_loopback
        from agents.web.app import create_app
        from agents.web.games import GameStore
        from agents.web.roster import Roster

        host, token = arguments.host.strip("[]"), arguments.token
        if token is not None and not (token.isascii() and token.isprintable() and len(token) >= 8 and not set(token) & set(' ";,\\')):
            raise ValueError("--token: expected at least 8 ASCII characters without spaces, quotes, commas, semicolons and backslashes")
        if token is None and (arguments.allow_host or not is_loopback(host)):
            token = secrets.token_urlsafe(16)
        app = create_app(
            Roster(arguments.agent),
            host=host,
            names=arguments.allow_host,
            token=token,
            store=GameStore(max_games=arguments.max_games, idle_seconds=arguments.idle_hours * 3600),
            workers=arguments.workers,
        )
        with _listen(host, arguments.port) as listener:
            port = listener.getsockname()[1]
            shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, f"[{host}]" if ":" in host else host)
            print(f"Open http://{shown}:{port}/{f'?token={token}' if token else ''} (Ctrl-C stops the server)", flush=True)
            config = uvicorn.Config(
                app,
                access_log=False,
                h11_max_incomplete_event_size=16 << 10,
                limit_concurrency=200,
                log_level="error",  # invalid requests are no news
                server_header=False,
                timeout_graceful_shutdown=1,
                ws="none",
            )
            uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises `CommandError` with the reason if there is none."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise CommandError(f"cannot listen on {host}, port {port}: {error.strerror or error}; --port 0 takes a free port") from None


if __name__ == "__main__":
    main()
