"""Sections of a report, built once from its contents for both the page and Markdown."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from othello_env.position import COLOR_NAMES, Position
from training.evaluation.accuracy import BandAccuracy
from training.evaluation.ratings import Estimate, PlayerRating
from training.evaluation.report.content import Report
from training.evaluation.report.document import (
    BOARD,
    COUNT,
    DIFFERENCE,
    DISCS_ESTIMATE,
    ELO,
    ELO_INTERVAL,
    GAME,
    INTEGER,
    LONG_TEXT,
    MEAN_DIFFERENCE,
    MILLISECONDS,
    NAME,
    PLAYER,
    SECONDS,
    SHADED,
    SHARE,
    SHARE_ESTIMATE,
    SHARE_INTERVAL,
    TEXT,
    Code,
    Column,
    Document,
    Facts,
    Figure,
    Figures,
    GameLink,
    Paragraph,
    Part,
    Replay,
    Section,
    Shaded,
    Table,
)
from training.evaluation.report.plot import Bar, Interval, histogram_plot, interval_plot, stacked_plot
from training.evaluation.report.replay import replayed_game
from training.evaluation.report.score import histogram, lopsided_openings, quantile, score_between
from training.evaluation.report.summary import loser
from training.evaluation.report.text import (
    format_count,
    format_elo,
    format_elo_interval,
    format_likelihood,
    format_share,
    format_share_interval,
    format_signed,
)
from training.evaluation.standings import MAX_OPENINGS

# Maximum number of players in tables of players against players, and in plots with a row per
# player; the CSV files have all players.
_MATRIX_PLAYERS: Final = 40
_PLOT_PLAYERS: Final = 24
_OPENINGS_SHOWN: Final = 10
# No disc difference is larger: the largest board has 64 squares.
_MAX_DIFFERENCE: Final = 64
_QUANTILES: Final = {"5%": 0.05, "25%": 0.25, "Median": 0.5, "75%": 0.75, "95%": 0.95}


def build_document(report: Report) -> Document:
    """Return the whole report as a document."""
    standings, summary = report.summary.standings, report.summary
    builders = _SECTIONS if standings.games else _SECTIONS[-1:]
    sections = tuple(Section(key, title, tuple(parts(report))) for key, title, parts in builders)
    openings = f"{format_count(len(standings.openings))}{'+' if len(standings.openings) >= MAX_OPENINGS else ''}"
    faults = sum(sum(totals.faults.values()) for totals in standings.totals.values())
    facts = (
        ("Players", format_count(len(report.order))),
        ("Games", format_count(standings.games)),
        ("Openings", openings),
        ("Lost by faults", format_count(faults)),
    )
    head: list[Part] = [Facts(facts)]
    if summary.first_ended:
        head.append(Paragraph(f"Played from {summary.first_ended} to {summary.last_ended}.", "remark"))
    head += [Paragraph(note, "note") for note in report.notes]
    return Document("Othello tournament", tuple(report.order), tuple(head), sections, f"Made from {report.journal} by othello-env.")


def rating_table(report: Report) -> Table:
    """Return the table of ratings."""
    columns = (
        Column("Player", NAME),
        Column("Rank", INTEGER),
        Column("Elo", ELO),
        Column("95% interval", ELO_INTERVAL, ("low", "high")),
        Column("Games", COUNT),
        Column("Score", SHARE),
        Column("Group", INTEGER),
    )
    rows = tuple(
        (player.name, rank, player.elo, (player.low, player.high), player.games, player.score, player.group + 1)
        for rank, player in enumerate(report.ratings.players, 1)
    )
    groups = "each group" if len(report.ratings.groups) > 1 else "all"
    anchor = report.ratings.anchor
    reference = f"{anchor[0]} is set to {anchor[1]:g}" if anchor else f"The mean of {groups} is set to 0"
    return Table(f"Elo from complete pairs of games; 400 Elo are odds of 10 to 1. {reference}.", columns, rows)


def pairing_table(report: Report) -> Table:
    """Return the table with one row per player and opponent."""
    columns = (
        Column("Player", PLAYER),
        Column("Opponent", PLAYER),
        Column("Games", COUNT),
        Column("Wins", COUNT),
        Column("Draws", COUNT),
        Column("Losses", COUNT),
        Column("Score", SHARE),
        Column("95% interval", SHARE_INTERVAL, ("low", "high")),
    )
    standings = report.summary.standings
    met = set(standings.pairs) | {(second, first) for first, second in standings.pairs}
    place = {name: number for number, name in enumerate(report.order)}
    rows = []
    for name, other in sorted(met, key=lambda pair: (place[pair[0]], place[pair[1]])):
        score = score_between(standings, name, other) if name != other else None
        if score is not None:
            rows.append((name, other, score.games, score.wins, score.draws, score.losses, score.share, score.interval))
    return Table("Scores between players", columns, tuple(rows))


def _ratings(report: Report) -> list[Part]:
    ratings = report.ratings
    parts: list[Part] = []
    for number, group in enumerate(ratings.groups, 1):
        players = [ratings[name] for name in group.players][:_PLOT_PLAYERS]
        title = f"Ratings{f' of group {number}' if len(ratings.groups) > 1 else ''} with 95% intervals"
        parts.append(_rating_figure(players, title))
    table = rating_table(report)
    parts.append(table if len(ratings.groups) > 1 else table.without("Group"))
    return parts


def _rating_figure(players: Sequence[PlayerRating], title: str) -> Figure:
    finite = [end for player in players for end in (player.elo, player.low, player.high) if math.isfinite(end)]
    edge = max(200.0, (max(finite) - min(finite)) * 0.2)
    low, high = min(finite) - edge, max(finite) + edge
    rows = [Interval(player.name, player.elo, max(player.low, low), min(player.high, high)) for player in players]
    is_open = any(math.isinf(end) for player in players for end in (player.low, player.high))
    caption = f"{title}. Lines that reach the edge are open: the results set no limit." if is_open else f"{title}."
    return Figure(interval_plot(rows, title=title, axis="rating, Elo", label=format_elo), caption)


def _remark_on_size(report: Report) -> list[Part]:
    if len(report.order) <= _MATRIX_PLAYERS:
        return []
    return [Paragraph(f"The first {_MATRIX_PLAYERS} of {len(report.order)} players; crosstable.csv has all of them.", "remark")]


def _matrix(report: Report, caption: str, cell: Callable[[int, int], Shaded | None]) -> Table:
    """Return a table of players against players.

    cell: returns the cell of two different players, given by number.
    """
    names = report.order[:_MATRIX_PLAYERS]
    columns = (Column("Player", PLAYER), *(Column(name, SHADED) for name in names))
    rows = tuple(
        (name, *(cell(number, other) if number != other else None for other in range(len(names)))) for number, name in enumerate(names)
    )
    return Table(caption, columns, rows)


def _superiority(report: Report) -> list[Part]:
    superiority = report.ratings.superiority

    def cell(number: int, other: int) -> Shaded | None:
        probability = float(superiority[number, other])
        return None if math.isnan(probability) else Shaded(probability, format_likelihood(probability))

    return [*_remark_on_size(report), _matrix(report, "Likelihood that the player of the row is stronger than that of the column", cell)]


def _cross_table(report: Report) -> list[Part]:
    standings, names = report.summary.standings, report.order

    def cell(number: int, other: int) -> Shaded | None:
        score = score_between(standings, names[number], names[other])
        if score is None:
            return None
        return Shaded(score.share, format_share(score.share), (format_share_interval(score.interval), format_count(score.games, "game")))

    caption = "Score of the row against the column: share of the points with its 95% interval, and games; stronger colors are higher scores"
    parts: list[Part] = [*_remark_on_size(report), _matrix(report, caption, cell)]
    if standings.incomplete:
        missing = format_count(len(standings.incomplete), "game")
        parts.append(Paragraph(f"Not in this table, nor in the ratings: {missing} without the other game of the pair.", "remark"))
    return parts


def _colors(report: Report) -> list[Part]:
    standings = report.summary.standings
    white, draws, black = (int(count) for count in standings.colors)
    games = standings.games
    parts: list[Part] = [
        Paragraph(
            f"Black won {format_count(black, 'game')} ({format_share(black / games)}), White {white:,} ({format_share(white / games)}), "
            f"and {draws:,} were draws ({format_share(draws / games)})."
        )
    ]
    if report.ratings.groups:
        advantage, draw = report.ratings.black_advantage, report.ratings.draw_probability
        parts.append(
            Paragraph(
                f"Moving first was worth {format_elo(advantage.value)} Elo ({format_elo_interval(_ends(advantage))}) with these openings; "
                f"the probability of a draw between equal players is {format_share(draw.value)} "
                f"({format_share(draw.low)} to {format_share(draw.high)})."
            )
        )
    columns = [Column("Player", PLAYER)]
    for color in COLOR_NAMES:
        columns.append(Column(f"{color.capitalize()}: wins", COUNT))
        columns += [Column("draws", COUNT), Column("losses", COUNT), Column("score", SHARE)]
    bars: list[Bar] = []
    rows = []
    for name in report.order:
        row: list[Any] = [name]
        totals = standings.totals[name]
        for color, counts in zip(COLOR_NAMES, (totals.with_black, totals.with_white), strict=True):
            losses, drawn, wins = (int(count) for count in counts)
            number = wins + drawn + losses
            bars.append(Bar(name, color, (wins, drawn, losses)))
            row += [wins, drawn, losses, (wins + drawn / 2) / number if number else None]
        rows.append(tuple(row))
    plot = stacked_plot(bars[: 2 * _PLOT_PLAYERS], title="Wins, draws and losses with each color", axis="share of the games, %")
    caption = "Wins, draws and losses; upper bar with Black, lower bar with White."
    parts.append(Figure(plot, caption, (("win", "wins"), ("draw", "draws"), ("loss", "losses"))))
    parts.append(Table("Results with Black and with White, all games", tuple(columns), tuple(rows)))
    return parts


def _ends(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def _differences(report: Report) -> list[Part]:
    summary = report.summary
    by_discs, with_empties = summary.differences, summary.differences_with_empties
    names = [name for name in report.order if by_discs.get(name)]
    largest = min(_MAX_DIFFERENCE, max(abs(value) for name in names for value in by_discs[name]))
    width = 8 if largest > 36 else 4 if largest > 16 else 2
    bins = max(1, math.ceil((largest - width / 2) / width))
    edges = [width * number - width / 2 for number in range(-bins, bins + 2)]
    figures = []
    for name in names[:_PLOT_PLAYERS]:
        shares = histogram(list(by_discs[name]), list(by_discs[name].values()), edges)
        x_axis = "disc difference (own − opponent's)"
        title = f"Disc differences of {name}"
        svg = histogram_plot(shares, edges, title=title, x_axis=x_axis, y_axis="games, %", reference=0, width=320)
        figures.append(Figure(svg, f"{name}: mean {format_signed(_mean(by_discs[name]), 1)}"))
    columns = [Column("Player", PLAYER), Column("Mean", MEAN_DIFFERENCE), *(Column(title, DIFFERENCE) for title in _QUANTILES)]
    caption = "Disc difference at the end of a game by discs, own minus opponent's: mean and quantiles"
    if with_empties != by_discs:
        columns.append(Column("Mean with empties", MEAN_DIFFERENCE))
        caption += "; mean with the empty squares of finished games to the winner"
    rows = tuple(
        (name, _mean(by_discs[name]), *(quantile(by_discs[name], share) for share in _QUANTILES.values()), _mean(with_empties[name]))
        for name in names
    )
    return [Figures(tuple(figures)), Table(caption, tuple(columns), tuple(row[: len(columns)] for row in rows))]


def _mean(counts: dict[int, int]) -> float:
    return sum(value * count for value, count in counts.items()) / sum(counts.values())


def _openings(report: Report) -> list[Part]:
    standings = report.summary.standings
    openings = standings.openings
    games = sum(int(counts.sum()) for counts in openings.values())
    number = f"The first {MAX_OPENINGS:,} openings" if len(openings) >= MAX_OPENINGS else format_count(len(openings), "opening")
    text = f"{number}, {games / len(openings):.1f} games each on average."
    if games / len(openings) < 20:
        text += " With so few games each, lopsided scores may be chance, or due to the strength of the players that met."
    shares = [float((counts[1] / 2 + counts[2]) / counts.sum()) for counts in openings.values()]
    edges = [10 * number - 5 for number in range(12)]
    plot = histogram_plot(
        histogram([100 * share for share in shares], [1] * len(shares), edges),
        edges,
        title="Black's score in each opening",
        x_axis="Black's score in the opening, %",
        y_axis="openings, %",
        reference=50,
    )
    parts: list[Part] = [Paragraph(text), Figure(plot, "Openings by Black's score; 50% is even.")]
    lopsided = lopsided_openings(standings, _OPENINGS_SHOWN)
    if not lopsided:
        return [*parts, Paragraph("All openings are even.")]
    columns = (
        Column("", INTEGER),
        Column("Position", BOARD),
        Column("Opening", LONG_TEXT),
        Column("To move", TEXT),
        Column("Games", COUNT),
        Column("Black's score", SHARE),
        Column("95% interval", SHARE_INTERVAL),
    )
    rows = []
    for rank, score in enumerate(lopsided, 1):
        position = Position.parse(score.opening)
        opening = report.summary.prefixes.get(score.opening) or score.opening
        side = COLOR_NAMES[position.side_to_move].capitalize()
        rows.append((rank, position, opening, side, score.games, score.share, score.interval))
    caption = "Openings that favor a color most clearly; each game is one observation of the interval"
    return [*parts, Table(caption, columns, tuple(rows))]


def _faults(report: Report) -> list[Part]:
    standings = report.summary.standings
    reasons = [reason for reason in standings.reasons if reason != "played out"]
    if not reasons:
        return [Paragraph("No game was lost by an illegal move, an error, a time limit or a dead process.")]
    counts = Table(
        "Games lost by faults, by player and reason",
        (Column("Player", PLAYER), *(Column(reason, COUNT) for reason in reasons)),
        tuple(
            (name, *(standings.totals[name].faults.get(reason, 0) for reason in reasons))
            for name in report.order
            if standings.totals[name].faults
        ),
    )
    rows = []
    for record in report.summary.faults:
        plies = record.num_moves
        opponent = record.white if loser(record) == record.black else record.black
        rows.append((loser(record), GameLink(record.game, plies), opponent, record.reason, plies + 1, record.detail))
    total = sum(standings.reasons[reason] for reason in reasons)
    shown = "All of them" if total == len(rows) else f"{len(rows)} of {total:,} such games"
    columns = (
        Column("Lost by", PLAYER),
        Column("Game", GAME),
        Column("Against", PLAYER),
        Column("Reason", TEXT),
        Column("Move", INTEGER),
        Column("Detail", LONG_TEXT),
    )
    return [counts, Table(f"{shown}, to be replayed below", columns, tuple(rows))]


def _time(report: Report) -> list[Part]:
    summary = report.summary
    times = [(name, summary.seconds_per_move(name)) for name in report.order]
    columns = (
        Column("Player", PLAYER),
        Column("ms per move", MILLISECONDS),
        Column("Total, s", SECONDS),
        Column("Slowest game, s", SECONDS),
        Column("Its number", INTEGER),
    )
    rows = tuple(
        (name, seconds, summary.standings.totals[name].seconds, *summary.slowest.get(name, (None, None))) for name, seconds in times
    )
    caption = "Time per player. Half of the moves of a game count as the player's own; positions of a batch share its time"
    table = Table(caption, columns, rows)
    positive = [Interval(name, 1000 * seconds, 1000 * seconds, 1000 * seconds) for name, seconds in times if seconds and seconds < 1e9]
    if len(positive) < 2:
        return [table]
    svg = interval_plot(
        positive[:_PLOT_PLAYERS], title="Time per move", axis="time per move, ms (logarithmic)", logarithmic=True, label="{:.3g}".format
    )
    return [Figure(svg, "Mean time per move."), table]


def _accuracy(report: Report) -> list[Part]:
    judged = {name: report.accuracy[name] for name in report.order if name in report.accuracy}
    limits = sorted({(band.low, band.high) for bands in judged.values() for band in bands if band.moves})
    parts: list[Part] = [Paragraph(report.accuracy_note)]
    if not limits:
        return parts
    by_band: dict[tuple[int, int], list[tuple[str, BandAccuracy]]] = {ends: [] for ends in limits}
    for name, bands in judged.items():
        for band in bands:
            if band.moves:
                by_band[band.low, band.high].append((name, band))
    figures = []
    for (low, high), players in by_band.items():
        rows = [
            Interval(name, 100 * band.outcome_kept_share, *(100 * end for end in band.outcome_kept_interval))
            for name, band in players[:_PLOT_PLAYERS]
        ]
        title = f"Moves that kept the outcome with {low} to {high} empty squares"
        figures.append(Figure(interval_plot(rows, title=title, axis="outcome kept, % of the moves"), f"{title}."))
    columns = (
        Column("Player", PLAYER),
        Column("Empties", TEXT),
        Column("Moves", COUNT),
        Column("Outcome kept", SHARE_ESTIMATE),
        Column("Best move", SHARE_ESTIMATE),
        Column("Discs lost per move", DISCS_ESTIMATE),
    )
    table_rows = tuple(
        (
            name,
            f"{band.low}–{band.high}",
            band.moves,
            (band.outcome_kept_share, band.outcome_kept_interval),
            (band.best_move_share, band.best_move_interval),
            (band.mean_discs_lost, band.discs_lost_interval),
        )
        for name, bands in judged.items()
        for band in bands
        if band.moves
    )
    caption = "Moves with an alternative, compared with perfect play, with 95% intervals; a best move keeps the score of perfect play"
    return [*parts, Figures(tuple(figures), is_wide=True), Table(caption, columns, table_rows)]


def _replay(report: Report) -> list[Part]:
    games = report.summary.standings.games
    if len(report.games) == games:
        text = "All games." if games > 1 else "The only game."
    else:
        text = f"{len(report.games):,} of {games:,} games: a sample that is even over the pairings"
        text += ", and games lost by faults." if report.summary.faults else "."
    return [Replay(text, tuple(replayed_game(record, game) for record, game in report.games))]


def _settings(report: Report) -> list[Part]:
    parts: list[Part] = []
    if report.command:
        parts += [
            Paragraph("To play it again:"),
            Code(report.command),
            Paragraph("The games repeat if the agents, their files and the versions below are the same.", "remark"),
        ]
    else:
        parts.append(Paragraph("The journal does not contain the settings of the tournament."))
    sessions = report.summary.sessions
    settings: dict[str, Any] = next((session["settings"] for session in sessions if isinstance(session.get("settings"), dict)), {})
    if settings:
        rows = tuple((str(key), _plain(value)) for key, value in settings.items())
        parts.append(Table("Settings", (Column("Setting", NAME), Column("Value", LONG_TEXT)), rows))
    if sessions:
        shown = "" if len(sessions) == report.summary.num_sessions else f"; the first and the last {len(sessions) - 1}"
        rows = tuple((_plain(session.get("started", "?")), _versions(session.get("versions"))) for session in sessions)
        caption = f"{format_count(report.summary.num_sessions, 'session')}{shown}"
        parts.append(Table(caption, (Column("Began", NAME), Column("Versions", LONG_TEXT)), rows))
    return parts


def _versions(versions: object) -> str:
    return ", ".join(f"{key} {_plain(value)}" for key, value in versions.items()) if isinstance(versions, dict) else ""


def _plain(value: object) -> str:
    """Return a JSON value as text, a list without its brackets."""
    if isinstance(value, list):
        return ", ".join(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_SECTIONS: Final[tuple[tuple[str, str, Callable[[Report], list[Part]]], ...]] = (
    ("ratings", "Ratings", _ratings),
    ("superiority", "Who is stronger", _superiority),
    ("cross-table", "Cross table", _cross_table),
    ("colors", "Colors and draws", _colors),
    ("differences", "Disc differences", _differences),
    ("openings", "Openings", _openings),
    ("faults", "Games lost by faults", _faults),
    ("time", "Time", _time),
    ("accuracy", "Endgame accuracy", _accuracy),
    ("replay", "Games to replay", _replay),
    ("settings", "Settings", _settings),
)
