"""The syntax that GGF and SGF share: `(;NAME[value]NAME[value][value];NAME[value])`.

A game is a sequence of nodes in parentheses, each a semicolon and properties. Only SGF has escapes
(a backslash) and variations (nested parentheses); the first variation at each branch is the game.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, NoReturn

from othello_env.errors import RecordFormatError
from othello_env.records.record import ErrorHandler, report

# Real games have a few kilobytes; a longer one has lost its end.
MAX_GAME_CHARACTERS: Final = 1 << 20

_BETWEEN_GAMES: Final = re.compile(r"\s*(?:([0-9]{1,4})\s*(?=\(|$))?")
# The beginning of a game; a variation begins with moves.
_GAME_START: Final = re.compile(r"\(\s*;\s*(?:GM|FF|CA|AP|SZ)\s*\[")
_BRACKET: Final = re.compile(r"[\[\]]")
_VALUE: Final = {True: r"([^\]\\]*(?:\\.[^\]\\]*)*)\]", False: r"([^\]\[]*)\]"}  # with and without escapes
_VALUE_END: Final = {escapes: re.compile(value, re.DOTALL) for escapes, value in _VALUE.items()}
# Text without parentheses outside of values. The limit bounds the memory that `re` takes.
_WITHOUT_PARENTHESES: Final = {escapes: re.compile(rf"(?:[^()\[]+|\[{value}){{0,1000}}", re.DOTALL) for escapes, value in _VALUE.items()}
_TOKEN: Final = {escapes: re.compile(rf"\s*(?:([A-Za-z]+)?\s*\[{value}|([();]))", re.DOTALL) for escapes, value in _VALUE.items()}


class Property(NamedTuple):
    """A name with its values. line: the line where the first value ends."""

    name: str
    values: list[str]
    line: int


class GameText(NamedTuple):
    """The text of a game, from parenthesis to parenthesis. line: the line where it begins."""

    text: str
    line: int


def split_games(lines: Iterable[tuple[int, str]], file: str, *, escapes: bool, on_error: ErrorHandler | None) -> Iterator[GameText]:
    """Yield the texts of the games in a file.

    They may be preceded by their number, as GGS writes it. After an error, reading continues with
    the next text that looks like the beginning of a game.
    """
    splitter = _Splitter(file, escapes)
    number = 0
    for number, line in lines:
        yield from splitter.feed(number, line + "\n", on_error)
    error = splitter.finish(number)
    if error is not None:
        report(error, on_error)


class _Splitter:
    """Parser state between two lines."""

    def __init__(self, file: str, escapes: bool) -> None:
        self.file, self.escapes = file, escapes
        self.parts: list[str] = []  # of a game that has not ended yet
        self.size, self.depth, self.first_line = 0, 0, 0
        self.in_value = False
        self.is_lost = False  # after an error: nothing counts until a game begins
        self.announced, self.announced_at = 0, 0  # games that must still follow, and the line that says so

    def feed(self, number: int, line: str, on_error: ErrorHandler | None) -> Iterator[GameText]:
        """Yield the games that end in a line."""
        position = 0
        while position < len(line):
            try:
                if self.depth == 0:
                    position = self.find_game(number, line, position)
                else:
                    end = self.find_end(number, line, position)
                    self.parts.append(line[position:end])
                    self.size += end - position
                    position = end
                    if self.size > MAX_GAME_CHARACTERS:
                        self.fail(self.first_line, f"a game of more than {MAX_GAME_CHARACTERS >> 20} MiB")
                    if self.depth == 0:
                        yield GameText("".join(self.parts), self.first_line)
            except _LostGameError as error:
                position = error.resume(line, position)
                self.depth, self.in_value, self.is_lost, self.announced = 0, False, True, 0
                report(RecordFormatError(str(error)), on_error)

    def find_game(self, number: int, line: str, position: int) -> int:
        """Begin the next game; return its position, or the end of the line."""
        if self.is_lost:
            start = _GAME_START.search(line, position)
            if not start:
                return len(line)
            position = start.start()
        else:
            between = _BETWEEN_GAMES.match(line, position)
            assert between
            position = between.end()
            if between[1]:
                self.check_announced(number)
                self.announced, self.announced_at = int(between[1]), number
            if position == len(line):
                return position
        if line[position] != "(":
            self.fail(number, f"expected a game in parentheses, not {line[position : position + 20].rstrip()!r}")
        self.parts, self.size, self.depth, self.first_line = ["("], 1, 1, number
        self.in_value = self.is_lost = False
        self.announced = max(0, self.announced - 1)
        return position + 1

    def find_end(self, number: int, line: str, position: int) -> int:
        """Return the end of the game, or the end of the line."""
        while position < len(line):
            if self.in_value:
                end = _VALUE_END[self.escapes].match(line, position)
                if end:
                    position, self.in_value = end.end(), False
                    continue
                bracket = None if self.escapes else _BRACKET.search(line, position)
                if bracket:
                    self.fail(number, "a value has no closing bracket", bracket.start())
                return len(line)
            skipped = _WITHOUT_PARENTHESES[self.escapes].match(line, position)
            assert skipped
            position = skipped.end()
            sign = line[position : position + 1]
            if sign == "[":
                self.in_value = True
            elif sign == ")":
                self.depth -= 1
                if self.depth == 0:
                    return position + 1
            elif sign == "(" and (not self.escapes or _GAME_START.match(line, position)):
                self.fail(self.first_line, "the game has no closing parenthesis", position)
            elif sign == "(":
                self.depth += 1
            position += len(sign)
        return position

    def check_announced(self, number: int) -> None:
        if self.announced:
            self.fail(self.announced_at, f"announces {self.announced} more games than follow up to line {number}")

    def finish(self, number: int) -> RecordFormatError | None:
        """Return the error at the end of the file, if any."""
        try:
            if self.depth:
                self.fail(self.first_line, "the file ends inside the game that begins here")
            self.check_announced(number)
        except _LostGameError as error:
            return RecordFormatError(str(error))
        return None

    def fail(self, line: int, problem: str, position: int | None = None) -> NoReturn:
        """Raise the error. position: where in the current line a game may begin again."""
        raise _LostGameError(f"{self.file}, line {line}: {problem}", position)


class _LostGameError(Exception):
    """An error after which the next game has to be found."""

    def __init__(self, message: str, position: int | None) -> None:
        super().__init__(message)
        self.position = position

    def resume(self, line: str, begin: int) -> int:
        """Return where to look for the next game.

        This is the last parenthesis before the error, which may begin a game, or else the place of
        the error.
        """
        if self.position is None:
            return begin
        start = line.rfind("(", begin, self.position + 1)
        return self.position if start < 0 else start


def parse_nodes(game: GameText, file: str, *, escapes: bool) -> list[list[Property]]:
    """Return the nodes of the main variation, each a list of properties."""
    nodes: list[list[Property]] = []
    position, line = 0, game.line
    token_at = _TOKEN[escapes].match
    while True:
        token = token_at(game.text, position)
        if not token:
            problem = game.text[position : position + 20].strip()
            raise RecordFormatError(f"{file}, line {line}: expected a property like B[f5], not {problem!r}")
        name, value, sign = token.groups()
        line += game.text.count("\n", position, token.end()) if "\n" in token[0] else 0
        position = token.end()
        if sign == ")":
            return nodes
        if sign == ";":
            nodes.append([])
        elif name and nodes:
            nodes[-1].append(Property(name, [value], line))
        elif value is not None:
            if not nodes or not nodes[-1]:
                raise RecordFormatError(f"{file}, line {line}: the value {value[:20]!r} belongs to no property")
            nodes[-1][-1].values.append(value)
