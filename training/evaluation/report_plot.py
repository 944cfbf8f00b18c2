"""Plots of a report as SVG, drawn with the page's own colours, so that they follow its light or dark scheme.

Plots are 420 units wide with letters of 13 units: readable on a phone's width as on a wide one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Final, Literal

from othello_env.position import Position

Color = Literal["black", "white"]

_WIDTH: Final = 420
_ROW: Final = 24
# Room for names at the left of a plot with one line for each player, and for a letter.
_NAMES: Final = 164
_LETTER: Final = 9
_RIGHT: Final = 16


def interval_plot(
    rows: Sequence[tuple[str, float, float, float]],
    *,
    title: str,
    axis: str,
    reference: float | None = None,
    logarithmic: bool = False,
    limits: tuple[float, float] | None = None,
    label: Callable[[float], str] = "{:g}".format,
) -> str:
    """A dot and a line from low to high for each row of (name, value, low, high), names at the left.

    reference: a value with a line of its own. logarithmic: for values above 0. limits: of the axis, by default of the values.
    """
    scale = math.log10 if logarithmic else float
    ends = [scale(end) for row in rows for end in row[1:]] + [scale(end) for end in limits or ()]
    low, high = min(ends), max(ends)
    margin = 0.0 if limits else (high - low) * 0.04 or 1.0
    low, high = low - margin, high + margin
    ticks = _log_ticks(low, high) if logarithmic else _ticks(low, high)
    bottom = len(rows) * _ROW + 10

    def place(value: float) -> float:
        return round(_NAMES + (value - low) / (high - low) * (_WIDTH - _NAMES - _RIGHT), 1)

    parts = []
    for tick in ticks:
        parts.append(f'<path class="grid" d="M{place(tick)} 4V{bottom}"/>')
        shown = label(10**tick if logarithmic else tick)
        parts.append(f'<text class="tick" x="{place(tick)}" y="{bottom + 16}" text-anchor="middle">{escape(shown)}</text>')
    if reference is not None and low <= scale(reference) <= high:
        parts.append(f'<path class="base" d="M{place(scale(reference))} 4V{bottom}"/>')
    for number, (name, value, start, end) in enumerate(rows):
        y = number * _ROW + 4 + _ROW // 2
        parts.append(_name(name, y))
        parts.append(f'<path class="mark" d="M{place(scale(start))} {y - 5}v10m0 -5H{place(scale(end))}m0 -5v10"/>')
        parts.append(f'<circle class="dot" cx="{place(scale(value))}" cy="{y}" r="4.5"/>')
    parts.append(_axis(axis, (_NAMES + _WIDTH - _RIGHT) / 2, bottom + 36))
    return _svg(bottom + 44, title, parts)


def stacked_plot(rows: Sequence[tuple[str, Color, Sequence[int]]], *, title: str, axis: str) -> str:
    """A bar of wins, draws and losses for each row of (name, colour played, three counts), as shares of all."""
    bottom = len(rows) * _ROW + 8
    span = _WIDTH - _NAMES - _RIGHT
    parts = []
    for number, (name, color, counts) in enumerate(rows):
        y = number * _ROW + 4
        parts.append(_name(name, y + _ROW // 2, room=_NAMES - 18))
        parts.append(f'<circle class="{color}" cx="{_NAMES - 12}" cy="{y + _ROW // 2}" r="5.5"/>')
        x = float(_NAMES)
        for kind, count in zip(("win", "draw", "loss"), counts, strict=True):
            width = count / max(1, sum(counts)) * span
            if count:
                what = f"{count} of {sum(counts)}"
                bar = f'<rect class="{kind}" x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{_ROW - 6}">'
                parts.append(f"{bar}<title>{kind}: {what}</title></rect>")
            x += width
    for tick in (0, 25, 50, 75, 100):
        x = _NAMES + tick / 100 * span
        parts.append(f'<path class="{"base" if tick == 50 else "grid"}" d="M{x:.1f} {bottom}v4"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick}</text>')
    parts.append(f'<path class="base" stroke-dasharray="3 3" d="M{_NAMES + span / 2} 2V{bottom}"/>')
    parts.append(_axis(axis, _NAMES + span / 2, bottom + 38))
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
    """Bars of shares, in per cent, over bins. edges: one more than shares. reference: a value on the x axis with a line of its own."""
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
    """A small board."""
    n = position.board_size
    lines = "".join(f"M0 {10 * line}h{10 * n}M{10 * line} 0v{10 * n}" for line in range(n + 1))
    discs = []
    for color, bits in (("black", position.black), ("white", position.white)):
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


def _name(name: str, y: float, *, room: int = _NAMES) -> str:
    letters = room // _LETTER
    shown = name if len(name) <= letters else name[: letters - 1] + "…"
    return f'<text x="{room - 8}" y="{y + 4}" text-anchor="end">{escape(shown)}<title>{escape(name)}</title></text>'


def _ticks(low: float, high: float, *, about: int = 5) -> list[float]:
    """Round numbers between two ends, the ends included where they are round."""
    step = 10 ** math.floor(math.log10((high - low) / about))
    step = next(step * factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between two powers; with few of them also twice and five times these."""
    whole = [float(power) for power in range(math.ceil(low), math.floor(high) + 1)]
    if len(whole) > 5:
        return whole[:: math.ceil(len(whole) / 5)]
    if len(whole) >= 3:
        return whole
    finer = [power + math.log10(factor) for power in range(math.floor(low), math.ceil(high) + 1) for factor in (1, 2, 5)]
    return [tick for tick in finer if low <= tick <= high] or [low, high]
