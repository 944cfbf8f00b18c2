"""Tournaments: many agents, every opening twice with colours swapped, a journal that survives everything, ratings with intervals.

`python -m training.evaluation.tournament SPEC SPEC ... --openings random:8 --games 200 --out DIR` plays a round robin; `--gauntlet` the
first agent against each of the others; `--ladder` each agent against the next. Each game is in DIR/games.jsonl the moment it ends;
killed at any moment, `--out DIR --resume` goes on and ends with the same games as a run that was never interrupted.

Agents play in worker processes. The games do not depend on how many these are: what is random comes from the seed and the number of
the block of games, and blocks are cut before anybody knows who plays them.
"""

from __future__ import annotations

import argparse
import itertools
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, get_args

from filelock import FileLock, Timeout

from agents import Agent, AgentSpecError, agent_specs
from othello_env import backend
from othello_env.command import understands_ansi
from othello_env.errors import RecordFormatError
from othello_env.squares import BOARD_SIZES
from training.evaluation.journal import GameRecord, Journal, read_journal
from training.evaluation.opening_book import OpeningBook
from training.evaluation.ratings import fit_ratings, format_ratings, parse_anchor
from training.evaluation.referee import Pairs
from training.evaluation.sprt import Sprt, format_state
from training.evaluation.standings import Standings, pair_shares
from training.evaluation.workers import Block, Player, WorkerError, WorkerPool, make_player, play_block

Schedule = Literal["round_robin", "gauntlet", "ladder"]

JOURNAL: Final = "games.jsonl"
DEFAULT_MOVE_SECONDS: Final = 30.0

# Games that are played in lockstep: enough for batches, few enough that all workers have something to do. Pairs of games.
_LARGEST_BLOCK: Final = 1024
_BLOCKS_PER_PAIRING: Final = 8

# Between two pictures of the table on a terminal, and two lines elsewhere; seconds.
_DRAW_SECONDS: Final = 0.5
_LOG_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides which games are played. Raises `ValueError` for what cannot be played.

    players: names, of specs or of agents that are handed over. games: for each two players that meet, even. openings: as
    `OpeningBook` names them. epsilon: the chance that a move is replaced by a random legal one; 0.1 is the Othello League's mode.
    sprt: for two players, the Elo differences of the two hypotheses of a sequential test that ends the match, see `Sprt`.
    move_seconds: the longest that an agent may take for a move, before it has lost; a batch of K positions may take 1 + K/4 times as
    long, and its games are played again one by one if it takes longer.
    """

    players: tuple[str, ...]
    schedule: Schedule = "round_robin"
    games: int = 200
    openings: str = "random:8"
    epsilon: float = 0.0
    board_size: int = 8
    seed: int = 0
    sprt: tuple[float, float] | None = None
    move_seconds: float = DEFAULT_MOVE_SECONDS

    def __post_init__(self) -> None:
        if len(self.players) < 2:
            raise ValueError(f"{len(self.players)} agents: a tournament needs at least 2")
        twice = [name for number, name in enumerate(self.players) if name in self.players[:number]]
        if twice:
            raise ValueError(f"agent {twice[0]!r} comes twice")
        if self.schedule not in get_args(Schedule):
            raise ValueError(f"schedule {self.schedule!r}: expected one of {', '.join(get_args(Schedule))}")
        if self.games < 2 or self.games % 2:
            raise ValueError(f"games {self.games}: every opening is played twice, so the number must be even, and at least 2")
        if not 0 <= self.epsilon <= 1:
            raise ValueError(f"epsilon {self.epsilon}: a chance is between 0 and 1")
        if self.seed < 0:
            raise ValueError(f"seed {self.seed}: must not be negative")
        if self.sprt is not None:
            if len(self.players) != 2:
                raise ValueError(f"sprt with {len(self.players)} agents: it is for two")
            Sprt(*self.sprt)  # raises for hypotheses that are none
        if not self.move_seconds > 0:
            raise ValueError(f"move_seconds {self.move_seconds}: must be positive")

    @property
    def pairings(self) -> list[tuple[str, str]]:
        """Who meets whom."""
        if self.schedule == "gauntlet":
            return [(self.players[0], other) for other in self.players[1:]]
        if self.schedule == "ladder":
            return list(itertools.pairwise(self.players))
        return list(itertools.combinations(self.players, 2))

    @property
    def total_games(self) -> int:
        """The games of the whole tournament."""
        return len(self.pairings) * self.games

    def blocks(self, book: OpeningBook, done: Callable[[int], bool]) -> Iterator[Block]:
        """The games that are not done, in blocks. A block's openings and seed depend on nothing but the settings."""
        pairs_per_pairing = self.games // 2
        size = min(_LARGEST_BLOCK, math.ceil(pairs_per_pairing / _BLOCKS_PER_PAIRING))
        for (pairing, players), start in itertools.product(enumerate(self.pairings), range(0, pairs_per_pairing, size)):
            stop = min(start + size, pairs_per_pairing)
            first_game = 2 * (pairing * pairs_per_pairing + start)
            missing = tuple(game for game in range(first_game, first_game + 2 * (stop - start)) if not done(game))
            if missing:
                openings = tuple(book.game(number) for number in range(start, stop))
                yield Block(Pairs(first_game, players, openings, (self.seed, pairing, start // size), self.epsilon), missing)


def run_tournament(
    settings: Settings,
    out: Path,
    *,
    players: Mapping[str, Player] | None = None,
    workers: int = 0,
    progress: Callable[[Standings], object] = lambda _: None,
) -> Standings:
    """Play the tournament, or the rest of it where `out` has a journal of the same settings, and return all results.

    out: the folder of the journal. players: for names that are no specs, functions that make the agent. workers: processes; with 0
    agents play in this one, where nothing stops one that hangs. progress: called after each game. Raises `ValueError` where the
    journal is of another tournament, `RecordFormatError` where it is damaged, `AgentSpecError` or `WorkerError` for an agent that
    cannot be made, `OSError` where nothing can be written.
    """
    stands_for: dict[str, Player] = {name: (players or {}).get(name, name) for name in settings.players}
    made = {name: make_player(player) for name, player in stands_for.items()}  # raises before anything is written
    book = OpeningBook(settings.openings, seed=settings.seed, board_size=settings.board_size)
    out.mkdir(parents=True, exist_ok=True)
    path = out / JOURNAL
    try:
        with FileLock(out / "lock", timeout=0), Journal(path) as journal:
            session = {"settings": asdict(settings), "openings_digest": book.digest}
            standings, done, test = _past(path, settings, session)
            if standings.games < settings.total_games and not test.is_decided:
                journal.begin_session(session)

                def keep(record: GameRecord) -> None:
                    journal.append(record)
                    standings.add(record)
                    progress(standings)
                    test.add(record)
                    if test.is_decided:
                        raise _DecidedError

                finished = keep if settings.sprt is None else _InOrder(keep, done)
                with suppress(_DecidedError):
                    blocks = settings.blocks(book, lambda game: bool(done[game]))
                    _play(blocks, stands_for, made, workers=workers, move_seconds=settings.move_seconds, finished=finished)
    except Timeout:
        raise ValueError(f"{out}: another process is playing this tournament") from None
    return standings


class _DecidedError(Exception):
    """The sequential test has its decision."""


class SequentialTest:
    """The sequential test of a tournament, if it has one: of pairs in the order of the schedule, whatever order they end in."""

    def __init__(self, settings: Settings) -> None:
        self._first = settings.players[0]
        self._test = None if settings.sprt is None else Sprt(*settings.sprt)
        self._waiting: dict[int, dict[int, int]] = {}  # pairs, and the results of their games so far
        self._next_pair = 0

    @property
    def is_decided(self) -> bool:
        """Whether one of the hypotheses has been accepted."""
        return self._test is not None and self._test.decision is not None

    @property
    def text(self) -> str:
        """Where the test stands, in words; nothing where there is none."""
        return "" if self._test is None else format_state(self._test.state())

    def add(self, record: GameRecord) -> None:
        """Count a game. Those behind the decision do not count."""
        if self._test is None or self.is_decided:
            return
        black_result = round(2 * record.black_score)
        games = self._waiting.setdefault(record.game // 2, {})
        games[record.game % 2] = black_result if record.black == self._first else 2 - black_result
        while len(self._waiting.get(self._next_pair, ())) == 2 and not self.is_decided:
            pair = self._waiting.pop(self._next_pair)
            self._test.update((pair[0], pair[1]))
            self._next_pair += 1


def _play(
    blocks: Iterator[Block],
    stands_for: Mapping[str, Player],
    made: Mapping[str, Agent],
    *,
    workers: int,
    move_seconds: float,
    finished: Callable[[GameRecord], object],
) -> None:
    if workers:
        with WorkerPool(stands_for, workers, move_seconds=move_seconds) as pool:
            pool.play(blocks, finished)
        return
    for block in blocks:
        agents = [made[name] for name in block.pairs.players]
        play_block(block, agents, alone=False, finished=finished, move_seconds=move_seconds)


class _InOrder:
    """Passes games on in the order of their numbers: what ends a match early must not depend on which of them end first."""

    def __init__(self, keep: Callable[[GameRecord], object], done: bytearray) -> None:
        self._keep, self._done = keep, done
        self._waiting: dict[int, GameRecord] = {}
        self._next = 0

    def __call__(self, record: GameRecord) -> None:
        self._waiting[record.game] = record
        while self._next in self._waiting or (self._next < len(self._done) and self._done[self._next]):
            waiting = self._waiting.pop(self._next, None)
            self._next += 1
            if waiting is not None:
                self._keep(waiting)


def _past(path: Path, settings: Settings, session: dict[str, Any]) -> tuple[Standings, bytearray, SequentialTest]:
    """What the journal has: its results, for each game whether it is done, and where the test stands."""
    standings, done, test = Standings(), bytearray(settings.total_games), SequentialTest(settings)
    standings.add_players(settings.players)
    for entry in read_journal(path):
        if isinstance(entry, GameRecord):
            if entry.game >= len(done):
                raise ValueError(f"{path}: game {entry.game} is none of this tournament's {len(done)}")
            done[entry.game] = 1
            standings.add(entry)
            test.add(entry)
        else:
            _check_settings(entry, settings, path)
            if entry.get("openings_digest") != session["openings_digest"]:
                raise ValueError(f"{path}: the openings in {settings.openings} are not those that it was begun with")
    return standings, done, test


def _check_settings(session: dict[str, Any], settings: Settings, path: Path) -> None:
    earlier = read_settings(session, path)
    different = [field.name for field in fields(Settings) if getattr(earlier, field.name) != getattr(settings, field.name)]
    if different:
        name = different[0]
        was, now = getattr(earlier, name), getattr(settings, name)
        raise ValueError(f"{path}: a tournament with {name} {was!r}, not {now!r}; choose another folder")


def read_settings(session: dict[str, Any], path: Path) -> Settings:
    """The settings of a journal's session. Raises `RecordFormatError` where they are none."""
    try:
        values = dict(session["settings"])
        sprt = values.get("sprt")
        return Settings(**{**values, "players": tuple(values["players"]), "sprt": None if sprt is None else tuple(sprt)})
    except (KeyError, TypeError, ValueError) as error:
        raise RecordFormatError(f"{path}: a session without settings that can be read ({error})") from None


def settings_of(out: Path) -> Settings:
    """The settings of the tournament in a folder. Raises `RecordFormatError` where there is none, or `OSError`."""
    for entry in read_journal(out / JOURNAL):
        if isinstance(entry, dict):
            return read_settings(entry, out / JOURNAL)
    raise RecordFormatError(f"{out / JOURNAL}: nothing in it to go on with; name the agents")


def _has_begun(out: Path) -> bool:
    """Whether the journal in a folder has a whole line."""
    path = out / JOURNAL
    return path.is_file() and next(read_journal(path), None) is not None


def format_cross_table(standings: Standings) -> str:
    """The share of the points that the player of each row got against that of each column, and all in all."""
    players = sorted(standings.players, key=lambda name: -standings.totals[name].points / max(1, standings.totals[name].games))
    width = max(len(name) for name in players)
    lines = [" " * (width + 5) + "".join(f"{number:>7}" for number in range(1, len(players) + 1)) + "    all  games  faults"]
    for number, name in enumerate(players, 1):
        cells = []
        for other in players:
            counts = standings.pair_counts(name, other)
            games = 2 * int(counts.sum())
            cells.append("      -" if not games else f"{2 * (counts * pair_shares()).sum() / games:7.3f}")
        totals = standings.totals[name]
        score = f"{totals.points / totals.games:7.3f}" if totals.games else "      -"
        lines.append(f"{number:3}  {name:{width}}{''.join(cells)}{score}{totals.games:7}{sum(totals.faults.values()):8}")
    return "\n".join(lines)


class _Display:
    """Shows how far a tournament is: a table that is drawn again and again on a terminal, now and then a line elsewhere."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._start = time.monotonic()
        self._games_before: int | None = None
        self._drawn, self._lines = self._start, 0

    def __call__(self, standings: Standings) -> None:
        """Show the results so far, unless that was done just now."""
        if self._games_before is None:
            self._games_before = standings.games - 1
        on_terminal = understands_ansi(sys.stderr)
        now = time.monotonic()
        is_last = standings.games == self._settings.total_games
        if now - self._drawn < (_DRAW_SECONDS if on_terminal else _LOG_SECONDS) and not is_last:
            return
        self._drawn = now
        rate = (standings.games - self._games_before) / max(1e-9, now - self._start)
        left = (self._settings.total_games - standings.games) / rate
        line = f"{standings.games}/{self._settings.total_games} games, {rate:.1f} games/s, {_duration(left)} left"
        if not on_terminal:
            print(line, file=sys.stderr, flush=True)
            return
        # What does not fit is left out, since only lines that are there can be drawn over.
        columns, rows = shutil.get_terminal_size()
        lines = [*format_cross_table(standings).splitlines()[: max(1, rows - 3)], line]
        text = "\n".join(shown[: columns - 1] for shown in lines)
        print(f"\x1b[{self._lines}F\x1b[J" if self._lines else "", text, sep="", file=sys.stderr, flush=True)
        self._lines = len(lines)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluation.tournament",
        description="Play agents against each other, every opening twice with colours swapped, and rate them.",
        epilog="Agents: " + ", ".join(agent_specs()),
    )
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="agents, two or more")
    schedule = parser.add_mutually_exclusive_group()
    schedule.add_argument("--gauntlet", action="store_true", help="only the first agent meets the others")
    schedule.add_argument("--ladder", action="store_true", help="each agent meets the next one: checkpoints in order")
    parser.add_argument("--games", type=int, default=200, help="games for each two agents that meet, even (default: 200)")
    openings_help = "start, random:PLIES, balanced, or a file of transcripts or positions (default: random:8)"
    parser.add_argument("--openings", default="random:8", help=openings_help)
    parser.add_argument("--epsilon", type=float, default=0.0, help="chance of a random move on both sides; 0.1 is League mode (default: 0)")
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="default: 8")
    parser.add_argument("--seed", type=int, default=0, help="seed of openings, ties and random moves (default: 0)")
    cores = backend.num_threads()
    parser.add_argument("--workers", type=int, default=cores, help=f"processes; the games do not depend on it (default: {cores})")
    seconds_help = f"the longest that an agent may take for a move, before it has lost the game (default: {DEFAULT_MOVE_SECONDS:g})"
    parser.add_argument("--move-seconds", type=float, default=DEFAULT_MOVE_SECONDS, help=seconds_help)
    parser.add_argument("--anchor", default=None, metavar="SPEC=ELO", help="the rating of one agent (default: the mean is 0)")
    sprt_help = "for two agents: stop when one of these differences in Elo, usually 0 and more, is accepted (see training.evaluation.sprt)"
    parser.add_argument("--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"), help=sprt_help)
    parser.add_argument("--out", type=Path, metavar="DIR", required=True, help="the folder of the journal")
    resume_help = "go on with the tournament in DIR, if it has begun; without agents all settings come from there"
    parser.add_argument("--resume", action="store_true", help=resume_help)
    return parser.parse_args(argv)


def _settings(arguments: argparse.Namespace) -> Settings:
    if arguments.resume and not arguments.specs:
        return settings_of(arguments.out)
    if not arguments.resume and _has_begun(arguments.out):
        raise ValueError(f"{arguments.out} has a tournament: --resume goes on with it")
    return Settings(
        players=tuple(arguments.specs),
        schedule="gauntlet" if arguments.gauntlet else "ladder" if arguments.ladder else "round_robin",
        games=arguments.games,
        openings=str(Path(arguments.openings).resolve()) if Path(arguments.openings).is_file() else arguments.openings,
        epsilon=arguments.epsilon,
        board_size=arguments.board_size,
        seed=arguments.seed,
        sprt=None if arguments.sprt is None else tuple(arguments.sprt),
        move_seconds=arguments.move_seconds,
    )


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    arguments = _parse_arguments(argv)
    out: Path = arguments.out
    try:
        settings = _settings(arguments)
        anchor = None if arguments.anchor is None else parse_anchor(arguments.anchor)
        if anchor is not None and anchor[0] not in settings.players:
            raise ValueError(f"anchor {anchor[0]!r} is not among the agents")
        if arguments.workers < 0:
            raise ValueError(f"workers {arguments.workers}: must not be negative")
        standings = run_tournament(settings, out, workers=arguments.workers, progress=_Display(settings))
        table = format_ratings(fit_ratings(standings.pairs, players=standings.players, anchor=anchor))
    except (AgentSpecError, OSError, ValueError, WorkerError) as error:
        sys.exit(f"tournament: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(f"\nStopped; all finished games are kept. To go on: python -m training.evaluation.tournament --out {out} --resume")
    print(format_cross_table(standings))
    print()
    print(table)
    if settings.sprt is not None:
        test = SequentialTest(settings)
        for entry in read_journal(out / JOURNAL):
            if isinstance(entry, GameRecord):
                test.add(entry)
        print(f"\n{test.text}")
    print(f"\nGames: {out / JOURNAL}. A page with everything: python -m training.evaluation.report {out}")


if __name__ == "__main__":
    main()
