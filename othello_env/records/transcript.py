"""Texts with a game or position in each line, as editors, databases and old programs write them.

A file may mix these lines; empty lines and lines that begin with `#` or `%` are skipped:

- a transcript, `f5d6c3`, `F5 D6 C3` or `1. f5 d6 2. c3`; a line that begins with a later move
  number continues the game before it;
- Edax's game from a position, `<64 squares> X;F5G6`, and a position alone, `<64 squares> X`, or in
  rcrr's list `id;<64 squares>;b;text`;
- Logistello's logbook, `+d3-c3+c4: -04 10`: the signs are Black and White, the number is the score;
- Vong's match files, `-WZebra   +00 d16      EML=...`: one character per square;
- the World Othello Championships' lists, `Arsenault 25-39 Davison :  F5D6C3...`;
- lists of openings, `C4c3D3c5B2          X-square Opening` (Zebra) and `C4c3D3c5B2X-21` (Flippy),
  with or without their number in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from othello_env.errors import IllegalMoveError, RecordFormatError
from othello_env.game import Game
from othello_env.position import BLACK, WHITE, Position
from othello_env.records.record import ErrorHandler, GameRecord, Place, report
from othello_env.records.replay import WrittenMove, replay
from othello_env.records.result import RecordedResult, parse_result
from othello_env.squares import parse_square

_SQUARE: Final = r"[A-Ha-h][1-8]"
_CELL: Final = r"[-.Xx*OoBbWw]"

_COUNT: Final = re.compile(r"\s*([0-9]{1,6})\s*")
_NUMBERED: Final = re.compile(r"\s*([0-9]{1,3})\s*\.")
_POSITION: Final = re.compile(rf"\s*({_CELL}{{16}}|{_CELL}{{36}}|{_CELL}{{64}})\s*([XxOoBbWw*])\s*(?:;(.*))?")
_LISTED_POSITION: Final = re.compile(rf"([^;]{{0,40}});({_CELL}{{64}});([BbWw]);(.*)")
_LOGBOOK: Final = re.compile(rf"\s*((?:[+-]{_SQUARE})+)\s*(?::\s*([+-]?[0-9]{{1,2}})(?:\s+[0-9]{{1,9}})?\s*)?")
_VONG: Final = re.compile(r"-(.{8}) ([+-][0-9]{2}) (.{8}) (.*)")
_CHAMPIONSHIP: Final = re.compile(rf"\s*([^:]{{1,60}}?)\s+([0-9]{{1,2}}-[0-9]{{1,2}})\s+([^:]{{1,60}}?)\s*:\s*((?:{_SQUARE})+)\s*")
_VALUED_OPENING: Final = re.compile(rf"\s*((?:{_SQUARE})+)X([+-]?[0-9]{{1,3}})\s*")
_NAMED_OPENING: Final = re.compile(rf"\s*((?:{_SQUARE}){{2,20}})\s{{2,}}(\S*[A-Za-z]{{3}}.*)")  # Zebra's names begin in column 42

# The code of a1 in Vong's files; the other squares follow.
_VONG_A1: Final = ord(" ")
# Maximum length of a transcript over several lines; a longer one is damaged.
_MAX_CHARACTERS: Final = 10_000


def read_transcripts(lines: Iterable[tuple[int, str]], file: str, *, on_error: ErrorHandler | None = None) -> Iterator[GameRecord]:
    """Yield the games and positions of a text, one by one; the module lists the known lines.

    lines: pairs (line number, text). on_error: called with the error of each line that cannot be
    read, after which reading continues with the next line; without it the first such error, a
    `RecordFormatError`, is raised.
    """
    numbered: list[str] = []  # the lines of a numbered transcript
    place = Place(file)
    announced, announced_at = None, 0  # the number of lines that the file says it has
    num_lines = 0

    def read(text: str, place: Place) -> Iterator[GameRecord]:
        try:
            yield from _read_line(text, place)
        except RecordFormatError as error:
            report(error, on_error)
        except IllegalMoveError as error:
            report(RecordFormatError(f"{place}: {error}"), on_error)

    for number, line in lines:
        count = _COUNT.fullmatch(line) if not num_lines and announced is None else None
        follows = _NUMBERED.match(line)
        if numbered and not (follows and int(follows[1]) > 1):
            yield from read(" ".join(numbered), place)
            numbered = []
        if not line.strip() or line.lstrip().startswith(("#", "%")):
            continue
        if count:
            announced, announced_at = int(count[1]), number
            continue
        num_lines += not numbered
        place = place if numbered else Place(file, number)
        if not follows:
            yield from read(line, place)
        elif sum(map(len, numbered)) < _MAX_CHARACTERS:
            numbered.append(line)
        else:
            report(RecordFormatError(f"{place}: a transcript of more than {_MAX_CHARACTERS} characters"), on_error)
            numbered = []
    if numbered:
        yield from read(" ".join(numbered), place)
    if announced is not None and announced != num_lines:
        report(RecordFormatError(f"{file}, line {announced_at}: announces {announced} lines, but {num_lines} follow"), on_error)


def _read_line(text: str, place: Place) -> Iterator[GameRecord]:
    """Yield the records of a line.

    Raises `RecordFormatError`, or `IllegalMoveError` without the place.
    """
    if match := _POSITION.fullmatch(text):
        start = Position.parse(match[1] + match[2])
        yield GameRecord(_parse_game(match[3] or "", place, start), place=place)
    elif match := _LISTED_POSITION.fullmatch(text):
        tags = {"id": match[1].strip(), "description": match[4].partition("; #")[0].strip("; ")}
        yield GameRecord(Game((), Position.parse(match[2] + match[3])), tags={k: v for k, v in tags.items() if v}, place=place)
    elif match := _LOGBOOK.fullmatch(text):
        moves = [
            WrittenMove(parse_square(name[1:]), place.line or 0, BLACK if name[0] == "+" else WHITE)
            for name in re.findall(f"[+-]{_SQUARE}", match[1])
        ]
        result = None if match[2] is None else RecordedResult.from_score(int(match[2]), match[2])
        yield GameRecord(replay(moves, Position.start(), place.file), result=result, place=place)
    elif match := _VONG.fullmatch(text):
        squares = [ord(sign) - _VONG_A1 for sign in match[4]]
        result = RecordedResult.from_score(int(match[2]), match[2])
        yield GameRecord(Game(tuple(squares)), black=match[1].strip(), white=match[3].strip(), result=result, place=place)
    elif _CHAMPIONSHIP.match(text):
        yield from _read_championship(text, place)
    elif match := _VALUED_OPENING.fullmatch(text):
        yield GameRecord(Game.parse(match[1]), tags={"value": match[2]}, place=place)
    elif match := _NAMED_OPENING.fullmatch(text):
        yield GameRecord(Game.parse(match[1]), tags={"opening": match[2].strip()}, place=place)
    else:
        yield GameRecord(_parse_game(text, place, Position.start()), place=place)


def _parse_game(text: str, place: Place, start: Position) -> Game:
    try:
        return Game.parse(text, start)
    except RecordFormatError as error:
        raise RecordFormatError(f"{place}: {error}") from None


def _read_championship(text: str, place: Place) -> Iterator[GameRecord]:
    position = 0
    while position < len(text):
        match = _CHAMPIONSHIP.match(text, position)
        if not match:
            raise RecordFormatError(f"{place}, column {position + 1}: expected `Black 25-39 White : F5D6...`, not {text[position:][:40]!r}")
        yield GameRecord(Game.parse(match[4]), black=match[1], white=match[3], result=parse_result(match[2]), place=place)
        position = match.end()


def format_transcript(record: GameRecord) -> str:
    """Return the moves in one line, without passes, with a line end.

    A start position other than the standard one precedes them in Edax's form. Nothing else of the
    record is written.
    """
    game = record.game
    return f"{game}\n" if game.moves and game.start == Position.start() else f"{game.start};{game}\n"
