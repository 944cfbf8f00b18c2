from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import make_agent
from agents.search.endgame import Solver
from othello_env import Game, Position, PositionBatch
from othello_env.agent import AgentError, Moves
from othello_env.position import Scoring
from othello_env.squares import parse_square
from tests.conftest import REPOSITORY
from tests.training.evaluation.commands import stopped_line
from training.evaluation import accuracy
from training.evaluation.accuracy import (
    BandAccuracy,
    endgame_positions,
    exact_solvers,
    format_accuracy,
    judge_games,
    main,
    measure_accuracy,
)
from training.evaluation.openings import load_games
from training.evaluation.results import score_interval

# After a3 and White's a4 Black wins 9 to 7; after a4 and White's a3 he loses 7 to 9.
WIN_OR_LOSS = Position.parse(
    """
    OXXX
    XOXX
    -OOX
    -OOO X
    """
)
# After b1 Black has no move, and White plays on.
BEST_MOVE_FORCES_A_PASS = Position.parse(
    """
    O-XO
    -OOO
    XXXX
    XXX- O
    """
)


@dataclass
class Chooser:
    """Plays the square that a function names, position by position."""

    name: str
    choose: Callable[[Position], int]

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        return np.array([self.choose(position) for position in positions])


@pytest.fixture(scope="module")
def solvers() -> list[Solver]:
    return exact_solvers(threads=2)


@pytest.fixture(scope="module")
def positions() -> PositionBatch:
    return endgame_positions(90, (2, 10), rng=np.random.default_rng(0))


def playing(square: str) -> Chooser:
    return Chooser(square, lambda position: parse_square(square, position.board_size))


LOWEST = Chooser("lowest", lambda position: position.legal_squares()[0])


def measured(agent: Any, positions: Any, **settings: Any) -> tuple[BandAccuracy, ...]:
    return measure_accuracy(agent, positions, rng=np.random.default_rng(1), **settings)


def counts(band: BandAccuracy) -> tuple[int, int, int, int]:
    return band.moves, band.outcomes_kept, band.best_moves, band.discs_lost


@cache
def minimax(position: Position, scoring: Scoring) -> int:
    """The exact score for the side to move, by trying everything."""
    if position.is_over:
        return position.score(scoring) * (1 if position.side_to_move == 0 else -1)
    return max(move_score(position, square, scoring) for square in position.legal_squares())


def move_score(position: Position, square: int, scoring: Scoring) -> int:
    after = position.play(square)
    return minimax(after, scoring) * (1 if after.side_to_move == position.side_to_move else -1)


@pytest.mark.parametrize(("square", "expected"), [("a3", (1, 1, 1, 0)), ("a4", (1, 0, 0, 4))])
def test_a_move_that_throws_the_win_away_is_counted_with_its_discs(
    square: str, expected: tuple[int, ...], solvers: Sequence[Solver]
) -> None:
    (band,) = measured(playing(square), PositionBatch.from_positions([WIN_OR_LOSS]), bands=[(1, 4)], solvers=solvers)
    assert counts(band) == expected


def test_a_move_that_wins_by_less_keeps_the_outcome(solvers: Sequence[Solver]) -> None:
    batch = PositionBatch.from_positions([BEST_MOVE_FORCES_A_PASS])
    # b1 wins by 6, d4 by 2.
    assert counts(measured(playing("b1"), batch, solvers=solvers)[0]) == (1, 1, 1, 0)
    assert counts(measured(playing("d4"), batch, solvers=solvers)[0]) == (1, 1, 0, 4)


@pytest.mark.parametrize(("board_size", "most"), [(8, 5), (4, 6)])
@pytest.mark.parametrize("scoring", ["discs", "empties_to_winner"])
def test_scores_are_those_of_trying_everything(scoring: Scoring, board_size: int, most: int) -> None:
    batch = endgame_positions(60, (2, most), rng=np.random.default_rng(0), board_size=board_size)
    worst = Chooser("worst", lambda p: min(p.legal_squares(), key=lambda square: move_score(p, square, scoring)))
    (band,) = measured(worst, batch, bands=[(1, most)], solvers=exact_solvers(scoring, threads=2))
    best = np.array([minimax(position, scoring) for position in batch])
    made = np.array([min(move_score(p, square, scoring) for square in p.legal_squares()) for p in batch])
    expected = (len(batch), (np.sign(best) == np.sign(made)).sum(), (best == made).sum(), (best - made).sum())
    assert counts(band) == expected


def test_the_scorings_differ_where_squares_stay_empty() -> None:
    batch = endgame_positions(60, (2, 6), rng=np.random.default_rng(0), board_size=4)
    both: tuple[Scoring, ...] = ("discs", "empties_to_winner")
    discs, with_empties = (measured(LOWEST, batch, bands=[(1, 6)], solvers=exact_solvers(scoring, threads=1))[0] for scoring in both)
    assert discs.outcomes_kept == with_empties.outcomes_kept
    assert discs.discs_lost != with_empties.discs_lost


def test_many_empties_give_the_same_scores_as_solving_every_move(solvers: Sequence[Solver], rng: np.random.Generator) -> None:
    batch = endgame_positions(8, (12, 13), rng=rng)
    scores = {position: solvers[0].move_scores(position) for position in batch}
    for place in (0, 1, -1):
        choice = {position: list(by_square)[place] for position, by_square in scores.items()}
        band = measured(Chooser("ranked", choice.__getitem__), batch, solvers=solvers)[-1]
        lost = [max(scores[position].values()) - scores[position][choice[position]] for position in batch]
        band_lost = [loss for loss, position in zip(lost, batch, strict=True) if position.empties == 13]
        assert band.low == 13
        assert band.discs_lost == sum(band_lost)
        assert band.best_moves == band_lost.count(0)


def test_perfect_play_loses_nothing_and_the_worst_play_more_than_random_play(solvers: Sequence[Solver], positions: PositionBatch) -> None:
    perfect = measured(Chooser("perfect", lambda p: next(iter(solvers[0].move_scores(p)))), positions, solvers=solvers[1:])
    worst = measured(Chooser("worst", lambda p: list(solvers[0].move_scores(p))[-1]), positions, solvers=solvers[1:])
    random = measured(make_agent("random"), positions, solvers=solvers)
    assert [(band.low, band.high, band.moves) for band in perfect] == [(1, 4, 30), (5, 8, 40), (9, 12, 20), (13, 14, 0)]
    for best, luck, bad in zip(perfect[:3], random[:3], worst[:3], strict=True):
        assert (best.outcome_kept_share, best.best_move_share, best.mean_discs_lost) == (1, 1, 0)
        assert bad.outcome_kept_share < luck.outcome_kept_share < 1
        assert bad.best_move_share < luck.best_move_share < 1
        assert bad.mean_discs_lost > luck.mean_discs_lost > 0


def test_neither_threads_nor_the_size_of_batches_change_the_result(
    solvers: Sequence[Solver], positions: PositionBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = make_agent("positional:table=bench")
    expected = measured(agent, positions, solvers=solvers)
    assert measured(agent, positions, solvers=solvers[:1]) == expected
    assert measured(agent, positions, solvers=exact_solvers(threads=5)) == expected
    monkeypatch.setattr(accuracy, "_BATCH_SIZE", 7)
    assert measured(agent, positions, solvers=solvers) == expected


def test_each_position_with_a_choice_is_in_one_band(solvers: Sequence[Solver], positions: PositionBatch) -> None:
    fine = measured(LOWEST, positions, bands=[(n, n) for n in range(1, 11)], solvers=solvers)
    coarse = measured(LOWEST, positions, bands=[(1, 3), (5, 10)], solvers=solvers)
    assert [band.moves for band in fine] == [0, *[10] * 9]
    for band in coarse:
        assert counts(band) == tuple(np.sum([counts(f) for f in fine if band.low <= f.low <= band.high], axis=0))


def test_bands_end_at_the_most_empties(solvers: Sequence[Solver], positions: PositionBatch) -> None:
    bands = measured(make_agent("greedy"), positions, max_empties=6, solvers=solvers)
    assert [(band.low, band.high, band.moves) for band in bands] == [(1, 4, 30), (5, 6, 20)]


def test_forced_moves_passes_and_finished_games_are_no_decisions(solvers: Sequence[Solver]) -> None:
    one_move = Position.parse("XO-" + "X" * 13 + "X")
    finished = Position.parse("X" * 15 + "- X")
    must_pass = Position.parse("-OX" + "O" * 13 + "O")
    for auto_pass in (True, False):
        batch = PositionBatch.from_positions([one_move, finished, must_pass], auto_pass=auto_pass)
        bands = measured(playing("a1"), batch, solvers=solvers)
        assert [band.moves for band in bands] == [0, 0, 0, 0]
        assert np.isnan(bands[0].mean_discs_lost)


def test_an_agent_is_asked_in_the_positions_of_games(solvers: Sequence[Solver], rng: np.random.Generator) -> None:
    games = [Game.random(54, rng) for _ in range(3)]
    choices = [p for game in games for p in game.positions() if p.empties <= 12 and len(p.legal_squares()) > 1]
    seen: list[Position] = []

    def first_legal(position: Position) -> int:
        seen.append(position)
        return position.legal_squares()[0]

    bands = measured(Chooser("first", first_legal), games, max_empties=12, solvers=solvers)
    assert seen == choices
    assert sum(band.moves for band in bands) == len(choices)


def test_a_blunder_is_counted_for_the_side_that_made_it(solvers: Sequence[Solver]) -> None:
    # On 4x4 White, second, wins by 10 with the empty squares (3 discs to 11; Othello on 4x4 is
    # solved). All first moves are equal; of the replies to b1 only a1 wins, and after c1 Black wins
    # by 14.
    blunder, correct = (Game.parse(text, Position.start(4)) for text in ("b1c1", "b1a1"))
    judged = judge_games([blunder], bands=[(11, 11), (12, 12)], solvers=solvers)
    assert list(judged) == ["black", "white"]
    assert [counts(band) for band in judged["black"]] == [(0, 0, 0, 0), (1, 1, 1, 0)]
    assert [counts(band) for band in judged["white"]] == [(1, 0, 0, 24), (0, 0, 0, 0)]
    assert counts(judge_games([correct], bands=[(11, 11)], solvers=solvers)["white"][0]) == (1, 1, 1, 0)


def test_moves_are_counted_for_players_who_change_colors(solvers: Sequence[Solver]) -> None:
    blunder, correct = (Game.parse(text, Position.start(4)) for text in ("b1c1", "b1a1"))
    colors = [("one", "two"), ("two", "one"), ("one", "one")]
    judged = judge_games([blunder, correct, blunder], colors, bands=[(11, 12)], solvers=solvers)
    assert {name: counts(band) for name, (band,) in judged.items()} == {"one": (4, 3, 3, 24), "two": (2, 1, 1, 24)}
    assert judge_games([blunder], [("one", "idle")], bands=[(12, 12)], solvers=solvers)["idle"][0].moves == 0
    assert judge_games([], [], solvers=solvers) == {}
    with pytest.raises(ValueError, match="1 games, but colors for 0"):
        judge_games([blunder], [], solvers=solvers)


def test_moves_of_games_are_judged_as_an_agent_that_made_them(solvers: Sequence[Solver], rng: np.random.Generator) -> None:
    games: list[Game] = []
    while len(games) < 4:
        game = Game.random(50, rng)
        while not game.final.is_over:
            game = Game((*game.moves, int(rng.choice(game.final.legal_squares()))))
        games.append(game)
    move_in = {position: move for game in games for position, move in zip(game.positions(), game.moves, strict=False)}
    judged = judge_games(games, [("same", "same")] * 4, max_empties=9, solvers=solvers)["same"]
    assert judged == measured(Chooser("same", move_in.__getitem__), games, max_empties=9, solvers=solvers)


def test_intervals_hold_for_independent_moves_and_count_copies_once(solvers: Sequence[Solver], positions: PositionBatch) -> None:
    agent = make_agent("greedy")
    (band,) = measured(agent, positions, bands=[(1, 10)], solvers=solvers)
    kept = np.repeat([1.0, 0.0], [band.outcomes_kept, band.moves - band.outcomes_kept])
    np.testing.assert_allclose(band.outcome_kept_interval, score_interval(kept))
    assert band.discs_lost_interval[0] < band.mean_discs_lost < band.discs_lost_interval[1]
    (once,) = measured(LOWEST, positions, bands=[(1, 10)], solvers=solvers)
    (thrice,) = measured(LOWEST, positions.take(np.tile(np.arange(90), 3)), bands=[(1, 10)], solvers=solvers)
    assert thrice.moves == 3 * once.moves
    for name in ("outcome_kept_interval", "best_move_interval", "discs_lost_interval"):
        np.testing.assert_allclose(getattr(thrice, name), getattr(once, name))


def test_one_game_tells_little_however_many_moves_it_has(solvers: Sequence[Solver], rng: np.random.Generator) -> None:
    game = Game.random(55, rng)
    judged = judge_games([game] * 50, bands=[(1, 14)], solvers=solvers)["black"][0]
    assert judged.moves >= 100
    assert judged.outcome_kept_interval[1] - judged.outcome_kept_interval[0] > 0.6


@pytest.mark.parametrize("shared_luck", [0.0, 0.7])
def test_the_intervals_cover_the_truth_as_often_as_they_say(shared_luck: float) -> None:
    rng = np.random.default_rng(3)
    shares = losses = 0
    for _ in range(500):
        # Games with one to three moves, whose moves share some of their luck.
        sources = np.repeat(np.arange(100), rng.integers(1, 4, size=100))
        shared, own = rng.random(100)[sources], rng.random(len(sources))
        uniform = np.where(rng.random(len(sources)) < shared_luck, shared, own)
        low, high = accuracy._share_interval(uniform < 0.8, sources)
        shares += low <= 0.8 <= high
        low, high = accuracy._mean_interval(np.where(uniform < 0.8, 0, 10), sources)
        losses += low <= 2 <= high
    assert 0.92 <= shares / 500 <= 0.985
    assert 0.92 <= losses / 500 <= 0.985


def test_positions_have_a_choice_and_the_wanted_empties(rng: np.random.Generator) -> None:
    for player in (None, make_agent("positional")):
        batch = endgame_positions(120, (3, 8), rng=rng, player=player)
        np.testing.assert_array_equal(np.bincount(batch.empties), [0, 0, 0, *[20] * 6])
        assert (batch.legal_action_mask().sum(axis=1) > 1).all()
        assert len(set(batch)) == 120
    twice = [list(endgame_positions(10, (2, 14), rng=np.random.default_rng(5))) for _ in range(2)]
    assert twice[0] == twice[1]


def test_positions_that_do_not_exist_are_refused(rng: np.random.Generator) -> None:
    for empties in ((1, 4), (8, 7), (5, 21)):
        with pytest.raises(ValueError, match=f"empties {empties[0]} to {empties[1]}: expected 2 to 20"):
            endgame_positions(10, empties, rng=rng)
    with pytest.raises(ValueError, match="no position with a choice at 13 empties"):
        endgame_positions(10, (13, 13), rng=rng, board_size=4)


@pytest.mark.parametrize("bands", [[], [(4, 1)], [(1, 4), (4, 8)], [(5, 8), (1, 4)]])
def test_bands_that_overlap_or_are_out_of_order_are_refused(bands: list[tuple[int, int]], solvers: Sequence[Solver]) -> None:
    with pytest.raises(ValueError, match="expected ranges of empties in ascending order"):
        measured(make_agent("random"), PositionBatch.from_positions([WIN_OR_LOSS]), bands=bands, solvers=solvers)


@pytest.mark.parametrize("answer", [[5], [1.0], None, [8, 9]])
def test_an_agent_that_breaks_the_rules_is_named(answer: Any, solvers: Sequence[Solver]) -> None:
    class Cheat:
        name = "cheat"

        def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
            return answer if answer is None else np.array(answer)

    with pytest.raises(AgentError, match="^cheat: "):
        measured(Cheat(), PositionBatch.from_positions([WIN_OR_LOSS]), solvers=solvers)


def test_progress_rises_to_the_number_of_decisions(
    solvers: Sequence[Solver], positions: PositionBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accuracy, "_BATCH_SIZE", 50)
    told: list[tuple[int, int]] = []
    measured(make_agent("greedy"), positions, solvers=solvers, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 90) for done in range(1, 91)]


def test_the_table_has_a_line_for_each_band_with_moves() -> None:
    band = BandAccuracy(5, 8, 200, 150, 100, 500, (0.7, 0.8), (0.4, 0.6), (2.0, 3.0))
    empty = BandAccuracy(9, 12, 0, 0, 0, 0, (0.0, 1.0), (0.0, 1.0), (0.0, float("inf")))
    header, row = format_accuracy([("one", [band, empty])]).splitlines()
    assert len(header) == len(row)
    assert " ".join(row.split()) == "one 5-8 200 75.0% (70.0% to 80.0%) 50.0% (40.0% to 60.0%) 2.50 (2.00 to 3.00)"


def test_the_command_prints_a_table_for_each_agent_that_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for _ in range(2):
        main(["random", "positional:table=bench", "--positions", "40", "--max-empties", "8"])
        outputs.append(capsys.readouterr().out.splitlines())
    *table, last = outputs[0]
    assert table == outputs[1][:-1]
    names = ["random"] * 2 + ["positional:table=bench"] * 2
    assert [line.split()[0] for line in table[1:]] == names
    assert [line.split()[1] for line in table[1:]] == ["1-4", "5-8"] * 2
    assert sum(int(line.split()[2]) for line in table[1:]) == 80
    assert last.startswith("80 decisions in ")


def test_the_command_judges_games_and_asks_agents_in_their_positions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.txt"
    path.write_text("b1c1\nb1a1\n")
    main(["greedy", "--games", str(path), "--max-empties", "12", "--board-size", "4", "--scoring", "discs"])
    rows = [line.split()[:4] for line in capsys.readouterr().out.splitlines()[1:-1]]
    assert rows[:2] == [["black", "9-12", "2", "100.0%"], ["white", "9-12", "2", "50.0%"]]
    assert rows[2][:2] == ["greedy", "9-12"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody",), "no agent 'nobody'"),
        ((), "nothing to measure"),
        (("random", "--max-empties", "21"), "empties 21: expected 2 to 20"),
        (("random", "--max-empties", "1"), "empties 1: expected 2 to 20"),
        (("random", "--positions", "0"), "positions 0"),
        (("random", "--seed", "-1"), "--seed: '-1': expected an integer from 0"),
        (("random", "--games", "no.txt"), "no.txt"),
        (("random", "--games", "."), "directory"),
        (("ntuple", "--board-size", "6", "--positions", "10"), "board_size"),
    ],
)
def test_the_command_refuses_a_wrong_argument_in_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = stopped_line(main, arguments, capsys)
    assert line.startswith("accuracy: ")
    assert message in line


def test_the_command_refuses_games_without_endgames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.txt"
    path.write_text("f5d6c3\n")
    assert "no position with a choice at 14 empties or fewer" in stopped_line(main, ["--games", str(path)], capsys)


def test_a_line_of_a_file_of_games_ends_with_a_newline_only(tmp_path: Path) -> None:
    path = tmp_path / "games.txt"
    path.write_bytes("f5d6c3 # a \u2028 b \x85 c \x0c d\r\nf5f6\n".encode())
    assert load_games(path) == [Game.parse("f5d6c3"), Game.parse("f5f6")]


def test_what_was_measured_before_ctrl_c_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    measure = accuracy.measure_accuracy

    def interrupted(agent: Any, *arguments: Any, **options: Any) -> Any:
        if agent.name == "greedy":
            raise KeyboardInterrupt
        return measure(agent, *arguments, **options)

    monkeypatch.setattr(accuracy, "measure_accuracy", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main(["random", "greedy", "--positions", "20", "--max-empties", "6"])
    assert stopped.value.code == 130
    output = capsys.readouterr()
    assert [line.split()[0] for line in output.out.splitlines()] == ["agent", "random", "random"]
    assert output.err == "accuracy: interrupted\n"


def test_importing_the_module_loads_nothing_heavy() -> None:
    code = "import sys; import training.evaluation.accuracy; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert not set(run.stdout.split()) & {"torch", "numba", "tqdm", "matplotlib"}


@pytest.mark.slow
def test_agents_differ_on_a_thousand_positions(solvers: Sequence[Solver]) -> None:
    batch = endgame_positions(1000, (2, 14), rng=np.random.default_rng(0))
    random, positional = (measured(make_agent(spec), batch, bands=[(5, 14)], solvers=solvers)[0] for spec in ("random", "positional"))
    assert positional.discs_lost_interval[1] < random.discs_lost_interval[0]
    assert positional.outcome_kept_share > random.outcome_kept_share
