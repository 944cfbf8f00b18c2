"""Games that people name or paste: a transcript, a position, a file, or the text of one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from othello_env.opening import parse_game
from othello_env.records import GameRecord, format_of_text, parse_records, read_records

# A longer text is not the name of a file.
_MAX_NAME: Final = 1_000


def read_text(text: str, *, board_size: int) -> tuple[GameRecord, bool]:
    """Return the first game of a text in any record format, and True if more games follow.

    board_size: of a transcript or position. Raises `RecordFormatError` or `IllegalMoveError` with
    the place of the error.
    """
    cause = None
    if format_of_text(text) == "transcript":
        try:
            return GameRecord(parse_game(text, board_size=board_size)), False
        except RecordFormatError as error:  # perhaps another dialect, or several lines
            cause = error
    records = parse_records(text)
    try:
        first = next(records, None)
    except RecordFormatError:
        if cause is not None and board_size != 8:  # the other dialects are of 8x8
            raise cause from None
        raise
    if first is None:
        raise RecordFormatError("the text holds no game")
    try:
        return first, next(records, None) is not None
    except ValueError:  # a later record is damaged, the first one is not
        return first, True


def read_source(source: str, *, board_size: int) -> Game:
    """Return the game in a text, or the first game of the file with this name.

    Raises `RecordFormatError`, `IllegalMoveError` or `OSError` if there is none, and
    `RecordFormatError` for another board size.
    """
    path = Path(source)
    if not _is_name_of_file(source):
        game = read_text(source, board_size=board_size)[0].game
    elif path.suffix.lower() == ".txt":
        game = read_text(path.read_text(encoding="utf-8", errors="replace"), board_size=board_size)[0].game
    else:
        record = next(read_records(path), None)
        if record is None:
            raise RecordFormatError(f"{source}: no game")
        game = record.game
    size = game.start.board_size
    if size != board_size:
        raise RecordFormatError(f"the game is on {size}x{size}, but board_size is {board_size}")
    return game


def _is_name_of_file(source: str) -> bool:
    if len(source) > _MAX_NAME or "\n" in source:
        return False
    try:
        return Path(source).is_file() or Path(source).suffix[1:2].isalpha() or "/" in source
    except (OSError, ValueError):  # too long, or with a zero byte
        return False
