from __future__ import annotations

import csv
import errno
import importlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from agents.ntuple.network import NTupleNetwork
from agents.play.__main__ import main as play_main
from othello_env import atomic_file
from othello_env.command import Progress
from tests.conftest import REPOSITORY
from training import run as run_module
from training import td_ntuple
from training.evaluation.match import main as match_main
from training.learning_curve import FILE_NAME as CURVE_FILE
from training.run import (
    BASELINES,
    CHECKPOINT_FILE,
    StopSignals,
    Trainer,
    change_settings,
    kept_networks,
    metric_names,
    new_folder,
    run_trainer,
    save_run,
    train,
)
from training.td_ntuple import NETWORK_FILE, Learner, Settings, main

SMALL = Settings(games=300, ensemble_size=1, num_envs=32, num_stages=1, board_size=6, evaluate_every=100)
SMALL_OPTIONS = ["--games=300", "--ensemble-size=1", "--num-envs=32", "--num-stages=1", "--board-size=6", "--final-openings=2"]


@pytest.fixture(params=["td_ntuple", "ppo", "alphazero"])
def module(request: pytest.FixtureRequest) -> Any:
    """Each trainer that the installed libraries can run."""
    if request.param != "td_ntuple":
        pytest.importorskip("torch")
    return importlib.import_module(f"training.{request.param}")


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A function that runs a command line which fails: it returns its one line, and checks the exit code."""

    def run(arguments: list[str], *, code: int = 2, command: Callable[[list[str]], None] = main) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            command(arguments)
        assert stopped.value.code == code
        printed = capsys.readouterr().err
        assert printed.count("\n") == 1, printed
        return printed

    return run


def run_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "training.td_ntuple", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)


def table_of(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("ntuple ")]


def stop_after(monkeypatch: pytest.MonkeyPatch, games: int) -> None:
    """Let Ctrl-C come once, in the middle of a step."""
    advance = Learner.advance
    stopped: list[bool] = []

    def interrupted(learner: Learner) -> None:
        if learner.games_done >= games and not stopped:
            stopped.append(True)
            signal.raise_signal(signal.SIGINT)
        advance(learner)

    monkeypatch.setattr(Learner, "advance", interrupted)


# Stopping and resuming


def test_a_stopped_and_resumed_run_ends_like_an_uninterrupted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*SMALL_OPTIONS, "--evaluate-every", "100", "--keep-every", "100"]
    main([*options, "--out", str(tmp_path / "whole")])
    whole = capsys.readouterr().out
    stop_after(monkeypatch, 120)
    with pytest.raises(SystemExit) as stopped:
        main([*options, "--out", str(tmp_path / "stopped")])
    assert stopped.value.code == 130
    output = capsys.readouterr().out
    assert "Stopped after" in output
    resume = shlex.split(output.splitlines()[-1].split(" -m training.td_ntuple ")[1])
    assert resume == ["--resume", str(tmp_path / "stopped")]
    main([*resume, "--final-openings", "2"])

    names = {path.name for path in (tmp_path / "whole").iterdir() if not path.name.startswith("events.")}
    assert {CHECKPOINT_FILE, NETWORK_FILE, CURVE_FILE, "metrics.csv"} < names
    assert names == {path.name for path in (tmp_path / "stopped").iterdir() if not path.name.startswith("events.")}
    for name in names:
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes(), name
    assert len(table_of(whole)) == 3
    assert table_of(whole) == table_of(capsys.readouterr().out)


@pytest.mark.slow
def test_a_process_stopped_by_a_signal_and_resumed_ends_like_one_that_was_not(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("name", ["save_network", "save", "advance"])
def test_a_signal_at_any_moment_of_the_training_stops_after_a_checkpoint(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    function = getattr(Learner, name)

    def interrupted(learner: Learner, *arguments: Any) -> None:
        monkeypatch.setattr(Learner, name, function)
        signal.raise_signal(signal.SIGINT)
        function(learner, *arguments)

    monkeypatch.setattr(Learner, name, interrupted)
    with pytest.raises(SystemExit) as stopped:
        main([*SMALL_OPTIONS, "--out", str(tmp_path / "run")])
    assert stopped.value.code == 130
    assert "Stopped after" in capsys.readouterr().out
    main(["--resume", str(tmp_path / "run"), "--games", "300", "--final-openings", "2"])


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


def test_ctrl_break_of_windows_stops_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "SIGBREAK", signal.SIGUSR1, raising=False)
    before = signal.getsignal(signal.SIGUSR1)
    with StopSignals() as stop:
        signal.raise_signal(signal.SIGUSR1)
        assert stop.received
    assert signal.getsignal(signal.SIGUSR1) == before


def test_a_system_without_some_of_the_signals_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGTERM")
    with StopSignals() as stop:
        signal.raise_signal(signal.SIGINT)
    assert stop.received


def test_a_handler_that_python_did_not_set_is_replaced_by_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """`signal.signal` returns None for one, and does not take None back."""
    restored: dict[int, Any] = {}
    monkeypatch.setattr(signal, "signal", lambda number, handler: restored.update({number: handler}))
    with StopSignals():
        pass
    assert set(restored.values()) == {signal.SIG_DFL}
    assert {signal.SIGINT, signal.SIGTERM} <= restored.keys()


def in_a_thread(function: Callable[[], Any]) -> Any:
    """The result of a function that another thread calls; its error is raised here."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def test_a_run_outside_the_main_thread_leaves_the_signals_alone(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert in_a_thread(lambda: train(td_ntuple.TRAINER, Learner(replace(SMALL, games=50)), folder=tmp_path))
    in_a_thread(lambda: main([*SMALL_OPTIONS, "--games=50", "--out", str(tmp_path / "run")]))
    assert (tmp_path / "run" / CURVE_FILE).exists()
    assert signal.getsignal(signal.SIGINT) is before


# What a run leaves


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
    assert not kept_networks(td_ntuple.TRAINER, tmp_path)


def test_networks_along_the_run_are_kept_by_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved: dict[str, bytes] = {}
    learner = Learner(replace(SMALL, keep_every=70))
    while learner.games_done < 300:
        before = learner.games_done
        learner.advance()
        if learner.games_done // 70 > before // 70:
            learner.save_network(tmp_path / "network")
            saved[f"ntuple-{learner.games_done:09}.safetensors"] = (tmp_path / "network").read_bytes()
    folder = tmp_path / "run"
    main([*SMALL_OPTIONS, "--keep-every=70", "--evaluate-every=100", "--out", str(folder)])
    kept = kept_networks(td_ntuple.TRAINER, folder)
    assert [path.name for path in kept] == list(saved)
    assert len(kept) == 4
    games = [int(path.stem.removeprefix("ntuple-")) for path in kept]
    assert [number // 70 for number in games] == [1, 2, 3, 4]
    for path in kept:
        assert (NTupleNetwork.load(path).weights == NTupleNetwork.load(write(tmp_path / "one", saved[path.name])).weights).all()
    # A resumed run goes on with the same interval, or with a new one.
    main(["--resume", str(folder), "--games", "500", "--final-openings", "2"])
    assert len(kept_networks(td_ntuple.TRAINER, folder)) == 7
    main(["--resume", str(folder), "--games", "700", "--keep-every", "0", "--final-openings", "2"])
    assert len(kept_networks(td_ntuple.TRAINER, folder)) == 7
    (ladder,) = [line for line in capsys.readouterr().out.split("Next:")[-1].splitlines() if "tournament" in line]
    words = shlex.split(ladder.split(" -m ")[1])
    assert words[0] == "training.evaluation.tournament"
    specs = [word for word in words if word.startswith("ntuple:")]
    assert len(specs) == 6
    assert specs == sorted(specs)
    assert specs[0] == f"ntuple:{kept[0]}"
    assert words[words.index("--ladder") - 2 : words.index("--ladder")] == ["--board-size", "6"]


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_run_may_be_prolonged_by_the_command_that_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    folder = tmp_path / "with space,a=b"
    main([*SMALL_OPTIONS, "--out", str(folder)])
    output = capsys.readouterr().out
    commands = [shlex.split(line.split(" -m ", 1)[1]) for line in output.split("Next:")[1].splitlines() if " -m " in line]
    assert [command[0] for command in commands] == ["training.evaluation.match", "agents.play", "training.td_ntuple", "tensorboard.main"]
    match_main([*commands[0][1:], "--games", "4"])
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    play_main(commands[1][1:])
    main([*commands[2][1:], "--final-openings", "2"])
    assert "Training to 900 games" in capsys.readouterr().out
    assert Learner.load(folder / CHECKPOINT_FILE).games_done >= 900


def test_all_printed_commands_are_quoted_for_the_users_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(run_module, "python_command", lambda *words: subprocess.list2cmdline(["py", "-m", *words]))  # as on Windows
    folder = tmp_path / "with space"
    main([*SMALL_OPTIONS, "--keep-every=100", "--out", str(folder)])
    commands = capsys.readouterr().out.split("Next:\n")[1].splitlines()
    assert [command.split()[2] for command in commands] == [
        "training.evaluation.match",
        "agents.play",
        "training.evaluation.tournament",
        "training.td_ntuple",
        "tensorboard.main",
    ]
    assert all(command.startswith("  py -m ") for command in commands)
    assert f'--resume "{folder}"' in commands[3]
    assert f'"ntuple:{folder / NETWORK_FILE}"' in commands[0]


def test_two_runs_never_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]) -> None:
    monkeypatch.chdir(tmp_path)
    names = [new_folder(Path("runs"), "td").name for _ in range(3)]
    assert names == ["td", "td-2", "td-3"]
    Learner(SMALL).save(tmp_path / "runs" / "td" / CHECKPOINT_FILE)
    with FileLock(tmp_path / "runs" / "td" / ".lock"):
        assert refused(["--resume", "runs/td"]) == "td_ntuple: another run is using runs/td\n"


def test_speed_and_time_left_do_not_count_the_first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step waits for the compiler."""
    calls: list[str] = []

    class Watched(Progress):
        def update(self, amount: float = 1) -> None:
            calls.append("update")
            super().update(amount)

        def restart_clock(self) -> None:
            calls.append("restart")
            super().restart_clock()

    monkeypatch.setattr(run_module, "Progress", Watched)
    train(td_ntuple.TRAINER, Learner(SMALL), folder=tmp_path)
    assert calls[:3] == ["restart", "update", "restart"]
    assert set(calls[3:]) == {"update"}


# What is refused


def test_a_wrong_argument_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]) -> None:
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
        (["--resume", "old", "--preset", "minute"], "--preset does not go with --resume"),
        (["--resume", "old", "--out", "new"], "--out does not go with --resume"),
        (["--resume", "old", "--games", "0"], "games 0: must be at least 1"),
        (["--resume", "old", "--games", "1"], "games 1: the run has played"),
        (["--resume", "old", "--keep-every", "-1"], "keep_every -1: must not be negative"),
        (["--out", "old"], "old has a checkpoint.safetensors already"),
        (["--out", "mine"], "mine has a metrics.csv already"),
        (["--out", "mine/metrics.csv"], "mine/metrics.csv is a file; --out expects a folder"),
        (["--out", "mine/metrics.csv/run"], "mine/metrics.csv/run: Not a directory"),
        (["--resume", "mine/metrics.csv"], "'mine/metrics.csv/checkpoint.safetensors': no such file"),
        (["--preset", "week"], "argument --preset: invalid choice: 'week' (choose from"),
        (["--preset=week"], "argument --preset: invalid choice: 'week' (choose from"),
        (["--preset"], "argument --preset: expected one argument"),
        (["--games", "many"], "argument --games: invalid int value: 'many'"),
        (["--game", "3"], "unrecognized arguments: --game 3"),
        (["more"], "unrecognized arguments: more"),
        (["--board-size", "7"], "argument --board-size: invalid choice: 7 (choose from 6, 8)"),
        (["--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
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
        (["--checkpoint-seconds", "-1"], "checkpoint_seconds -1"),
        (["--checkpoint-seconds", "inf"], "checkpoint_seconds inf"),
    ):
        printed = refused(arguments)
        assert printed.startswith("td_ntuple: ")
        assert message in printed
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
        with pytest.raises(SystemExit):
            run_trainer(trainer, arguments)
    hour = td_ntuple.PRESETS["hour"]
    assert made == [hour, replace(hour, seed=3, games=5), td_ntuple.PRESETS["minute"]]


def test_only_games_and_the_networks_kept_change_on_resuming() -> None:
    learner = Learner(SMALL)
    change_settings(learner, games=900, keep_every=50)
    assert learner.settings == replace(SMALL, games=900, keep_every=50)
    learner.games_done = 500
    change_settings(learner, keep_every=0)
    with pytest.raises(ValueError, match="games 499: the run has played 500 already"):
        change_settings(learner, games=499)
    assert learner.settings == replace(SMALL, games=900)


def full_disk(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let files with these parts in their names fail as on a full disk."""
    open_atomically = atomic_file.open_atomically

    def failing(path: Path, *arguments: Any, **options: Any) -> Any:
        if any(name in path.name for name in names):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return open_atomically(path, *arguments, **options)

    monkeypatch.setattr(atomic_file, "open_atomically", failing)


def test_a_full_disk_stops_a_resumed_run_with_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    save_run(td_ntuple.TRAINER, Learner(SMALL), folder=folder)
    before = (folder / CHECKPOINT_FILE).read_bytes()
    for names in (["ntuple"], ["checkpoint"], ["metrics"]):
        with monkeypatch.context() as patch:
            full_disk(patch, *names)
            printed = refused(["--resume", str(folder)], code=1)
        assert f"{names[0]}" in printed
        assert printed.endswith(f"No space left on device; the last weights and checkpoint are in {folder}\n")
        assert (folder / CHECKPOINT_FILE).read_bytes() == before
    main(["--resume", str(folder), "--final-openings", "2"])  # once there is space, it goes on


@pytest.mark.parametrize(
    ("names", "outcome"),
    [
        (["ntuple", "checkpoint"], "nothing was saved"),
        (["checkpoint"], "no checkpoint was saved, only the weights, in {}"),
        (["metrics"], "the last weights and checkpoint are in {}"),
        (["curve"], "the last weights and checkpoint are in {}"),
    ],
)
def test_a_full_disk_at_the_start_says_what_was_saved(
    names: list[str], outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    with monkeypatch.context() as patch:
        full_disk(patch, *names)
        printed = refused([*SMALL_OPTIONS, "--out", str(tmp_path / "run")], code=1)
    assert printed.endswith(f": No space left on device; {outcome.format(tmp_path / 'run')}\n")
    assert not list((tmp_path / "run").glob("*.partial"))


def test_a_folder_without_space_for_the_first_save_can_be_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    with monkeypatch.context() as patch:
        full_disk(patch, "ntuple")
        refused([*SMALL_OPTIONS, "--out", str(tmp_path / "run")], code=1)
    main([*SMALL_OPTIONS, "--games=50", "--out", str(tmp_path / "run")])


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit to the size of files")
def test_a_write_that_fails_half_way_leaves_the_last_good_checkpoint(tmp_path: Path, refused: Callable[..., str]) -> None:
    """A limit to the size of files does what a full disk does, within the system call."""
    import resource

    save_run(td_ntuple.TRAINER, Learner(SMALL), folder=tmp_path)
    before = (tmp_path / CHECKPOINT_FILE).read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        printed = refused(["--resume", str(tmp_path)], code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert printed.endswith(f"File too large; the last weights and checkpoint are in {tmp_path}\n")
    assert (tmp_path / CHECKPOINT_FILE).read_bytes() == before
    assert not list(tmp_path.glob("*.partial"))


def test_metrics_of_another_kind_end_a_run_in_one_line(tmp_path: Path, refused: Callable[..., str]) -> None:
    save_run(td_ntuple.TRAINER, Learner(SMALL), folder=tmp_path)
    learner = Learner(SMALL)
    learner.advance()
    learner.save(tmp_path / CHECKPOINT_FILE)
    (tmp_path / "metrics.csv").write_text("games,something\n1,2\n")
    assert "metrics.csv, line 1: " in refused(["--resume", str(tmp_path)])


def test_a_run_can_be_resumed_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]) -> None:
    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "advance", interrupt)
        printed = refused([*SMALL_OPTIONS, "--out", str(tmp_path / "run")], code=130)
    assert printed == f"td_ntuple: interrupted; the last weights and checkpoint are in {tmp_path / 'run'}\n"
    assert Learner.load(tmp_path / "run" / CHECKPOINT_FILE).games_done == 0


def test_ctrl_c_before_anything_is_written_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    options = [*SMALL_OPTIONS, "--out", str(tmp_path / "run")]
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "__init__", interrupt)
        assert refused(options, code=130) == "td_ntuple: interrupted before the run began\n"
    with monkeypatch.context() as patch:
        patch.setattr(Learner, "save_network", interrupt)
        assert refused(options, code=130) == "td_ntuple: interrupted; nothing was saved\n"


def test_ctrl_c_in_the_final_matches_leaves_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "evaluate", interrupt)
    assert "interrupted; the last weights" in refused([*SMALL_OPTIONS, "--out", str(tmp_path / "run")], code=130)
    assert (tmp_path / "run" / CURVE_FILE).exists()


def test_training_that_diverges_ends_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]) -> None:
    save_run(td_ntuple.TRAINER, Learner(SMALL), folder=tmp_path)
    before = (tmp_path / CHECKPOINT_FILE).read_bytes()
    monkeypatch.setattr(Learner, "advance", lambda learner: learner.members[0].weights.fill(float("nan")))
    printed = refused(["--resume", str(tmp_path), "--checkpoint-seconds", "0"], code=1)
    assert printed.startswith("td_ntuple: training has diverged: ")
    assert printed.endswith(f"; the last weights and checkpoint are in {tmp_path}\n")
    assert (tmp_path / CHECKPOINT_FILE).read_bytes() == before


def test_a_device_whose_memory_is_full_ends_a_run_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    class OutOfMemoryError(RuntimeError):
        pass

    def fail(*_: Any) -> Any:
        raise OutOfMemoryError("CUDA out of memory.\nTried to allocate 2 GiB")

    trainer = replace(td_ntuple.TRAINER, out_of_memory=(OutOfMemoryError,))
    monkeypatch.setattr(Learner, "advance", fail)
    options = [*SMALL_OPTIONS, "--out", str(tmp_path / "run")]
    printed = refused(options, code=1, command=lambda argv: run_trainer(trainer, argv))
    assert printed.startswith("td_ntuple: CUDA out of memory. Tried to allocate 2 GiB; the last weights")
    printed = refused(SMALL_OPTIONS, code=1, command=lambda argv: run_trainer(replace(trainer, new=fail), argv))
    assert printed == "td_ntuple: CUDA out of memory. Tried to allocate 2 GiB\n"


def test_a_damaged_checkpoint_is_refused_in_one_line(tmp_path: Path, refused: Callable[..., str]) -> None:
    Learner(SMALL).save(tmp_path / CHECKPOINT_FILE)
    whole = (tmp_path / CHECKPOINT_FILE).read_bytes()
    (tmp_path / CHECKPOINT_FILE).write_bytes(whole[:-1000])
    assert "damaged" in refused(["--resume", str(tmp_path)])


EXTRAS = {"torch": "torch", "filelock": "train", "matplotlib": "train", "numba": "fast", "safetensors": "train", "tensorboard": "train"}


@pytest.mark.parametrize(
    "library",
    [
        "torch",
        "filelock",
        "matplotlib",
        *(pytest.param(library, marks=pytest.mark.slow) for library in ("numba", "safetensors", "tensorboard", "tqdm")),
    ],
)
def test_a_missing_library_is_noticed_before_the_training(library: str, tmp_path: Path) -> None:
    """With the command that installs it; tqdm only draws the progress bar."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys; sys.modules[{library!r}] = None")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{REPOSITORY}"}
    name = "ppo" if library == "torch" else "td_ntuple"
    options = ["--help"] if library == "torch" else [*SMALL_OPTIONS, "--games=50", "--out", str(tmp_path / "run")]
    command = [sys.executable, "-m", f"training.{name}", *options]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if library == "tqdm":
        assert run.returncode == 0, run.stderr
        return
    assert run.returncode == 2, run.stderr
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith(f"{name}: ")
    assert f'needs {library}; in a clone: pip install -e ".[{EXTRAS[library]}]"' in run.stderr
    assert not (tmp_path / "run" / "metrics.csv").exists()


@pytest.mark.parametrize("arguments", [["--help"], SMALL_OPTIONS, pytest.param(["--games", "x"], marks=pytest.mark.slow)])
def test_a_number_of_threads_that_is_none_is_refused_in_one_line(arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "training.td_ntuple", *arguments, "--ensemble-size=2"]
    environment = {**os.environ, "OTHELLO_ENV_THREADS": "x", "PYTHONPATH": str(REPOSITORY)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    if "--help" in arguments:
        assert (run.returncode, run.stderr) == (0, "")
    else:
        assert run.returncode == 2
        assert run.stderr.count("\n") == 1
        assert not list(tmp_path.iterdir())


# Help and presets


def test_help_explains_every_option_with_the_default_of_the_chosen_preset(module: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for name, settings in module.PRESETS.items():
        with pytest.raises(SystemExit) as stopped:
            module.main(["--preset", name, "--help"])
        assert stopped.value.code == 0
        text = " ".join(capsys.readouterr().out.split())
        assert f"Settings to start from, one of {', '.join(module.PRESETS)};" in text
        general, text = text.split(f" settings (defaults: those of the preset {name}): ")
        for option in ("--out", "--resume", "--device", "--checkpoint-seconds", "--final-openings"):
            assert f"{option} " in general
        for field in fields(module.Settings):
            option = f"--{field.name.replace('_', '-')}"
            found = re.search(rf"{option} (?:INT|FLOAT|\{{[^}}]+\}}) (.+?) \(default: (.+?)\)", text)
            assert found, option
            assert len(found[1]) > 20
            assert found[2] == str(getattr(settings, field.name))


def test_all_presets_can_be_used_and_measured(module: Any) -> None:
    trainer: Trainer[Any, Any] = module.TRAINER
    for settings in trainer.presets.values():
        settings.check()
        assert settings.evaluate_every <= settings.games
        assert len(set(metric_names(trainer, settings.board_size))) > 5
