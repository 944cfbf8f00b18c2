from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents import make_agent, policy_value
from agents.device import Device
from agents.networks import PolicyValueNetwork, planes_of, to_arrays
from agents.policy_value import network_evaluator, policy_value_agent
from agents.weight_file import CheckpointError
from othello_env.bitboard import unpack
from othello_env.symmetry import NUM_SYMMETRIES, transform, transform_policy
from tests.conftest import REPOSITORY
from training.alphazero import CHECKPOINT_KIND, NETWORK_FILE, TRAINER, Learner, Settings, augmented, main
from training.checkpoints import TrainingDivergedError, read_checkpoint, write_checkpoint
from training.evaluation.match import play_match
from training.evaluation.openings import random_openings
from training.replay import Samples
from training.run import save_run

SMALL = Settings(
    games=300,
    blocks=1,
    channels=8,
    num_envs=32,
    first_simulations=4,
    simulations=8,
    replay_positions=1500,
    batch_size=64,
    precision="float32",
    evaluate_every=100,
)


def advance(learner: Learner, calls: int) -> Learner:
    for _ in range(calls):
        learner.advance()
    return learner


def test_the_same_seed_gives_the_same_weights_and_another_one_others(device: Device) -> None:
    first, second, other = (to_arrays(advance(Learner(replace(SMALL, seed=seed), device), 100).network) for seed in (3, 3, 4))
    assert all((first[name] == second[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)
    start = to_arrays(Learner(replace(SMALL, seed=3)).network)
    assert any((first[name] != start[name]).any() for name in first)


@pytest.mark.parametrize("calls", [0, 5, 100])
def test_a_run_that_was_saved_and_loaded_goes_on_as_if_nothing_had_happened(calls: int, device: Device, tmp_path: Path) -> None:
    whole = advance(Learner(SMALL, device), calls)
    whole.save(tmp_path / "state")
    resumed = Learner.load(tmp_path / "state", device)
    for learner in (whole, resumed):
        advance(learner, 100)
    whole.save(tmp_path / "one")
    resumed.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert whole.games_done > 0
    metrics = whole.take_metrics()
    assert metrics == resumed.take_metrics()
    assert metrics["value_loss"] > 0


def test_a_position_is_never_learned_from_more_often_than_the_ratio_says() -> None:
    learner = Learner(replace(SMALL, replay_ratio=1.5))
    ratios = []
    for _ in range(300):
        learner.advance()
        ratios.append(learner.take_metrics()["replay_ratio"])
    assert max(ratios) <= 1.5
    assert ratios[-1] > 1.2


def test_the_precision_that_was_found_is_kept_by_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_value, "fastest_dtype", lambda *_: torch.bfloat16)
    learner = Learner(replace(SMALL, precision="auto"))
    assert learner.dtype == torch.bfloat16
    advance(learner, 150).save(tmp_path / "state")
    monkeypatch.setattr(policy_value, "fastest_dtype", lambda *_: torch.float32)
    assert Learner.load(tmp_path / "state").dtype == torch.bfloat16
    assert Learner(replace(SMALL, precision="auto")).dtype == torch.float32
    assert learner.network.stem.weight.dtype == torch.float32


def test_simulations_grow_from_the_first_to_the_last() -> None:
    learner = Learner(replace(SMALL, first_simulations=4, simulations=16))
    counts = []
    for games in (0, 150, 300, 900):
        learner._self_play.games_done = games
        plan = learner._plan()
        counts.append((plan.full, plan.quick))
    assert counts == [(4, 1), (8, 2), (16, 4), (16, 4)]


def test_augmented_positions_are_images_of_the_old_ones_with_their_policies() -> None:
    rng = np.random.default_rng(0)
    samples = Samples.empty(21, 37)
    for name in ("own", "opp", "legal_moves", "final_own", "final_opp"):
        samples.arrays()[name][:] = rng.integers(1 << 36, size=21, dtype=np.uint64)
    samples.policy[:] = rng.random((21, 37))
    samples.outcome[:] = rng.integers(-1, 2, size=21)
    before = {name: array.copy() for name, array in samples.arrays().items()}
    turned = augmented(samples, 6)
    used = set()
    for row in range(21):
        images = [
            symmetry for symmetry in range(NUM_SYMMETRIES) if turned.own[row] == transform(samples.own[row : row + 1], symmetry, 6)[0]
        ]
        (symmetry,) = images
        used.add(symmetry)
        for name in ("opp", "legal_moves", "final_own", "final_opp"):
            assert turned.arrays()[name][row] == transform(samples.arrays()[name][row : row + 1], symmetry, 6)[0]
        np.testing.assert_array_equal(turned.policy[row], transform_policy(samples.policy[row], symmetry, 6))
        assert turned.outcome[row] == samples.outcome[row]
    assert used == set(range(NUM_SYMMETRIES))
    for name, array in samples.arrays().items():
        np.testing.assert_array_equal(array, before[name])


def test_results_are_who_won_and_by_how_much_with_the_empty_squares_for_the_winner() -> None:
    samples = Samples.empty(3, 37)
    samples.final_own[:] = [(1 << 20) - 1, 0b111, 0b11]  # 20, 3 and 2 discs
    samples.final_opp[:] = [((1 << 36) - 1) ^ ((1 << 20) - 1), 0b111000, 0b11100]  # 16, 3 and 3 discs
    samples.outcome[:] = [1, 0, -1]
    found = Learner(replace(SMALL, margin_share=0.75))._results(samples)
    np.testing.assert_allclose(found, [0.25 + 0.75 * 4 / 36, 0, -0.25 - 0.75 * 32 / 36], rtol=1e-6)
    np.testing.assert_allclose(Learner(replace(SMALL, margin_share=0.0))._results(samples), [1, 0, -1])


def test_learning_fits_what_it_is_shown() -> None:
    """The same batch again and again: the policy, the value and the owners of the squares come to be its targets."""
    learner = Learner(replace(SMALL, learning_rate=5e-3, root_value_share=0.25, ownership_weight=1.0))
    while learner._replay.size < 200:
        learner._replay.add(learner._self_play.advance(learner._evaluator, learner._plan(), rng=learner._rng))
    batch = learner._replay.draw(8, np.random.default_rng(0))
    batch.policy_mask[:] = True
    batch.root_value[:] = np.linspace(-0.5, 0.5, 8)
    for _ in range(400):
        learner._learn(batch)
    planes = planes_of(batch.own, batch.opp, legal_moves=batch.legal_moves, board_size=6).float()
    outputs = learner.network(planes)
    legal = unpack(batch.legal_moves, 36) == 1
    policy = outputs.policy_logits[:, :-1].masked_fill(torch.from_numpy(~legal), -torch.inf).softmax(1).detach().numpy()
    assert np.abs(policy - batch.policy[:, :-1]).max() < 0.1
    expected = 0.75 * learner._results(batch) + 0.25 * batch.root_value
    np.testing.assert_allclose(torch.tanh(outputs.value_logits / 2).detach(), expected, atol=0.1)
    owned = unpack(batch.final_own, 36).astype(float) - unpack(batch.final_opp, 36)
    found = 2 * torch.sigmoid(outputs.ownership_logits).detach().numpy() - 1
    assert np.abs(found - owned)[owned != 0].mean() < 0.2
    assert learner.take_metrics()["policy_loss"] > 0


def test_training_that_diverges_stops_before_the_weights_are_spoilt(tmp_path: Path) -> None:
    learner = advance(Learner(SMALL), 200)
    save_run(TRAINER, learner, folder=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    batch = learner._replay.draw(64, np.random.default_rng(0))
    batch.root_value[:] = np.nan
    weights = to_arrays(learner.network)
    with pytest.raises(TrainingDivergedError, match="losses .*nan"):
        learner._learn(batch)
    gradients = Learner.load(tmp_path / "checkpoint.safetensors")
    with torch.no_grad():
        gradients.network.value.weight.fill_(3e38)  # the loss is finite, and what it says of the weights is not
    with pytest.raises(TrainingDivergedError):
        gradients._learn(learner._replay.draw(64, np.random.default_rng(0)))
    assert all((to_arrays(learner.network)[name] == array).all() for name, array in weights.items())
    with torch.no_grad():
        learner.network.stem.weight[0] = torch.nan
    for save in (learner.save, learner.save_network):
        with pytest.raises(TrainingDivergedError, match="weights that are not finite"):
            save(tmp_path / NETWORK_FILE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("--games=0", "games 0: must be at least 1"),
        ("--simulations=0", "simulations 0"),
        ("--simulations=x", "argument --simulations: invalid int value: 'x'"),
        ("--precision=int8", "argument --precision: invalid choice: 'int8'"),
        ("--keep-every=-1", "keep_every -1"),
        ("--num-envs=0", "num_envs 0"),
        ("--simulations=100000", "num_envs 1024 with 100000 simulations: 93 GiB of trees"),
        ("--full-share=0", "full_share 0.0"),
        ("--full-share=1.5", "full_share 1.5: must be between 0 and 1"),
        ("--learning-rate=nan", "learning_rate nan"),
        ("--replay-ratio=0", "replay_ratio 0.0"),
        ("--random-plies=10", "random_plies 10: at most 9"),
        ("--blocks=0", "0 blocks"),
        ("--seed=-1", "seed -1"),
        ("--weight-decay=-1", "weight_decay -1"),
        ("--value-scale=30000", "value_scale 30000"),
        ("--margin-share=2", "margin_share 2"),
        (f"--seed={1 << 64}", "must be below 2**63"),
        *([] if torch.cuda.is_available() else [("--device=cuda", "no CUDA device")]),
    ],
)
def test_a_wrong_setting_is_refused_in_one_line(
    setting: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main([setting])
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert printed.startswith("alphazero: ")
    assert message in printed
    assert printed.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a run that has begun to learn."""
    path = tmp_path_factory.mktemp("run") / "state"
    advance(Learner(SMALL), 150).save(path)
    assert Learner.load(path)._steps_done > 0
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda parts, about: parts.pop("network"),
        lambda parts, about: parts.pop("replay"),
        lambda parts, about: parts.pop("self_play"),
        lambda parts, about: parts["network"].update({"stem.bias": np.full(8, np.nan, dtype=np.float32)}),
        lambda parts, about: about.update(precision="int3"),
        lambda parts, about: about.pop("steps_done"),
        lambda parts, about: about.update(positions_added=5),
        lambda parts, about: about["settings"].update(channels=9),
        lambda parts, about: about["settings"].update(nothing=9),
        lambda parts, about: about.update(rng={"bit_generator": "PCG64"}),
        lambda parts, about: about.update(losses=[1.0]),
        lambda parts, about: about.update(losses=[1.0, 1.0, float("inf"), 2]),
        lambda parts, about: about.update(games_done=10**9),
        lambda parts, about: about.update(games_done=-1),
        lambda parts, about: about.update(games_done=0),
        lambda parts, about: about.update(plies_done=10**9),
        lambda parts, about: about.update(plies_done=1),
        lambda parts, about: about.update(positions_added=10**9),
        lambda parts, about: about.update(steps_done=10**9),
        lambda parts, about: about.update(steps_done=-1),
        lambda parts, about: about.update(steps_done=about["steps_done"] - 1),
        lambda parts, about: about["settings"].update(replay_ratio=1e6),
        lambda parts, about: about["settings"].update(batch_size=1),
        lambda parts, about: parts["optimizer"].pop("0.exp_avg_sq"),
        lambda parts, about: parts.pop("optimizer"),
        lambda parts, about: [array.__iadd__(1) for name, array in parts["optimizer"].items() if name.endswith("step")],
        lambda parts, about: parts["replay"].pop("policy"),
        lambda parts, about: parts["self_play"].pop("length"),
    ],
)
def test_a_checkpoint_with_other_things_in_it_is_refused(state: Path, tmp_path: Path, change: Any) -> None:
    parts, about = read_checkpoint(state, CHECKPOINT_KIND)
    change(parts, about)
    write_checkpoint(tmp_path / "state", CHECKPOINT_KIND, parts=parts, about=about)
    with pytest.raises(CheckpointError, match="not a checkpoint to resume from"):
        Learner.load(tmp_path / "state")


@pytest.mark.slow
def test_a_minute_of_training_beats_its_start_and_the_baselines(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "training.alphazero", "--games", "4000", "--final-openings", "10", "--out", str(tmp_path / "run")]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    trained = network_evaluator(PolicyValueNetwork.load(tmp_path / "run" / NETWORK_FILE))
    start = network_evaluator(Learner(Settings()).network)
    openings = random_openings(100, 4, rng=np.random.default_rng(0), board_size=6)
    agent = policy_value_agent(trained, simulations=32)
    for opponent in (policy_value_agent(start, simulations=32), make_agent("random"), make_agent("greedy")):
        low, _ = play_match(agent, opponent, openings).interval
        assert low > 0.75
