"""Engines for tests, in the dialects of real ones: `python fake_engine.py DIALECT [TRAP[@EMPTIES]]`.

They play the first legal square. A trap is a fault of the answer to genmove or go, in positions
with at most EMPTIES empty squares; or, for `STARTING`, a habit that clients must bear. Standard
library only, so that they start fast.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

# Runs isolated (`-I`) in any folder, so that nothing else is loaded: the oracle has to be named.
sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.oracle import Board, flipped, legal_squares, other, play, start_board

STARTING = ("slow_start", "banner", "split", "crlf", "with_id", "upper")
COLORS = {"b": "X", "w": "O"}


def write(text: str) -> None:
    if TRAP == "crlf":
        text = text.replace("\n", "\r\n")
    pieces = [text] if TRAP != "split" else [text[place : place + 2] for place in range(0, len(text), 2)]
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
        if TRAP == "split":
            time.sleep(0.002)


def spring(trap: str) -> str | None:
    """Do what a trap does; return its answer where it has one."""
    if trap == "crash":
        sys.stderr.write("segmentation fault in thread 3\n")
        sys.stderr.flush()
        os._exit(7)
    if trap in ("hang", "deaf"):
        time.sleep(600)
    if trap == "endless":
        while True:
            write("info depth 3\n")
    if trap == "silent_exit":
        sys.exit(0)
    return {"garbage": "zz9", "illegal": "a1", "outside": "j9", "pass": "pass", "resign": "resign", "empty": ""}.get(trap)


def set_trap_off(board: Board) -> bool:
    return TRAP not in STARTING and sum(row.count("-") for row in board) <= EMPTIES


def name(square: int) -> str:
    return f"{'abcdefgh'[square % 8]}{square // 8 + 1}"


def number(text: str) -> int:
    return "abcdefgh".index(text[0].lower()) + 8 * (int(text[1]) - 1)


def parse_board(squares: str) -> Board:
    signs = squares.replace("*", "X")
    return [list(signs[row * 8 : row * 8 + 8]) for row in range(8)]


class RefusedError(Exception):
    pass


class Gtp:
    """The commands that all dialects share; `turn_to` holds what differs."""

    commands: tuple[str, ...] = (
        "protocol_version",
        "name",
        "list_commands",
        "quit",
        "boardsize",
        "clear_board",
        "play",
        "genmove",
        "time_settings",
    )
    head = "= "

    def __init__(self) -> None:
        self.board, self.side = start_board(8), "X"

    def answer(self, words: list[str]) -> str:
        return str(getattr(self, words[0].replace("-", "_"), self.unknown)(*words[1:]))

    def unknown(self, *_: str) -> str:
        raise RefusedError("unknown command")

    def name(self) -> str:
        return f"fake {os.getpid()}{CHILD}"

    def protocol_version(self) -> str:
        return "2"

    def list_commands(self) -> str:
        return "\n".join(self.commands)

    def quit(self) -> str:
        if TRAP == "deaf":
            time.sleep(600)
        write(f"{self.head}\n\n")
        sys.exit(0)

    def boardsize(self, size: str) -> str:
        if size != "8":
            raise RefusedError("unacceptable size")
        return ""

    def clear_board(self) -> str:
        self.board, self.side = start_board(8), "X"
        return ""

    def time_settings(self, *values: str) -> str:
        assert int(values[0]) == 0
        return ""

    def play(self, color: str, square: str) -> str:
        if square.lower() == "pass":
            self.play_pass(COLORS[color])
            return ""
        self.turn_to(COLORS[color])
        if not flipped(self.board, self.side, number(square)):
            raise RefusedError("illegal move")
        self.place(number(square))
        return ""

    def place(self, square: int) -> None:
        self.board = play(self.board, self.side, square)
        self.side = other(self.side)

    def genmove(self, color: str) -> str:
        self.turn_to(COLORS[color])
        if set_trap_off(self.board):
            answer = spring(TRAP)
            if answer is not None:
                return answer
        squares = legal_squares(self.board, self.side)
        if not squares:
            return self.spell("pass")
        self.place(squares[0])
        return self.spell(name(squares[0]))

    def spell(self, move: str) -> str:
        return move.upper() if TRAP == "upper" else move

    def must_pass(self) -> bool:
        return not legal_squares(self.board, self.side) and bool(legal_squares(self.board, other(self.side)))

    def turn_to(self, side: str) -> None:
        raise NotImplementedError

    def play_pass(self, side: str) -> None:
        raise NotImplementedError


class GRhino(Gtp):
    """Passes by itself and refuses to be told; sets up positions; upper case."""

    commands = (*Gtp.commands, "grhino-setup_board")

    def place(self, square: int) -> None:
        super().place(square)
        if self.must_pass():
            self.side = other(self.side)

    def turn_to(self, side: str) -> None:
        if side != self.side:
            raise RefusedError("illegal move")

    def play_pass(self, side: str) -> None:
        raise RefusedError("syntax error")

    def genmove(self, color: str) -> str:
        return super().genmove(color) if COLORS[color] == self.side else "pass"

    def spell(self, move: str) -> str:
        return move if move == "pass" else move.upper()

    def grhino_setup_board(self, squares: str, side: str) -> str:
        self.board, self.side = parse_board(squares), side
        return ""


class Edax(Gtp):
    """Passes if it must when it is told a move of the other side; reads positions from files."""

    commands = (*Gtp.commands, "loadsgf", "time_left")
    time_per_move = "unlimited"

    def turn_to(self, side: str) -> None:
        if side != self.side:
            if not self.must_pass():
                raise RefusedError("wrong color")
            self.side = other(self.side)

    def play_pass(self, side: str) -> None:
        if side != self.side or not self.must_pass():
            raise RefusedError("illegal move")
        self.side = other(self.side)

    def time_left(self, color: str, seconds: str, moves: str) -> str:
        self.time_per_move = f"{int(seconds) / int(moves)}"
        return ""

    def name(self) -> str:
        return f"Edax {self.time_per_move}"

    def loadsgf(self, file: str) -> str:
        text = Path(file).read_text()
        self.board = [["-"] * 8 for _ in range(8)]
        for side, points in re.findall(r"A([BW])((?:\[\w\d\])+)", text):
            for point in re.findall(r"\w\d", points):
                self.board[number(point) // 8][number(point) % 8] = COLORS[side.lower()]
        self.side = COLORS[text[text.index("PL[") + 3].lower()]
        return ""


class Egaroucid(Gtp):
    """Passes whenever it is told a move of the other side; writes "= " before each command of its list; no set-up."""

    head = "="

    def turn_to(self, side: str) -> None:
        self.side = side

    def play_pass(self, side: str) -> None:
        self.side = other(side)

    def spell(self, move: str) -> str:
        return move.upper()

    def list_commands(self) -> str:
        return "\n= ".join(self.commands)


class Neural(Gtp):
    """Must be told each pass, as neural-reversi; no set-up."""

    def turn_to(self, side: str) -> None:
        if side != self.side:
            raise RefusedError("illegal move")

    def play_pass(self, side: str) -> None:
        if side != self.side or not self.must_pass():
            raise RefusedError("illegal move")
        self.side = other(self.side)


def serve_gtp(engine: Gtp) -> None:
    for line in sys.stdin:
        try:
            text, sign = engine.answer(line.split()), engine.head
        except RefusedError as refused:
            text, sign = str(refused), "? "
        if TRAP == "with_id":
            sign = sign.strip() + "12 "
        if sign == "=" and text:
            sign = "= "
        write(f"{sign}{text}\n\n")


def serve_nboard(dialect: str) -> None:
    board, side = start_board(8), "X"
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "quit":
            return
        if command == "set" and rest.startswith("depth"):
            write(f"\nset myname Ntest{rest.split()[1]}\n")
        elif command == "set" and rest.startswith("game"):
            found = re.search(r"BO\[8 ([-*O]{64}) ([*O])\]", rest)
            assert found is not None
            board, side = parse_board(found[1]), found[2].replace("*", "X")
        elif command == "ping":
            write(f"pong {rest}\n")
        elif command == "go":
            write("NoAddToBook\nstatus thinking\nsearch D6 -1.27 0 4\n")
            answer = spring(TRAP) if set_trap_off(board) else None
            if answer is None:
                answer = name(legal_squares(board, side)[0])
            write(f"=== {answer.upper()}/-1.27/0.00\n" if dialect == "ntest" else f"=== {answer} -1.00 0.0\n")
            write("status waiting\n")
        elif command == "hint":
            write("status Analyzing\nsearch F5d6C3 1.00 0 4\nbook    +1   d3\nstatus\n")


DIALECT = sys.argv[1]
TRAP, _, at = (sys.argv[2] if len(sys.argv) > 2 else "").partition("@")
EMPTIES = int(at or 64) if TRAP else -1
CHILD = ""

if __name__ == "__main__":
    if TRAP == "slow_start":
        time.sleep(0.7)
    if TRAP == "banner":
        write("Fake engine 1.0\n\n  loading book ... ok\n\n")
    if TRAP == "deaf":
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        CHILD = f" {subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid}"
    gtp = {"grhino": GRhino, "edax": Edax, "egaroucid": Egaroucid, "neural": Neural}
    if DIALECT in gtp:
        serve_gtp(gtp[DIALECT]())
    else:
        serve_nboard(DIALECT)
