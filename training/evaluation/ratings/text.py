"""Text of ratings: formatting as a table, and parsing of anchors."""

from __future__ import annotations

import math

from training.evaluation.ratings.fit import Estimate, Ratings


def format_ratings(ratings: Ratings) -> str:
    """Return a table with the best player first, and the notes below it.

    Columns: Elo with its interval, games, score, and the probability that the player is stronger
    than the next one.
    """
    width = max([6, *(len(player.name) for player in ratings.players)])
    lines: list[str] = []
    for number, player in enumerate(ratings.players):
        if player.games and (number == 0 or player.group != ratings.players[number - 1].group):
            if len(ratings.groups) > 1:
                lines.append(f"group {player.group + 1}")
            lines.append(f"{'player':{width}}  {'Elo':>6}  {'95% interval':>16}  {'games':>8}  {'score':>6}  {'above next':>10}")
        if not player.games:
            lines.append(f"{player.name:{width}}  {'-':>6}  {'-':>16}  {0:8}")
            continue
        interval = _format_interval(player.low, player.high, ".0f")
        line = f"{player.name:{width}}  {player.elo:6.0f}  {interval:>16}  {player.games:8}  {player.score:6.3f}"
        if number + 1 < len(ratings.players) and ratings.players[number + 1].group == player.group:
            line += f"  {ratings.superiority[number, number + 1]:10.1%}"
        lines.append(line)
    for number, group in enumerate(ratings.groups, 1):
        prefix = f"group {number}: " if len(ratings.groups) > 1 else ""
        lines.append(
            f"{prefix}moving first is worth {_format_estimate(group.black_advantage, '.0f', ' Elo')}; "
            f"equal players draw {_format_estimate(group.draw_probability, '.1%', ' of their games')}"
        )
    return "\n".join([*lines, *(f"note: {note}" for note in ratings.notes)])


def _format_estimate(estimate: Estimate, style: str, unit: str) -> str:
    return f"{format(estimate.value, style)}{unit} ({_format_interval(estimate.low, estimate.high, style)})"


def _format_interval(low: float, high: float, style: str) -> str:
    return " to ".join("no limit" if math.isinf(end) else format(end, style) for end in (low, high))


def parse_anchor(text: str) -> tuple[str, float]:
    """Return the player and the Elo of `NAME=1000`; the name may contain equals signs.

    Raises `ValueError` for any other text.
    """
    name, separator, elo = text.rpartition("=")
    try:
        value = float(elo)
    except ValueError:
        value = math.nan
    if not separator or not name or not math.isfinite(value):
        raise ValueError(f"anchor {text!r}: expected NAME=ELO, for instance positional=1000")
    return name, value
