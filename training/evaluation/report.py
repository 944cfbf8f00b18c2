"""The report of a tournament: a page with everything in it, and the same numbers as Markdown and CSV.

`python -m training.evaluation.report DIR` reads DIR/games.jsonl and writes, beside it, report.html, report.md, games.csv,
crosstable.csv and ratings.csv.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Final, TextIO

from othello_env.errors import RecordFormatError
from othello_env.game import Game
from training.evaluation.accuracy import BandAccuracy, exact_solvers, judge_games
from training.evaluation.journal import GameRecord, read_journal
from training.evaluation.ratings import fit_ratings, parse_anchor
from training.evaluation.report_page import (
    counted,
    elo,
    estimate_text,
    format_page,
    likelihood,
    milliseconds,
    percent,
    rating_interval,
    session_rows,
    settings_rows,
    signed,
)
from training.evaluation.report_summary import Report, Summary, lopsided_openings, loser, score_between
from training.evaluation.tournament import JOURNAL

# Games on the page that can be replayed, besides those lost by faults.
_REPLAYS: Final = 200
_OPENINGS_SHOWN: Final = 12
_PROGRESS_GAMES: Final = 5000

Progress = Callable[[int], object]


def write_report(
    journal: Path,
    out: Path,
    *,
    accuracy_games: int = 200,
    anchor: tuple[str, float] | None = None,
    progress: Progress = lambda _: None,
) -> None:
    """Write report.html, report.md, games.csv, crosstable.csv and ratings.csv into a folder, which is made where it is not there.

    accuracy_games: the moves of so many games are compared with perfect play; with 0, or without numba, that is left out. anchor: a
    player and its rating. progress: told now and then how many games have been read. The journal is read once. Raises
    `RecordFormatError` where it is damaged, `ValueError` for an anchor that nobody knows, `OSError`.
    """
    if accuracy_games < 0:
        raise ValueError(f"accuracy games {accuracy_games}: must not be negative")
    summary = Summary(sample_limit=max(_REPLAYS, accuracy_games))
    entries = read_journal(journal)
    first = next(entries, None)  # a journal that is not there makes no folder
    out.mkdir(parents=True, exist_ok=True)
    with _written(out / "games.csv") as file:
        _read_games(entries if first is None else _chained(first, entries), summary, file, progress=progress)
    ratings = fit_ratings(summary.standings, anchor=anchor)
    accuracy, note = _judged(summary.sample.games(accuracy_games))
    games = {record.game: record for record in (*summary.sample.games(_REPLAYS), *summary.faults)}
    records = tuple(games[number] for number in sorted(games))
    report = Report(journal.name, summary, ratings, accuracy, note, records, tuple(_replayed(record) for record in records))
    with _written(out / "crosstable.csv") as file:
        _write_cross_table(report, file)
    with _written(out / "ratings.csv") as file:
        _write_ratings(report, file)
    with _written(out / "report.md") as file:
        file.write(format_markdown(report))
    with _written(out / "report.html") as file:
        file.write(format_page(report))


def _chained(
    first: dict[str, object] | GameRecord, others: Iterator[dict[str, object] | GameRecord]
) -> Iterator[dict[str, object] | GameRecord]:
    yield first
    yield from others


@contextmanager
def _written(path: Path) -> Iterator[TextIO]:
    """A text file that appears, or replaces the old one, when all of it is written. Names that are no Unicode are escaped."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _read_games(entries: Iterable[dict[str, object] | GameRecord], summary: Summary, file: TextIO, *, progress: Progress) -> None:
    """Count all games, and write each as a line of CSV."""
    names = [field.name for field in fields(GameRecord)]
    columns = [part for name in names for part in (("black_seconds", "white_seconds") if name == "seconds" else (name,))]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for entry in entries:
        if not isinstance(entry, GameRecord):
            summary.add_session(entry)
            continue
        summary.add(entry)
        row: list[object] = []
        for name in names:
            value = getattr(entry, name)
            row += value if name == "seconds" else [" ".join(map(str, value)) if name == "seed" else value]
        writer.writerow(row)
        if summary.standings.games % _PROGRESS_GAMES == 0:
            progress(summary.standings.games)


def _replayed(record: GameRecord) -> Game:
    try:
        return record.replayed()
    except ValueError as error:
        raise RecordFormatError(f"game {record.game}: {error}") from None


def _judged(records: Sequence[GameRecord]) -> tuple[dict[str, tuple[BandAccuracy, ...]], str]:
    """The endgame moves of games compared with perfect play, and a sentence on it."""
    if not records:
        return {}, "The endgames were not compared with perfect play."
    try:
        solvers = exact_solvers()
    except ImportError as error:
        return {}, f"The endgames were not compared with perfect play: {error}."
    games = [_replayed(record) for record in records]
    judged = judge_games(games, [(record.black, record.white) for record in records], solvers=solvers)
    if not any(band.moves for bands in judged.values() for band in bands):
        return {}, "No endgame was reached in which there was a choice."
    which = "the only game" if len(games) == 1 else f"{len(games)} games, a sample that is even over the pairings,"
    return judged, f"The endgame moves of {which} compared with perfect play by the exact solver."


def _write_cross_table(report: Report, file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["player", "opponent", "games", "wins", "draws", "losses", "score", "low", "high"])
    for name in report.order:
        for other in report.order:
            score = score_between(report.summary.standings, name, other) if name != other else None
            if score is not None:
                counts = report.summary.standings.pair_counts(name, other)
                results = counts.wins, counts.draws, counts.losses
                writer.writerow([name, other, score.games, *results, *(f"{part:.6f}" for part in (score.share, score.low, score.high))])


def _write_ratings(report: Report, file: TextIO) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["rank", "player", "elo", "low", "high", "games", "score", "group"])
    for rank, player in enumerate(report.ratings.players, 1):
        numbers = [f"{part:.3f}" for part in (player.elo, player.low, player.high)]
        writer.writerow([rank, player.name, *numbers, player.games, f"{player.score:.6f}", player.group + 1])


def format_markdown(report: Report) -> str:
    """The numbers of the report as Markdown."""
    summary, standings = report.summary, report.summary.standings
    lines = ["# Othello tournament", ""]
    dates = f", from {summary.first_ended} to {summary.last_ended}" if summary.first_ended else ""
    lines += [_text(f"{counted(len(report.order), 'player')}, {counted(standings.games, 'game')}{dates}. From {report.journal}."), ""]
    lines += [line for note in report.notes for line in (_text(note), "")]
    if standings.games:
        for title, content in (
            ("Ratings", _markdown_ratings(report)),
            ("Who is stronger", _markdown_superiority(report)),
            ("Cross table", _markdown_cross_table(report)),
            ("Colours and draws", _markdown_colours(report)),
            ("Openings", _markdown_openings(report)),
            ("Games lost by faults", _markdown_faults(report)),
            ("Time", _markdown_time(report)),
            ("Endgame accuracy", _markdown_accuracy(report)),
        ):
            lines += [f"## {title}", "", *content, ""]
    lines += ["## Settings", ""]
    if report.command:
        lines += ["    " + _literal(report.command), ""]
    lines += [*_rows(["setting", "value"], [[key, value] for key, value in settings_rows(report)]), ""]
    lines += [*_rows(["session", "versions"], [[started, versions] for started, versions in session_rows(report)]), ""]
    return "\n".join(lines)


def _literal(text: str) -> str:
    """A text for code, where nothing can be escaped."""
    return " ".join(text.replace("`", "'").split())


def _text(text: str) -> str:
    """A text in which Markdown and HTML find nothing to do."""
    escaped = "".join(f"\\{sign}" if sign in "\\`*_{}[]#|~!" else sign for sign in " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    marks = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (head, marks, *([_text(cell) for cell in row] for row in rows))]


def _markdown_ratings(report: Report) -> list[str]:
    rows = []
    for rank, player in enumerate(report.ratings.players, 1):
        interval, score = rating_interval(report, player), percent(player.score) if player.games else "–"
        rows.append([player.name, str(rank), elo(player.elo), interval, f"{player.games:,}", score, str(player.group + 1)])
    return _rows(["player", "rank", "Elo", "95% interval", "games", "score", "group"], rows)


def _markdown_superiority(report: Report) -> list[str]:
    chances = report.ratings.superiority
    rows = [
        [name, *("–" if row == column else likelihood(float(chances[row, column])) for column in range(len(report.order)))]
        for row, name in enumerate(report.order)
    ]
    head = ["likelihood", *(str(number) for number in range(1, len(report.order) + 1))]
    return ["That the player of the row is stronger than that of the column; these are the same in the same order.", "", *_rows(head, rows)]


def _markdown_cross_table(report: Report) -> list[str]:
    rows = []
    for name in report.order:
        row = [name]
        for other in report.order:
            score = score_between(report.summary.standings, name, other) if name != other else None
            row.append("–" if score is None else f"{percent(score.share)} ({100 * score.low:.1f}–{100 * score.high:.1f})")
        rows.append(row)
    head = ["score against", *(str(number) for number in range(1, len(report.order) + 1))]
    return ["The columns are the players of the rows in the same order; the score with its 95% interval.", "", *_rows(head, rows)]


def _markdown_colours(report: Report) -> list[str]:
    standings = report.summary.standings
    white, draws, black = (int(count) for count in standings.colors)
    lines = [f"Black won {black:,}, White {white:,}, and {draws:,} were draws.", ""]
    if report.ratings.groups:
        advantage, chance = estimate_text(report.ratings.colour_advantage, "elo"), estimate_text(report.ratings.draw_chance, "percent")
        lines += [f"To move first was worth {advantage} Elo; two equal players draw with a chance of {chance}.", ""]
    rows = []
    for name in report.order:
        totals = standings.totals[name]
        mean = signed(totals.disc_difference / totals.games, 1) if totals.games else "–"
        rows.append([name, *(str(int(count)) for counts in (totals.with_black, totals.with_white) for count in counts[::-1]), mean])
    head = ["player", "Black: wins", "draws", "losses", "White: wins", "draws", "losses", "mean disc difference"]
    return lines + _rows(head, rows)


def _markdown_openings(report: Report) -> list[str]:
    rows = []
    for score in lopsided_openings(report.summary.standings, _OPENINGS_SHOWN):
        name = report.summary.prefixes.get(score.opening) or score.opening
        rows.append([name, str(score.games), percent(score.share), f"{100 * score.low:.0f}–{100 * score.high:.0f}%"])
    if not rows:
        return ["All openings are even."]
    return ["Those that favour a colour most clearly:", "", *_rows(["opening", "games", "Black's score", "95% interval"], rows)]


def _markdown_faults(report: Report) -> list[str]:
    rows = [
        [loser(record), str(record.game), record.reason, str(len(record.moves) // 2 + 1), record.detail] for record in report.summary.faults
    ]
    return _rows(["lost by", "game", "reason", "move", "detail"], rows) or ["None."]


def _markdown_time(report: Report) -> list[str]:
    summary = report.summary
    rows = [[name, milliseconds(summary.seconds_per_move(name)), f"{summary.standings.totals[name].seconds:,.1f}"] for name in report.order]
    return _rows(["player", "ms a move", "s in all"], rows)


def _markdown_accuracy(report: Report) -> list[str]:
    rows = []
    for name in report.order:
        for band in report.accuracy.get(name, ()):
            if band.moves:
                low, high = band.outcome_kept_interval
                kept = f"{percent(band.outcome_kept_share)} ({100 * low:.1f}–{100 * high:.1f})"
                rows.append([name, f"{band.low}–{band.high}", str(band.moves), kept, f"{band.mean_discs_lost:.2f}"])
    return [_text(report.accuracy_note), "", *_rows(["player", "empties", "choices", "outcome kept", "discs lost a move"], rows)]


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluation.report",
        description="Make a page, Markdown and CSV from the journal of a tournament.",
    )
    parser.add_argument("source", type=Path, metavar="DIR|JOURNAL", help=f"the journal, or the folder with {JOURNAL} in it")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the report (default: that of the journal)")
    parser.add_argument("--anchor", metavar="NAME=ELO", help="the rating of one player (default: the mean is 0)")
    accuracy_help = "games whose endgames are compared with perfect play; 0 for none (default: 200)"
    parser.add_argument("--accuracy-games", type=int, default=200, metavar="N", help=accuracy_help)
    arguments = parser.parse_args(argv)
    start = time.perf_counter()
    source: Path = arguments.source
    journal = source / JOURNAL if source.is_dir() else source
    out: Path = arguments.out or journal.parent
    try:
        anchor = None if arguments.anchor is None else parse_anchor(arguments.anchor)
        write_report(journal, out, accuracy_games=arguments.accuracy_games, anchor=anchor, progress=_show_progress)
    except (ArithmeticError, OSError, ValueError) as error:
        sys.exit(f"report: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"{out / 'report.html'} ({time.perf_counter() - start:.1f} s); beside it report.md, games.csv, crosstable.csv and ratings.csv")


def _show_progress(games: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{games:,} games", end="\r", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
