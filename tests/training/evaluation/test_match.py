from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import Agent, make_agent
from agents.base import Moves
from othello_env import IllegalMoveError, Position, PositionBatch
from training.evaluation.match import MatchResult, format_results, main, play_match, score_interval
from training.evaluation.openings import random_openings


@dataclass
class Scripted:
    """Plays what a function says, and remembers which sides it played."""

    name: str
    choose: Callable[[PositionBatch, np.random.Generator], Any] | None = None

    def __post_init__(self) -> None:
        self.sides: set[int] = set()

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        assert not positions.is_over.any()
        self.sides |= set(positions.side_to_move.tolist())
        moves: Moves = positions.sample_moves(rng) if self.choose is None else self.choose(positions, rng)
        return moves


def test_every_opening_is_played_with_both_colours() -> None:
    # From here Black, to move, wins at once with a1: whoever has Black wins, so both agents score one half.
    opening = Position.parse("-OX" + "-" * 61 + "X")
    first, second = Scripted("first"), Scripted("second")
    result = play_match(first, second, [opening] * 10)
    assert result.scores.tolist() == [[1.0, 0.0]] * 10
    assert result.disc_differences.tolist() == [[3, -3]] * 10
    assert (result.games, result.wins, result.draws, result.losses, result.score) == (20, 10, 0, 10, 0.5)
    assert first.sides == second.sides == {0}


def test_scores_and_disc_differences_are_the_first_agents() -> None:
    result = play_match(make_agent("positional"), make_agent("random"), random_openings(200, 4, rng=np.random.default_rng(0)), seed=1)
    assert result.score > 0.7
    swapped = play_match(make_agent("random"), make_agent("positional"), random_openings(200, 4, rng=np.random.default_rng(0)), seed=1)
    assert swapped.score < 0.3
    np.testing.assert_array_equal((np.sign(result.disc_differences) + 1) / 2, result.scores)
    assert result.wins + result.draws + result.losses == result.games == 400


def test_a_match_repeats_with_its_seed() -> None:
    openings = random_openings(50, 6, rng=np.random.default_rng(0))
    results = [play_match(make_agent("random"), make_agent("greedy"), openings, seed=seed) for seed in (1, 1, 2)]
    assert results[0].disc_differences.tolist() == results[1].disc_differences.tolist() != results[2].disc_differences.tolist()


def test_pairs_are_split_over_several_lockstep_batches() -> None:
    openings = random_openings(23, 6, rng=np.random.default_rng(0))
    result = play_match(make_agent("greedy"), make_agent("random"), openings, lockstep=10)
    assert result.scores.shape == (23, 2)


def test_random_moves_of_both_sides_make_the_games_differ() -> None:
    def first_legal(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        lowest: Moves = positions.legal_action_mask().argmax(axis=1)
        return lowest

    agents = Scripted("one", first_legal), Scripted("two", first_legal)
    openings = [Position.start()] * 100
    assert len({tuple(row) for row in play_match(*agents, openings).disc_differences.tolist()}) == 1
    assert len({tuple(row) for row in play_match(*agents, openings, epsilon=0.1).disc_differences.tolist()}) > 50


def test_a_match_without_openings_or_with_an_impossible_chance_is_refused() -> None:
    agents = make_agent("random"), make_agent("random")
    with pytest.raises(ValueError, match="at least one opening"):
        play_match(*agents, [])
    with pytest.raises(ValueError, match="epsilon 1.5"):
        play_match(*agents, [Position.start()], epsilon=1.5)


@pytest.mark.parametrize("move", [0, 64, -1])
def test_an_agent_that_breaks_the_rules_is_named(move: int) -> None:
    cheat = Scripted("cheat", lambda positions, rng: np.full(len(positions), move))
    pairs: list[tuple[Agent, Agent]] = [(cheat, make_agent("random")), (make_agent("random"), cheat)]
    for agents in pairs:
        with pytest.raises(IllegalMoveError, match=f"cheat played square {move}, which is illegal in -"):
            play_match(*agents, [Position.start()])


def test_an_agent_that_answers_rubbish_is_named() -> None:
    for rubbish in (np.zeros(3, dtype=np.int64), np.array([19.0, 19.0]), None):

        def answer(positions: PositionBatch, rng: np.random.Generator, *, rubbish: Any = rubbish) -> Any:
            return rubbish

        cheat = Scripted("cheat", answer)
        with pytest.raises(IllegalMoveError, match="cheat answered 1 positions with"):
            play_match(cheat, make_agent("random"), [Position.start()])


def test_the_interval_of_known_scores() -> None:
    # 60 pairs won, 40 lost: nothing is won by pairing, so this is Wilson's interval for 60 of 100 but for the one added
    # observation: Wilson gives .502 to .691.
    pairs = np.repeat([1.0, 0.0], [60, 40])
    np.testing.assert_allclose(score_interval(pairs), (0.502, 0.691), atol=0.001)
    # All won: Wilson's interval for 100 of 100 is .963 to 1.
    np.testing.assert_allclose(score_interval(np.ones(100)), (0.963, 1.0), atol=0.001)
    low, high = score_interval(np.zeros(100))
    assert low == 0
    assert 0.03 < high < 0.04


def test_pairs_that_vary_less_give_a_narrower_interval_but_never_none() -> None:
    even = score_interval(np.full(100, 0.5))
    mixed = score_interval(np.tile([1.0, 0.0], 50))
    assert 0 < even[1] - even[0] < 0.3 * (mixed[1] - mixed[0])


@pytest.mark.parametrize("pairs", [20, 100, 500])
@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_the_interval_covers_the_true_score_as_often_as_it_says(pairs: int, probability: float) -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        # A pair is two games that share half of their luck.
        shared, own = rng.random((pairs, 1)), rng.random((pairs, 2))
        uniform = np.where(rng.random((pairs, 2)) < 0.5, shared, own)
        low, high = score_interval((uniform < probability).mean(axis=1))
        covered += low <= probability <= high
    assert 0.92 <= covered / 1000 <= 0.98


def test_the_table_shows_wins_draws_and_losses_in_this_order() -> None:
    result = MatchResult(("one", "two"), np.array([[1, 0.5], [1, 0]]), np.array([[4, 0], [2, -2]]), 2)
    header, row = format_results([result]).splitlines()
    assert header.split() == ["agent", "opponent", "games", "wins", "draws", "losses", "score", "95%", "interval"]
    assert row.split()[:7] == ["one", "two", "4", "2", "1", "1", "0.625"]


def test_pairs_that_are_copies_of_each_other_count_once() -> None:
    def first_legal(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        lowest: Moves = positions.legal_action_mask().argmax(axis=1)
        return lowest

    agents = Scripted("one", first_legal), Scripted("two", first_legal)
    start = play_match(*agents, [Position.start()] * 500)
    assert start.distinct_pairs == 1
    assert start.interval[1] - start.interval[0] > 0.6
    assert "only 1 of these 500 pairs" in format_results([start])
    varied = play_match(*agents, random_openings(300, 8, rng=np.random.default_rng(0)))
    assert varied.distinct_pairs > 280
    repeated = play_match(*agents, random_openings(300, 8, rng=np.random.default_rng(0)) * 4)
    assert repeated.distinct_pairs == varied.distinct_pairs
    np.testing.assert_allclose(repeated.interval, varied.interval, atol=1e-9)
    assert "only" not in format_results([varied])


def test_an_agent_cannot_change_the_games() -> None:
    def meddle(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        moves = positions.sample_moves(rng)
        positions.reset(np.arange(len(positions)))
        return moves

    assert play_match(Scripted("meddler", meddle), make_agent("random"), [Position.start()] * 5).games == 10


def test_random_moves_are_made_for_both_agents() -> None:
    def first_legal(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        lowest: Moves = positions.legal_action_mask().argmax(axis=1)
        return lowest

    seen: dict[int, set[str]] = {0: set(), 1: set()}

    def watch(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        for position in positions:
            if sum(position.discs) == (6 if position.side_to_move == 0 else 5):
                seen[position.side_to_move].add(str(position))
        return first_legal(positions, rng)

    play_match(Scripted("one", watch), Scripted("two", first_legal), [Position.start()] * 300, epsilon=0.3)
    assert len(seen[1]) == 4  # White sees each of the other's first moves, so Black's moves were random
    assert len(seen[0]) > 3  # Black sees several replies, so White's were


def test_openings_with_white_to_move_or_a_forced_pass_are_played() -> None:
    white_first = Position.parse(str(Position.start())[:-1] + "O")
    blocked = Position.parse("XO" + "-" * 62 + " O")
    first, second = Scripted("first"), Scripted("second")
    result = play_match(first, second, [white_first, blocked])
    assert result.games == 4
    assert result.disc_differences[1].tolist() == [3, -3]  # Black alone can move, and wins whoever it is


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["positional", "random", "--games", "40"])
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["positional:table=swh", "random", "40"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("nobody", "random"),
        ("random", "random", "--openings", "no.txt"),
        ("random", "random", "--epsilon", "2"),
        ("random", "random", "--games", "3"),
        ("random", "random", "--seed", "-1"),
        ("ntuple", "random", "--board-size", "6"),
    ],
)
def test_the_command_refuses_a_wrong_argument_in_one_line(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match=r"^match: [^\n]*$"):
        main(arguments)


@pytest.mark.parametrize(("player", "expected", "tolerance"), [("all-2-tuples", 0.958, 0.015), ("cocmaes-4+2x2", 0.730, 0.02)])
def test_league_mode_reproduces_the_published_scores(shared_data: Path, player: str, expected: float, tolerance: float) -> None:
    # Jaskowski (2014), "nearly 96 %" against the standard heuristic, and Jaskowski and Szubert (2016), measured again.
    agent = make_agent(f"league:{shared_data / 'players' / player}.txt,view=mover")
    result = play_match(agent, make_agent("positional:table=swh"), [Position.start()] * 2000, epsilon=0.1)
    assert result.games == 4000
    assert abs(result.score - expected) <= tolerance
