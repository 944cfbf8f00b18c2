from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agents import make_agent
from othello_env import Game
from tests.conftest import REPOSITORY
from tests.training.evaluation import faulty_agents
from training.evaluation.journal import GameRecord
from training.evaluation.referee import Pairs
from training.evaluation.workers import Block, Player, WorkerError, WorkerPool, play_block

PLAYERS: dict[str, Player] = {
    "random": "random",
    "greedy": "greedy",
    "hanging": faulty_agents.hanging,
    "dying": faulty_agents.dying,
    "raising": faulty_agents.raising,
    "impossible": faulty_agents.impossible,
    "dying_later": faulty_agents.dying_later,
    "slow_at_first": faulty_agents.slow_at_first,
    "with_a_child": faulty_agents.with_a_child,
}


def blocks_of(first: str, second: str, blocks: int = 3, pairs: int = 3) -> list[Block]:
    openings = tuple(Game.random(8, np.random.default_rng([3, number])) for number in range(pairs))
    numbers = range(0, 2 * pairs * blocks, 2 * pairs)
    return [Block(Pairs(start, (first, second), openings, (0, start)), tuple(range(start, start + 2 * pairs))) for start in numbers]


def played(blocks: list[Block], workers: int, move_seconds: float = 30.0) -> dict[int, GameRecord]:
    records: list[GameRecord] = []
    with WorkerPool(PLAYERS, workers, move_seconds=move_seconds) as pool:
        pool.play(blocks, records.append)
    assert len({record.game for record in records}) == len(records) == sum(len(block.missing) for block in blocks)
    return {record.game: record for record in records}


def test_games_do_not_depend_on_the_number_of_workers() -> None:
    blocks = blocks_of("random", "greedy")
    here: list[GameRecord] = []
    for block in blocks:
        play_block(block, [make_agent(name) for name in block.pairs.players], alone=False, finished=here.append)
    expected = {record.game: record.moves for record in here}
    for workers in (1, 2):
        assert {number: record.moves for number, record in played(blocks, workers).items()} == expected
    # With some games done, the rest are the same as ever.
    rest = [Block(block.pairs, block.missing[1::2]) for block in blocks]
    assert {number: record.moves for number, record in played(rest, 1).items()} == {n: moves for n, moves in expected.items() if n % 2}


@pytest.mark.parametrize(
    ("player", "reason", "detail"),
    [("hanging", "timeout", "no answer in 0.6 s"), ("dying", "died", "its process ended, exit code 7")],
)
def test_an_agent_that_hangs_or_dies_loses_and_the_rest_goes_on(player: str, reason: str, detail: str) -> None:
    blocks = [*blocks_of(player, "random", 1, 2), *shifted(blocks_of("random", "greedy", 1, 2), 100)]
    records = played(blocks, 2, move_seconds=0.6)
    failed = [record for record in records.values() if record.reason != "played out"]
    assert len(failed) >= 3
    for record in failed:
        assert (record.reason, record.detail) == (reason, detail)
        assert player in (record.black, record.white)
        assert record.black_score == (0.0 if record.black == player else 1.0)
        final = record.replayed().final
        assert final.empties <= faulty_agents.EMPTIES
        assert final.side_to_move == (0 if record.black == player else 1)
        assert record.disc_difference == final.score("discs")


def shifted(blocks: list[Block], by: int) -> list[Block]:
    """The same blocks with other numbers of games."""
    return [
        Block(replace(block.pairs, first_game=block.pairs.first_game + by), tuple(game + by for game in block.missing)) for block in blocks
    ]


def test_no_game_is_recorded_twice_by_workers_that_die_between_questions() -> None:
    records = played(blocks_of("dying_later", "random", 1, 2), 1)
    assert len(records) == 4


def test_the_first_answer_of_a_new_process_is_not_thinking() -> None:
    records = played(blocks_of("slow_at_first", "random", 1, 2), 1, move_seconds=0.9)
    assert {record.reason for record in records.values()} == {"played out"}


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_what_agents_have_started_ends_with_their_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHELLO_TEST_CHILD", str(tmp_path / "child"))
    played(blocks_of("with_a_child", "random", 1, 1), 1)
    assert not is_running(int((tmp_path / "child").read_text(encoding="utf-8")))


def test_there_may_be_no_limit_of_time() -> None:
    assert len(played(blocks_of("greedy", "random", 1, 1), 1, move_seconds=float("inf"))) == 2


def test_an_agent_that_cannot_be_made_is_an_error() -> None:
    with pytest.raises(WorkerError, match="RuntimeError: cannot be made"):
        played(blocks_of("impossible", "random"), 1)


def test_workers_are_gone_when_the_pool_is_left() -> None:
    with WorkerPool(PLAYERS, 2, move_seconds=30.0) as pool:
        pool.play(blocks_of("random", "greedy"), lambda _: None)
        processes = [worker.process.pid for worker in pool._workers]
        assert len(processes) == 2
    assert not any(is_running(process) for process in processes)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from tests.training.evaluation.test_workers import PLAYERS, blocks_of\n"
        "from training.evaluation.workers import WorkerPool\n"
        "if __name__ == '__main__':\n"
        "    with WorkerPool(PLAYERS, 1, move_seconds=1000.0) as pool:\n"
        "        pool._start()\n"
        "        print(pool._workers[0].process.pid, flush=True)\n"
        "        pool.play(blocks_of('hanging', 'random'), lambda _: None)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=environment)
    try:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        assert is_running(worker)
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    deadline = time.monotonic() + 20
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_running(worker)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
