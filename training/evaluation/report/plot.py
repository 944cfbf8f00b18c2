"""Plots of a report as SVG.

They use the CSS classes of the page, so that they follow its light or dark scheme. Plots are 420
units wide with a font of 13 units, which is readable both on a phone and on a wide screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from othello_env.position import COLOR_NAMES, Position
from training.evaluation.report.label import short_labels, text_width

_WIDTH: Final = 420
_ROW_HEIGHT: Final = 24
_RIGHT: Final = 16
# Column of names at the left of a plot with a row per player: smallest width, largest width, gap to
# the plot.
_NARROWEST_NAMES: Final = 60
_WIDEST_NAMES: Final = 196
_GAP: Final = 8
_DISC_GAP: Final = 18


@dataclass(frozen=True, slots=True)
class Interval:
    """Value of a player with its interval."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bar:
    """Wins, draws and losses of a player with one color, "black" or "white"."""

    name: str
    color: str
    counts: tuple[int, int, int]


class _Names:
    """Column of names at the left of a plot, as wide as the names need.

    width: of the column with its gap.
    """

    def __init__(self, names: Sequence[str], *, gap: float = _GAP) -> None:
        self._labels = short_labels(names, width=_WIDEST_NAMES)
        widest = max((text_width(label) for label in self._labels.values()), default=0.0)
        self.width = round(max(_NARROWEST_NAMES, min(widest, _WIDEST_NAMES)) + gap)
        self._right = self.width - gap

    def draw(self, name: str, y: float) -> str:
        """Return a name as SVG. y: the middle of its row."""
        title = f"<title>{escape(name)}</title>"
        return f'<text x="{self._right}" y="{y + 4}" text-anchor="end">{escape(self._labels[name])}{title}</text>'


def interval_plot(
    rows: Sequence[Interval],
    *,
    title: str,
    axis: str,
    logarithmic: bool = False,
    label: Callable[[float], str] = "{:g}".format,
) -> str:
    """Return a plot with a row per name: a dot at the value, and a line from low to high.

    logarithmic: for values above 0.
    """
    scale = math.log10 if logarithmic else float
    ends = [scale(end) for row in rows for end in (row.value, row.low, row.high)]
    low, high = min(ends), max(ends)
    margin = (high - low) * 0.04 or 1.0
    low, high = low - margin, high + margin
    names = _Names([row.name for row in rows])
    ticks = _log_ticks(low, high) if logarithmic else _ticks(low, high)
    bottom = len(rows) * _ROW_HEIGHT + 10

    def place(value: float) -> float:
        return round(names.width + (value - low) / (high - low) * (_WIDTH - names.width - _RIGHT), 1)

    parts = []
    for tick in ticks:
        parts.append(f'<path class="grid" d="M{place(tick)} 4V{bottom}"/>')
        shown = label(10**tick if logarithmic else tick)
        parts.append(f'<text class="tick" x="{place(tick)}" y="{bottom + 16}" text-anchor="middle">{escape(shown)}</text>')
    for number, row in enumerate(rows):
        y = number * _ROW_HEIGHT + 4 + _ROW_HEIGHT // 2
        parts.append(names.draw(row.name, y))
        parts.append(f'<path class="mark" d="M{place(scale(row.low))} {y - 5}v10m0 -5H{place(scale(row.high))}m0 -5v10"/>')
        parts.append(f'<circle class="dot" cx="{place(scale(row.value))}" cy="{y}" r="4.5"/>')
    parts.append(_axis(axis, (names.width + _WIDTH - _RIGHT) / 2, bottom + 36))
    return _svg(bottom + 44, title, parts)


def stacked_plot(rows: Sequence[Bar], *, title: str, axis: str) -> str:
    """Return a plot with a bar of wins, draws and losses per row, as shares of their sum."""
    names = _Names([row.name for row in rows], gap=_GAP + _DISC_GAP)
    bottom = len(rows) * _ROW_HEIGHT + 8
    span = _WIDTH - names.width - _RIGHT
    parts = []
    for number, row in enumerate(rows):
        y = number * _ROW_HEIGHT + 4
        if number == 0 or rows[number - 1].name != row.name:
            parts.append(names.draw(row.name, y + _ROW_HEIGHT // 2))
        parts.append(f'<circle class="{row.color}" cx="{names.width - 12}" cy="{y + _ROW_HEIGHT // 2}" r="5.5"/>')
        x = float(names.width)
        total = sum(row.counts)
        for kind, count in zip(("win", "draw", "loss"), row.counts, strict=True):
            width = count / max(1, total) * span
            if count:
                bar = f'<rect class="{kind}" x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{_ROW_HEIGHT - 6}">'
                parts.append(f"{bar}<title>{kind}: {count} of {total}</title></rect>")
            x += width
    for tick in (0, 25, 50, 75, 100):
        x = names.width + tick / 100 * span
        parts.append(f'<path class="{"base" if tick == 50 else "grid"}" d="M{x:.1f} {bottom}v4"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick}</text>')
    parts.append(f'<path class="base" stroke-dasharray="3 3" d="M{names.width + span / 2} 2V{bottom}"/>')
    parts.append(_axis(axis, names.width + span / 2, bottom + 38))
    return _svg(bottom + 46, title, parts)


def histogram_plot(
    shares: Sequence[float],
    edges: Sequence[float],
    *,
    title: str,
    x_axis: str,
    y_axis: str,
    reference: float,
    width: int = _WIDTH,
) -> str:
    """Return a plot of shares, in percent, over bins.

    edges: one more than shares. reference: value on the x axis that is marked by a line.
    """
    left, top, height = 46, 10, 130
    bottom = top + height
    largest = max([*shares, 1e-9]) * 100
    ticks = [tick for tick in _ticks(0, largest * 1.05, about=4) if tick >= 0]

    def across(value: float) -> float:
        return round(left + (value - edges[0]) / (edges[-1] - edges[0]) * (width - left - _RIGHT), 1)

    def along(percent: float) -> float:
        return round(bottom - percent / (largest * 1.05) * height, 1)

    parts = []
    for tick in ticks:
        parts.append(f'<path class="grid" d="M{left} {along(tick)}H{width - _RIGHT}"/>')
        parts.append(f'<text class="tick" x="{left - 6}" y="{along(tick) + 4}" text-anchor="end">{tick:g}</text>')
    for share, start, end in zip(shares, edges[:-1], edges[1:], strict=True):
        if share:
            size = f'width="{across(end) - across(start) - 1:.1f}" height="{bottom - along(100 * share):.1f}"'
            bar = f'<rect class="bar" x="{across(start) + 0.5:.1f}" y="{along(100 * share)}" {size}>'
            parts.append(f"{bar}<title>{start:g} to {end:g}: {100 * share:.1f}%</title></rect>")
    parts.append(f'<path class="base" d="M{left} {bottom}H{width - _RIGHT}"/>')
    parts.append(f'<path class="base" stroke-dasharray="3 3" d="M{across(reference)} {top}V{bottom}"/>')
    for tick in _ticks(edges[0], edges[-1], about=6):
        parts.append(f'<text class="tick" x="{across(tick)}" y="{bottom + 17}" text-anchor="middle">{f"{tick:g}".replace("-", "−")}</text>')
    parts.append(_axis(x_axis, (left + width - _RIGHT) / 2, bottom + 37))
    middle = top + height / 2
    parts.append(f'<text class="axis" x="13" y="{middle}" text-anchor="middle" transform="rotate(-90 13 {middle})">{escape(y_axis)}</text>')
    return _svg(bottom + 45, title, parts, width=width)


def thumbnail(position: Position) -> str:
    """Return a small board as SVG."""
    n = position.board_size
    lines = "".join(f"M0 {10 * line}h{10 * n}M{10 * line} 0v{10 * n}" for line in range(n + 1))
    discs = []
    for color, bits in zip(COLOR_NAMES, (position.black, position.white), strict=True):
        for square in range(n * n):
            if bits >> square & 1:
                discs.append(f'<circle class="{color}" cx="{10 * (square % n) + 5}" cy="{10 * (square // n) + 5}" r="4"/>')
    felt = f'<path class="felt" d="M0 0h{10 * n}v{10 * n}H0z"/><path class="line" style="stroke-width:.6" d="{lines}"/>'
    return f'<svg class="thumb" viewBox="0 0 {10 * n} {10 * n}" role="img" aria-label="board">{felt}{"".join(discs)}</svg>'


def _svg(height: float, title: str, parts: Sequence[str], *, width: int = _WIDTH) -> str:
    label = escape(title, quote=True)
    return f'<svg class="plot" viewBox="0 0 {width} {height:g}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _axis(text: str, x: float, y: float) -> str:
    return f'<text class="axis" x="{x:g}" y="{y:g}" text-anchor="middle">{escape(text)}</text>'


def _ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Return round numbers between two ends, including ends that are round."""
    step = 10 ** math.floor(math.log10((high - low) / about))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Return powers of ten between two powers; if there are few, also two and five times them."""
    whole = [float(power) for power in range(math.ceil(low), math.floor(high) + 1)]
    if len(whole) > 5:
        return whole[:: math.ceil(len(whole) / 5)]
    if len(whole) >= 3:
        return whole
    finer = [power + math.log10(factor) for power in range(math.floor(low), math.ceil(high) + 1) for factor in (1, 2, 5)]
    return [tick for tick in finer if low <= tick <= high] or [low, high]
