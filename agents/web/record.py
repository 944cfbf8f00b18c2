"""Games as text for copying, saving and loading: transcript, GGF and SGF."""

from __future__ import annotations

import tempfile
from datetime import date
from pathlib import Path
from typing import Final

from agents.play.session import GameSession
from othello_env.errors import RecordFormatError
from othello_env.opening import parse_game
from othello_env.position import BLACK, Position
from othello_env.records import FORMATS, GameRecord, RecordedResult, format_of, read_records

SUFFIXES: Final = {"transcript": "txt", "ggf": "ggf", "sgf": "sgf"}
"""The formats that the page offers, with the suffixes of their files."""

# The name in error messages; its suffix makes a text of no other format a transcript.
_FILE_NAME: Final = "game.txt"


def read_game(text: str, board_size: int) -> tuple[GameRecord, bool]:
    """Read the first game of a text in any record format.

    board_size: of a transcript, which does not tell. Returns the record, and True if more games
    follow it. Raises `RecordFormatError` or `IllegalMoveError` with the place of the error.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _FILE_NAME
        path.write_text(text, encoding="utf-8")
        name = format_of(path)
        if name == "transcript":
            try:
                return GameRecord(parse_game(text, board_size=board_size)), False
            except RecordFormatError as error:
                cause = error
        try:
            records = read_records(path, name)
            first = next(records, None)
        except RecordFormatError:
            if name == "transcript" and board_size != 8:  # the other dialects are of 8x8
                raise cause from None
            raise
        if first is None:
            raise RecordFormatError("the text holds no game")
        try:
            return first, next(records, None) is not None
        except ValueError:  # a later record is damaged, the first one is not
            return first, True


def format_session(session: GameSession, names: tuple[str, str], form: str) -> str:
    """Return a game as text. form: a key of `SUFFIXES`. Raises `ValueError` for any other."""
    if form not in SUFFIXES:
        raise ValueError(f"format {form[:40]!r}: expected one of {', '.join(SUFFIXES)}")
    if form == "transcript" and session.game.start == Position.start(session.board_size):
        return f"{session.game}\n"
    result = session.result
    recorded = None
    if result is not None and result.reason != "no moves left":
        recorded = RecordedResult(1 if result.winner == BLACK else -1, reason=result.reason)
    # GGF has no way to write square brackets.
    black, white = (name.translate({ord("["): "(", ord("]"): ")"}) for name in names)
    record = GameRecord(session.game, black=black, white=white, date=date.today().isoformat(), result=recorded)
    format_record = FORMATS[form].format_record
    assert format_record is not None
    return format_record(record)
