"""Games for the tests of the readers and writers, and reading from bytes.

The games stand in `reference/othello.md` with their facts: each was replayed by two programs.
"""

from __future__ import annotations

import io
from collections.abc import Callable

from othello_env import Game, Position
from othello_env.records import FORMATS, GameRecord
from othello_env.records.lines import read_lines
from othello_env.records.record import ErrorHandler

# 9 moves, Black wins 13-0 with 51 empties: +64 with the empties to the winner.
WIPEOUT = Game.parse("f5d6c5f4e3f6g5e6e7")
# 20 moves, 12-12 with 40 empties.
DRAW = Game.parse("f5f4c3f6g7f7f3h7f8b2h6e7h8e3d7g3f2f1a1c5")
# 60 moves, 28-36.
FULL = Game.parse(
    "e6f4d3e7f3e3f6d6c6c2c3d2e2f5c4g5g3g4h3g6f7f2d7h5d1h4h6f8c1c8c7d8h2g7g1b6b5c5e8f1e1h7h8g8b4a5g2h1a4b1a6b7a7a8b8b3a3a2b2a1"
)
# 55 moves and 23 passes of Black, 0-59: -64 with the empties to the winner.
PASSES = Game.parse("f5d6c4g5d7c7h5d8b8b7b6a7b5a6a5b4b3c6e8f8c8a8e7a4b2a2c2d2d1e2f2c5c3a1a3e6d3f6f7f1g2h2e3f4b1g1c1e1g8g7f3h1h3h4h6")
RUNNING = Game.parse("f5d6c3d3c4f4f6")
# Black cannot move after it.
PASS_AT_THE_END = Game.parse("f5f6d3g5h5h4f7h6")
# White moves first, on another position.
WHITE_FIRST = Game.parse("f5d6", Position.parse("-" * 27 + "XO" + "-" * 6 + "OX" + "-" * 27 + "O"))
SMALL = Game.parse("a2a1c4d2", Position.parse("-----OX--XO-----X"))
GAMES = (WIPEOUT, DRAW, FULL, PASSES, RUNNING, PASS_AT_THE_END)


def read(form: str, text: str | bytes, *, on_error: ErrorHandler | None = None, encoding: str | None = None) -> list[GameRecord]:
    """The records of a text in a format, from a file called "games"."""
    reader = FORMATS[form].read
    assert reader is not None
    data = text.encode() if isinstance(text, str) else text
    return list(reader(read_lines(io.BytesIO(data), "games", encoding=encoding), "games", on_error=on_error))


def read_one(form: str, text: str | bytes) -> GameRecord:
    (record,) = read(form, text)
    return record


def write_one(form: str, record: GameRecord) -> str:
    writer: Callable[[GameRecord], str] | None = FORMATS[form].format_record
    assert writer is not None
    return FORMATS[form].header + writer(record)
