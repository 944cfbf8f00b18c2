"""Games as text for copying and saving: transcript, GGF and SGF."""

from __future__ import annotations

from datetime import date
from typing import Final

from agents.play.session import GameSession
from othello_env.position import BLACK, Position
from othello_env.records import FORMATS, GameRecord, RecordedResult

SUFFIXES: Final = {"transcript": "txt", "ggf": "ggf", "sgf": "sgf"}
"""The formats that the page offers, with the suffixes of their files."""


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
