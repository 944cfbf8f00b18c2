"""Recorded results: winners, scores and disc counts in the spellings of the formats."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

UNFINISHED: Final = ("*", "?", "", "Void", "void", "0-0")
REASONS: Final = {"r": "resignation", "t": "time", "s": "agreement"}
_REASON_LETTERS: Final = {reason: letter for letter, reason in REASONS.items()}

_PAIR: Final = re.compile(r"([0-9]{1,3})\s*-\s*([0-9]{1,3})")
_SCORE: Final = re.compile(r"[+-][0-9]{1,3}|0")
_DECIMAL_SCORE: Final = re.compile(r"([+-]?[0-9]{1,6}(?:\.[0-9]{0,6})?)(?::([a-z]))?")
_SGF: Final = re.compile(r"([BW])\+([0-9]{1,3}|[A-Za-z]*)(?:\.0*)?")
_OUTCOMES: Final = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}
_WINNERS: Final = {"1": 1, "black": 1, "b": 1, "-1": -1, "white": -1, "w": -1, "0": 0, "draw": 0}
TERMINATIONS: Final = (*REASONS.values(), "forfeit")
_SGF_REASONS: Final = {"R": "resignation", "T": "time", "F": "forfeit", "": ""}

# Twice the rounding error of GGS's scores.
_KOMI_TOLERANCE: Final = 0.011
# Edax's score for a game that is not over.
_EDAX_NO_SCORE: Final = -127


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """A result as recorded in a file, from Black's view.

    outcome: +1, 0 or -1; None if it is unfinished or unclear. score: Black's discs minus White's,
    None if only the winner is recorded. discs: (black, white), if the file has both. Many files do
    not say whether the empty squares were given to the winner. reason: "resignation", "time" or
    "agreement" for a game that was decided off the board. is_unfinished: the file says that the
    game has no result. text: the spelling in the file; it does not count in comparisons.
    """

    outcome: int | None = None
    score: int | None = None
    discs: tuple[int, int] | None = None
    reason: str = ""
    is_unfinished: bool = False
    text: str = field(default="", compare=False)

    @classmethod
    def from_score(cls, score: int, text: str = "", *, reason: str = "") -> RecordedResult:
        """Return a result from Black's discs minus White's."""
        return cls((score > 0) - (score < 0), score, reason=reason, text=text)

    @classmethod
    def from_discs(cls, black: int, white: int, text: str = "") -> RecordedResult:
        """Return a result from the discs of both players."""
        return cls((black > white) - (black < white), black - white, (black, white), text=text)

    @property
    def is_unclear(self) -> bool:
        """True if the text is not understood."""
        return self.outcome is None and not self.is_unfinished

    def __str__(self) -> str:
        """The result in the spelling of a PGN tag: "33-31", "+2", "1-0", "*"."""
        if self.discs is not None:
            return f"{self.discs[0]}-{self.discs[1]}"
        if self.score is not None:
            return f"{self.score:+d}"
        return "*" if self.outcome is None else ("1/2-1/2", "1-0", "0-1")[self.outcome]


def discs_of(result: RecordedResult, board_size: int) -> tuple[int, int] | None:
    """Return the discs of Black and White, computed from the score if the file has no discs.

    Returns None if they cannot be computed. A score without discs is taken to give the empty
    squares to the winner, so it must be even.
    """
    squares = board_size**2
    if result.discs is not None or result.score is None:
        return result.discs
    return None if result.score % 2 else ((squares + result.score) // 2, (squares - result.score) // 2)


def parse_result(text: str, board_size: int = 8) -> RecordedResult:
    """Read the result tag of a PGN file, or the result column of a table.

    Known spellings: "33-31", "1-0", "1/2-1/2", "*", "+2". Black's number comes first, also in
    "0-1". Any other text gives an unclear result.
    """
    text = text.strip()
    if text in UNFINISHED:
        return RecordedResult(is_unfinished=True, text=text)
    if text in _OUTCOMES:
        return RecordedResult(_OUTCOMES[text], text=text)
    if _SCORE.fullmatch(text) and abs(int(text)) <= board_size**2:
        return RecordedResult.from_score(int(text), text)
    pair = _PAIR.fullmatch(text)
    if pair and int(pair[1]) + int(pair[2]) <= board_size**2:
        return RecordedResult.from_discs(int(pair[1]), int(pair[2]), text)
    return RecordedResult(text=text)


def parse_winner(text: str) -> RecordedResult:
    """Read a column that names the winner: "1", "-1", "0", or a color."""
    return RecordedResult(_WINNERS.get(text.strip().lower()), text=text.strip())


def parse_ggf_result(text: str, board_size: int, komi: float = 0.0) -> RecordedResult:
    """Read a GGF result, the disc difference minus the komi: "+8.500", "-64.00:t", "?"."""
    text = text.strip()
    if text in UNFINISHED:
        return RecordedResult(is_unfinished=True, text=text)
    match = _DECIMAL_SCORE.fullmatch(text)
    value = float(match[1]) if match else 0.0
    if not match or (match[2] and match[2] not in REASONS):
        return RecordedResult(text=text)
    if value == _EDAX_NO_SCORE:
        return RecordedResult(is_unfinished=True, text=text)
    score = round(value + komi)
    if abs(score) > board_size**2 or abs(value + komi - score) > _KOMI_TOLERANCE:
        return RecordedResult(text=text)
    return RecordedResult.from_score(score, text, reason=REASONS.get(match[2] or "", ""))


def format_ggf_result(result: RecordedResult | None, komi: float = 0.0) -> str:
    """Return the text that `parse_ggf_result` reads; "?" without a score."""
    if result is None or result.score is None:
        return "?"
    letter = _REASON_LETTERS.get(result.reason, "")
    return f"{result.score - komi:+.3f}" + (f":{letter}" if letter else "")


def parse_sgf_result(text: str, board_size: int) -> RecordedResult:
    """Read an SGF result: "B+10", "W+", "W+Time", "0", "Draw", "Void"."""
    text = text.strip()
    if text in UNFINISHED:
        return RecordedResult(is_unfinished=True, text=text)
    if text in ("0", "Draw"):
        return RecordedResult.from_score(0, text)
    match = _SGF.fullmatch(text)
    if not match:
        return RecordedResult(text=text)
    sign = 1 if match[1] == "B" else -1
    if match[2].isdecimal():
        return RecordedResult.from_score(sign * int(match[2]), text) if int(match[2]) <= board_size**2 else RecordedResult(text=text)
    reason = _SGF_REASONS.get(match[2][:1].upper())
    return RecordedResult(text=text) if reason is None else RecordedResult(sign, reason=reason, text=text)


def format_sgf_result(result: RecordedResult) -> str:
    """Return the text that `parse_sgf_result` reads.

    A reason replaces the score: "W+T" for a loss on time.
    """
    if result.outcome is None:
        return "Void"
    if result.outcome == 0:
        return "0"
    letter = result.reason[:1].upper()
    margin = letter if letter and letter in _SGF_REASONS else "" if result.score is None else str(abs(result.score))
    return f"{'B' if result.outcome > 0 else 'W'}+{margin}"
