from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from agents.greedy import NOBODY
from agents.search.leaf import Evaluation, RolloutEvaluator
from agents.search.mcts import SearchSettings
from othello_env import BLACK, Position, PositionBatch
from training.alphazero import PRESETS
from training.replay import Samples
from training.self_play import SearchPlan, SelfPlay

PLAN = SearchPlan(full=6, quick=2, full_share=0.25)
SEARCH = SearchSettings(simulations=6, method="gumbel")


def new_games(num_games: int, board_size: int = 6, *, random_plies: int = 3, greedy_share: float = 0.0, seed: int = 0) -> SelfPlay:
    rng = np.random.default_rng(seed)
    return SelfPlay(num_games, board_size, search=SEARCH, random_plies=random_plies, greedy_share=greedy_share, rng=rng)


def play(games: SelfPlay, calls: int, rng: np.random.Generator) -> list[Samples]:
    return [games.advance(RolloutEvaluator(), PLAN, rng=rng) for _ in range(calls)]


def own_account(board_size: int, num_games: int, calls: int, seed: int) -> tuple[list[Samples], list[list[list[Position]]], SelfPlay]:
    """The samples of each call, and for each call the positions before the moves of the games that it ended, last first."""
    games = new_games(num_games, board_size, seed=seed)
    rng = np.random.default_rng(seed)
    running: list[list[Position]] = [[] for _ in range(num_games)]
    found, ended = [], []
    for _ in range(calls):
        before = list(games._games)
        found.append(games.advance(RolloutEvaluator(), PLAN, rng=rng))
        moved = games._searches.idle.tolist()
        for row in moved:
            running[row].append(before[row])
        over = [row for row in moved if games._length[row] == 0]
        ended.append([running[row] for row in over])
        for row in over:
            running[row] = []
    return found, ended, games


@pytest.mark.parametrize("board_size", [4, 6])
def test_samples_are_the_positions_of_the_ended_games_with_the_results_seen_by_who_is_to_move(board_size: int) -> None:
    """The small boards have many passes."""
    found, ended, games = own_account(board_size, 24, 240, seed=1)
    count = passes = 0
    for samples, played in zip(found, ended, strict=True):
        expected = [position for positions in played for position in positions]
        assert samples.own.tolist() == [position.own for position in expected]
        assert samples.opp.tolist() == [position.opp for position in expected]
        assert samples.legal_moves.tolist() == [position.legal_moves for position in expected]
        row = 0
        for positions in played:
            # The last move is not known here; the discs at the end are, and are the same for all
            # positions of the game.
            ends = {
                (int(own), int(opp)) if position.side_to_move == BLACK else (int(opp), int(own))
                for position, own, opp in zip(positions, samples.final_own[row:], samples.final_opp[row:], strict=False)
            }
            (black, white), *others = ends
            assert not others
            final = Position(black, white, BLACK, board_size)
            assert final.is_over
            sides = {child.black for child in (positions[-1].play(square) for square in positions[-1].legal_squares()) if child.is_over}
            assert black in sides
            for position in positions:
                outcome = final.outcome if position.side_to_move == BLACK else -(final.outcome or 0)
                assert samples.outcome[row] == outcome
                row += 1
            passes += sum(one.side_to_move == other.side_to_move for one, other in zip(positions, positions[1:], strict=False))
        assert row == len(samples)
        count += len(played)
    assert games.games_done == count > 30
    assert games.plies_done >= sum(len(samples) for samples in found)
    assert passes > 5


def test_policies_are_those_of_legal_moves_and_a_quarter_of_the_searches_is_full() -> None:
    games = new_games(32, random_plies=0)
    samples = [part for part in play(games, 300, np.random.default_rng(2)) if len(part)]
    full = np.concatenate([part.policy_mask for part in samples])
    assert full.mean() == pytest.approx(0.25, abs=0.03)
    for part in samples:
        squares = np.arange(36, dtype=np.uint64)
        legal = (part.legal_moves[:, None] >> squares) & np.uint64(1) == 1
        assert not part.policy[:, :36][~legal].any()
        np.testing.assert_allclose(part.policy.astype(np.float32).sum(axis=1), 1, atol=0.01)
        assert (np.abs(part.root_value) <= 1).all()


def test_policies_to_learn_from_are_those_of_full_searches() -> None:
    """With PUCT a policy is the share of visits: multiples of 1/5 after a full search, of 1/2 after a quick one."""
    plan, rng = SearchPlan(full=5, quick=2, full_share=0.5), np.random.default_rng(3)
    games = SelfPlay(24, 6, search=SearchSettings(simulations=5), random_plies=0, rng=rng)
    samples = [games.advance(RolloutEvaluator(), plan, rng=rng) for _ in range(250)]
    policy, full = (np.concatenate([getattr(part, name) for part in samples]) for name in ("policy", "policy_mask"))
    choice_mask = policy.max(axis=1) < 1
    for mask, simulations in ((full, 5), (~full, 2)):
        visits = policy[mask & choice_mask].astype(np.float64) * simulations
        assert len(visits) > 50
        np.testing.assert_allclose(visits, visits.round(), atol=0.01)


def test_games_begin_at_all_stages_and_later_ones_with_few_random_moves() -> None:
    games = new_games(64, random_plies=4)
    empties = games._games.empties
    assert len(set(empties.tolist())) > 20
    starts: list[int] = []
    rng = np.random.default_rng(1)
    for _ in range(250):
        play(games, 1, rng)
        idle = games._searches.idle
        starts += games._games.empties[idle[games._length[idle] == 0]].tolist()
    assert set(starts) == {32, 31, 30, 29, 28}


def after_greedy_replies(position: Position, greedy_side: int) -> set[Position]:
    """What a position can be once the greedy side has made all moves that are its own."""
    if position.is_over or position.side_to_move != greedy_side:
        return {position}
    children = [position.play(square) for square in position.legal_squares()]
    gains = [(child.black if greedy_side == BLACK else child.white).bit_count() for child in children]
    best = [child for child, discs in zip(children, gains, strict=True) if discs == max(gains)]
    return {found for child in best for found in after_greedy_replies(child, greedy_side)}


@pytest.mark.parametrize("board_size", [4, 6])
def test_a_greedy_side_turns_the_most_discs_and_only_the_other_one_s_positions_are_kept(board_size: int) -> None:
    games = new_games(24, board_size, greedy_share=1.0, seed=1)
    rng = np.random.default_rng(1)
    plies = [0] * 24
    ended = 0
    for _ in range(200):
        before, greedy_side = list(games._games), games._greedy_side.tolist()
        assert not any(position.is_over or position.side_to_move == side for position, side in zip(before, greedy_side, strict=True))
        samples = games.advance(RolloutEvaluator(), PLAN, rng=rng)
        over, ends = [], []
        for row in games._searches.idle.tolist():
            position, side = before[row], greedy_side[row]
            possible = {end for square in position.legal_squares() for end in after_greedy_replies(position.play(square), side)}
            plies[row] += 1
            if games._length[row]:
                assert games._games[row] in possible
            else:
                over.append(row)
                ends.append({end for end in possible if end.is_over})
        lengths = [plies[row] for row in over]
        assert len(samples) == sum(lengths)
        for row, possible, first in zip(over, ends, np.cumsum([0, *lengths]), strict=False):
            kept = slice(first, first + plies[row])
            plies[row] = 0
            if greedy_side[row] == NOBODY:  # its greedy side had taken all discs before the first search
                continue
            own, opp = int(samples.final_own[first]), int(samples.final_opp[first])
            black, white = (opp, own) if greedy_side[row] == BLACK else (own, opp)
            assert (black, white) in {(end.black, end.white) for end in possible}
            assert len({*zip(samples.final_own[kept].tolist(), samples.final_opp[kept].tolist(), strict=True)}) == 1
            assert set(samples.outcome[kept].tolist()) == {(own.bit_count() > opp.bit_count()) - (own.bit_count() < opp.bit_count())}
            ended += 1
    assert ended > 50


def test_each_side_is_greedy_in_half_of_the_wanted_share_of_games() -> None:
    sides = new_games(2000, 8, greedy_share=0.6)._greedy_side
    shares = [float((sides == side).mean()) for side in (NOBODY, 0, 1)]
    assert shares == pytest.approx([0.4, 0.3, 0.3], abs=0.04)


@pytest.mark.parametrize("calls", [0, 1, 50])
def test_restored_games_go_on_like_the_old_ones(calls: int) -> None:
    old, new = (new_games(16, greedy_share=0.4, seed=seed) for seed in (0, 9))
    play(old, calls, np.random.default_rng(1))
    new.restore({name: array.copy() for name, array in old.state().items()})
    for one, other in zip(*(play(games, 160, np.random.default_rng(2)) for games in (old, new)), strict=True):
        for name, array in one.arrays().items():
            np.testing.assert_array_equal(other.arrays()[name], array)
    for name, array in old.state().items():
        np.testing.assert_array_equal(new.state()[name], array)
        assert new.state()[name].dtype == array.dtype


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.pop("own"),
        lambda state: state.update(own=state["own"][:3]),
        lambda state: state.update(own=state["opp"]),
        lambda state: state.update(length=state["length"].astype(np.int32)),
        lambda state: state.update(length=np.broadcast_to(state["length"][:1], (1,))),
        lambda state: state.update({"history.policy_mask": state["history.policy_mask"][:, :1]}),
        lambda state: state.update(length=state["length"] + 1000),
        lambda state: state.update(length=state["length"] + 25),
        lambda state: state.update(own=state["opp"], opp=state["own"]),
        lambda state: state.update(own=state["own"] | state["opp"], opp=state["opp"] & np.uint64(0)),
        lambda state: state.update(greedy_side=state["side_to_move"].copy()),
        lambda state: state.pop("search.leaves"),
        lambda state: state.update({"search.parent_edge": state["search.parent_edge"] + 100}),
    ],
)
def test_what_does_not_fit_is_not_restored(change: Any) -> None:
    games = new_games(16)
    play(games, 10, np.random.default_rng(1))
    state = dict(games.state())
    change(state)
    with pytest.raises((ValueError, KeyError)):
        games.restore(state)


def test_every_call_has_leaves_of_all_games() -> None:
    """Of games that end, games with one legal move and short searches too; so that no call is small."""
    sizes: list[int] = []

    class Counting(RolloutEvaluator):
        def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
            sizes.append(len(positions))
            return super().evaluate(positions, rng)

    games = SelfPlay(40, 6, search=replace(SEARCH, leaves_per_call=4), random_plies=3, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for _ in range(300):
        games.advance(Counting(), PLAN, rng=rng)
    assert games.games_done > 80
    assert 40 <= min(sizes) < max(sizes) <= 160


def test_the_presets_play_hundreds_of_games_at_a_time() -> None:
    assert all(settings.num_envs >= 256 for settings in PRESETS.values())


def test_counts_begin_at_zero_and_count_every_move() -> None:
    games = new_games(16, 4)
    assert (games.games_done, games.plies_done) == (0, 0)
    moves = ended = 0
    rng = np.random.default_rng(1)
    for _ in range(60):
        ended += len(np.unique(play(games, 1, rng)[0].own)) > 0
        moves += len(games._searches.idle)
        assert games.plies_done == moves
    assert games.games_done >= ended > 0


def test_random_moves_that_would_end_a_game_are_left_out() -> None:
    """On 4x4 a fair share of games is over after ten random moves."""
    for seed in range(5):
        games = new_games(200, 4, random_plies=10, seed=seed)
        assert not games._games.is_over.any()


def test_states_have_the_types_of_checkpoints_and_policies_take_two_bytes_per_action() -> None:
    state = new_games(3).state()
    types = {name.removeprefix("history."): str(state[name].dtype) for name in state if name.startswith("history.")}
    bitboards = dict.fromkeys(("own", "opp", "legal_moves"), "uint64")
    assert types == {**bitboards, "side": "uint8", "policy": "float16", "policy_mask": "bool", "root_value": "float32"}
