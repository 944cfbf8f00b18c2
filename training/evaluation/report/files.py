"""Files of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import Final, TextIO

from othello_env.atomic_file import open_atomically
from othello_env.errors import RecordFormatError
from othello_env.game import Game
from training.evaluation.accuracy import BandAccuracy, exact_solvers, judge_games
from training.evaluation.journal import GameRecord, count_lines, read_journal
from training.evaluation.ratings import fit_ratings
from training.evaluation.report.content import Report
from training.evaluation.report.markdown import format_markdown
from training.evaluation.report.page import format_page
from training.evaluation.report.section import build_document, pairing_table, rating_table
from training.evaluation.report.spreadsheet import game_writer, write_table
from training.evaluation.report.summary import Summary

# Maximum number of games on the page that can be replayed, besides those lost by faults.
_REPLAYS: Final = 200
# Number of lines of the journal between two calls of `progress`.
_LINES_PER_CALL: Final = 500

Progress = Callable[[str, int, int], object]
"""Called with the name of the work, the amount that is done, and the total amount."""


def write_report(
    journal: Path,
    out: Path,
    *,
    accuracy_games: int = 200,
    anchor: tuple[str, float] | None = None,
    progress: Progress = lambda _work, _done, _total: None,
) -> None:
    """Write report.html, report.md, games.csv, crosstable.csv and ratings.csv into a folder.

    The folder is created if it does not exist, and the journal is read once. accuracy_games: number
    of games whose endgame moves are compared with perfect play; with 0, or without numba, there is
    no such comparison. anchor: a player and its rating. Raises `RecordFormatError` if the journal
    is damaged, `ValueError` for an anchor that is not among the players, `OSError` if a file cannot
    be read or written.
    """
    if accuracy_games < 0:
        raise ValueError(f"accuracy games {accuracy_games}: must not be negative")
    num_lines = count_lines(journal)
    summary = Summary(sample_limit=max(_REPLAYS, accuracy_games))
    entries = read_journal(journal)
    first = next(entries, None)  # a journal that is damaged from the start makes no folder
    out.mkdir(parents=True, exist_ok=True)
    with _open_text(out / "games.csv") as file:
        write_game = game_writer(file)
        for number, entry in enumerate(chain(() if first is None else (first,), entries), 1):
            if isinstance(entry, GameRecord):
                summary.add(entry)
                write_game(entry)
            else:
                summary.add_session(entry)
            if number % _LINES_PER_CALL == 0:
                progress("reading", number, num_lines)
    report = _make_report(journal.name, summary, accuracy_games=accuracy_games, anchor=anchor, progress=progress)
    document = build_document(report)
    for name, table in (("crosstable.csv", pairing_table(report)), ("ratings.csv", rating_table(report))):
        with _open_text(out / name) as file:
            write_table(table, file)
    for name, text in (("report.md", format_markdown(document)), ("report.html", format_page(document))):
        with _open_text(out / name) as file:
            file.write(text)


def _open_text(path: Path) -> AbstractContextManager[TextIO]:
    """Open a text file that replaces the old one when it is complete.

    Invalid Unicode in names is escaped.
    """
    return open_atomically(path, "w", encoding="utf-8", errors="backslashreplace", newline="")


def _make_report(journal: str, summary: Summary, *, accuracy_games: int, anchor: tuple[str, float] | None, progress: Progress) -> Report:
    ratings = fit_ratings(summary.standings, anchor=anchor)
    accuracy, note = _judge(summary.sample.games(accuracy_games), progress)
    records = {record.game: record for record in (*summary.sample.games(_REPLAYS), *summary.faults)}
    games = tuple((records[number], _replay(records[number])) for number in sorted(records))
    return Report(journal, summary, ratings, accuracy, note, games)


def _replay(record: GameRecord) -> Game:
    """Return the game of a record.

    Raises `RecordFormatError` if its moves are illegal or have another result.
    """
    try:
        game = record.replayed()
    except ValueError as error:
        raise RecordFormatError(f"game {record.game}: {error}") from None
    difference = game.final.score("discs")
    if difference != record.disc_difference:
        raise RecordFormatError(f"game {record.game}: its moves end in a disc difference of {difference}, not {record.disc_difference}")
    return game


def _judge(records: Sequence[GameRecord], progress: Progress) -> tuple[dict[str, tuple[BandAccuracy, ...]], str]:
    """Compare the endgame moves of games with perfect play.

    Returns the accuracy of each player, and a sentence about it.
    """
    if not records:
        return {}, "The endgames were not compared with perfect play."
    try:
        solvers = exact_solvers()
    except ImportError as error:
        return {}, f"The endgames were not compared with perfect play: {error}."
    games = [_replay(record) for record in records]
    players = [(record.black, record.white) for record in records]
    judged = judge_games(games, players, solvers=solvers, progress=lambda done, total: progress("judging endgames", done, total))
    if not any(band.moves for bands in judged.values() for band in bands):
        return {}, "No endgame was reached in which there was a choice."
    which = "the only game" if len(games) == 1 else f"{len(games)} games, a sample that is even over the pairings,"
    return judged, f"The endgame moves of {which} compared with perfect play by the exact solver."
