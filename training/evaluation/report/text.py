"""Numbers and intervals as text."""

from __future__ import annotations

import math

DASH = "–"
"""Shown instead of a number that does not exist."""


def format_count(number: int, noun: str = "") -> str:
    """Return a number, followed by its noun in the singular or the plural if one is given."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}" if noun else f"{number:,}"


def format_share(share: float) -> str:
    """Return a share as a percentage."""
    return DASH if math.isnan(share) else f"{share:.1%}"


def format_share_interval(interval: tuple[float, float]) -> str:
    """Return an interval of a share in percent."""
    low, high = interval
    return DASH if math.isnan(low) or math.isnan(high) else f"{100 * low:.1f}{DASH}{100 * high:.1f}%"


def format_likelihood(probability: float) -> str:
    """Return a probability as a percentage, never rounded to 0% or 100%."""
    if probability > 0.9995:
        return ">99.9%"
    return "<0.1%" if probability < 0.0005 else format_share(probability)


def format_elo(value: float) -> str:
    """Return a rating, or an end of its interval, as a whole number."""
    if math.isnan(value):
        return DASH
    shown = "∞" if math.isinf(value) else f"{abs(value):.0f}"
    return f"−{shown}" if value < 0 and shown != "0" else shown


def format_elo_interval(interval: tuple[float, float]) -> str:
    """Return an interval of a rating; "set" for that of an anchor, which has no width."""
    low, high = interval
    if math.isnan(low):
        return DASH
    return "set" if low == high else f"{format_elo(low)} to {format_elo(high)}"


def format_signed(value: float, digits: int = 0) -> str:
    """Return a number with its sign; 0 has none."""
    shown = f"{abs(value):.{digits}f}"
    return shown if not float(shown) else f"{'−' if value < 0 else '+'}{shown}"


def format_milliseconds(seconds: float) -> str:
    """Return a time in milliseconds with at least three significant digits."""
    return f"{seconds * 1000:,.0f}" if seconds >= 1 else f"{seconds * 1000:.3g}"
