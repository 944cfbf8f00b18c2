"""Rate the players of a tournament: `python -m training.evaluation.ratings`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from othello_env.command import Parser, Progress, command
from training.evaluation.journal import GameRecord, count_lines, find_journal, read_journal
from training.evaluation.ratings import fit_ratings, format_ratings, parse_anchor
from training.evaluation.standings import Standings


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: its arguments, by default those of the process."""
    parser = Parser(prog="python -m training.evaluation.ratings", description="Rate the players of a tournament.")
    parser.add_argument("source", type=Path, metavar="DIR", help="folder of a tournament, or its journal games.jsonl")
    parser.add_argument("--anchor", metavar="NAME=ELO", help="rating of one player, which shifts all ratings (default: their mean is 0)")
    arguments = parser.parse_args(argv)
    with command("ratings"):
        anchor = None if arguments.anchor is None else parse_anchor(arguments.anchor)
        journal = find_journal(arguments.source)
        standings = Standings()
        with Progress(count_lines(journal), unit="lines", description="reading") as progress:
            for entry in read_journal(journal):
                if isinstance(entry, GameRecord):
                    standings.add(entry)
                progress.update()
        ratings = fit_ratings(standings, anchor=anchor)
        if not ratings.groups:
            raise ValueError(f"{journal} has no complete pair of games")
        print(format_ratings(ratings))


if __name__ == "__main__":
    main()
