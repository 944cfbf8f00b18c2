"""The page of a report: one HTML file with everything in it, which fetches nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.position import COLOR_NAMES, Position
from training.evaluation.accuracy import BandAccuracy
from training.evaluation.journal import GameRecord
from training.evaluation.ratings import Estimate, PlayerRating
from training.evaluation.report_plot import Color, histogram_plot, interval_plot, stacked_plot, thumbnail
from training.evaluation.report_summary import (
    Report,
    histogram,
    is_fault,
    lopsided_openings,
    loser,
    quantile,
    score_between,
)
from training.evaluation.standings import MAX_OPENINGS, PlayerTotals

_ASSETS: Final = Path(__file__).parent / "report_assets"

# Tables of players against players, and plots with something for each player, have so many at most; the CSV files have all.
_MATRIX_PLAYERS: Final = 40
_PLOT_PLAYERS: Final = 24
_OPENINGS_SHOWN: Final = 10

# The buttons below the board: what they are called, and their signs.
_BUTTONS: Final = {
    "first": ("First position", "M2 2h2v12H2zM14 2v12L5 8z"),
    "previous": ("Previous move", "M13 2v12L3 8z"),
    "next": ("Next move", "M3 2v12l10-6z"),
    "last": ("Last position", "M12 2h2v12h-2zM2 2v12l9-6z"),
}

# Nothing is fetched, whatever the names in a journal say.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

# A cell: HTML, or a CSS class and HTML.
_Cell = str | tuple[str, str]


def format_page(report: Report) -> str:
    """The whole page."""
    sections = _SECTIONS if report.summary.standings.games else _SECTIONS[-1:]
    links = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title, _ in sections)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(title)}</h2>{content(report)}</section>'
        for name, title, content in sections
    )
    script = ""
    if report.summary.standings.games:
        script = f'<script type="application/json" id="data">{_data(report)}</script>'
        script += f"<script>{_asset('rules.js')}</script><script>{_asset('page.js')}</script>"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><link rel="icon" href="data:,">'
        f"<title>Othello tournament: {counted(len(report.order), 'player')}, {counted(report.summary.standings.games, 'game')}</title>"
        f"<style>{_asset('page.css')}</style></head><body><header><h1>Othello tournament</h1>{_facts(report)}"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav></header><main>{body}</main>'
        f"<footer><p>Made from {escape(report.journal)} by othello-env.</p></footer>{script}</body></html>\n"
    )


def percent(share: float) -> str:
    """A share as a percentage; a dash for nan."""
    return "–" if math.isnan(share) else f"{share:.1%}"


def elo(value: float) -> str:
    """A rating or an end of its interval; a dash for nan."""
    if math.isnan(value):
        return "–"
    return f"{'−' if value < 0 else ''}{'∞' if math.isinf(value) else f'{abs(value):.0f}'}"


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the singular or the plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rating_interval(report: Report, player: PlayerRating) -> str:
    """The interval of a rating."""
    if report.ratings.anchor and report.ratings.anchor[0] == player.name:
        return "set"
    return f"{elo(player.low)} to {elo(player.high)}" if player.games else "–"


def likelihood(chance: float) -> str:
    """A chance, never rounded to certainty; a dash for nan."""
    if chance > 0.9995:
        return ">99.9%"
    return "<0.1%" if chance < 0.0005 else percent(chance)


def signed(value: float, digits: int = 0) -> str:
    """A number with its sign, but for 0."""
    shown = f"{abs(value):.{digits}f}"
    return shown if not float(shown) else f"{'−' if value < 0 else '+'}{shown}"


def milliseconds(seconds: float | None) -> str:
    """A time with three digits; a dash for None."""
    return "–" if seconds is None else f"{seconds * 1000:,.0f}" if seconds >= 1 else f"{seconds * 1000:.3g}"


def estimate_text(estimate: Estimate, number: str) -> str:
    """An estimate with its interval. number: "elo" or "percent"."""
    form = elo if number == "elo" else percent
    return f"{form(estimate.value)} ({form(estimate.low)} to {form(estimate.high)})"


def settings_rows(report: Report) -> list[tuple[str, str]]:
    """The settings of the first session that has some, as names and texts."""
    for session in report.summary.sessions:
        settings = session.get("settings")
        if isinstance(settings, dict):
            return [(str(key), _plain(value)) for key, value in settings.items()]
    return []


def session_rows(report: Report) -> list[tuple[str, str]]:
    """When each session began, and with which versions."""
    rows = []
    for session in report.summary.sessions:
        versions = session.get("versions")
        named = versions if isinstance(versions, dict) else {}
        rows.append((_plain(session.get("started", "?")), ", ".join(f"{key} {_plain(value)}" for key, value in named.items())))
    return rows


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _name(name: str) -> str:
    return f'<span class="name" title="{escape(name)}">{escape(name)}</span>'


def _table(caption: str, head: Sequence[str], rows: Sequence[Sequence[_Cell]], *, kind: str = "") -> str:
    """A table whose first column names its rows. head, rows: HTML. Columns are set to the right but for cells with a class."""
    texts = {place for row in rows for place, cell in enumerate(row) if isinstance(cell, tuple) and cell[0] in ("text", "long")} | {0}
    heads = "".join(f'<th scope="col"{_class("text" if place in texts else "")}>{cell}</th>' for place, cell in enumerate(head))
    lines = []
    for first, *others in rows:
        cells = [f'<th scope="row">{first if isinstance(first, str) else first[1]}</th>']
        cells += [f"<td>{cell}</td>" if isinstance(cell, str) else f"<td{_class(cell[0])}>{cell[1]}</td>" for cell in others]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0"><table{_class(kind)}>'
        f"<caption><span>{escape(caption)}</span></caption><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def _paragraph(text: str, kind: str = "") -> str:
    return f"<p{_class(kind)}>{escape(text)}</p>"


def _facts(report: Report) -> str:
    summary = report.summary
    facts = {
        "Players": f"{len(report.order):,}",
        "Games": f"{summary.standings.games:,}",
        "Openings": f"{len(summary.standings.openings):,}{'+' if len(summary.standings.openings) >= MAX_OPENINGS else ''}",
        "Lost by faults": f"{sum(sum(totals.faults.values()) for totals in summary.standings.totals.values()):,}",
    }
    listed = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    played = f"Played from {summary.first_ended} to {summary.last_ended}." if summary.first_ended else ""
    notes = "".join(_paragraph(note, "note") for note in report.notes)
    return f'<dl class="facts">{listed}</dl>{_paragraph(played, "muted") if played else ""}{notes}'


def _ratings(report: Report) -> str:
    ratings = report.ratings
    parts = []
    for number, group in enumerate(ratings.groups):
        named = [ratings[name] for name in group.players][:_PLOT_PLAYERS]
        finite = [end for player in named for end in (player.elo, player.low, player.high) if math.isfinite(end)]
        edge = max(200.0, (max(finite) - min(finite)) * 0.2)
        low, high = min(finite) - edge, max(finite) + edge
        rows = [(player.name, player.elo, max(player.low, low), min(player.high, high)) for player in named]
        is_open = any(math.isinf(end) for player in named for end in (player.low, player.high))
        title = f"Ratings{f' of group {number + 1}' if len(ratings.groups) > 1 else ''} with 95% intervals"
        caption = title + (
            ". Lines that reach the edge are open: the results set no limit." if is_open else "; the more games, the shorter the lines."
        )
        parts.append(_figure(interval_plot(rows, title=title, axis="rating, Elo", label=elo), caption))
    several = len(ratings.groups) > 1
    table_rows = []
    for rank, player in enumerate(ratings.players, 1):
        score = percent(player.score) if player.games else "–"
        row = [_name(player.name), str(rank), elo(player.elo), rating_interval(report, player), f"{player.games:,}", score]
        table_rows.append([*row, str(player.group + 1) if player.games else "–"] if several else row)
    head = ["Player", "Rank", "Elo", "95% interval", "Games", "Score", *(["Group"] if several else [])]
    caption = "Elo from complete pairs of games; 400 Elo are odds of 10 to 1. "
    anchor = ratings.anchor
    caption += f"{anchor[0]} is set to {anchor[1]:g}." if anchor else f"The mean of {'each group' if several else 'all'} is set to 0."
    return "".join(parts) + _table(caption, head, table_rows)


def _too_many(report: Report) -> str:
    if len(report.order) <= _MATRIX_PLAYERS:
        return ""
    return _paragraph(f"The first {_MATRIX_PLAYERS} of {len(report.order)} players; crosstable.csv has all of them.", "muted")


def _superiority(report: Report) -> str:
    names, chances = report.order[:_MATRIX_PLAYERS], report.ratings.superiority
    rows: list[list[_Cell]] = []
    for number, name in enumerate(names):
        cells: list[_Cell] = []
        for other in range(len(names)):
            chance = float(chances[number, other])
            if number == other or math.isnan(chance):
                cells.append(("self", "–"))
            else:
                cells.append((f"s{round(10 * chance)}", escape(likelihood(chance))))
        rows.append([_name(name), *cells])
    caption = "Likelihood that the player of the row is stronger than that of the column"
    return _too_many(report) + _table(caption, ["Player", *map(_name, names)], rows, kind="matrix")


def _cross_table(report: Report) -> str:
    names = report.order[:_MATRIX_PLAYERS]
    rows: list[list[_Cell]] = []
    for name in names:
        cells: list[_Cell] = []
        for other in names:
            score = score_between(report.summary.standings, name, other) if name != other else None
            if score is None:
                cells.append(("self", "–"))
                continue
            interval = f"{100 * score.low:.1f}–{100 * score.high:.1f}"
            cells.append(
                (f"s{round(10 * score.share)}", f"{percent(score.share)}<small>{interval}<br>{counted(score.games, 'game')}</small>")
            )
        rows.append([_name(name), *cells])
    caption = "Score of the row against the column, in per cent of the points, with 95% interval and games; a stronger colour is more"
    note = ""
    if report.summary.standings.incomplete:
        missing = len(report.summary.standings.incomplete)
        note = _paragraph(f"Not in this table, nor in the ratings: {counted(missing, 'game')} without the other game of the pair.", "muted")
    return _too_many(report) + _table(caption, ["Player", *map(_name, names)], rows, kind="matrix") + note


def _colours(report: Report) -> str:
    standings = report.summary.standings
    white, draws, black = (int(count) for count in standings.colors)
    games = standings.games
    advantage, chance = report.ratings.colour_advantage, report.ratings.draw_chance
    parts = [
        _paragraph(
            f"Black won {black:,} games ({percent(black / games)}), White {white:,} ({percent(white / games)}), "
            f"and {draws:,} were draws ({percent(draws / games)})."
        )
    ]
    if math.isfinite(advantage.value):
        parts.append(
            _paragraph(
                f"To move first was worth {estimate_text(advantage, 'elo')} Elo with these openings; two equal players draw with a chance "
                f"of {estimate_text(chance, 'percent')}."
            )
        )
    bars: list[tuple[str, Color, Sequence[int]]] = []
    rows = []
    for name in report.order:
        totals = standings.totals[name]
        row = [_name(name)]
        for color, counts in _with_colors(totals):
            wins_first = [int(count) for count in counts[::-1]]
            bars.append((name, color, wins_first))
            number = sum(wins_first)
            row += [*(f"{count:,}" for count in wins_first), percent((wins_first[0] + wins_first[1] / 2) / number) if number else "–"]
        rows.append(row)
    legend = "".join(
        f'<li><span class="{kind}"></span>{name}</li>' for kind, name in (("win", "wins"), ("draw", "draws"), ("loss", "losses"))
    )
    plot = stacked_plot(bars[: 2 * _PLOT_PLAYERS], title="Wins, draws and losses with each colour", axis="share of the games, %")
    parts.append(
        f'<ul class="legend">{legend}</ul>' + _figure(plot, "Wins, draws and losses, the upper bar with Black, the lower one with White.")
    )
    head = ["Player", "Black: wins", "draws", "losses", "score", "White: wins", "draws", "losses", "score"]
    return "".join(parts) + _table("Results with Black and with White, all games", head, rows)


def _with_colors(totals: PlayerTotals) -> tuple[tuple[Color, npt.NDArray[np.int64]], ...]:
    return ("black", totals.with_black), ("white", totals.with_white)


def _differences(report: Report) -> str:
    differences = report.summary.differences
    largest = max((abs(value) for counts in differences.values() for value in counts), default=0)
    width = 8 if largest > 36 else 4 if largest > 16 else 2
    bins = max(1, math.ceil((largest - width / 2) / width))
    edges = [width * number - width / 2 for number in range(-bins, bins + 2)]
    plots: list[str] = []
    rows = []
    for name in report.order:
        counts = differences.get(name, {})
        number = sum(counts.values())
        if not number:
            continue
        mean = sum(value * count for value, count in counts.items()) / number
        quartiles = [signed(quantile(counts, share)) for share in (0.05, 0.25, 0.5, 0.75, 0.95)]
        rows.append([_name(name), signed(mean, 1), *quartiles])
        if len(plots) < _PLOT_PLAYERS:
            shares = histogram(list(counts), list(counts.values()), edges)
            title = f"Disc differences of {name}"
            x_axis = "disc difference (own − opponent's)"
            svg = histogram_plot(shares, edges, title=title, x_axis=x_axis, y_axis="games, %", reference=0, width=320)
            plots.append(_figure(svg, f"{name}: mean {signed(mean, 1)}"))
    caption = "Disc difference at the end of a game, own minus opponent's: mean, and what so many per cent of the games do not exceed"
    table = _table(caption, ["Player", "Mean", "5%", "25%", "Median", "75%", "95%"], rows)
    return f'<div class="plots">{"".join(plots)}</div>{table}'


def _openings(report: Report) -> str:
    standings = report.summary.standings
    openings = standings.openings
    shares = [float((counts[1] / 2 + counts[2]) / counts.sum()) for counts in openings.values()]
    games = sum(int(counts.sum()) for counts in openings.values())
    text = f"{counted(len(openings), 'opening')}, {games / len(openings):.1f} games each on average."
    if len(openings) >= MAX_OPENINGS:
        text = f"The first {MAX_OPENINGS:,} openings; {games / len(openings):.1f} games each on average."
    if games / len(openings) < 20:
        text += " With so few games each, what looks lopsided may be chance, or the strength of the players that met."
    edges = [10 * number - 5 for number in range(12)]
    plot = histogram_plot(
        histogram([100 * share for share in shares], [1] * len(shares), edges),
        edges,
        title="Black's score in each opening",
        x_axis="Black's score in the opening, %",
        y_axis="openings, %",
        reference=50,
    )
    rows: list[list[_Cell]] = []
    for number, score in enumerate(lopsided_openings(standings, _OPENINGS_SHOWN), 1):
        position = Position.parse(score.opening)
        prefix = escape(report.summary.prefixes.get(score.opening, ""))
        side = "Black" if position.side_to_move == 0 else "White"
        interval = f"{100 * score.low:.0f}–{100 * score.high:.0f}%"
        texts: list[_Cell] = [
            ("text", thumbnail(position)),
            ("text", prefix) if prefix else ("long", escape(score.opening)),
            ("text", side),
        ]
        rows.append([str(number), *texts, f"{score.games:,}", percent(score.share), interval])
    caption = "The openings that favour a colour most clearly; the interval takes each game as one observation"
    table = _table(caption, ["", "Position", "Moves to it", "Next", "Games", "Black's score", "95% interval"], rows)
    parts = [_paragraph(text), _figure(plot, "How many openings gave Black which score; 50% is even.")]
    return "".join(parts) + (table if rows else _paragraph("All openings are even."))


def _faults(report: Report) -> str:
    standings = report.summary.standings
    reasons = [reason for reason in standings.reasons if reason != "played out"]
    if not reasons:
        return _paragraph("No game was lost by an illegal move, an error, a time limit or a dead process.")
    counted = [
        [_name(name), *(f"{standings.totals[name].faults.get(reason, 0):,}" for reason in reasons)]
        for name in report.order
        if standings.totals[name].faults
    ]
    counts = _table("Games lost by faults, for each player and reason", ["Player", *map(escape, reasons)], counted)
    rows: list[list[_Cell]] = [
        [
            _name(loser(record)),
            f'<a href="#game={record.game}&amp;ply={len(record.moves) // 2}">{record.game}</a>',
            ("text", _name(record.white if loser(record) == record.black else record.black)),
            ("text", escape(record.reason)),
            str(len(record.moves) // 2 + 1),
            ("long", escape(record.detail)),
        ]
        for record in report.summary.faults
    ]
    total = sum(standings.reasons[reason] for reason in reasons)
    shown = "Each of them" if total == len(rows) else f"{len(rows)} of {total:,} such games"
    head = ["Lost by", "Game", "Against", "Reason", "Move", "Detail"]
    return counts + _table(f"{shown}, to be replayed below", head, rows)


def _time(report: Report) -> str:
    summary = report.summary
    times = [(name, summary.seconds_per_move(name)) for name in report.order]
    rows = [
        [
            _name(name),
            milliseconds(seconds),
            f"{summary.standings.totals[name].seconds:,.1f}",
            f"{summary.slowest[name][0]:,.3f}" if name in summary.slowest else "–",
            str(summary.slowest[name][1]) if name in summary.slowest else "–",
        ]
        for name, seconds in times
    ]
    positive = [(name, 1000 * seconds, 1000 * seconds, 1000 * seconds) for name, seconds in times if seconds]
    plot = ""
    if len(positive) > 1:
        svg = interval_plot(
            positive[:_PLOT_PLAYERS],
            title="Time for a move",
            axis="time for a move, ms (logarithmic)",
            logarithmic=True,
            label="{:.3g}".format,
        )
        plot = _figure(svg, "Mean time for a move.")
    caption = "Time of each player. Half of a game's moves are taken to be its own; positions asked about together share the time"
    head = ["Player", "ms a move", "s in all", "s in its slowest game", "which is game"]
    return plot + _table(caption, head, rows)


def _accuracy(report: Report) -> str:
    judged = {name: report.accuracy[name] for name in report.order if name in report.accuracy}
    reached = sorted({(band.low, band.high) for bands in judged.values() for band in bands if band.moves})
    if not reached:
        return _paragraph(report.accuracy_note)
    plots = []
    for limits in reached:
        shown = [
            (name, 100 * band.outcome_kept_share, 100 * band.outcome_kept_interval[0], 100 * band.outcome_kept_interval[1])
            for name, bands in judged.items()
            for band in bands
            if (band.low, band.high) == limits and band.moves
        ]
        title = f"Moves that kept the outcome with {limits[0]} to {limits[1]} empty squares"
        plots.append(_figure(interval_plot(shown[:_PLOT_PLAYERS], title=title, axis="outcome kept, % of the moves"), f"{title}."))
    rows: list[list[_Cell]] = []
    for name, bands in judged.items():
        by_limits = {(band.low, band.high): band for band in bands}
        rows.append([_name(name), *(_accuracy_cell(by_limits.get(limits)) for limits in reached)])
    head = ["Player", *(f"{low}–{high} empties" for low, high in reached)]
    caption = "Share of the moves that kept the outcome of perfect play, where there was a choice; 95% intervals"
    return (
        _paragraph(report.accuracy_note) + f'<div class="plots broad">{"".join(plots)}</div>' + _table(caption, head, rows, kind="matrix")
    )


def _accuracy_cell(band: BandAccuracy | None) -> _Cell:
    if band is None or not band.moves:
        return "self", "–"
    kept, lost = band.outcome_kept_interval, band.discs_lost_interval
    # Nearly all moves of most players keep the outcome: the colours have the upper half for themselves.
    shade = round(10 * max(0.0, 2 * band.outcome_kept_share - 1))
    numbers = f"{100 * kept[0]:.1f}–{100 * kept[1]:.1f}<br>best move {percent(band.best_move_share)}"
    lines = f"{numbers}<br>{band.mean_discs_lost:.2f} discs lost a move<br>({lost[0]:.2f}–{lost[1]:.2f})<br>{counted(band.moves, 'move')}"
    return f"s{shade}", f"{percent(band.outcome_kept_share)}<small>{lines}</small>"


def _replay(report: Report) -> str:
    games = report.summary.standings.games
    if len(report.games) == games:
        text = "All games." if games > 1 else "The only game."
    else:
        text = f"{len(report.games):,} of {games:,} games: a sample that is even over the pairings"
        text += ", and games lost by faults." if report.summary.faults else "."
    filters = [
        ("player", "Player", '<option value="">any</option>', ""),
        ("opponent", "Opponent", '<option value="">any</option>', ""),
        ("result", "Result", _result_options(), ""),
        ("game", "Game", "", "wide"),
    ]
    labels = "".join(f'<label{_class(kind)}>{name}<select id="{key}">{options}</select></label>' for key, name, options, kind in filters)
    sides = "".join(
        f'<div id="{color}-side"><span class="disc {color}-disc"></span><span class="who" id="{color}-name"></span>'
        f'<strong id="{color}-discs"></strong></div>'
        for color in COLOR_NAMES
    )
    buttons = [_button("first"), _button("previous"), '<button type="button" id="play">Play</button>', _button("next"), _button("last")]
    return (
        f"{_paragraph(text)}<noscript>{_paragraph('The board needs JavaScript; games.csv has the moves.', 'note')}</noscript>"
        f'<div class="filters">{labels}</div><p id="found" class="muted" role="status"></p><p id="facts" class="muted"></p>'
        f'<div class="table"><div><div class="sides">{sides}</div><svg id="board" role="img" aria-label="Board"></svg>'
        f'<div class="buttons">{"".join(buttons)}</div><p id="status" role="status"></p>'
        f"{_paragraph('Keys: ← → one move, Home and End to the ends, while the focus is in this part.', 'muted')}</div>"
        '<ol id="moves" aria-label="Moves"></ol></div>'
    )


def _button(key: str) -> str:
    label, path = _BUTTONS[key]
    icon = f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="{path}"/></svg>'
    return f'<button type="button" id="{key}" aria-label="{label}">{icon}</button>'


def _result_options() -> str:
    options = '<option value="">any</option>'
    for value, any_player, named in (("win", "Black won", "won"), ("draw", "a draw", "drew"), ("loss", "White won", "lost")):
        options += f'<option value="{value}" data-any="{any_player}" data-named="{named}">{any_player}</option>'
    return options + '<option value="fault">lost by a fault</option>'


def _settings(report: Report) -> str:
    parts = []
    if report.command:
        parts.append(_paragraph("To play it again:") + f"<pre>{escape(report.command)}</pre>")
        parts.append(_paragraph("The games repeat where the agents, their files and the versions below are the same.", "muted"))
    else:
        parts.append(_paragraph("The journal does not tell the settings of the tournament."))
    rows = settings_rows(report)
    if rows:
        parts.append(_table("Settings", ["Setting", "Value"], [[escape(key), ("long", escape(value))] for key, value in rows]))
    sessions = session_rows(report)
    if sessions:
        shown = "" if len(sessions) == report.summary.num_sessions else f"; the first and the last {len(sessions) - 1}"
        caption = f"{counted(report.summary.num_sessions, 'session')}{shown}"
        lines: list[list[_Cell]] = [[escape(started), ("long", escape(versions))] for started, versions in sessions]
        parts.append(_table(caption, ["Began", "Versions"], lines))
    return "".join(parts)


def _data(report: Report) -> str:
    """The games as JSON that can stand inside a script element."""
    players: dict[str, int] = {}
    openings: dict[str, int] = {}
    games: list[Mapping[str, Any]] = []
    for record, game in zip(report.games, report.replays, strict=True):
        games.append(
            {
                "game": record.game,
                "black": players.setdefault(record.black, len(players)),
                "white": players.setdefault(record.white, len(players)),
                "opening": openings.setdefault(str(game.start), len(openings)),
                "moves": str(game),
                "score": record.black_score,
                "difference": record.disc_difference,
                "fault": is_fault(record),
                **_details(record),
            }
        )
    text = json.dumps({"players": list(players), "openings": list(openings), "games": games}, separators=(",", ":"))
    # Nothing that could end the script element, or begin a comment in it.
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _details(record: GameRecord) -> dict[str, str]:
    return {"reason": record.reason, "detail": record.detail, "ended": record.ended, "prefix": record.prefix}


# The parts of the page: their addresses in it, titles, and what writes them.
_SECTIONS: Final[tuple[tuple[str, str, Callable[[Report], str]], ...]] = (
    ("ratings", "Ratings", _ratings),
    ("superiority", "Who is stronger", _superiority),
    ("cross-table", "Cross table", _cross_table),
    ("colours", "Colours and draws", _colours),
    ("differences", "Disc differences", _differences),
    ("openings", "Openings", _openings),
    ("faults", "Games lost by faults", _faults),
    ("time", "Time", _time),
    ("accuracy", "Endgame accuracy", _accuracy),
    ("replay", "Games to replay", _replay),
    ("settings", "Settings", _settings),
)
