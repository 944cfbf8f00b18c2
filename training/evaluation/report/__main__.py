"""Make the report of a tournament: `python -m training.evaluation.report`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from othello_env.command import Parser, Progress, command
from training.evaluation.journal import find_journal
from training.evaluation.ratings import parse_anchor
from training.evaluation.report import write_report
from training.evaluation.report.files import Progress as OnProgress


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: its arguments, by default those of the process."""
    parser = Parser(
        prog="python -m training.evaluation.report",
        description="Make a page, Markdown and CSV from the journal of a tournament.",
    )
    parser.add_argument("source", type=Path, metavar="DIR", help="folder of a tournament, or its journal games.jsonl")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the report (default: that of the journal)")
    parser.add_argument("--anchor", metavar="NAME=ELO", help="rating of one player, which shifts all ratings (default: their mean is 0)")
    accuracy_help = "number of games whose endgame moves are compared with perfect play; 0 for none (default: 200)"
    parser.add_argument("--accuracy-games", type=int, default=200, metavar="N", help=accuracy_help)
    arguments = parser.parse_args(argv)
    start = time.perf_counter()
    with command("report"):
        anchor = None if arguments.anchor is None else parse_anchor(arguments.anchor)
        journal = find_journal(arguments.source)
        out: Path = arguments.out or journal.parent
        with _shown_progress() as progress:
            write_report(journal, out, accuracy_games=arguments.accuracy_games, anchor=anchor, progress=progress)
        print(
            f"{out / 'report.html'} ({time.perf_counter() - start:.1f} s); beside it report.md, games.csv, crosstable.csv and ratings.csv"
        )


@contextmanager
def _shown_progress() -> Iterator[OnProgress]:
    """Yield a callback that draws a progress bar for each kind of work in turn."""
    bars: dict[str, Progress] = {}

    def show(work: str, done: int, total: int) -> None:
        if work not in bars:
            for bar in bars.values():
                bar.close()
            bars[work] = Progress(total, unit="moves" if "endgames" in work else "lines", description=work)
        bars[work].advance(done, total)

    try:
        yield show
    finally:
        for bar in bars.values():
            bar.close()


if __name__ == "__main__":
    main()
