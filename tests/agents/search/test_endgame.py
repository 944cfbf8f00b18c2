from __future__ import annotations

import math
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from agents.search.endgame import SearchStoppedError, Solution, Solver
from othello_env import Position
from othello_env.position import BLACK, Scoring
from othello_env.records.obf import parse_obf
from othello_env.squares import BOARD_SIZES, parse_square, pass_square
from othello_env.symmetry import NUM_SYMMETRIES, transform_position
from tests.conftest import REPOSITORY

SCORINGS: tuple[Scoring, ...] = get_args(Scoring)

# FFO endgame suite #1 and #20 (Feldmann, Mysliwietz and Monien) with the scores of their moves, the
# empties to the winner.
FFO_1 = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X; G8:+18; H1:+12; H7:+6; A2:+6; A3:+4; B1:-4; A4:-22; G2:-24;"
FFO_20 = "XXXOXXXXOXXXXXXXOOXXXXXXOOOXXXXXOOOXXOO-OOOOO---OOOOOOO-OOOOOOO- X; H5:+6; G6:-2; F6:-4; H6:-10;"


@dataclass(frozen=True)
class Problem:
    """A position of the FFO suite with its published scores, the empties to the winner, from the view of the side to move."""

    number: int
    position: Position
    best_score: int
    best_squares: frozenset[int]
    scores: dict[int, int]


def ffo_suite(shared_data: Path) -> list[Problem]:
    problems = []
    for line in (shared_data / "ffo.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        number, board, side, _, best_score, best_moves, moves = line.split("\t")
        scores = {parse_square(name): int(score) for name, score in (move.split(":") for move in moves.split())}
        best_squares = frozenset(parse_square(name) for name in best_moves.split(","))
        problems.append(Problem(int(number), Position.parse(f"{board} {side}"), int(best_score), best_squares, scores))
    assert [problem.number for problem in problems] == list(range(1, 80))
    return problems


@cache
def solver_for(scoring: Scoring) -> Solver:
    return Solver(scoring, hash_mb=4)


def plain_score(position: Position, scoring: Scoring, known: dict[Position, int]) -> int:
    """The final score of perfect play from the view of the side to move, by trying everything."""
    if position not in known:
        if position.is_over:
            known[position] = position.score(scoring) * (1 if position.side_to_move == BLACK else -1)
        else:
            known[position] = max(plain_move_scores(position, scoring, known).values())
    return known[position]


def plain_move_scores(position: Position, scoring: Scoring, known: dict[Position, int]) -> dict[int, int]:
    scores = {}
    for square in position.legal_squares():
        after = position.play(square)
        scores[square] = plain_score(after, scoring, known) * (1 if after.side_to_move == position.side_to_move else -1)
    return scores


def played_position(board_size: int, empties: int, rng: np.random.Generator) -> Position:
    """A position of a random game with so many empty squares, or the end of a game that was over before."""
    position = Position.start(board_size)
    while position.empties > empties and not position.is_over:
        position = position.play(int(rng.choice(position.legal_squares())))
    return position


def scattered_position(board_size: int, empties: int, rng: np.random.Generator) -> Position:
    """Discs anywhere; one side often has few, and passes are frequent."""
    squares = rng.permutation(board_size**2)[empties:]
    is_own = rng.random(len(squares)) < rng.random()
    own, opp = (sum(1 << int(square) for square in squares[mask]) for mask in (is_own, ~is_own))
    return Position(own, opp, int(rng.integers(2)), board_size)


def late_positions(board_size: int, number: int, rng: np.random.Generator) -> list[Position]:
    """Positions of 0 to 7 empties, played and scattered; every fourth with a forced pass, where one is found soon."""
    positions = []
    for count in range(number):
        position = (played_position, scattered_position)[count % 2](board_size, count // 2 % 8, rng)
        for _ in range(30 if count % 4 == 1 else 0):
            if position.must_pass:
                break
            position = scattered_position(board_size, count // 2 % 8, rng)
        positions.append(position)
    return positions


def final_score_of(position: Position, line: tuple[int, ...], scoring: Scoring) -> int:
    """The score of the game that a line plays to its end, from the view of the side to move at its beginning."""
    side = position.side_to_move
    for square in line:
        position = position.play(square)
    assert position.is_over
    return position.score(scoring) * (1 if side == BLACK else -1)


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_scores_moves_and_lines_are_those_of_trying_everything(board_size: int, scoring: Scoring, rng: np.random.Generator) -> None:
    solver = solver_for(scoring)
    positions = late_positions(board_size, 72, rng)
    assert sum(position.must_pass for position in positions) >= 5
    assert sum(position.is_over for position in positions) >= 10
    known: dict[Position, int] = {}
    for position in positions:
        expected = plain_score(position, scoring, known)
        solution = solver.solve(position)
        assert solution.score == expected, str(position)
        assert final_score_of(position, solution.pv, scoring) == expected, str(position)
        assert pass_square(board_size) not in solution.pv[1:]
        assert solver.outcome(position) == np.sign(expected), str(position)
        scores = solver.move_scores(position)
        assert scores == plain_move_scores(position, scoring, known), str(position)
        assert list(scores.values()) == sorted(scores.values(), reverse=True)


# Black's final score of perfect play from the start, known since the 1980s and small enough to try
# everything.
@pytest.mark.parametrize(("scoring", "score"), [("discs", -8), ("empties_to_winner", -10)])
def test_white_wins_the_whole_game_on_4x4(scoring: Scoring, score: int) -> None:
    start = Position.start(4)
    solution = solver_for(scoring).solve(start)
    assert solution.score == plain_score(start, scoring, {}) == score
    assert final_score_of(start, solution.pv, scoring) == score
    assert solver_for(scoring).outcome(start) == -1


def test_a_pass_comes_first_in_the_line_where_it_is_forced() -> None:
    position = Position.parse("XO-------------- O")
    assert position.must_pass
    for scoring, score in (("discs", -3), ("empties_to_winner", -16)):
        solution = solver_for(scoring).solve(position)
        assert (solution.score, solution.pv) == (score, (pass_square(4), parse_square("c1", 4)))
        assert solver_for(scoring).move_scores(position) == {pass_square(4): score}


@pytest.mark.parametrize("filled", [2, 9, 15, 16])
def test_a_game_that_is_over_has_its_score_and_no_line(filled: int) -> None:
    for side, sign in (("X", 1), ("O", -1)):
        position = Position.parse("X" * filled + "-" * (16 - filled) + side)
        for scoring in SCORINGS:
            solver = solver_for(scoring)
            solution = solver.solve(position)
            assert (solution.score, solution.pv) == (sign * position.score(scoring), ())
            assert (solver.move_scores(position), solver.outcome(position)) == ({}, sign)


def test_a_wipe_out_is_found_with_the_board_nearly_empty() -> None:
    position = Position.parse("-" * 27 + "XO" + "-" * 35 + "X")
    assert solver_for("empties_to_winner").solve(position).score == 64
    assert solver_for("discs").solve(position).score == 3
    assert solver_for("discs").solve(position).pv == (29,)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_the_score_is_the_same_from_all_eight_sides_and_with_the_colors_swapped(scoring: Scoring, rng: np.random.Generator) -> None:
    solver = solver_for(scoring)
    for board_size in (6, 8):
        for _ in range(6):
            position = played_position(board_size, 10, rng)
            score = solver.solve(position).score
            for symmetry in range(NUM_SYMMETRIES):
                assert solver.solve(transform_position(position, symmetry)).score == score, str(position)
            swapped = Position(position.own, position.opp, 1 - position.side_to_move, board_size)
            assert solver.solve(swapped).score == score


def test_both_scorings_agree_on_who_wins_and_a_full_board_has_one_score(rng: np.random.Generator) -> None:
    for _ in range(30):
        position = played_position(8, 11, rng)
        discs, to_winner = (solver_for(scoring).solve(position).score for scoring in ("discs", "empties_to_winner"))
        outcome = solver_for("discs").outcome(position)
        assert np.sign(discs) == np.sign(to_winner) == outcome == solver_for("empties_to_winner").outcome(position)
        assert abs(discs) <= abs(to_winner)


@pytest.mark.parametrize("hash_mb", [1, 4])
def test_results_do_not_depend_on_what_was_solved_before(hash_mb: int, rng: np.random.Generator) -> None:
    def results(solver: Solver, position: Position) -> tuple[Any, ...]:
        solution = solver.solve(position)
        return solution.score, solution.pv, solution.nodes, solver.move_scores(position), solver.nodes

    first, second = (played_position(8, empties, rng) for empties in (15, 14))
    alone = results(Solver(hash_mb=hash_mb), second)
    solver = Solver(hash_mb=hash_mb)
    solver.solve(first)
    assert results(solver, second) == alone
    assert results(solver, second) == alone
    solver.solve(second.play(second.legal_squares()[0]))
    assert results(solver, second) == alone


def test_a_larger_table_changes_no_score(rng: np.random.Generator) -> None:
    small, large = Solver(hash_mb=1), Solver(hash_mb=16)
    for _ in range(5):
        position = played_position(8, 15, rng)
        assert small.solve(position).score == large.solve(position).score


@pytest.mark.parametrize("number", range(1, 21))
def test_the_published_endgames_have_their_published_scores(number: int, shared_data: Path) -> None:
    problem = ffo_suite(shared_data)[number - 1]
    check_problem(problem, solver_for("empties_to_winner"))
    if number <= 7:
        assert solver_for("empties_to_winner").move_scores(problem.position) == problem.scores


@pytest.mark.slow
@pytest.mark.parametrize("number", [*range(21, 26), 40])
def test_the_harder_published_endgames_have_their_published_scores(number: int, shared_data: Path) -> None:
    check_problem(ffo_suite(shared_data)[number - 1], Solver())


def check_problem(problem: Problem, solver: Solver) -> None:
    solution = solver.solve(problem.position)
    assert solution.score == problem.best_score
    assert solution.pv[0] in problem.best_squares
    assert final_score_of(problem.position, solution.pv, "empties_to_winner") == problem.best_score


@pytest.mark.slow
def test_all_moves_of_the_published_endgames_have_their_published_scores(shared_data: Path) -> None:
    solver = Solver()
    for problem in ffo_suite(shared_data)[:25]:
        assert solver.move_scores(problem.position) == problem.scores, problem.number


@pytest.mark.slow
def test_a_sample_of_endgames_of_20_empties_has_its_published_scores(shared_data: Path, rng: np.random.Generator) -> None:
    entries = parse_obf((shared_data / "hard-20.obf").read_text(encoding="utf-8"), "hard-20.obf")
    solver = Solver()
    for place in rng.choice(len(entries), 30, replace=False):
        solution = solver.solve(entries[place].position)
        assert solution.score == entries[place].best_score, entries[place].line
        assert solution.pv[0] in entries[place].best_squares


def test_a_limit_of_nodes_or_seconds_stops_and_the_next_search_is_as_ever() -> None:
    position = parse_obf(FFO_1)[0].position
    expected = Solver(hash_mb=1).solve(position)
    solver = Solver(hash_mb=1)
    for ask in (solver.solve, solver.outcome, solver.move_scores):
        with pytest.raises(SearchStoppedError, match="nodes in -"):
            ask(Position.start(), max_nodes=10_000)
        assert 10_000 <= solver.nodes < 200_000
        assert same_result(solver.solve(position), expected)
        start = time.perf_counter()
        with pytest.raises(SearchStoppedError):
            ask(Position.start(), seconds=0.1)
        assert 0.1 <= time.perf_counter() - start < 1.5
        assert same_result(solver.solve(position, seconds=60, max_nodes=10**9), expected)


def test_the_same_limit_of_nodes_stops_at_the_same_place() -> None:
    stops = set()
    for _ in range(3):
        solver = Solver(hash_mb=1)
        with pytest.raises(SearchStoppedError):
            solver.solve(Position.start(), max_nodes=50_000)
        stops.add(solver.nodes)
    assert len(stops) == 1


def test_nodes_are_the_positions_that_were_visited() -> None:
    """Counted by hand, on boards with one and with two empty squares."""
    solver = solver_for("discs")
    one = Position.parse("XXXX" + "XXXX" + "XXXX" + "XXO- X")
    two = Position.parse("XXXX" + "XXXX" + "XXXO" + "-OX- X")
    for position, nodes in ((one, 1), (two, 2)):  # the first move wins, the second one is not tried
        assert solver.outcome(position) == 1
        assert solver.nodes == nodes
    assert set(solver.move_scores(two)) == {12, 15}
    assert solver.nodes == 2
    assert solver.solve(two).nodes == solver.nodes == 3  # and one more for the principal variation


def same_result(solution: Solution, other: Solution) -> bool:
    return (solution.score, solution.pv, solution.nodes) == (other.score, other.pv, other.nodes)


def test_impossible_arguments_are_refused() -> None:
    solver, start = solver_for("discs"), Position.start(4)
    for ask in (solver.solve, solver.outcome, solver.move_scores):
        for seconds in (math.nan, 0, -1.0, -math.inf, math.inf):
            with pytest.raises(ValueError, match=f"seconds={seconds}: expected a positive number"):
                ask(start, seconds=seconds)
        for nodes in (0, -1, 1 << 63, math.nan, 1.5):
            with pytest.raises(ValueError, match=f"max_nodes={nodes}: expected 1 to"):
                ask(start, max_nodes=nodes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="empties_to_winner"):
        Solver("points")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hash_mb=0: expected 1 to"):
        Solver(hash_mb=0)


def test_two_solvers_work_at_the_same_time(rng: np.random.Generator) -> None:
    positions = [played_position(8, 14, rng) for _ in range(12)]
    expected = [solver_for("empties_to_winner").solve(position) for position in positions]

    def solve_all(_: int) -> list[Solution]:
        solver = Solver(hash_mb=4)
        return [solver.solve(position) for position in positions]

    with ThreadPoolExecutor(2) as threads:
        for solutions in threads.map(solve_all, range(2)):
            assert all(same_result(*pair) for pair in zip(solutions, expected, strict=True))


def test_ctrl_c_stops_a_search_at_once_and_leaves_the_solver_usable() -> None:
    # Each interrupted search is followed by another one without delay, which a search that still
    # ran would disturb.
    code = (
        "import os, signal, threading, time\n"
        "from agents.search.endgame import Solver\n"
        "from othello_env import Position\n"
        "from othello_env.records.obf import parse_obf\n"
        "def interrupt():\n"
        "    global sent\n"
        "    sent = time.perf_counter()\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        f"position = parse_obf({FFO_1!r})[0].position\n"
        "solver, results, delay = Solver(hash_mb=1), set(), 0\n"
        "for _ in range(5):\n"
        "    threading.Timer(0.1, interrupt).start()\n"
        "    try:\n"
        "        solver.solve(Position.start())\n"
        "    except KeyboardInterrupt:\n"
        "        delay = max(delay, time.perf_counter() - sent)\n"
        "        solution = solver.solve(position)\n"
        "        results.add((solution.score, solution.nodes))\n"
        "print(delay)\n"
        "print(results == {(18, Solver(hash_mb=1).solve(position).nodes)}, results)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=120)
    delay, result = run.stdout.splitlines()
    assert float(delay) < 2
    assert result.startswith("True"), run.stdout + run.stderr
