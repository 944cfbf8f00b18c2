from __future__ import annotations

import csv
import io
import resource
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from filelock import FileLock

from agents import make_agent
from agents.ntuple import NTupleNetwork, ntuple_agent
from agents.play import main as play_main
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env import BLACK, Game, Position, PositionBatch
from tests.conftest import REPOSITORY
from training.evaluation.match import main as match_main
from training.evaluation.match import play_match
from training.evaluation.openings import load_openings, random_openings
from training.td_ntuple import (
    CHECKPOINT_FILE,
    CHECKPOINT_KIND,
    NETWORK_FILE,
    Arguments,
    Learner,
    Settings,
    _new_folder,
    _StopSignals,
    main,
    save_run,
    train,
)

SMALL = Settings(games=300, parallel_games=32, board_size=6, evaluate_every=100)


def play_plies(learner: Learner, plies: int) -> Learner:
    for _ in range(plies):
        learner.play_ply()
    return learner


def test_a_short_run_learns_to_beat_its_start_and_random() -> None:
    learner = Learner(Settings(seed=1, parallel_games=64))
    start = ntuple_agent(learner.network(), "start")
    while learner.games_done < 1500:
        learner.play_ply()
    trained = ntuple_agent(learner.network())
    openings = random_openings(200, 8, rng=np.random.default_rng(0))
    for opponent in (start, make_agent("random")):
        low, _ = play_match(trained, opponent, openings).interval
        assert low > 0.7


def test_the_same_seed_gives_the_same_weights_and_another_one_others() -> None:
    first, second, other = (play_plies(Learner(replace(SMALL, seed=seed)), 60) for seed in (3, 3, 4))
    assert torch.equal(first.weights, second.weights)
    assert not torch.equal(first.weights, other.weights)


@pytest.mark.parametrize("plies", [0, 1, 37])
def test_a_run_that_was_saved_and_loaded_goes_on_as_if_nothing_had_happened(plies: int, tmp_path: Path) -> None:
    whole = play_plies(Learner(SMALL), plies)
    whole.save(tmp_path / "state")
    resumed = Learner.load(tmp_path / "state")
    for learner in (whole, resumed):
        play_plies(learner, 60)
    assert torch.equal(whole.weights, resumed.weights)
    assert whole.games_done == resumed.games_done > 0
    assert whole.take_mean_error() == resumed.take_mean_error() > 0
    whole.save(tmp_path / "one")
    resumed.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_weights_of_mirrored_patterns_stay_equal() -> None:
    learner = play_plies(Learner(SMALL), 60)
    assert learner.weights.abs().max() > 0
    assert torch.equal(learner.weights, learner.weights[learner._mirrored])


class WatchedGames(PositionBatch):
    """Games that remember the positions before and after the last step."""

    def step(self, squares: npt.ArrayLike, rows: npt.NDArray[np.integer] | None = None) -> None:
        self.before = list(self)
        super().step(squares, rows)
        self.after = list(self)


def test_targets_change_sign_with_the_side_and_end_in_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against an own account of who moved where, on a board that has many passes, without random moves."""
    learner = Learner(replace(SMALL, epsilon=0.0))
    weights = torch.randn(len(learner.weights), generator=torch.Generator().manual_seed(0)) / 20
    learner.weights.copy_(weights)
    network = learner.network()
    games = learner._games
    watched = learner._games = WatchedGames(games.own, games.opp, games.side_to_move, board_size=6)
    learned: list[tuple[bytes, float]] = []
    monkeypatch.setattr(learner, "_learn", lambda lookups, targets: learned.extend(zip(map(bytes, lookups), targets.tolist(), strict=True)))

    def afterstate(mover: int, position: Position) -> tuple[bytes, float]:
        """What it looks up, and its value or result, from the mover's view."""
        own, opp = (position.black, position.white) if mover == BLACK else (position.white, position.black)
        discs = np.array([own], dtype=np.uint64), np.array([opp], dtype=np.uint64)
        value = float(np.tanh(network.values(*discs)[0]))
        if position.is_over:
            value = float(position.outcome if mover == BLACK else -position.outcome)
        return bytes(network.indices(*discs)[0]), value

    previous: list[tuple[bytes, int] | None] = [None] * SMALL.parallel_games
    same_side = ends = 0
    for _ in range(120):
        learned.clear()
        learner.play_ply()
        expected = []
        for row, (before, after) in enumerate(zip(watched.before, watched.after, strict=True)):
            mover = before.side_to_move
            lookups, value = afterstate(mover, after)
            if last := previous[row]:
                expected.append((last[0], value if last[1] == mover else -value))
                same_side += last[1] == mover
            previous[row] = (lookups, mover)
            if after.is_over:
                expected.append((lookups, value))
                previous[row] = None
                ends += 1
        assert sorted(lookups for lookups, _ in learned) == sorted(lookups for lookups, _ in expected)
        np.testing.assert_allclose([target for _, target in sorted(learned)], [target for _, target in sorted(expected)], atol=1e-5)
    assert same_side > 10
    assert ends > 50


def test_the_first_steps_of_one_afterstate_are_those_worked_out_by_hand() -> None:
    learner = Learner(Settings(parallel_games=1, step_size=0.5))
    start = Position.start()
    lookups = learner.network().indices(np.array([start.own], dtype=np.uint64), np.array([start.opp], dtype=np.uint64))
    # From 0 to the target 0.4: the error is 0.4, every weight's first step is step_size / 46 * 0.4, the sum becomes 0.2.
    learner._learn(lookups, np.array([0.4], dtype=np.float32))
    total = learner.weights[torch.from_numpy(lookups)].sum().item()
    assert total == pytest.approx(0.5 * 0.4, rel=1e-5)
    # To the target -0.4: the errors 0.4 and e of different sign give the ratio |0.4 + e| / (0.4 + |e|).
    value = np.tanh(total)
    error = (-0.4 - value) * (1 - value**2)
    learner._learn(lookups, np.array([-0.4], dtype=np.float32))
    coherence = 1.0  # the ratio before this error was counted
    total += 0.5 * coherence * error
    assert learner.weights[torch.from_numpy(lookups)].sum().item() == pytest.approx(total, rel=1e-5)
    # From now on the ratio is below 1.
    coherence = abs(0.4 + error) / (0.4 + abs(error))
    value = np.tanh(total)
    error = (0.1 - value) * (1 - value**2)
    learner._learn(lookups, np.array([0.1], dtype=np.float32))
    total += 0.5 * coherence * error
    assert learner.weights[torch.from_numpy(lookups)].sum().item() == pytest.approx(total, rel=1e-5)


def test_weights_hit_by_several_games_move_by_the_mean() -> None:
    one, many = (Learner(Settings(parallel_games=1, step_size=0.5)) for _ in range(2))
    start = Position.start()
    lookups = one.network().indices(np.array([start.own], dtype=np.uint64), np.array([start.opp], dtype=np.uint64))
    one._learn(lookups, np.array([0.4], dtype=np.float32))
    many._learn(lookups.repeat(3, axis=0), np.array([0.3, 0.4, 0.5], dtype=np.float32))
    torch.testing.assert_close(one.weights, many.weights)


def test_a_run_stopped_by_a_signal_and_resumed_ends_like_one_that_was_not(tmp_path: Path) -> None:
    arguments = ["--board-size", "6", "--games", "4000", "--parallel-games", "64", "--evaluate-every", "500", "--final-openings", "5"]
    whole = run_trainer(*arguments, "--out", str(tmp_path / "whole"))
    assert whole.returncode == 0, whole.stderr

    command = [sys.executable, "-m", "training.td_ntuple", *arguments, "--out", str(tmp_path / "stopped"), "--checkpoint-seconds", "0.2"]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "stopped" / CHECKPOINT_FILE).exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "Stopped after" in output
    assert "--resume" in output
    resumed = run_trainer("--resume", str(tmp_path / "stopped"), "--final-openings", "5")
    assert resumed.returncode == 0, resumed.stderr

    assert (tmp_path / "whole" / CHECKPOINT_FILE).read_bytes() == (tmp_path / "stopped" / CHECKPOINT_FILE).read_bytes()
    assert (tmp_path / "whole" / NETWORK_FILE).read_bytes() == (tmp_path / "stopped" / NETWORK_FILE).read_bytes()
    assert (tmp_path / "whole" / "metrics.csv").read_bytes() == (tmp_path / "stopped" / "metrics.csv").read_bytes()
    assert table_of(whole.stdout) == table_of(resumed.stdout)


def run_trainer(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "training.td_ntuple", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )


def table_of(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("ntuple ")]


def test_the_metrics_and_the_network_of_a_run_are_there_to_be_read(tmp_path: Path) -> None:
    learner = Learner(SMALL)
    assert train(learner, tmp_path)
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [["games", "score", "mean_absolute_error"]] * 3
    assert [int(row["games"]) // 100 for row in rows] == [1, 2, 3]
    assert all(0 <= float(row["score"]) <= 1 for row in rows)
    network = NTupleNetwork.load(tmp_path / NETWORK_FILE)
    np.testing.assert_array_equal(network.weights, learner.weights.numpy())
    assert any(path.name.startswith("events.out.tfevents") for path in tmp_path.iterdir())


def test_a_wrong_argument_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    play_plies(Learner(SMALL), 60).save(tmp_path / "old" / CHECKPOINT_FILE)
    before = (tmp_path / "old" / CHECKPOINT_FILE).read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "metrics.csv").write_text("precious")
    for arguments, message in (
        (["--resume", "nothing"], "'nothing/checkpoint.safetensors': no such file"),
        (["--resume", "old", "--seed", "0"], "--seed does not go with --resume"),
        (["--resume", "old", "--board-size=6"], "--board-size does not go with --resume"),
        (["--resume", "old", "--out", "new"], "--out does not go with --resume"),
        (["--resume", "old", "--games", "0"], "games 0: must be at least 1"),
        (["--resume", "old", "--games", "1"], "games 1: the run has played"),
        (["--out", "old"], "old has a checkpoint.safetensors already"),
        (["--out", "mine"], "mine has a metrics.csv already"),
        (["--parallel-games", "0"], "parallel_games 0"),
        (["--epsilon", "1.5"], "epsilon 1.5"),
        (["--step-size", "-1"], "step_size -1"),
        (["--step-size", "inf"], "step_size inf"),
        (["--games", "0"], "games 0"),
        (["--seed", "-1"], "seed -1"),
        (["--evaluate-every", "0"], "evaluate_every 0"),
        (["--final-openings", "0"], "final_openings 0"),
        (["--checkpoint-seconds", "nan"], "checkpoint_seconds nan"),
        *([] if torch.cuda.is_available() else [(["--device", "cuda"], "no CUDA device")]),
    ):
        with pytest.raises(SystemExit, match=r"^td_ntuple: [^\n]*$") as stop:
            main(arguments)
        assert message in str(stop.value.code)
    assert (tmp_path / "old" / CHECKPOINT_FILE).read_bytes() == before
    assert (tmp_path / "mine" / "metrics.csv").read_text() == "precious"
    assert not (tmp_path / "runs").exists()


def test_nothing_is_learned_from_what_follows_a_random_move(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Learner(replace(SMALL, epsilon=1.0))
    learned: list[float] = []
    monkeypatch.setattr(learner, "_learn", lambda lookups, targets: learned.extend(targets.tolist()))
    play_plies(learner, 100)
    assert learner.games_done > 50
    assert len(learned) == learner.games_done  # the results of the games, and no more
    assert set(learned) <= {-1.0, 0.0, 1.0}


def test_random_moves_are_spread_over_all_legal_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Learner(Settings(epsilon=1.0, parallel_games=500))
    learner._games.reset(np.arange(500))
    learner.play_ply()
    assert len({position for position in learner._games if sum(position.discs) == 5}) == 4


def test_a_game_that_can_be_won_at_once_is_won() -> None:
    learner = Learner(Settings(parallel_games=1, epsilon=0.0))
    learner.weights.fill_(5.0)  # every sum is as high as it gets
    winning = Game.parse("f5f4c3c6c5d6f3c4").final
    learner._games.reset(np.array([0]), PositionBatch.from_positions([winning]))
    learner.play_ply()
    assert learner.games_done == 1


def test_training_that_diverges_stops_with_the_last_good_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = play_plies(Learner(SMALL), 20)
    save_run(learner, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    learner.weights[5] = float("nan")
    with pytest.raises(ValueError, match="not finite"):
        save_run(learner, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_may_be_prolonged_by_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    folder = tmp_path / "with space,a=b"
    arguments = ["--board-size", "6", "--games", "300", "--parallel-games", "32", "--final-openings", "3", "--out", str(folder)]
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    output = capsys.readouterr().out
    commands = [shlex.split(line.split(" -m ", 1)[1]) for line in output.split("Next:")[1].splitlines() if " -m " in line]
    assert [command[0] for command in commands] == ["training.evaluation.match", "agents.play", "training.td_ntuple", "tensorboard.main"]
    match_main([*commands[0][1:], "--games", "4"])
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    play_main(commands[1][1:])
    with pytest.raises(SystemExit) as stop:
        main([*commands[2][1:], "--final-openings", "3"])
    assert stop.value.code == 0
    assert "Training to 900 games" in capsys.readouterr().out
    assert Learner.load(folder / CHECKPOINT_FILE).games_done >= 900


def test_two_runs_never_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [_new_folder(Path("runs"), "td").name for _ in range(3)]
    assert names == ["td", "td-2", "td-3"]
    play_plies(Learner(SMALL), 5).save(tmp_path / "runs" / "td" / CHECKPOINT_FILE)
    with FileLock(tmp_path / "runs" / "td" / ".lock"), pytest.raises(SystemExit, match="another run is going on in runs/td"):
        main(["--resume", "runs/td"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_move_and_a_second_one_at_once(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with _StopSignals() as stop:
        assert not stop.received
        signal.raise_signal(number)
        assert stop.received
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, about: arrays.pop("errors"),
        lambda arrays, about: about.pop("rng"),
        lambda arrays, about: about["settings"].update(unknown=1),
        lambda arrays, about: about["settings"].update(board_size=8),
        lambda arrays, about: about["settings"].update(parallel_games=31),
        lambda arrays, about: arrays.update(weights=np.zeros(1, dtype=np.float32)),
        lambda arrays, about: arrays.update(weights=np.full_like(arrays["weights"], np.nan)),
        lambda arrays, about: arrays.update(own=arrays["opp"]),
        lambda arrays, about: about.update(rng={"bit_generator": "PCG64"}),
    ],
)
def test_a_checkpoint_with_other_things_in_it_is_refused(tmp_path: Path, change: Any) -> None:
    play_plies(Learner(SMALL), 5).save(tmp_path / "state")
    arrays, about = read_weights(tmp_path / "state", CHECKPOINT_KIND)
    change(arrays, about)
    write_weights(tmp_path / "state", CHECKPOINT_KIND, tensors=arrays, about=about)
    with pytest.raises(CheckpointError, match="not a checkpoint to go on from"):
        Learner.load(tmp_path / "state")


@pytest.mark.slow
def test_the_main_job_makes_an_agent_of_the_promised_strength_in_little_memory(tmp_path: Path, shared_data: Path) -> None:
    run = run_trainer("--out", str(tmp_path / "run"))
    assert run.returncode == 0, run.stderr
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < 2**30
    agent = ntuple_agent(NTupleNetwork.load(tmp_path / "run" / NETWORK_FILE))
    openings = load_openings(shared_data / "openings-11-discs.txt")
    best = make_agent(f"league:{shared_data / 'players' / 'cocmaes-4+2x2.txt'},view=mover")
    for opponent, score in ((make_agent("random"), 0.97), (make_agent("positional"), 0.60), (best, 0.60)):
        assert play_match(agent, opponent, openings).score >= score
    for opponent, score in ((make_agent("random"), 0.97), (make_agent("positional"), 0.60)):
        assert play_match(agent, opponent, random_openings(500, 8, rng=np.random.default_rng(1))).score >= score


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    Learner(SMALL).save(tmp_path / CHECKPOINT_FILE)
    whole = (tmp_path / CHECKPOINT_FILE).read_bytes()
    (tmp_path / CHECKPOINT_FILE).write_bytes(whole[:-1000])
    with pytest.raises(CheckpointError, match="damaged"):
        Learner.load(tmp_path / CHECKPOINT_FILE)


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    options = [*(field.name for field in fields(Settings)), *(field.name for field in fields(Arguments) if field.name != "settings")]
    assert len(options) > 10
    for option in options:
        number = next(number for number, line in enumerate(lines) if f"--{option.replace('_', '-')} " in line)
        assert sum(character.isalpha() for character in "".join(lines[number : number + 2])) > 30
