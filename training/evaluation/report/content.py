"""Contents of the report of a tournament."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from othello_env.command import format_command
from othello_env.errors import RecordFormatError
from othello_env.game import Game
from training.evaluation.accuracy import BandAccuracy
from training.evaluation.journal import GameRecord
from training.evaluation.ratings import Ratings
from training.evaluation.report.summary import Summary
from training.evaluation.tournament import DEFAULT_MOVE_SECONDS, read_settings


@dataclass(frozen=True, slots=True)
class Report:
    """Contents of a report.

    journal: name of the file. accuracy: endgame accuracy of each player by bands of empty squares;
    empty if it was not measured. accuracy_note: a sentence about the accuracy. games: the games
    that can be replayed, with their moves.
    """

    journal: str
    summary: Summary
    ratings: Ratings
    accuracy: dict[str, tuple[BandAccuracy, ...]]
    accuracy_note: str
    games: tuple[tuple[GameRecord, Game], ...]

    @property
    def order(self) -> list[str]:
        """Players, best first."""
        return [player.name for player in self.ratings.players]

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader must know before the numbers."""
        standings, distinct = self.summary.standings, self.summary.distinct
        notes = [] if standings.games else ["No game has been played yet."]
        notes += self.ratings.notes
        if distinct.estimate < 0.95 * standings.games:
            share = f"{'' if distinct.is_exact else 'about '}{distinct.estimate:,} of the {standings.games:,} games"
            notes.append(f"Only {share} are distinct: the intervals are too narrow. Use more varied openings, or --epsilon.")
        if standings.games and standings.colors[1] == standings.games:
            notes.append("All games are draws.")
        return notes

    @property
    def command(self) -> str | None:
        """Command that plays this tournament again; None if the journal has no valid settings."""
        for session in self.summary.sessions:
            try:
                settings = read_settings(session, Path(self.journal))
            except RecordFormatError:
                continue
            schedule = {"round_robin": [], "gauntlet": ["--gauntlet"], "ladder": ["--ladder"]}[settings.schedule]
            options = {"--games": settings.games, "--openings": settings.openings, "--seed": settings.seed}
            if settings.epsilon:
                options["--epsilon"] = settings.epsilon
            if settings.board_size != 8:
                options["--board-size"] = settings.board_size
            if settings.move_seconds != DEFAULT_MOVE_SECONDS:
                options["--move-seconds"] = settings.move_seconds
            test = [] if settings.sprt is None else ["--sprt", *map(str, settings.sprt)]
            words = [*settings.players, *schedule, *test, *(str(word) for option in options.items() for word in option), "--out", "DIR"]
            return format_command("python", "-m", "training.evaluation.tournament", *words)
        return None
