from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from agents import make_agent, policy_value
from agents.device import Device
from agents.networks import PolicyValueNetwork, to_arrays
from agents.policy_value import load_policy_value_agent, network_evaluator, policy_value_agent
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env import BLACK, Position, PositionBatch
from othello_env.symmetry import NUM_SYMMETRIES, transform, transform_square
from tests.conftest import REPOSITORY
from training import ppo
from training.checkpoints import TrainingDivergedError
from training.evaluation.match import play_match
from training.evaluation.openings import random_openings
from training.losses import masked_log_softmax
from training.metrics import FILE_NAME as METRICS_FILE
from training.ppo import CHECKPOINT_KIND, NETWORK_FILE, PRESETS, TRAINER, Learner, Samples, Settings, main
from training.run import CHECKPOINT_FILE, save_run, train

SMALL = Settings(
    games=200,
    board_size=6,
    blocks=1,
    channels=8,
    num_envs=48,
    num_steps=16,
    random_plies=4,
    opponent_share=0.25,
    pool_size=2,
    snapshot_every=1,
    batch_size=128,
    precision="float32",
    evaluate_every=100,
)


@pytest.fixture(autouse=True)
def few_openings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppo, "_OPENINGS_PER_LENGTH", 20)


def after_updates(learner: Learner, updates: int) -> Learner:
    for _ in range(updates):
        learner.advance()
    return learner


def same_weights(first: Learner, second: Learner) -> bool:
    one, two = to_arrays(first.network), to_arrays(second.network)
    return all(np.array_equal(one[name], two[name]) for name in one)


def with_noise(learner: Learner, size: float = 0.3) -> Learner:
    """The learner with a policy and values that are not even."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in learner.network.parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))
    return learner


# A run as a whole


def test_the_same_seed_gives_the_same_weights_and_another_one_others(device: Device) -> None:
    first, second, other = (after_updates(Learner(replace(SMALL, seed=seed), device), 3) for seed in (3, 3, 4))
    assert same_weights(first, second)
    assert not same_weights(first, other)
    assert not same_weights(first, Learner(replace(SMALL, seed=3)))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("updates", [0, 1, 4])
def test_a_run_that_was_saved_and_loaded_goes_on_as_if_nothing_had_happened(
    updates: int, precision: Any, device: Device, tmp_path: Path
) -> None:
    whole = after_updates(Learner(replace(SMALL, precision=precision), device), updates)
    whole.save(tmp_path / "state")
    resumed = Learner.load(tmp_path / "state", device)
    for learner in (whole, resumed):
        after_updates(learner, 3)
    assert same_weights(whole, resumed)
    assert whole.games_done == resumed.games_done > 0
    assert whole.positions_done == resumed.positions_done == (updates + 3) * 16 * 48
    whole.save(tmp_path / "one")
    resumed.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert whole.take_metrics() == resumed.take_metrics()


def test_a_run_that_found_its_precision_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_value, "fastest_dtype", lambda *_: torch.bfloat16)
    Learner(replace(SMALL, precision="auto")).save(tmp_path / "state")
    monkeypatch.setattr(policy_value, "fastest_dtype", lambda *_: torch.float32)
    assert Learner.load(tmp_path / "state").dtype == torch.bfloat16


def test_the_metrics_and_the_network_of_a_run_are_there_to_be_read(tmp_path: Path) -> None:
    learner = Learner(SMALL)
    assert train(TRAINER, learner, folder=tmp_path)
    with (tmp_path / METRICS_FILE).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(0 < float(row["entropy"]) < 3 for row in rows)
    assert all(0 <= float(row["clip_fraction"]) <= 1 for row in rows)
    agent = load_policy_value_agent(tmp_path / NETWORK_FILE, simulations=0)
    openings = random_openings(5, 4, rng=np.random.default_rng(0), board_size=6)
    assert play_match(agent, make_agent("random"), openings).games == 10


# The games


@dataclass
class Ply:
    """What one game did in one ply. rewards: of the side that moved."""

    position: Position
    action: int
    reward: float
    ended: bool


def watched_rollout(learner: Learner, monkeypatch: pytest.MonkeyPatch) -> tuple[Samples, list[list[Ply]], list[Position]]:
    """A rollout: what is to be learned of it, what was played ([T][N]), and the positions that it stopped at ([N])."""
    played: list[list[Ply]] = []
    step = learner._env.step

    def watched(actions: npt.ArrayLike) -> Any:
        before = list(learner._env.positions)
        result = step(actions)
        moves = np.asarray(actions).tolist()
        played.append([Ply(*ply) for ply in zip(before, moves, result[1].tolist(), result[2].tolist(), strict=True)])
        return result

    with monkeypatch.context() as patch:
        patch.setattr(learner._env, "step", watched)
        samples = learner._play()
    return samples, played, list(learner._env.positions)


def learned_plies(learner: Learner, played: list[list[Ply]]) -> list[tuple[int, int]]:
    """Ply and game of the moves that the network made for itself: all, but those of the other side in the first games."""
    against_opponent = round(learner.settings.opponent_share * learner.settings.num_envs)
    return [
        (number, game)
        for number, plies in enumerate(played)
        for game, ply in enumerate(plies)
        if game >= against_opponent or ply.position.side_to_move == game % 2
    ]


def squares_in(plane: npt.NDArray[Any]) -> int:
    return sum(1 << square for square, bit in enumerate(plane.ravel().tolist()) if bit)


def views(samples: Samples, row: int, ply: Ply) -> list[int]:
    """The symmetries through which a sample is the position and the move of a ply."""
    seen = [squares_in(plane) for plane in samples.planes[row]]
    position = ply.position
    return [
        symmetry
        for symmetry in range(NUM_SYMMETRIES)
        if [transform(bits, symmetry, 6) for bits in (position.own, position.opp, position.legal_moves)] == seen
        and transform_square(ply.action, symmetry, 6) == samples.actions[row]
    ]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_every_move_of_the_network_is_learned_from_and_none_of_the_opponents(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = with_noise(Learner(replace(SMALL, opponent_share=share)))
    found: set[int] = set()
    for _ in range(3):
        samples, played, _ = watched_rollout(learner, monkeypatch)
        plies = learned_plies(learner, played)
        assert len(samples) == len(plies)
        for row, (number, game) in enumerate(plies):
            ply = played[number][game]
            matching = views(samples, row, ply)
            assert matching
            found |= set(matching) if len(matching) == 1 else set()
            assert squares_in(samples.action_mask[row, :-1]) == squares_in(samples.planes[row, 2])
            assert not samples.action_mask[row, -1]
    assert found == set(range(NUM_SYMMETRIES))
    share_learned = len(plies) / (SMALL.num_envs * SMALL.num_steps)
    assert share_learned == pytest.approx(1 - share / 2, abs=0.05)


def test_the_opponents_moves_are_those_of_an_earlier_network(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = with_noise(Learner(replace(SMALL, opponent_share=0.5)))
    asked: list[tuple[bool, int]] = []
    decide = learner._decide

    def watched(network: PolicyValueNetwork, planes: Any, mask: Any) -> Any:
        own = torch.equal(network.value.bias, learner.network.value.bias)
        asked.append((own, len(planes)))
        return decide(network, planes, mask)

    monkeypatch.setattr(learner, "_decide", watched)
    learner._play()
    assert [own for own, _ in asked] == [True, False] * SMALL.num_steps + [True]
    assert min(count for own, count in asked if not own) > 0
    assert max(count for own, count in asked if not own) <= 24


@pytest.mark.parametrize("random_share", [0.0, 0.5, 1.0])
def test_a_share_of_the_opponents_moves_is_random(random_share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = with_noise(Learner(replace(SMALL, opponent_share=1.0, opponent_random_share=random_share)))
    learner._sources[:] = np.arange(37)
    with torch.no_grad():
        learner.network.policy.weight.mul_(10_000)  # a policy of one move
    learner._pool.add(learner.network)
    learner._pool.add(learner.network)
    _, played, _ = watched_rollout(learner, monkeypatch)
    own = set(learned_plies(learner, played))
    plies = [ply for number, row in enumerate(played) for game, ply in enumerate(row) if (number, game) not in own]
    favourites = policy_value_agent(network_evaluator(learner.network, dtype=torch.float32), simulations=0).select_moves(
        PositionBatch.from_positions([ply.position for ply in plies]), np.random.default_rng(0)
    )
    found = np.mean([ply.action == favourite for ply, favourite in zip(plies, favourites, strict=True)])
    by_chance = np.mean([1 / ply.position.legal_moves.bit_count() for ply in plies])
    assert len(plies) > 300
    assert found == pytest.approx(1 - random_share * (1 - by_chance), abs=0.1)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_returns_are_the_results_of_the_games_seen_by_the_side_that_moved(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against an own account of the games, on a board with many passes, and without traces of values but where the rollout stops."""
    learner = with_noise(Learner(replace(SMALL, opponent_share=share, gae_lambda=1.0)))
    passes = ends = 0
    for _ in range(4):
        samples, played, last = watched_rollout(learner, monkeypatch)
        values = (
            network_evaluator(learner.network, dtype=torch.float32)
            .evaluate(PositionBatch.from_positions(last), np.random.default_rng(0))
            .values
        )
        expected = []
        for number, game in learned_plies(learner, played):
            mover = played[number][game].position.side_to_move
            end = next((later for later in range(number, len(played)) if played[later][game].ended), None)
            if end is None:
                expected.append(values[game] if last[game].side_to_move == mover else -values[game])
                continue
            final = played[end][game]
            over = final.position.play(final.action)
            assert over.is_over
            expected.append(over.outcome if mover == BLACK else -over.outcome)
            ends += number == end
            passes += number < end and played[number + 1][game].position.side_to_move == mover
        np.testing.assert_allclose(samples.returns, expected, atol=1e-5)
    assert ends > 50
    assert passes > 20
    assert samples.advantages.mean() == pytest.approx(0, abs=1e-5)
    assert samples.advantages.std() == pytest.approx(1, abs=1e-3)


def test_games_start_from_random_openings_of_all_lengths() -> None:
    learner = Learner(replace(SMALL, num_envs=400))
    assert {sum(position.discs) for position in learner._env.positions} == {4, 5, 6, 7, 8}


# What is decided and learned


def test_illegal_actions_are_never_chosen_however_likely_the_network_thinks_them() -> None:
    learner = Learner(SMALL)
    with torch.no_grad():
        for parameter in learner.network.parameters():
            parameter.mul_(100)
        learner.network.policy.weight.normal_(std=1000, generator=torch.Generator().manual_seed(0))
    rng = np.random.default_rng(0)
    planes = rng.integers(2, size=(500, 3, 6, 6), dtype=np.uint8)
    action_mask = rng.random((500, 37)) < 0.1
    action_mask[np.arange(500), rng.integers(37, size=500)] = True
    decisions = learner._decide(learner.network, planes, action_mask)
    assert action_mask[np.arange(500), decisions.actions].all()
    assert np.isfinite(decisions.log_probabilities).all()
    after_updates(learner, 2)  # its environment raises an error for an illegal action


def test_actions_are_chosen_as_often_as_the_policy_says() -> None:
    learner = with_noise(Learner(SMALL), 0.5)
    planes, action_mask = learner._transformed(learner._sources[np.zeros(48, dtype=np.int64)])
    count = 20_000
    decisions = learner._decide(learner.network, planes[:1].repeat(count, axis=0), action_mask[:1].repeat(count, axis=0))
    shares = np.bincount(decisions.actions, minlength=37) / count
    probabilities = np.zeros(37)
    probabilities[decisions.actions] = np.exp(decisions.log_probabilities)
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)
    assert probabilities.max() - probabilities[action_mask[0]].min() > 0.05
    np.testing.assert_allclose(shares, probabilities, atol=0.015)


def test_log_probabilities_are_those_of_the_network_that_played() -> None:
    learner = with_noise(Learner(replace(SMALL, opponent_share=0.5)))
    samples = learner._play()
    with torch.no_grad():
        outputs = learner.network(torch.from_numpy(samples.planes).float())
    log_policy = masked_log_softmax(outputs.policy_logits, torch.from_numpy(samples.action_mask))
    expected = log_policy.numpy()[np.arange(len(samples)), samples.actions]
    np.testing.assert_allclose(samples.log_probabilities, expected, atol=1e-4)


def test_a_step_makes_good_actions_likelier_and_values_truer() -> None:
    learner = with_noise(Learner(replace(SMALL, ent_coef=0.0, learning_rate=1e-2)))
    samples = learner._play().take(np.arange(64))
    samples = replace(samples, advantages=np.where(np.arange(64) % 2 == 0, 1, -1).astype(np.float32), returns=np.full(64, 0.5, np.float32))

    def log_probabilities_and_values() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        with torch.no_grad():
            outputs = learner.network(torch.from_numpy(samples.planes).float())
        log_policy = masked_log_softmax(outputs.policy_logits, torch.from_numpy(samples.action_mask)).numpy()
        return log_policy[np.arange(64), samples.actions], torch.tanh(outputs.value_logits / 2).numpy()

    before, values_before = log_probabilities_and_values()
    for _ in range(20):
        learner._learn(samples)
    after, values = log_probabilities_and_values()
    change = after - before
    assert change[::2].mean() > 0.02
    assert change[1::2].mean() < -0.02
    assert abs(values - 0.5).mean() < 0.8 * abs(values_before - 0.5).mean()
    metrics = learner.take_metrics()
    assert list(metrics) == list(ppo.METRICS)
    assert metrics["policy_loss"] < 0
    assert set(learner.take_metrics().values()) == {0.0}


def test_each_position_is_learned_from_once_in_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Learner(replace(SMALL, epochs=3))
    seen: list[bytes] = []
    rollouts: list[Samples] = []
    play = learner._play

    def watched() -> Samples:
        rollouts.append(play())
        return rollouts[-1]

    def keys(samples: Samples) -> list[bytes]:
        return [samples.planes[row].tobytes() + samples.actions[row].tobytes() for row in range(len(samples))]

    monkeypatch.setattr(learner, "_play", watched)
    monkeypatch.setattr(learner, "_learn", lambda batch: seen.extend(keys(batch)))
    learner.advance()
    assert sorted(seen) == sorted(keys(rollouts[0]) * 3)


def test_a_rollout_in_which_the_opponents_made_all_the_moves_teaches_nothing() -> None:
    learner = Learner(replace(SMALL, num_envs=1, num_steps=1, opponent_share=1.0, random_plies=1))
    weights = to_arrays(learner.network)
    while learner._env.positions.side_to_move[0] == BLACK:  # for which the network plays in the first game
        learner.advance()
    before = to_arrays(learner.network)
    learner.advance()
    assert all(np.array_equal(array, before[name]) for name, array in to_arrays(learner.network).items())
    learner.advance()
    assert not all(np.array_equal(array, weights[name]) for name, array in to_arrays(learner.network).items())


def test_the_learning_rate_falls_to_a_twentieth() -> None:
    learner = Learner(SMALL)
    learner.advance()
    assert 0.5 * SMALL.learning_rate < learner._optimizer.param_groups[0]["lr"] <= SMALL.learning_rate
    learner.games_done = SMALL.games
    learner.advance()
    assert learner._optimizer.param_groups[0]["lr"] == pytest.approx(SMALL.learning_rate / 20)


# What goes wrong


@pytest.mark.parametrize("name", ["advantages", "returns", "log_probabilities"])
def test_a_step_that_would_not_be_finite_is_not_made(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = after_updates(Learner(SMALL), 1)
    save_run(TRAINER, learner, folder=tmp_path)
    saved = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    weights = to_arrays(learner.network)
    samples = learner._play()
    broken = samples.take(np.arange(len(samples)))
    getattr(broken, name)[:] = np.nan
    monkeypatch.setattr(learner, "_play", lambda: broken)
    with pytest.raises(TrainingDivergedError, match="diverged"):
        learner.advance()
    assert all(np.array_equal(array, weights[name]) for name, array in to_arrays(learner.network).items())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == saved


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    learner = after_updates(Learner(SMALL), 1)
    save_run(TRAINER, learner, folder=tmp_path)
    saved = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with torch.no_grad():
        learner.network.stem.weight[0] = float("nan")
    with pytest.raises(TrainingDivergedError, match="not finite"):
        save_run(TRAINER, learner, folder=tmp_path)
    with pytest.raises(TrainingDivergedError, match="diverged"):
        learner.advance()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == saved


def test_a_wrong_argument_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        (["--num-envs", "0"], "num_envs 0"),
        (["--num-steps", "0"], "num_steps 0"),
        (["--pool-size", "0"], "pool_size 0"),
        (["--snapshot-every", "0"], "snapshot_every 0"),
        (["--epochs", "0"], "epochs 0"),
        (["--batch-size", "0"], "batch_size 0"),
        (["--games", "0"], "games 0"),
        (["--evaluate-every", "0"], "evaluate_every 0"),
        (["--seed", "-1"], "seed -1"),
        (["--random-plies", "-1"], "random_plies -1"),
        (["--random-plies", "10"], "random_plies 10: at most 9"),
        (["--opponent-share", "1.5"], "opponent_share 1.5"),
        (["--opponent-random-share", "nan"], "opponent_random_share nan"),
        (["--gae-lambda", "-0.1"], "gae_lambda -0.1"),
        (["--learning-rate", "0"], "learning_rate 0"),
        (["--learning-rate", "inf"], "learning_rate inf"),
        (["--clip-coef", "nan"], "clip_coef nan"),
        (["--vf-coef", "-1"], "vf_coef -1"),
        (["--ent-coef", "nan"], "ent_coef nan"),
        (["--weight-decay", "-1"], "weight_decay -1"),
        (["--blocks", "0"], "0 blocks"),
        (["--epochs", "1.5"], "argument --epochs: invalid int value: '1.5'"),
        (["--preset", "7x7"], "argument --preset: invalid choice: '7x7'"),
        (["--resume", "nothing"], "'nothing/checkpoint.safetensors': no such file"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        printed = capsys.readouterr().err
        assert printed.startswith("ppo: ")
        assert message in printed
        assert printed.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a run after its first update."""
    path = tmp_path_factory.mktemp("run") / "state"
    after_updates(Learner(SMALL), 1).save(path)
    Learner.load(path)
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, about: arrays.pop("network/stem.bias"),
        lambda arrays, about: arrays.pop("env/own"),
        lambda arrays, about: arrays.pop("env/colors"),
        lambda arrays, about: arrays.pop("opponents/0.stem.bias"),
        lambda arrays, about: arrays.pop("optimizer/0.exp_avg"),
        lambda arrays, about: arrays.update({"env/own": arrays["env/opp"]}),
        lambda arrays, about: arrays.update({"env/own": 0 * arrays["env/own"], "env/opp": 0 * arrays["env/opp"]}),
        lambda arrays, about: arrays.update({"env/plies": arrays["env/plies"][:-1]}),
        lambda arrays, about: arrays.update({"network/stem.bias": np.full(8, np.nan, dtype=np.float32)}),
        lambda arrays, about: about.pop("rng"),
        lambda arrays, about: about.pop("env_rng"),
        lambda arrays, about: about.update(env_rng={"bit_generator": "PCG64"}),
        lambda arrays, about: about.update(snapshots_added=1),
        lambda arrays, about: about.update(snapshots_added=10**9),
        lambda arrays, about: about.update(snapshots_added=-1),
        lambda arrays, about: about.update(games_done=10**9),
        lambda arrays, about: about.update(games_done=-1),
        lambda arrays, about: about.update(positions_done=10**9),
        lambda arrays, about: about.update(positions_done=about["positions_done"] + 1),
        lambda arrays, about: about.update(updates_done=10**9),
        lambda arrays, about: about.update(updates_done=10**9, snapshots_added=10**9 + 1),
        lambda arrays, about: about.update(updates_done=True),
        lambda arrays, about: about.update(metrics=[1.0]),
        lambda arrays, about: about.update(metrics=[float("nan")] * 6),
        lambda arrays, about: arrays.pop("optimizer/2.exp_avg_sq"),
        lambda arrays, about: arrays.update({"optimizer/1.step": arrays["optimizer/1.step"] + 1}),
        lambda arrays, about: arrays.update({"opponents/-1.stem.bias": arrays["opponents/0.stem.bias"]}),
        lambda arrays, about: about.update(precision="float5"),
        lambda arrays, about: about["settings"].update(unknown=1),
        lambda arrays, about: about["settings"].update(board_size=8),
        lambda arrays, about: about["settings"].update(num_envs=31),
        lambda arrays, about: about["settings"].update(channels=9),
    ],
)
def test_a_checkpoint_with_other_things_in_it_is_refused(state: Path, tmp_path: Path, change: Callable[..., Any]) -> None:
    arrays, about = read_weights(state, CHECKPOINT_KIND)
    change(arrays, about)
    write_weights(tmp_path / "state", CHECKPOINT_KIND, tensors=arrays, about=about)
    with pytest.raises(CheckpointError, match="not a checkpoint to resume from"):
        Learner.load(tmp_path / "state")


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    Learner(SMALL).save(tmp_path / CHECKPOINT_FILE)
    whole = (tmp_path / CHECKPOINT_FILE).read_bytes()
    (tmp_path / CHECKPOINT_FILE).write_bytes(whole[:-1000])
    with pytest.raises(CheckpointError, match="damaged"):
        Learner.load(tmp_path / CHECKPOINT_FILE)


def test_a_run_of_the_command_line_leaves_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [f"--{field.name.replace('_', '-')}={getattr(SMALL, field.name)}" for field in fields(SMALL)]
    main([*arguments, "--out", str(tmp_path / "run"), "--final-openings", "3"])
    output = capsys.readouterr().out
    assert "Training to 200 games" in output
    assert re.search("^policy +random", output, re.MULTILINE)
    assert {CHECKPOINT_FILE, NETWORK_FILE, METRICS_FILE} <= {path.name for path in (tmp_path / "run").iterdir()}
    learner = Learner.load(tmp_path / "run" / CHECKPOINT_FILE)
    assert learner.settings == SMALL
    assert learner.games_done >= 200


@pytest.mark.slow
def test_a_short_run_learns_to_beat_its_start_and_random() -> None:
    sizes = replace(SMALL, games=1500, channels=16, num_envs=128, snapshot_every=5, batch_size=256)
    learner = Learner(replace(sizes, seed=1, random_plies=6, learning_rate=5e-3, ent_coef=0.03))
    start = learner.curve_agent()
    while learner.games_done < learner.settings.games:
        learner.advance()
    openings = random_openings(200, 4, rng=np.random.default_rng(0), board_size=6)
    for opponent in (start, make_agent("random")):
        low, _ = play_match(learner.curve_agent(), opponent, openings).interval
        assert low > 0.55


@pytest.mark.slow
def test_a_minute_of_the_command_line_makes_an_agent_that_beats_its_start_and_random(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "training.ppo", "--games", "8000", "--out", str(tmp_path / "run"), "--final-openings", "20"]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    trained = load_policy_value_agent(tmp_path / "run" / NETWORK_FILE, simulations=0)
    start = Learner(replace(PRESETS["6x6"], games=8000)).curve_agent()
    openings = random_openings(500, 4, rng=np.random.default_rng(0), board_size=6)
    for opponent in (start, make_agent("random")):
        assert play_match(trained, opponent, openings).interval[0] > 0.8
