from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents import make_agent
from agents.board import embedded, embedded_square
from agents.greedy import NOBODY
from agents.ntuple.network import NTupleNetwork, ntuple_agent
from agents.weight_file import CheckpointError
from othello_env import BLACK, Game, Position, backend
from tests.conftest import REPOSITORY
from training.checkpoints import TrainingDivergedError, read_checkpoint, write_checkpoint
from training.evaluation.match import play_match
from training.evaluation.openings import load_openings, random_openings
from training.run import save_run
from training.td_kernel import Updates, play
from training.td_ntuple import CHECKPOINT_KIND, NETWORK_FILE, PRESETS, TRAINER, Learner, Settings, main

MARGIN_SHARE = 0.75
SMALL = Settings(games=300, ensemble_size=1, margin_share=MARGIN_SHARE, num_envs=32, board_size=6, num_stages=2, evaluate_every=100)


def play_plies(learner: Learner, plies: int) -> Learner:
    for _ in range(plies):
        learner.play(1)
    return learner


def move_without_learning(learner: Learner) -> Updates:
    """What would be learned of one move in all games of the first network."""
    member, settings = learner.members[0], learner.settings
    shape = (settings.num_envs, 2, len(learner.patterns.empty_indices))
    updates = Updates(np.zeros(shape, dtype=np.int32), np.zeros(shape[:2]), np.zeros(shape[0], dtype=np.bool_))
    play(member.games, member.weights.ravel(), learner.params, updates)
    return updates


def give_weights(learner: Learner, seed: int = 0) -> NTupleNetwork:
    """Random weights for the first network, which is returned."""
    weights = learner.members[0].weights
    weights[:, :-1] = np.random.default_rng(seed).normal(size=weights[:, :-1].shape) / 20
    return learner.network()


def positions_of(learner: Learner) -> list[Position]:
    """The positions of the running games."""
    n, games = learner.settings.board_size, learner.members[0].games
    squares = [embedded_square(square, n) for square in range(n * n)]
    assert all(int(embedded(np.uint64((1 << n * n) - 1), n)) >> square & 1 for square in squares)

    def unembedded(discs: Any) -> int:
        return sum(1 << square for square, place in enumerate(squares) if int(discs) >> place & 1)

    rows = zip(games.own, games.opp, games.side, strict=True)
    return [Position(unembedded(own), unembedded(opp), int(side), n) for own, opp, side in rows]


def put(learner: Learner, position: Position) -> None:
    """Put one position of the 8x8 board into all games."""
    games = learner.members[0].games
    games.own[:], games.opp[:] = np.uint64(position.own), np.uint64(position.opp)
    games.side[:], games.random_plies[:] = position.side_to_move, 0


def test_a_short_run_learns_to_beat_its_start_and_random() -> None:
    learner = Learner(Settings(seed=1, num_envs=64, games=6000))
    start = ntuple_agent(learner.network(), "start")
    while learner.games_done < 6000:
        learner.advance()
    openings = random_openings(200, 8, rng=np.random.default_rng(0))
    for opponent in (start, make_agent("random")):
        low, _ = play_match(learner.curve_agent(), opponent, openings).interval
        assert low > 0.7


def weights_of(learner: Learner) -> npt.NDArray[np.float32]:
    return np.stack([member.weights for member in learner.members])


def test_the_same_seed_gives_the_same_weights_and_another_one_others() -> None:
    first, second, other = (weights_of(play_plies(Learner(replace(SMALL, seed=seed)), 60)) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_neither_threads_nor_the_length_of_a_step_make_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    settings, found = replace(SMALL, ensemble_size=3), []
    for threads, steps in (("1", [64]), ("2", [64]), ("3", [1, 60, 3])):
        monkeypatch.setenv("OTHELLO_ENV_THREADS", threads)
        monkeypatch.setattr(backend._State, "pool", None)
        learner = Learner(replace(settings, annealing_fraction=0.0))
        for plies in steps:
            learner.play(plies)
        found.append(weights_of(learner))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert found[0].any(axis=(1, 2)).all()


def test_the_network_is_the_mean_of_those_that_learned_by_their_own_games() -> None:
    learner = play_plies(Learner(replace(SMALL, ensemble_size=3)), 60)
    weights = weights_of(learner)
    assert (weights[0] != weights[1]).any()
    assert (weights[0] != weights[2]).any()
    np.testing.assert_allclose(learner.network().weights, weights.mean(axis=0)[:, :-1].ravel(), atol=1e-7)
    assert learner.positions_done == 60 * 3 * 32


@pytest.mark.parametrize("plies", [0, 1, 37])
def test_a_run_that_was_saved_and_loaded_goes_on_as_if_nothing_had_happened(plies: int, tmp_path: Path) -> None:
    whole = play_plies(Learner(replace(SMALL, ensemble_size=2)), plies)
    whole.save(tmp_path / "state")
    resumed = Learner.load(tmp_path / "state")
    for learner in (whole, resumed):
        play_plies(learner, 60)
    np.testing.assert_array_equal(weights_of(whole), weights_of(resumed))
    assert whole.games_done == resumed.games_done > 0
    whole.save(tmp_path / "one")
    resumed.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert whole.take_metrics() == resumed.take_metrics() != {"mean_absolute_error": 0.0}


def test_weights_of_mirrored_patterns_stay_equal() -> None:
    learner = play_plies(Learner(SMALL), 60)
    weights = learner.members[0].weights
    assert all(np.abs(stage).max() > 0 for stage in weights)
    np.testing.assert_array_equal(weights, weights[:, learner._mirrored])


def sum_for(network: NTupleNetwork, side: int, position: Position) -> tuple[npt.NDArray[np.int64], float]:
    """What the position looks up as an afterstate of a side, and the sum, from the side's view."""
    own, opp = (position.black, position.white) if side == BLACK else (position.white, position.black)
    discs = np.array([own], dtype=np.uint64), np.array([opp], dtype=np.uint64)
    return network.indices(*discs)[0], float(network.values(*discs)[0])


def result_for(side: int, position: Position) -> float:
    """The value of a finished game from a side's view: three quarters of it are the disc difference, empty squares the winner's."""
    margin = position.score("empties_to_winner") / position.board_size**2
    value = 0.25 * float(position.outcome or 0) + 0.75 * margin
    return value if side == BLACK else -value


def best_sum(network: NTupleNetwork, position: Position) -> float:
    """Of the best move, from the view of the side to move."""
    sums = []
    for square in position.legal_squares():
        child = position.play(square)
        if child.is_over:
            sums.append(float(np.arctanh(np.clip(result_for(position.side_to_move, child), -0.999, 0.999))))
        else:
            sums.append(sum_for(network, position.side_to_move, child)[1])
    return max(sums)


@pytest.mark.parametrize(("board_size", "games"), [(6, 16), (8, 4)])
def test_targets_change_sign_with_the_side_and_end_in_the_result(board_size: Any, games: int) -> None:
    """Against an own account of who moved where; the small board has many passes."""
    learner = Learner(replace(SMALL, epsilon=0.2, random_plies=8, board_size=board_size, num_envs=games))
    assert learner.settings.margin_share == MARGIN_SHARE
    network = give_weights(learner)

    def error(total: float, target: float) -> float:
        return float((target - np.tanh(total)) * (1 - np.tanh(total) ** 2))

    def padded(lookups: npt.NDArray[np.int64]) -> list[int]:
        stage, entry = np.divmod(lookups, network.layout.stage_size)
        return (stage * int(learner.patterns.stage_stride) + entry).tolist()  # type: ignore[no-any-return]

    previous: list[tuple[int, Position] | None] = [None] * games  # who made the last move, and what it led to
    same_side = ends = others = 0
    for _ in range(board_size**2 + 10):
        before = positions_of(learner)
        updates = move_without_learning(learner)
        for row, (old, new) in enumerate(zip(before, positions_of(learner), strict=True)):
            children = {old.play(square) for square in old.legal_squares()}
            if last := previous[row]:
                lookups, total = sum_for(network, *last)
                target = np.tanh(best_sum(network, old)) * (1 if last[0] == old.side_to_move else -1)
                assert updates.errors[row, 0] == pytest.approx(error(total, target), abs=1e-5)
                assert updates.indices[row, 0, : network.layout.num_lookups].tolist() == padded(lookups)
                same_side += last[0] == old.side_to_move
            else:
                assert updates.errors[row, 0] == 0
            if updates.ended[row]:
                assert new == Position.start(board_size)
                possible = []
                for child in children:
                    if child.is_over:
                        lookups, total = sum_for(network, old.side_to_move, child)
                        result = result_for(old.side_to_move, child)
                        possible.append((padded(lookups), pytest.approx(error(total, result), abs=1e-5)))
                assert (updates.indices[row, 1, : network.layout.num_lookups].tolist(), updates.errors[row, 1]) in possible
                ends += 1
            else:
                assert updates.errors[row, 1] == 0
                assert new in children
                others += best_sum(network, old) > sum_for(network, old.side_to_move, new)[1] + 1e-5
            previous[row] = None if updates.ended[row] else (old.side_to_move, new)
    assert ends >= games
    assert others > games  # random moves
    assert same_side > 3 or games < 16


def test_step_sizes_fall_to_nothing_at_the_end() -> None:
    learner = play_plies(Learner(SMALL), 60)
    learner.games_done = SMALL.games
    before = weights_of(learner)
    play_plies(learner, 10)
    np.testing.assert_array_equal(weights_of(learner), before)
    learner.settings = replace(SMALL, games=3000)
    play_plies(learner, 10)
    assert (weights_of(learner) != before).any()


def test_random_moves_are_spread_over_all_legal_ones() -> None:
    learner = Learner(replace(SMALL, board_size=8, epsilon=1.0, num_envs=500))
    put(learner, Position.start())
    learner.play(1)
    counts = [positions_of(learner).count(Position.start().play(square)) for square in Position.start().legal_squares()]
    assert sum(counts) == 500
    assert min(counts) > 90  # of 125 expected, three standard deviations


def test_equal_moves_are_played_equally_often() -> None:
    learner = Learner(replace(SMALL, board_size=8, epsilon=0.0, num_envs=500))
    put(learner, Position.start())
    learner.play(1)
    counts = [positions_of(learner).count(Position.start().play(square)) for square in Position.start().legal_squares()]
    assert sum(counts) == 500
    assert min(counts) > 90


def test_games_begin_with_the_wanted_number_of_random_moves() -> None:
    learner = Learner(replace(SMALL, epsilon=0.0, random_plies=4, num_envs=200))
    begun: list[int] = []
    for _ in range(100):
        updates = move_without_learning(learner)
        begun += learner.members[0].games.random_plies[updates.ended].tolist()
    assert set(begun) == {0, 1, 2, 3, 4}
    assert min(begun.count(plies) for plies in range(5)) > len(begun) / 7


@pytest.mark.parametrize("board_size", [6, 8])
def test_the_greedy_side_turns_the_most_discs_and_the_other_plays_by_the_network(board_size: Any) -> None:
    learner = Learner(replace(SMALL, board_size=board_size, epsilon=0.0, greedy_share=0.0, random_plies=0))
    network, games = give_weights(learner), learner.members[0].games
    games.greedy_side[::2], games.greedy_side[1::2] = 0, 1
    greedy_moves = other_moves = 0
    for _ in range(board_size**2 - 4):
        before, side, random_plies = positions_of(learner), games.greedy_side.copy(), games.random_plies.copy()
        updates = move_without_learning(learner)
        for row, (old, new) in enumerate(zip(before, positions_of(learner), strict=True)):
            if updates.ended[row] or random_plies[row]:
                continue
            children = [old.play(square) for square in old.legal_squares()]
            if side[row] == old.side_to_move:
                assert gain(old, new) == max(gain(old, child) for child in children)
                greedy_moves += len(children) > 1
            else:
                best = max(float("-inf") if child.is_over else sum_for(network, old.side_to_move, child)[1] for child in children)
                assert new in children
                assert sum_for(network, old.side_to_move, new)[1] == pytest.approx(best, abs=1e-5)
                other_moves += len(children) > 1
    assert min(greedy_moves, other_moves) > 200


def gain(old: Position, new: Position) -> int:
    """The discs that a move adds to those of the side that makes it."""
    before, after = (old.black, new.black) if old.side_to_move == BLACK else (old.white, new.white)
    return after.bit_count() - before.bit_count()


def test_each_side_is_greedy_in_half_of_the_wanted_share_of_games() -> None:
    learner = Learner(replace(SMALL, greedy_share=0.6, num_envs=200))
    assert (learner.members[0].games.greedy_side == NOBODY).all()
    begun: list[int] = []
    for _ in range(100):
        updates = move_without_learning(learner)
        begun += learner.members[0].games.greedy_side[updates.ended].tolist()
    shares = [begun.count(side) / len(begun) for side in (0, 1, NOBODY)]
    assert len(begun) > 400
    assert shares == pytest.approx([0.3, 0.3, 0.4], abs=0.07)


def test_a_game_that_can_be_won_at_once_is_won() -> None:
    learner = Learner(replace(SMALL, board_size=8, num_envs=1, epsilon=0.0))
    put(learner, Game.parse("f5f4c3c6c5d6f3c4").final)
    learner.play(1)
    assert learner.games_done == 1


def test_training_that_diverges_stops_with_the_last_good_checkpoint(tmp_path: Path) -> None:
    learner = play_plies(Learner(SMALL), 20)
    save_run(TRAINER, learner, folder=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    learner.members[0].weights[0, 5] = float("nan")
    with pytest.raises(TrainingDivergedError, match="not finite"):
        save_run(TRAINER, learner, folder=tmp_path)
    with pytest.raises(TrainingDivergedError, match="not finite"):
        learner.save(tmp_path / "checkpoint.safetensors")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


MEMBER = "member 0"
Change = Callable[[dict[str, dict[str, Any]], dict[str, Any]], Any]


@pytest.mark.parametrize(
    "change",
    [
        lambda parts, about: parts[MEMBER].pop("errors"),
        lambda parts, about: parts.pop(MEMBER),
        lambda parts, about: parts.update({"member 1": parts[MEMBER]}),
        lambda parts, about: about["settings"].update(ensemble_size=2),
        lambda parts, about: about.pop("games_done"),
        lambda parts, about: about["settings"].update(unknown=1),
        lambda parts, about: about["settings"].update(board_size=8),
        lambda parts, about: about["settings"].update(num_envs=31),
        lambda parts, about: parts[MEMBER].update(weights=np.zeros(1, dtype=np.float32)),
        lambda parts, about: parts[MEMBER].update(weights=np.full_like(parts[MEMBER]["weights"], np.nan)),
        lambda parts, about: parts[MEMBER].update(previous=parts[MEMBER]["previous"] + (1 << 30)),
        lambda parts, about: parts[MEMBER].update(own=parts[MEMBER]["opp"]),
        lambda parts, about: parts[MEMBER].update(random_words=np.zeros_like(parts[MEMBER]["random_words"])),
        lambda parts, about: parts[MEMBER].update(previous=parts[MEMBER]["previous"] - (1 << 30)),
        lambda parts, about: parts[MEMBER].update(previous=parts[MEMBER]["previous"].astype(np.int64)),
        lambda parts, about: parts[MEMBER].update(own=parts[MEMBER]["own"] | np.uint64(1)),  # a1 of 8x8 lies outside of 6x6
        lambda parts, about: parts[MEMBER].update(opp=0 * parts[MEMBER]["opp"]),  # nobody can move
        lambda parts, about: parts[MEMBER].update(side=parts[MEMBER]["side"] + np.uint8(2)),
        lambda parts, about: parts[MEMBER].update(previous_side=parts[MEMBER]["side"] + np.uint8(2)),
        lambda parts, about: parts[MEMBER].update(greedy_side=parts[MEMBER]["side"] + np.uint8(3)),
        lambda parts, about: parts[MEMBER].update(random_plies=parts[MEMBER]["random_plies"] - 100),
        lambda parts, about: parts[MEMBER].update(errors=np.full_like(parts[MEMBER]["errors"], np.inf)),
        lambda parts, about: parts[MEMBER].update(errors=np.full_like(parts[MEMBER]["errors"], -1)),
        lambda parts, about: parts[MEMBER].update(unknown=np.zeros(1)),
        lambda parts, about: about.update(games_done=10**9),
        lambda parts, about: about.update(games_done=-1),
        lambda parts, about: about.update(games_done=1.0),
        lambda parts, about: about.update(positions_done=10**9),
        lambda parts, about: about.update(positions_done=-(10**9)),
        lambda parts, about: about.update(games_done=10**9, positions_done=10**8),
        lambda parts, about: about.update(errors=[1.0]),
        lambda parts, about: about.update(errors=[float("nan"), 3]),
        lambda parts, about: about["settings"].update(games=0),
        lambda parts, about: about["settings"].update(games=1e9),
    ],
)
def test_a_checkpoint_with_other_things_in_it_is_refused(tmp_path: Path, change: Change) -> None:
    play_plies(Learner(SMALL), 5).save(tmp_path / "state")
    parts, about = read_checkpoint(tmp_path / "state", CHECKPOINT_KIND)
    change(parts, about)
    write_checkpoint(tmp_path / "state", CHECKPOINT_KIND, parts=parts, about=about)
    with pytest.raises(CheckpointError, match="not a checkpoint to resume from"):
        Learner.load(tmp_path / "state")


def test_a_gpu_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--device", "cuda"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "td_ntuple: device cuda: td_ntuple runs on the CPU only; use --device auto or cpu\n"


def test_presets_are_settings_that_can_be_used() -> None:
    assert list(PRESETS) == ["minute", "ten-minutes", "hour"]
    for settings in PRESETS.values():
        settings.check()


@pytest.mark.slow
def test_the_main_job_makes_an_agent_of_the_promised_strength_in_little_memory(tmp_path: Path, shared_data: Path) -> None:
    # A process in between, whose only child is the run, tells how much memory that took.
    measuring = "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode"
    measuring += "; print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    command = [sys.executable, "-c", measuring, sys.executable, "-m", "training.td_ntuple", "--out", str(tmp_path / "run")]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert 100_000 < int(run.stdout.rpartition("peak ")[2]) < 2**20  # kilobytes
    agent = ntuple_agent(NTupleNetwork.load(tmp_path / "run" / NETWORK_FILE))
    openings = load_openings(shared_data / "openings-11-discs.txt")
    best = make_agent(f"league:{shared_data / 'players' / 'cocmaes-4+2x2.txt'},view=mover")
    for opponent, score in ((make_agent("random"), 0.97), (make_agent("positional"), 0.60), (best, 0.65)):
        assert play_match(agent, opponent, openings).score >= score
    for opponent, score in ((make_agent("random"), 0.97), (make_agent("positional"), 0.60)):
        assert play_match(agent, opponent, random_openings(500, 8, rng=np.random.default_rng(1))).score >= score
