"""Tournaments of many agents, with a journal that survives interruptions, and ratings.

Every opening is played twice, with colors swapped.

`python -m training.evaluation.tournament SPEC SPEC ... --openings random:8 --games 200 --out DIR`
plays a round robin; with `--gauntlet` the first agent meets each of the others, with `--ladder`
each agent meets the next one. Each game is in DIR/games.jsonl as soon as it ends. After an
interruption at any moment, `--out DIR --resume` continues, and ends with the same games as a run
that was never interrupted.

Agents play in worker processes. The games do not depend on the number of workers: all randomness
comes from the seed and the number of the block of games, and the division into blocks does not
depend on the workers.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, Literal, get_args

from filelock import FileLock, Timeout

from agents.registry import agents_help
from othello_env import backend
from othello_env.command import Parser, Progress, command, python_command, seed
from othello_env.errors import RecordFormatError
from othello_env.squares import BOARD_SIZES
from training.evaluation.journal import JOURNAL as JOURNAL
from training.evaluation.journal import GameRecord, Journal, read_journal
from training.evaluation.openings import SOURCES, OpeningBook
from training.evaluation.players import Player
from training.evaluation.ratings import fit_ratings, format_ratings, parse_anchor
from training.evaluation.referee import Pairs
from training.evaluation.sprt import Sprt, SprtState, format_state
from training.evaluation.standings import Standings
from training.evaluation.workers import DEFAULT_BUILD_SECONDS, Block, LocalPool, WorkerPool

Schedule = Literal["round_robin", "gauntlet", "ladder"]

DEFAULT_MOVE_SECONDS: Final = 30.0

# Maximum number of game pairs in a block, which is played as one batch, and number of blocks per
# pairing: blocks must be large enough for batches, and numerous enough for all workers.
_LARGEST_BLOCK: Final = 1024
_BLOCKS_PER_PAIRING: Final = 8

# Seconds between two updates of the progress bar on a terminal, and between two lines elsewhere.
_SHOW_SECONDS: Final = 0.2
_LOG_SECONDS: Final = 30.0
# Number of players shown in the progress bar.
_PLAYERS_SHOWN: Final = 3
# Number of calls of agents per worker before the clock starts.
_CALLS_BEFORE: Final = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that decide which games are played.

    players: specs, or names of agents that are passed to `run_tournament`. games: number of games
    for each two players that meet, even. openings: a source for `OpeningBook`. epsilon: probability
    that a move is replaced by a random legal one; 0.1 is the League mode of the Othello League.
    sprt: for two players, the Elo differences of the two hypotheses of a sequential test that ends
    the match, see `Sprt`. move_seconds: longest time for a move, in seconds; an agent that takes
    longer loses the game. A batch of K positions may take 1 + K/4 times as long; if it takes
    longer, its games are played again one by one.

    Raises `ValueError` for settings with which no tournament can be played.
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
            raise ValueError(f"epsilon {self.epsilon}: expected a probability, from 0 to 1")
        if self.seed < 0:
            raise ValueError(f"seed {self.seed}: expected an integer from 0")
        if self.sprt is not None:
            if len(self.players) != 2:
                raise ValueError(f"sprt with {len(self.players)} agents: it is for two")
            Sprt(*self.sprt)  # raises for hypotheses that make no test
        if not self.move_seconds > 0:
            raise ValueError(f"move_seconds {self.move_seconds}: must be positive")

    @property
    def pairings(self) -> list[tuple[str, str]]:
        """Pairs of players that meet."""
        if self.schedule == "gauntlet":
            return [(self.players[0], other) for other in self.players[1:]]
        if self.schedule == "ladder":
            return list(itertools.pairwise(self.players))
        return list(itertools.combinations(self.players, 2))

    @property
    def total_games(self) -> int:
        """Number of games of the whole tournament."""
        return len(self.pairings) * self.games

    def blocks(self, book: OpeningBook, done: Callable[[int], bool]) -> Iterator[Block]:
        """Yield the games that are not done, in blocks.

        The openings and the seed of a block depend only on the settings.
        """
        pairs_per_pairing = self.games // 2
        size = min(_LARGEST_BLOCK, math.ceil(pairs_per_pairing / _BLOCKS_PER_PAIRING))
        for (pairing, players), start in itertools.product(enumerate(self.pairings), range(0, pairs_per_pairing, size)):
            stop = min(start + size, pairs_per_pairing)
            first_game = 2 * (pairing * pairs_per_pairing + start)
            missing = tuple(game for game in range(first_game, first_game + 2 * (stop - start)) if not done(game))
            if missing:
                openings = tuple(book[number] for number in range(start, stop))
                yield Block(Pairs(first_game, players, openings, (self.seed, pairing, start // size), self.epsilon), missing)


@dataclass(frozen=True, slots=True)
class TournamentResult:
    """Results of a tournament. sprt: the state of its sequential test; None without one."""

    standings: Standings
    sprt: SprtState | None


TournamentProgress = Callable[[Standings, float], object]
"""Called before each call of an agent and after each game. Arguments: the standings, and the moves
made in running games, converted to a number of games."""


def run_tournament(
    settings: Settings,
    out: Path,
    *,
    players: Mapping[str, Player] | None = None,
    workers: int = 0,
    build_seconds: float = DEFAULT_BUILD_SECONDS,
    progress: TournamentProgress = lambda _standings, _games_in_play: None,
) -> TournamentResult:
    """Play a tournament and return all results.

    If `out` has a journal with the same settings, only the remaining games are played.

    out: the folder of the journal. players: functions that construct the agents whose names are not
    specs. workers: number of processes; with 0 the agents play in this process, where an agent that
    hangs cannot be stopped. build_seconds: longest time to construct an agent in a worker, and for
    its first call; an agent that takes longer, or ends its process, forfeits its games.

    Raises, before the first game, `ValueError` if the journal belongs to another tournament,
    `RecordFormatError` if it is damaged, `AgentSpecError` or `PlayerError` for an agent that cannot
    be constructed or cannot play on the board; `WorkerError` if processes cannot be started,
    `OSError` if the journal cannot be written.
    """
    stands_for: dict[str, Player] = {name: (players or {}).get(name, name) for name in settings.players}
    if not build_seconds > 0:
        raise ValueError(f"build_seconds {build_seconds}: must be positive")
    if workers < 0:
        raise ValueError(f"workers {workers}: expected a number from 0")
    book = OpeningBook(settings.openings, seed=settings.seed, board_size=settings.board_size)
    session = {"settings": asdict(settings), "openings_digest": book.digest}
    path = out / JOURNAL
    pool: LocalPool | WorkerPool = LocalPool(stands_for, board_size=settings.board_size, move_seconds=settings.move_seconds)
    if workers:
        limits = {"move_seconds": settings.move_seconds, "build_seconds": build_seconds}
        pool = WorkerPool(stands_for, workers, board_size=settings.board_size, **limits)
    with pool:
        if not path.exists():  # an agent that is refused leaves no folder
            pool.build_players()
        out.mkdir(parents=True, exist_ok=True)
        try:
            with FileLock(out / "lock", timeout=0), Journal(path) as journal:
                standings, done, test = _past(path, settings, session)
                if standings.games < settings.total_games and not test.is_decided:
                    pool.build_players()
                    journal.begin_session(session)

                    def keep(record: GameRecord) -> None:
                        journal.append(record)
                        standings.add(record)
                        progress(standings, pool.games_in_play)
                        test.add(record)
                        if test.is_decided:
                            raise _DecidedError

                    finished = keep if settings.sprt is None else _InOrder(keep, done)
                    blocks = settings.blocks(book, lambda game: bool(done[game]))
                    with suppress(_DecidedError):
                        pool.play(blocks, finished, moved=lambda: progress(standings, pool.games_in_play))
        except Timeout:
            raise ValueError(f"{out}: another process is playing this tournament") from None
    return TournamentResult(standings, test.state)


class _DecidedError(Exception):
    """Raised when the sequential test has accepted a hypothesis."""


class _SequentialTest:
    """Sequential test of a tournament, if its settings have one.

    Pairs are counted in the order of the schedule, not in the order in which they end.
    """

    def __init__(self, settings: Settings) -> None:
        self._first = settings.players[0]
        self._test = None if settings.sprt is None else Sprt(*settings.sprt)
        self._waiting: dict[int, dict[int, int]] = {}  # by pair: the outcomes of its games so far
        self._next_pair = 0

    @property
    def is_decided(self) -> bool:
        """True if one of the hypotheses has been accepted."""
        return self._test is not None and self._test.decision is not None

    @property
    def state(self) -> SprtState | None:
        """State of the test; None without one."""
        return None if self._test is None else self._test.state()

    def add(self, record: GameRecord) -> None:
        """Count a game. Games after the decision are ignored."""
        if self._test is None or self.is_decided:
            return
        black_outcome = round(2 * record.black_score)
        games = self._waiting.setdefault(record.game // 2, {})
        games[record.game % 2] = black_outcome if record.black == self._first else 2 - black_outcome
        while len(self._waiting.get(self._next_pair, ())) == 2 and not self.is_decided:
            pair = self._waiting.pop(self._next_pair)
            self._test.update(pair[0], pair[1])
            self._next_pair += 1


class _InOrder:
    """Callback that passes games on in the order of their numbers.

    The end of a match with a sequential test must not depend on which games end first.
    """

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


def _past(path: Path, settings: Settings, session: dict[str, Any]) -> tuple[Standings, bytearray, _SequentialTest]:
    """Read a journal: the standings, a flag per game that is 1 if it is done, and the test."""
    standings, done, test = Standings(), bytearray(settings.total_games), _SequentialTest(settings)
    standings.add_players(settings.players)
    for entry in read_journal(path):
        if isinstance(entry, GameRecord):
            if entry.game >= len(done):
                raise ValueError(f"{path}: game {entry.game}, but the tournament has {len(done)}")
            done[entry.game] = 1
            standings.add(entry)
            test.add(entry)
        else:
            _check_settings(entry, settings, path)
            if entry.get("openings_digest") != session["openings_digest"]:
                raise ValueError(f"{path}: the openings in {settings.openings} have changed since the tournament began")
    return standings, done, test


def _check_settings(session: dict[str, Any], settings: Settings, path: Path) -> None:
    earlier = read_settings(session, path)
    different = [field.name for field in fields(Settings) if getattr(earlier, field.name) != getattr(settings, field.name)]
    if different:
        name = different[0]
        was, now = getattr(earlier, name), getattr(settings, name)
        raise ValueError(f"{path}: a tournament with {name} {was!r}, not {now!r}; choose another folder")


def read_settings(session: dict[str, Any], path: Path) -> Settings:
    """Return the settings of a session of a journal.

    Raises `RecordFormatError` if they are missing, invalid, or not those of a tournament.
    """
    if session.get("kind", "tournament") != "tournament":
        raise RecordFormatError(f"{path}: games of a {session['kind']}, not of a tournament")
    try:
        values = dict(session["settings"])
        sprt = values.get("sprt")
        return Settings(**{**values, "players": tuple(values["players"]), "sprt": None if sprt is None else tuple(sprt)})
    except (KeyError, TypeError, ValueError) as error:
        raise RecordFormatError(f"{path}: a session without settings that can be read ({error})") from None


def settings_of(out: Path) -> Settings:
    """Return the settings of the tournament in a folder.

    Raises `RecordFormatError` if the journal has none, `OSError` if it cannot be read.
    """
    for entry in read_journal(out / JOURNAL):
        if isinstance(entry, dict):
            return read_settings(entry, out / JOURNAL)
    raise RecordFormatError(f"{out / JOURNAL}: nothing in it to go on with; name the agents")


def _has_begun(out: Path) -> bool:
    """Return True if the journal in a folder has a complete line."""
    path = out / JOURNAL
    return path.is_file() and next(read_journal(path), None) is not None


def format_cross_table(standings: Standings) -> str:
    """Return a table of the scores of each player against each other and in all games.

    The score is that of the player of the row; the best player comes first.
    """
    players = sorted(standings.players, key=lambda name: -standings.totals[name].points / max(1, standings.totals[name].games))
    width = max(len(name) for name in players)
    lines = [" " * (width + 5) + "".join(f"{number:>7}" for number in range(1, len(players) + 1)) + "    all  games  faults"]
    for number, name in enumerate(players, 1):
        cells = []
        for other in players:
            pairs = standings.pair_counts(name, other)
            cells.append(f"{pairs.score:7.3f}" if pairs.games else "      -")
        totals = standings.totals[name]
        score = f"{totals.points / totals.games:7.3f}" if totals.games else "      -"
        lines.append(f"{number:3}  {name:{width}}{''.join(cells)}{score}{totals.games:7}{sum(totals.faults.values()):8}")
    return "\n".join(lines)


class _Display:
    """Display of the progress: a bar on a terminal, a line every 30 seconds elsewhere.

    Use it as a context manager. Running games count by their moves, since the games of a block end
    at nearly the same time. The clock starts after each worker has made a few moves, so that
    starting processes and loading or compiling code do not count as time per game.
    """

    def __init__(self, settings: Settings, *, workers: int) -> None:
        self._total = settings.total_games
        self._calls_before = _CALLS_BEFORE * max(1, workers)
        self._started: float | None = None
        self._games_before = 0.0
        self._shown = time.monotonic()
        self._bar = Progress(None, unit="games", description="starting the agents")

    def __enter__(self) -> _Display:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def __call__(self, standings: Standings, games_in_play: float) -> None:
        """Show the results so far, at most once per interval."""
        now, games = time.monotonic(), standings.games + games_in_play
        is_last = standings.games == self._total
        if self._started is None:
            self._calls_before -= 1
            if self._calls_before and not is_last:
                return
            self._started, self._games_before = now, games
            self._bar.close()
            self._bar = Progress(self._total, unit="games", initial=int(games))
        on_terminal = sys.stderr.isatty()
        if now - self._shown < (_SHOW_SECONDS if on_terminal else _LOG_SECONDS) and not is_last:
            return
        self._shown = now
        if on_terminal:
            self._bar.note(_leaders(standings))
            self._bar.update(int(games) - self._bar.done)
            return
        rate = (games - self._games_before) / max(1e-9, now - self._started)
        left = _duration((self._total - games) / rate) if rate else "unknown"
        print(f"{standings.games}/{self._total} games, {rate:.1f} games/s, time left {left}", file=sys.stderr, flush=True)


def _leaders(standings: Standings) -> str:
    """Return the best players and their scores as text."""
    scores = {name: totals.points / totals.games for name, totals in standings.totals.items() if totals.games}
    best = sorted(scores, key=lambda name: -scores[name])[:_PLAYERS_SHOWN]
    return ", ".join(f"{name} {scores[name]:.3f}" for name in best)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser(
        prog="python -m training.evaluation.tournament",
        description="Play agents against each other, every opening twice with colors swapped, and rate them.",
        epilog=agents_help(),
    )
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="agents, two or more")
    schedule = parser.add_mutually_exclusive_group()
    schedule.add_argument("--gauntlet", action="store_true", help="the first agent plays each of the others (default: round robin)")
    schedule.add_argument("--ladder", action="store_true", help="each agent plays the next one, for checkpoints in their order")
    parser.add_argument("--games", metavar="N", type=int, default=200, help="number of games of each pair of agents, even (default: 200)")
    parser.add_argument("--openings", default="random:8", help=f"{SOURCES} (default: random:8)")
    epsilon_help = "probability of a random move, for both agents; League mode: 0.1 (default: 0)"
    parser.add_argument("--epsilon", metavar="P", type=float, default=0.0, help=epsilon_help)
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="squares per side (default: 8)")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of openings, ties and random moves (default: 0)")
    cores = backend.num_threads()
    workers_help = f"number of worker processes; the games do not depend on it; 0 plays in this process (default: {cores})"
    parser.add_argument("--workers", metavar="N", type=int, default=cores, help=workers_help)
    seconds_help = f"time limit per move, in seconds, after which the agent loses the game (default: {DEFAULT_MOVE_SECONDS:g})"
    parser.add_argument("--move-seconds", metavar="S", type=float, default=DEFAULT_MOVE_SECONDS, help=seconds_help)
    build_help = (
        "time limit for constructing an agent and for its first call (which may compile), in seconds; after it the agent loses its games "
        f"(default: {DEFAULT_BUILD_SECONDS:g})"
    )
    parser.add_argument("--build-seconds", metavar="S", type=float, default=DEFAULT_BUILD_SECONDS, help=build_help)
    parser.add_argument(
        "--anchor", default=None, metavar="SPEC=ELO", help="rating of one agent, which shifts all ratings (default: their mean is 0)"
    )
    sprt_help = "for two agents: sequential test of the Elo differences ELO0 and ELO1, which stops as soon as one is accepted"
    parser.add_argument("--sprt", type=float, nargs=2, metavar=("ELO0", "ELO1"), help=sprt_help)
    parser.add_argument("--out", type=Path, metavar="DIR", required=True, help="folder of the journal")
    resume_help = "continue the tournament in DIR if there is one; without SPEC all settings are read from it"
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
    """Run the command line. argv: its arguments, by default those of the process."""
    arguments = _parse_arguments(argv)
    out: Path = arguments.out
    resume = python_command("training.evaluation.tournament", "--out", str(out), "--resume")
    with command("tournament", interrupted=f"interrupted; all finished games are kept. To go on: {resume}"):
        settings = _settings(arguments)
        anchor = None if arguments.anchor is None else parse_anchor(arguments.anchor)
        if anchor is not None and anchor[0] not in settings.players:
            raise ValueError(f"anchor {anchor[0]!r} is not among the agents")
        with _Display(settings, workers=arguments.workers) as display:
            result = run_tournament(settings, out, workers=arguments.workers, build_seconds=arguments.build_seconds, progress=display)
        standings = result.standings
        print(format_cross_table(standings))
        print()
        print(format_ratings(fit_ratings(standings.pairs, players=standings.players, anchor=anchor)))
        if result.sprt is not None:
            print(f"\n{format_state(result.sprt)}")
        report = python_command("training.evaluation.report", str(out))
        print(f"\nGames: {out / JOURNAL}. A page with everything: {report}")


if __name__ == "__main__":
    main()
