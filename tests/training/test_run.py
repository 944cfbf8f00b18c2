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

import pytest
from filelock import FileLock

from agents.ntuple.network import NTupleNetwork
from agents.play import main as play_main
from tests.conftest import REPOSITORY
from training import alphazero, ppo, td_ntuple
from training.evaluation.match import main as match_main
from training.learning_curve import FILE_NAME as CURVE_FILE
from training.learning_curve import draw_learning_curve, read_scores
from training.run import BASELINES, CHECKPOINT_FILE, Arguments, StopSignals, Trainer, metric_names, new_folder, run_trainer, save_run, train
from training.td_ntuple import NETWORK_FILE, Learner, Settings, main

SMALL = Settings(games=300, ensemble_size=1, num_envs=32, board_size=6, evaluate_every=100)
TRAINERS = [td_ntuple, ppo, alphazero]


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "training.td_ntuple", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def table_of(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("ntuple ")]


def test_a_run_stopped_by_a_signal_and_resumed_ends_like_one_that_was_not(tmp_path: Path) -> None:
    arguments = ["--board-size", "6", "--games", "60000", "--num-envs", "64", "--evaluate-every", "20000", "--final-openings", "5"]
    whole = run_command(*arguments, "--out", str(tmp_path / "whole"))
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
    resumed = run_command("--resume", str(tmp_path / "stopped"), "--final-openings", "5")
    assert resumed.returncode == 0, resumed.stderr

    for name in (CHECKPOINT_FILE, NETWORK_FILE, "metrics.csv"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes(), name
    assert len(table_of(whole.stdout)) == 3
    assert table_of(whole.stdout) == table_of(resumed.stdout)


def test_a_run_leaves_metrics_a_network_and_a_picture(tmp_path: Path) -> None:
    learner = Learner(SMALL)
    assert train(td_ntuple.TRAINER, learner, folder=tmp_path)
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = ["games", "positions", "score", "score random", "score greedy", "score positional", "mean_absolute_error"]
    assert [list(row) for row in rows] == [names] * 3
    assert [int(row["games"]) // 100 for row in rows] == [1, 2, 3]
    for row in rows:
        scores = [float(row[f"score {spec}"]) for spec in BASELINES[6]]
        assert all(0 <= score <= 1 for score in scores)
        assert float(row["score"]) == pytest.approx(sum(scores) / 3, abs=1e-5)
        assert float(row["positions"]) > 20 * int(row["games"])
    network = NTupleNetwork.load(tmp_path / NETWORK_FILE)
    assert (network.weights == learner.network().weights).all()
    assert any(path.name.startswith("events.out.tfevents") for path in tmp_path.iterdir())
    assert (tmp_path / CURVE_FILE).read_bytes().startswith(b"\x89PNG")


def test_the_curve_of_a_run_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "metrics.csv"
    file.write_text("games,positions,score,score random,loss\n100,3000,0.5,0.6,1.5\n200,6000,0.7,0.8,1.25\n")
    assert read_scores(file) == ([100, 200], {"score": [0.5, 0.7], "score random": [0.6, 0.8]})
    draw_learning_curve(file, tmp_path / "curve.png", title="t")
    assert (tmp_path / "curve.png").stat().st_size > 5000
    (tmp_path / "empty.csv").write_text("games,positions,score,score random\n")
    draw_learning_curve(tmp_path / "empty.csv", tmp_path / "curve.png", title="a run that was never measured")


def test_a_wrong_argument_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    learner = Learner(SMALL)
    while learner.games_done < 10:
        learner.advance()
    learner.save(tmp_path / "old" / CHECKPOINT_FILE)
    before = (tmp_path / "old" / CHECKPOINT_FILE).read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "metrics.csv").write_text("precious")
    for arguments, message in (
        (["--resume", "nothing"], "'nothing/checkpoint.safetensors': no such file"),
        (["--resume", "old", "--seed", "0"], "--seed does not go with --resume"),
        (["--resume", "old", "--board-size=6"], "--board-size does not go with --resume"),
        (["--resume", "old", "--preset", "hour"], "--preset does not go with --resume"),
        (["--resume", "old", "--out", "new"], "--out does not go with --resume"),
        (["--resume", "old", "--games", "0"], "games 0: must be at least 1"),
        (["--resume", "old", "--games", "1"], "games 1: the run has played"),
        (["--out", "old"], "old has a checkpoint.safetensors already"),
        (["--out", "mine"], "mine has a metrics.csv already"),
        (["--preset", "week"], "preset 'week': expected one of minute, ten-minutes, hour"),
        (["--preset=week"], "preset 'week': expected one of minute, ten-minutes, hour"),
        (["--num-envs", "0"], "num_envs 0"),
        (["--ensemble-size", "0"], "ensemble_size 0"),
        (["--annealing-fraction", "nan"], "annealing_fraction nan"),
        (["--margin-share", "1.1"], "margin_share 1.1"),
        (["--seed", str(1 << 64)], "below 2**63"),
        (["--epsilon", "1.5"], "epsilon 1.5"),
        (["--annealing-fraction", "-1"], "annealing_fraction -1"),
        (["--num-stages", "100"], "num_stages 100"),
        (["--random-plies", "-1"], "random_plies -1"),
        (["--step-size", "-1"], "step_size -1"),
        (["--step-size", "inf"], "step_size inf"),
        (["--games", "0"], "games 0"),
        (["--seed", "-1"], "seed -1"),
        (["--evaluate-every", "0"], "evaluate_every 0"),
        (["--final-openings", "0"], "final_openings 0"),
        (["--checkpoint-seconds", "nan"], "checkpoint_seconds nan"),
    ):
        with pytest.raises(SystemExit, match=r"^td_ntuple: [^\n]*$") as stop:
            main(arguments)
        assert message in str(stop.value.code)
    assert (tmp_path / "old" / CHECKPOINT_FILE).read_bytes() == before
    assert (tmp_path / "mine" / "metrics.csv").read_text() == "precious"
    assert not (tmp_path / "runs").exists()


def test_a_preset_gives_the_settings_and_options_beside_it_replace_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Settings] = []

    def note(settings: Settings, _device: Any) -> Learner:
        made.append(settings)
        raise ValueError("enough")

    trainer = replace(td_ntuple.TRAINER, new=note)
    monkeypatch.chdir(tmp_path)
    for arguments in (["--preset", "hour"], ["--seed", "3", "--preset=hour", "--games", "5"], []):
        with pytest.raises(SystemExit, match="enough"):
            run_trainer(trainer, arguments)
    hour = td_ntuple.PRESETS["hour"]
    assert made == [hour, replace(hour, seed=3, games=5), td_ntuple.PRESETS["minute"]]


def test_a_run_may_be_prolonged_by_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    folder = tmp_path / "with space,a=b"
    arguments = ["--board-size", "6", "--games", "300", "--num-envs", "32", "--final-openings", "3", "--out", str(folder)]
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
    names = [new_folder(Path("runs"), "td").name for _ in range(3)]
    assert names == ["td", "td-2", "td-3"]
    Learner(SMALL).save(tmp_path / "runs" / "td" / CHECKPOINT_FILE)
    with FileLock(tmp_path / "runs" / "td" / ".lock"), pytest.raises(SystemExit, match="another run is going on in runs/td"):
        main(["--resume", "runs/td"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_step_and_a_second_one_at_once(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopSignals() as stop:
        assert not stop.received
        signal.raise_signal(number)
        assert stop.received
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


def test_a_disk_that_is_full_stops_the_run_with_the_last_good_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit to the size of files does here what a full disk does: writing fails in the middle."""
    folder = tmp_path / "run"
    folder.mkdir()
    save_run(td_ntuple.TRAINER, Learner(SMALL), folder=folder)
    before = (folder / CHECKPOINT_FILE).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(SystemExit, match=r"^td_ntuple: cannot write: [^\n]*; the weights and checkpoint last saved are in [^\n]*run$"):
            main(["--resume", str(folder), "--final-openings", "3"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (folder / CHECKPOINT_FILE).read_bytes() == before
    assert not list(folder.glob("*.partial"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:  # once there is room, it goes on
        main(["--resume", str(folder), "--final-openings", "3"])
    assert stop.value.code == 0


def test_metrics_of_another_kind_end_a_run_in_one_line(tmp_path: Path) -> None:
    save_run(td_ntuple.TRAINER, Learner(SMALL), folder=tmp_path)
    learner = Learner(SMALL)
    learner.advance()
    learner.save(tmp_path / CHECKPOINT_FILE)
    (tmp_path / "metrics.csv").write_text("games,something\n1,2\n")
    with pytest.raises(SystemExit, match=r"^td_ntuple: [^\n]*metrics.csv, line 1: [^\n]*$"):
        main(["--resume", str(tmp_path)])


def test_a_run_can_be_gone_on_with_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Learner, "advance", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(SystemExit, match="interrupted; the weights and checkpoint last saved"):
        main(["--board-size", "6", "--games", "300", "--out", str(tmp_path / "run")])
    assert Learner.load(tmp_path / "run" / CHECKPOINT_FILE).games_done == 0


def test_training_that_diverges_ends_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_run(td_ntuple.TRAINER, Learner(SMALL), folder=tmp_path)
    before = (tmp_path / CHECKPOINT_FILE).read_bytes()
    monkeypatch.setattr(Learner, "advance", lambda learner: learner.members[0].weights.fill(float("nan")))
    with pytest.raises(SystemExit, match=r"^td_ntuple: training has diverged: [^\n]*; the last good weights and checkpoint are in [^\n]*$"):
        main(["--resume", str(tmp_path), "--checkpoint-seconds", "0"])
    assert (tmp_path / CHECKPOINT_FILE).read_bytes() == before


def test_a_damaged_checkpoint_is_refused_in_one_line(tmp_path: Path) -> None:
    Learner(SMALL).save(tmp_path / CHECKPOINT_FILE)
    whole = (tmp_path / CHECKPOINT_FILE).read_bytes()
    (tmp_path / CHECKPOINT_FILE).write_bytes(whole[:-1000])
    with pytest.raises(SystemExit, match=r"^td_ntuple: [^\n]*damaged[^\n]*$"):
        main(["--resume", str(tmp_path)])


@pytest.mark.parametrize("module", TRAINERS, ids=lambda module: module.__name__)
def test_help_explains_every_option(module: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        module.main(["--help"])
    text = capsys.readouterr().out
    assert f"Presets: {', '.join(module.PRESETS)}." in text
    lines = text.splitlines()
    options = [item.name for kind in (module.Settings, Arguments) for item in fields(kind) if item.name != "settings"]
    assert len(options) > 10
    for option in options:
        number = next(number for number, line in enumerate(lines) if f"--{option.replace('_', '-')} " in line)
        assert sum(character.isalpha() for character in "".join(lines[number : number + 2])) > 30


@pytest.mark.parametrize("module", TRAINERS, ids=lambda module: module.__name__)
def test_all_presets_can_be_used_and_measured(module: Any) -> None:
    trainer: Trainer[Any, Any] = module.TRAINER
    for settings in trainer.presets.values():
        settings.check()
        assert settings.evaluate_every <= settings.games
        assert len(set(metric_names(trainer, settings.board_size))) > 5
