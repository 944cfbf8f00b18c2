"""Terminal view of a game: shows the board, reads moves and commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agents.analysis import Line, Searcher, analyze, format_pv, format_score
from agents.play.levels import analyst
from agents.play.session import GameSession
from agents.play.source import read_source
from agents.registry import AgentSpecError
from othello_env.game import Game
from othello_env.position import COLOR_NAMES
from othello_env.records import GameRecord, write_records
from othello_env.rendering.text import board_lines, format_status
from othello_env.squares import format_square, parse_square

HELP: Final = """\
d3          play a move (any square name)
undo, redo  take back your last move, or play it again
hint        show a good move
eval        show the value of every legal move, in discs
dots        show or hide the legal moves
board       show the board again
moves       show the transcript
new         start again
save FILE   write the game (.txt, .ggf, .sgf, .pgn)
load FILE   continue a game or position; also: load f5d6c3
resign      give up the game
quit        leave; so does the end of the input (Ctrl-D)"""


class _Quit(Exception):  # noqa: N818 - not an error
    """Raised to leave the game."""


@dataclass(frozen=True, slots=True)
class Style:
    """How the board is shown.

    color: True for ANSI colors. dots: True to mark the legal moves.
    """

    color: bool = False
    dots: bool = True


class TerminalGame:
    """Plays a session in a terminal.

    read: shows a prompt and returns a line, like `input`. write: shows a line, like `print`.
    """

    def __init__(
        self, session: GameSession, *, read: Callable[[str], str], write: Callable[[str], None], style: Style | None = None
    ) -> None:
        self._session, self._read, self._write = session, read, write
        self._style = style or Style()
        self._start = session.game
        self._analyst: Searcher | None = None
        self._commands: dict[str, Callable[[str], None]] = {
            "help": lambda _: self._write(HELP),
            "undo": self._undo,
            "redo": self._redo,
            "hint": self._hint,
            "eval": self._eval,
            "dots": self._dots,
            "board": lambda _: self._show(),
            "moves": lambda _: self._write(str(self._session.game)),
            "new": self._new,
            "save": self._save,
            "load": self._load,
            "resign": self._resign,
            "quit": self._quit,
        }
        self._commands |= {"?": self._commands["help"], "q": self._quit, "exit": self._quit}

    def play(self) -> Game:
        """Play until the game is over and the person leaves, and return the game.

        The position and the transcript are written at the end, also after an error or Ctrl-C.
        Raises `AgentError` if an agent fails to return a legal move.
        """
        session = self._session
        shown, is_told = -1, False
        try:
            while True:
                if shown != session.revision:
                    shown, is_told = session.revision, False
                    self._show()
                if session.result is not None and not is_told:  # a clock ends a game without a move
                    is_told = True
                    self._write(session.result.text)
                if session.is_over and None not in session.players:
                    break
                if session.is_over or session.player is None:
                    self._ask()
                else:
                    self._play(session.think())
        except _Quit:
            pass
        finally:
            last = session.turns[-1] if session.turns else None
            if shown != session.revision:
                self._show()
            self._write(format_status(session.position, last_move=last.square if last else None))
            self._write(f"Transcript: {session.game}")
        return session.game

    def _show(self) -> None:
        turns, style = self._session.turns, self._style
        last = turns[-1] if turns else None
        dots = style.dots and self._session.player is None
        square, flipped = (last.square, last.flipped) if last else (None, 0)
        position = self._session.position
        lines = board_lines(position, last_move=square, flipped=flipped, dots=dots, color=style.color)
        self._write("\n".join(["", *lines, format_status(position)]))

    def _ask(self) -> None:
        """Read one line and act on it."""
        over = self._session.is_over
        color = COLOR_NAMES[self._session.position.side_to_move].capitalize()
        try:
            line = self._read("new, undo, save FILE or quit: " if over else f"{color}'s move (or help): ").strip()
        except EOFError:
            self._write("")  # ends the line of the prompt
            raise _Quit from None
        except KeyboardInterrupt:
            self._write("")
            raise
        word, _, rest = line.partition(" ")
        command = self._commands.get(word.lower())
        if not line:
            return
        if command is not None:
            command(rest.strip())
            return
        try:
            square = parse_square(line, self._session.board_size)
        except ValueError as error:
            self._write(f"{error}; help lists the commands")
            return
        legal = self._session.position.legal_squares()
        if over:
            self._write("the game is over: new, undo, save FILE or quit")
        elif square not in legal:
            names = " ".join(format_square(move, self._session.board_size) for move in legal)
            self._write(f"{format_square(square, self._session.board_size)} is not legal; legal are {names}")
        else:
            self._play(square)

    def _play(self, square: int) -> None:
        """Play a legal move, unless the time has run out while the player was thinking."""
        if not self._session.is_over:
            self._write(self._session.describe(self._session.play(square)))

    def _undo(self, _: str) -> None:
        if not self._session.can_undo:
            self._write("there is nothing to take back")
            return
        self._session.undo()

    def _redo(self, _: str) -> None:
        if not self._session.redo():
            self._write("there is nothing to play again")

    def _hint(self, _: str) -> None:
        if self._session.is_over:
            self._write("the game is over")
            return
        for line in self._analyze(1):
            self._write(f"{format_score(line)} for {format_pv(line.pv, self._session.board_size)}")

    def _eval(self, _: str) -> None:
        if self._session.is_over:
            self._write("the game is over")
            return
        n = self._session.board_size
        for line in self._analyze(n * n):
            self._write(f"{format_square(line.pv[0], n)} {format_score(line):>6}  {format_pv(line.pv, n)}")

    def _dots(self, _: str) -> None:
        self._style = Style(self._style.color, not self._style.dots)
        self._show()

    def _new(self, _: str) -> None:
        self._session.load(self._start)

    def _save(self, file: str) -> None:
        try:
            (path,) = shlex.split(file)
            black, white = self._session.player_names
            write_records(path, [GameRecord(self._session.game, black=black, white=white)])
        except (ValueError, OSError) as error:
            self._write(f"not saved: {error}" if file else "save needs the name of a file, such as game.ggf")
            return
        self._write(f"saved in {path}")

    def _load(self, source: str) -> None:
        try:
            game = read_source(source, board_size=self._session.board_size)
        except (ValueError, OSError) as error:
            self._write(f"not loaded: {error}")
            return
        self._session.load(game)

    def _resign(self, _: str) -> None:
        if self._session.is_over:
            self._write("the game is over")
            return
        self._session.resign()

    def _quit(self, _: str) -> None:
        raise _Quit

    def _analyze(self, num_moves: int) -> list[Line]:
        """Return the values of the best moves; none, with a message, if the search is missing."""
        try:
            if self._analyst is None:
                self._analyst = analyst(self._session.board_size)
        except AgentSpecError as error:  # a library is not installed
            self._write(f"no values: {error}")
            return []
        return analyze(self._analyst, self._session.position, num_moves)
