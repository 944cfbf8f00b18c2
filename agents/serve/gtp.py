"""Server for the Go Text Protocol (GTP), version 2: an agent as an engine for GoGui or Quarry.

Forced passes are automatic, as in GRhino; passes that the other program sends are accepted.
Squares have Othello names, with a1 at the top left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

import othello_env
from agents.analysis import Searcher, analyze, format_pv
from agents.base import Agent, check_board_size
from othello_env.agent import AgentError, ask_agent
from othello_env.batch import PositionBatch
from othello_env.command import one_line
from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.position import BLACK, COLOR_NAMES, WHITE, Position
from othello_env.records import read_records
from othello_env.rendering.text import render_text
from othello_env.squares import format_square, parse_square, pass_square

_COLORS: Final = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_GAME: Final = "Othello"
_ANALYZE_COMMANDS: Final = "string/Best moves/analyze"
_DEFAULT_LINES: Final = 4


class _Refused(Exception):  # noqa: N818 (an answer, not a fault)
    """A refused command: the answer is "?" and this text."""


class GtpServer:
    """State of a GTP session, which answers commands.

    agent: chooses the moves. rng: the source of the agent's randomness. board_size: board size of
    the first game.
    """

    def __init__(self, agent: Agent, *, rng: np.random.Generator, board_size: int = 8) -> None:
        self._agent, self._rng = agent, rng
        self._positions = [Position.start(board_size)]
        self.has_quit = False
        self._commands: dict[str, Callable[[list[str]], str]] = {
            "protocol_version": lambda _: "2",
            "name": lambda _: f"othello-env {agent.name}",
            "version": lambda _: othello_env.__version__,
            "known_command": self._known_command,
            "list_commands": lambda _: "\n".join(self._commands),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "undo": self._undo,
            "time_settings": lambda _: "",  # the limits are the agent's own
            "time_left": lambda _: "",
            "final_score": self._final_score,
            "showboard": lambda _: "\n" + render_text(self._position),
            "list_games": lambda _: _GAME,
            "set_game": self._set_game,
            "loadsgf": self._load_sgf,
            "setup_board": self._setup_board,
            "grhino-setup_board": self._setup_board,
            "gogui-rules_game_id": lambda _: _GAME,
            "gogui-rules_board": lambda _: "\n" + self._board(),
            "gogui-rules_board_size": lambda _: str(self._position.board_size),
            "gogui-rules_legal_moves": self._legal_moves,
            "gogui-rules_side_to_move": lambda _: COLOR_NAMES[self._position.side_to_move],
            "gogui-rules_final_result": self._final_result,
        }
        if isinstance(agent, Searcher):
            self._commands["analyze"] = self._analyze
            self._commands["gogui-analyze_commands"] = lambda _: _ANALYZE_COMMANDS

    @property
    def _position(self) -> Position:
        return self._positions[-1]

    def answers(self, line: str) -> Iterator[str]:
        """Yield the answer to a line; nothing for a line without a command.

        The answer ends with a line feed, so that printing it adds the empty line that GTP requires.
        """
        words = _CONTROL.sub("", line.partition("#")[0].replace("\t", " ")).split()
        number = words.pop(0) if words and words[0].isdecimal() else ""
        if not words:
            return
        try:
            function = self._commands.get(words[0])
            if function is None:
                raise _Refused("unknown command")
            text, sign = function(words[1:]), "="
        except _Refused as refused:
            text, sign = str(refused), "?"
        separator = "" if text.startswith("\n") else " "
        yield f"{sign}{number}{separator}{text}".rstrip() + "\n"

    def _known_command(self, words: list[str]) -> str:
        return "true" if _only(words) in self._commands else "false"

    def _quit(self, _words: list[str]) -> str:
        self.has_quit = True
        return ""

    def _boardsize(self, words: list[str]) -> str:
        try:
            start = Position.start(int(_only(words)))
            check_board_size(self._agent, start.board_size)
        except ValueError:
            raise _Refused("unacceptable size") from None
        self._positions = [start]
        return ""

    def _clear_board(self, _words: list[str]) -> str:
        self._positions = [Position.start(self._position.board_size)]
        return ""

    def _komi(self, words: list[str]) -> str:
        try:
            float(_only(words))
        except ValueError:
            raise _Refused("syntax error: komi is not a number") from None
        return ""

    def _set_game(self, words: list[str]) -> str:
        if _only(words).lower() != _GAME.lower():
            raise _Refused(f"unsupported game, expected {_GAME}")
        return self._clear_board(words)

    def _setup_board(self, words: list[str]) -> str:
        try:
            position = Position.parse(" ".join(words))
            check_board_size(self._agent, position.board_size)
        except ValueError as error:
            raise _Refused(f"syntax error: {error}") from None
        self._positions = [position.resolve_pass()]
        return ""

    def _load_sgf(self, words: list[str]) -> str:
        """Load a game; with a move number, up to the position before that move, as in Go."""
        number = int(words.pop()) if len(words) > 1 and words[-1].isdecimal() else None
        try:
            record = next(read_records(" ".join(words), format="sgf"), None)
            if record is None:
                raise ValueError("it contains no game")
            positions = list(record.game.positions())
            check_board_size(self._agent, positions[0].board_size)
        except (OSError, ValueError) as error:
            raise _Refused(f"cannot load file: {one_line(error)}") from None
        self._positions = positions if number is None else positions[: max(1, number)]
        return ""

    def _play(self, words: list[str]) -> str:
        if len(words) != 2:
            raise _Refused("syntax error: expected a color and a move")
        position, color = self._position, _color(words[0])
        try:
            square = parse_square(words[1], position.board_size)
        except RecordFormatError:
            raise _Refused("syntax error: not a move") from None
        if square == pass_square(position.board_size):
            self._pass(color)
            return ""
        if color != position.side_to_move:
            raise _Refused("illegal move")
        try:
            self._positions.append(position.play(square))
        except IllegalMoveError:
            raise _Refused("illegal move") from None
        return ""

    def _pass(self, color: int) -> None:
        """Accept a pass that was made automatically. It counts as a move for undo."""
        if color == self._position.side_to_move and not self._position.is_over:
            raise _Refused("illegal move")
        if Position(self._position.opp, self._position.own, color, self._position.board_size).legal_moves:
            raise _Refused("illegal move")
        self._positions.append(self._position)

    def _genmove(self, words: list[str]) -> str:
        color = _color(_only(words))
        if self._position.is_over or color != self._position.side_to_move:
            self._pass(color)
            return "pass"
        move = self._choose()
        self._positions.append(self._position.play(move))
        return format_square(move, self._position.board_size)

    def _reg_genmove(self, words: list[str]) -> str:
        positions = list(self._positions)
        try:
            return self._genmove(words)
        finally:
            self._positions = positions

    def _choose(self) -> int:
        try:
            return int(ask_agent(self._agent, PositionBatch.from_positions([self._position]), self._rng)[0])
        except AgentError as error:
            raise _Refused(" ".join(str(error).split())) from error

    def _undo(self, _words: list[str]) -> str:
        if len(self._positions) == 1:
            raise _Refused("cannot undo")
        self._positions.pop()
        return ""

    def _final_score(self, _words: list[str]) -> str:
        if not self._position.is_over:
            raise _Refused("cannot score")
        score = self._position.score("empties_to_winner")
        return f"{'B' if score > 0 else 'W'}+{abs(score)}" if score else "0"

    def _final_result(self, _words: list[str]) -> str:
        if not self._position.is_over:
            raise _Refused("the game is not over")
        return render_text(self._position).splitlines()[-1]

    def _legal_moves(self, _words: list[str]) -> str:
        n = self._position.board_size
        return " ".join(format_square(square, n) for square in self._position.legal_squares())

    def _board(self) -> str:
        """Return the rows, the last one first: GoGui counts rows from the bottom."""
        n = self._position.board_size
        squares = str(self._position).split()[0].replace("-", ".")
        return "\n".join(" ".join(squares[row * n : (row + 1) * n]) for row in reversed(range(n)))

    def _analyze(self, words: list[str]) -> str:
        """Return the best moves, one per line.

        A line has the principal variation, the score for the side to move, and the depth.
        """
        assert isinstance(self._agent, Searcher)
        try:
            num_moves = int(_only(words)) if words else _DEFAULT_LINES
            lines = analyze(self._agent, self._position, num_moves)
        except ValueError as error:
            raise _Refused(" ".join(str(error).split())) from None
        n = self._position.board_size
        depths = ("exact" if line.exact else f"depth {line.depth}" for line in lines)
        return "\n".join(f"{format_pv(line.pv, n)} {line.score:+.2f} {depth}" for line, depth in zip(lines, depths, strict=True))


def _only(words: list[str]) -> str:
    if len(words) != 1:
        raise _Refused("syntax error: expected one argument")
    return words[0]


def _color(word: str) -> int:
    color = _COLORS.get(word.lower())
    if color is None:
        raise _Refused("syntax error: expected a color")
    return color
