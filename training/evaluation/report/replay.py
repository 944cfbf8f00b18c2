"""Games for the page, as text that a script can step through without knowing the rules."""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from typing import Final

from othello_env.game import Game
from othello_env.position import BLACK, COLOR_NAMES, Position
from othello_env.rendering.text import format_result
from training.evaluation.journal import GameRecord
from training.evaluation.report.document import ReplayedGame
from training.evaluation.report.summary import is_fault

# One letter per square, a1 first.
SQUARE_LETTERS: Final = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
# Sign for the side to move next: Black, White, or none.
_BLACK_NEXT, _WHITE_NEXT, _OVER = ":", ";", "."


def encode_plies(game: Game) -> str:
    """Return a game as words: one for the position before the first move, then one per move.

    A word consists of the letters of the square played and of the flipped squares, a sign for the
    side to move next, and the letters of its legal moves. If a side passes, the sign is the same
    for two words in a row.
    """
    words = []
    changes = ["", *(SQUARE_LETTERS[move] + _letters(flipped) for move, flipped in zip(game.moves, game.flips(), strict=True))]
    for position, changed in zip(game.positions(), changes, strict=True):
        sign = _OVER if position.is_over else _BLACK_NEXT if position.side_to_move == BLACK else _WHITE_NEXT
        words.append(changed + sign + _letters(position.legal_moves))
    return " ".join(words)


def _letters(squares: int) -> str:
    return "".join(letter for square, letter in enumerate(SQUARE_LETTERS) if squares >> square & 1)


def describe_result(record: GameRecord, final: Position) -> str:
    """Return the result of a game in words with the score, Black's first.

    If the scores by discs and with the empty squares to the winner differ, both are given. final:
    the last position.
    """
    if not is_fault(record):
        result, (black, white) = format_result(final), final.discs
        has_scores = final.score("discs") != final.score("empties_to_winner")
        return result if has_scores else f"{result} ({black}-{white})"
    winner, loser = COLOR_NAMES if record.black_score else COLOR_NAMES[::-1]
    return f"{winner.capitalize()} wins: {record.reason} of {loser}"


def replayed_game(record: GameRecord, game: Game) -> ReplayedGame:
    """Return a game for the page."""
    return ReplayedGame(record, str(game.start), encode_plies(game), describe_result(record, game.final))


def format_replay_data(games: Sequence[ReplayedGame]) -> str:
    """Return the games as JSON that can be placed inside a script element."""
    players: dict[str, int] = {}
    openings: dict[str, int] = {}
    entries = [
        {
            "game": one.record.game,
            "black": players.setdefault(one.record.black, len(players)),
            "white": players.setdefault(one.record.white, len(players)),
            "opening": openings.setdefault(one.opening, len(openings)),
            "plies": one.plies,
            "score": one.record.black_score,
            "result": one.result,
            "fault": is_fault(one.record),
            "detail": one.record.detail,
            "ended": one.record.ended,
            "prefix": one.record.prefix,
        }
        for one in games
    ]
    data = {"letters": SQUARE_LETTERS, "players": list(players), "openings": list(openings), "games": entries}
    text = json.dumps(data, separators=(",", ":"))
    # Escapes what could end the script element, or begin a comment in it.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
