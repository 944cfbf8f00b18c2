"""`python -m othello_env.records`: convert, describe and check files of games.

The subcommands are `convert IN OUT`, `info FILE` and `check FILE`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from othello_env.command import EXIT_FAILURE, EXIT_USAGE, Parser, Progress, command
from othello_env.records.record import GameRecord
from othello_env.records.registry import FORMATS, format_of, read_records, write_records
from othello_env.records.wthor import NAME_SUFFIXES, read_names

_FORMATS: Final = "formats:\n" + "\n".join(
    f"  {form.name:11} {' '.join(form.suffixes) or '(by --to)':20} {form.description}" for form in FORMATS.values()
)
_CHECK: Final = """\
Prints the games that cannot be read, and those whose recorded result contradicts the board. A game that stops early has
no result on the board and is only counted.

exit codes: 0 all is well, 1 a result contradicts the board, 2 a game cannot be read"""
_CONVERT: Final = """\
A game without a recorded result gets the result on the board where the format of OUT needs one. The names for a .wtb file
are read from .jou and .trn files of the same name, or from WTHOR.JOU and WTHOR.TRN, in its folder, and written beside OUT.

exit codes: 0 all games are converted, 1 games are left out (--skip), 2 a game cannot be read or written

"""
_KILOBYTE: Final = 1000


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: its arguments, by default those of the process."""
    parser = Parser(
        prog="python -m othello_env.records",
        description="Convert, describe and check files of Othello games.",
        epilog=_FORMATS,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, run, summary, epilog in (
        ("convert", _convert, "write the games of one file in the format of another", _CONVERT + _FORMATS),
        ("info", _info, "describe a file: its format, games, players, dates and results", _FORMATS),
        ("check", _check, "replay every game and compare the recorded results with the board", f"{_CHECK}\n\n{_FORMATS}"),
    ):
        part = commands.add_parser(
            name,
            help=summary,
            description=f"{summary.capitalize()}.",
            epilog=epilog,
        )
        part.set_defaults(run=run)
        part.add_argument("file", type=Path, metavar="IN" if name == "convert" else "FILE", help="file of games or positions")
        if name == "convert":
            part.add_argument("out", type=Path, metavar="OUT", help="file to write; an existing one is replaced")
            part.add_argument("--to", choices=FORMATS, metavar="FORMAT", help="format of OUT (default: by its name)")
            part.add_argument("--skip", action="store_true", help="leave out, and print, games that cannot be read or written")
        part.add_argument(
            "--from", dest="format", choices=FORMATS, metavar="FORMAT", help="format of the file (default: by its first bytes or name)"
        )
        part.add_argument("--encoding", help="encoding of a text, such as euc_jp (default: UTF-8, Shift-JIS or Latin-1, whichever fits)")
    arguments = parser.parse_args(argv)
    with command(f"records {arguments.command}"):
        arguments.run(arguments)


@contextmanager
def _reading(arguments: argparse.Namespace, errors: list[ValueError], *, stop: bool) -> Iterator[Iterator[GameRecord]]:
    """Open the records of the file, with progress.

    errors: collects the errors of games that cannot be read; with `stop` the first one is raised.
    """
    rest = 0

    def count(num_bytes: int) -> None:
        nonlocal rest
        rest += num_bytes
        progress.update(rest // _KILOBYTE)
        rest %= _KILOBYTE

    def report(error: ValueError) -> None:
        errors.append(error)
        progress.write(str(error))

    total = arguments.file.stat().st_size // _KILOBYTE
    with Progress(total, unit="kB", description=arguments.file.name) as progress:
        yield read_records(
            arguments.file,
            arguments.format,
            encoding=arguments.encoding,
            on_error=None if stop else report,
            on_progress=count,
        )


def _convert(arguments: argparse.Namespace) -> None:
    errors: list[ValueError] = []
    with _reading(arguments, errors, stop=not arguments.skip) as records:

        def skip(error: ValueError) -> None:
            errors.append(error)
            print(error, flush=True)

        num_written = write_records(arguments.out, records, arguments.to, on_error=skip if arguments.skip else None)
    print(f"{num_written:,} records written to {arguments.out}" + (f", {len(errors):,} left out" if errors else ""))
    if errors:
        sys.exit(EXIT_FAILURE)


def _info(arguments: argparse.Namespace) -> None:
    form = arguments.format or format_of(arguments.file)
    described = f"{form} ({FORMATS[form].description})"
    if arguments.file.suffix.lower() in NAME_SUFFIXES.values():
        names = read_names(arguments.file)
        _print_lines({"format": described, "names": f"{len(names):,}" + (f", from {names[0]!r} to {names[-1]!r}" if names else "")})
        return
    errors: list[ValueError] = []
    counts: Counter[str] = Counter()
    results: Counter[str] = Counter()
    sizes: set[int] = set()
    dates: set[str] = set()
    players: set[str] = set()
    events: set[str] = set()
    lengths: Counter[int] = Counter()
    with _reading(arguments, errors, stop=False) as records:
        for record in records:
            counts[_kind_of(record)] += 1
            counts["contradictions"] += bool(record.contradictions())
            results[_describe_result(record)] += 1
            sizes.add(record.game.start.board_size)
            lengths[len(record.game.moves)] += 1
            dates |= {record.date} - {""}
            players |= {record.black, record.white} - {""}
            events |= {record.event} - {""}
    total = lengths.total()
    _print_lines(
        {
            "format": described,
            "records": f"{total:,}: {_describe_kinds(counts)}",
            "boards": ", ".join(f"{size}x{size}" for size in sorted(sizes)),
            "moves": f"{min(lengths)} to {max(lengths)}, {sum(k * n for k, n in lengths.items()) / total:.1f} a game" if total else "",
            "dates": f"{min(dates)} to {max(dates)}" if len(dates) > 1 else "".join(dates),
            "players": f"{len(players):,}" if players else "",
            "events": f"{len(events):,}" if events else "",
            "results": ", ".join(f"{name} {number:,}" for name, number in results.most_common()),
            "contradictions": f"{counts['contradictions']:,} (`check` lists them)" if counts["contradictions"] else "0",
            "unreadable": f"{len(errors):,}",
        }
    )


def _print_lines(lines: dict[str, str]) -> None:
    for name, text in lines.items():
        if text:
            print(f"{name:14} {text}")


def _check(arguments: argparse.Namespace) -> None:
    errors: list[ValueError] = []
    counts: Counter[str] = Counter()
    with _reading(arguments, errors, stop=False) as records:
        for record in records:
            counts[_kind_of(record)] += 1
            contradictions = record.contradictions()
            counts["contradictory"] += bool(contradictions)
            for text in contradictions:
                print(f"{record.place}: {text}", flush=True)
    print(f"{_describe_kinds(counts)}; {counts['contradictory']:,} contradict their result, {len(errors):,} cannot be read")
    if errors:
        sys.exit(EXIT_USAGE)
    if counts["contradictory"]:
        sys.exit(EXIT_FAILURE)


def _kind_of(record: GameRecord) -> str:
    if record.game.moves:
        return "complete" if record.is_complete else "early"
    return "position"


def _describe_kinds(counts: Counter[str]) -> str:
    return f"{counts['complete']:,} complete games, {counts['early']:,} that stop early, {counts['position']:,} positions"


def _describe_result(record: GameRecord) -> str:
    if record.result is None:
        return "none"
    if record.result.outcome is None:
        return "unfinished" if record.result.is_unfinished else "unclear"
    return ("draw", "Black", "White")[record.result.outcome]


if __name__ == "__main__":
    main()
