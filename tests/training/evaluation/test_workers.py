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
from othello_env import Game, Position
from tests.conftest import REPOSITORY
from tests.training.evaluation import faulty_agents
from training.evaluation import workers
from training.evaluation.journal import GameRecord
from training.evaluation.players import Player, PlayerError
from training.evaluation.referee import Asking, Pairs
from training.evaluation.workers import Block, BlockProgress, LocalPool, WorkerError, WorkerPool, play_block

PLAYERS: dict[str, Player] = {
    "random": "random",
    "greedy": "greedy",
    "hanging": faulty_agents.hanging,
    "dying": faulty_agents.dying,
    "raising": faulty_agents.raising,
    "impossible": faulty_agents.impossible,
    "leaving_construction": faulty_agents.leaving_construction,
    "dying_construction": faulty_agents.dying_construction,
    "hanging_construction": faulty_agents.hanging_construction,
    "no_agent": faulty_agents.no_agent,
    "nameless": faulty_agents.nameless,
    "dying_first_call": faulty_agents.dying_first_call,
    "hanging_first_call": faulty_agents.hanging_first_call,
    "dying_import": faulty_agents.DyingImport(),
    "failing_import": faulty_agents.FailingImport(),
    "misspelt": "randam",
    "ntuple": "ntuple",
    "dying_later": faulty_agents.dying_later,
    "slow_at_first": faulty_agents.slow_at_first,
    "slow_construction": faulty_agents.slow_construction,
    "with_a_child": faulty_agents.with_a_child,
}


def blocks_of(first: str, second: str, blocks: int = 3, pairs: int = 3) -> list[Block]:
    openings = tuple(Game.random(8, np.random.default_rng([3, number])) for number in range(pairs))
    numbers = range(0, 2 * pairs * blocks, 2 * pairs)
    return [Block(Pairs(start, (first, second), openings, (0, start)), tuple(range(start, start + 2 * pairs))) for start in numbers]


def some(*names: str) -> dict[str, Player]:
    return {name: PLAYERS[name] for name in names}


def played(blocks: list[Block], workers: int, move_seconds: float = 30.0, build_seconds: float = 60.0) -> dict[int, GameRecord]:
    records: list[GameRecord] = []
    names = sorted({name for block in blocks for name in block.pairs.players})
    with WorkerPool(some(*names), workers, move_seconds=move_seconds, build_seconds=build_seconds) as pool:
        pool.build_players()
        pool.play(blocks, records.append)
    assert len({record.game for record in records}) == len(records) == sum(len(block.missing) for block in blocks)
    return {record.game: record for record in records}


def test_games_do_not_depend_on_the_number_of_workers() -> None:
    blocks = blocks_of("random", "greedy")
    here: list[GameRecord] = []
    for block in blocks:
        play_block(block, [make_agent(name) for name in block.pairs.players], alone=False, finished=here.append)
    expected = {record.game: record.moves for record in here}
    for num_workers in (1, 2):
        assert {number: record.moves for number, record in played(blocks, num_workers).items()} == expected
    # With some games done, the rest are the same as ever.
    rest = [Block(block.pairs, block.missing[1::2]) for block in blocks]
    assert {number: record.moves for number, record in played(rest, 1).items()} == {n: moves for n, moves in expected.items() if n % 2}


@pytest.mark.parametrize(
    ("player", "reason", "detail"),
    [("hanging", "timeout", "no answer in 0.6 s"), ("dying", "died", "its process ended, exit code 7")],
)
def test_an_agent_that_hangs_or_dies_loses_and_the_rest_goes_on(player: str, reason: str, detail: str) -> None:
    blocks = [*blocks_of(player, "random", 1, 1), *shifted(blocks_of("random", "greedy", 1, 2), 100)]
    records = played(blocks, 2, move_seconds=0.6)
    failed = [record for record in records.values() if record.reason != "played out"]
    assert failed
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


@pytest.mark.slow
def test_the_first_answer_of_a_new_process_is_not_thinking() -> None:
    records = played(blocks_of("slow_at_first", "random", 1, 2), 1, move_seconds=0.9)
    assert {record.reason for record in records.values()} == {"played out"}


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_what_agents_have_started_ends_with_their_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHELLO_TEST_CHILD", str(tmp_path / "child"))
    played(blocks_of("with_a_child", "random", 1, 1), 1)
    assert ends(int((tmp_path / "child").read_text(encoding="utf-8")))


def test_there_may_be_no_limit_of_time() -> None:
    assert len(played(blocks_of("greedy", "random", 1, 1), 1, move_seconds=float("inf"))) == 2


@pytest.mark.parametrize(
    ("player", "reason", "detail"),
    [
        ("dying_construction", "died", "construction: its process ended, exit code 9"),
        pytest.param("hanging_construction", "timeout", "construction: no answer in 2 s", marks=pytest.mark.slow),
        ("dying_import", "died", "construction: its process ended, exit code 9"),
        ("dying_first_call", "died", "first call: its process ended, exit code 9"),
        pytest.param("hanging_first_call", "timeout", "first call: no answer in 2 s", marks=pytest.mark.slow),
    ],
)
def test_an_agent_that_hangs_or_dies_before_its_first_game_forfeits_all_and_the_rest_goes_on(player: str, reason: str, detail: str) -> None:
    blocks = [*blocks_of(player, "random", 2, 2), *shifted(blocks_of("random", "greedy", 2, 2), 100)]
    records = played(blocks, 2, build_seconds=2.0)
    for game, record in records.items():
        if game >= 100:
            assert record.reason == "played out"
            continue
        assert (record.reason, record.detail, record.moves) == (reason, detail, "")
        assert (record.black, record.white) == ((player, "random") if game % 2 == 0 else ("random", player))
        assert record.black_score == (0.0 if record.black == player else 1.0)
        assert record.disc_difference == Position.parse(record.opening).score("discs")


def test_of_two_agents_that_cannot_be_used_the_one_to_move_first_loses() -> None:
    black = Game.parse("f5d6").final
    white = Game.parse("f5").final
    openings = (Game((), black), Game((), white))
    block = Block(Pairs(0, ("dying_construction", "dying_import"), openings, (0,)), (0, 1, 2, 3))
    records = played([block], 2)
    assert [records[game].black_score for game in range(4)] == [0.0, 0.0, 1.0, 1.0]


def test_one_death_of_a_process_that_constructs_an_agent_may_have_another_cause(tmp_path: Path) -> None:
    records: list[GameRecord] = []
    with WorkerPool({"random": "random", "once": faulty_agents.DyingOnce(tmp_path)}, 1, move_seconds=30.0) as pool:
        pool.build_players()
        pool.play(blocks_of("once", "random", 1, 1), records.append)
    assert [record.reason for record in records] == ["played out"] * 2


@pytest.mark.slow
def test_what_another_agent_left_in_the_process_is_not_blamed_on_a_construction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of the first block's agent ends the process while the second block's agent is constructed."""
    monkeypatch.setattr(workers, "_MAX_BUILD_DEATHS", 1)
    blocks = [*blocks_of("dying_later", "random", 1, 1), *shifted(blocks_of("slow_construction", "random", 1, 1), 100)]
    records: list[GameRecord] = []
    with WorkerPool(some("dying_later", "random", "slow_construction"), 1, move_seconds=30.0) as pool:
        pool.play(blocks, records.append)
        assert len(pool._workers) == 1
        assert pool._workers[0].is_fresh is False
    assert {record.reason for record in records if record.game >= 100} == {"played out"}


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ("impossible", "^impossible: RuntimeError: cannot be constructed$"),
        ("leaving_construction", "^leaving_construction: SystemExit: no licence$"),
        ("failing_import", "^failing_import: ValueError: invalid literal"),
        ("no_agent", "^no_agent: str is no agent: it has no method select_moves$"),
        ("misspelt", "^'randam': no agent 'randam'"),
        ("ntuple", "^ntuple: ntuple plays on board_size 8, not 6$"),
        ("nameless", "^nameless: _FirstCall plays on board_size 8, not 6$"),
    ],
)
def test_an_agent_that_cannot_be_constructed_or_play_is_refused_in_one_line(player: str, message: str) -> None:
    players = some("random", player)
    with WorkerPool(players, 1, board_size=6, move_seconds=1.0) as pool, pytest.raises(ValueError, match=message):
        pool.build_players()
    if player != "failing_import":  # which needs another process
        with LocalPool(players, board_size=6, move_seconds=1.0) as here, pytest.raises(ValueError, match=message):
            here.build_players()


def test_a_function_that_cannot_be_sent_to_a_process_is_refused() -> None:
    with pytest.raises(PlayerError, match="^mine: cannot be sent to another process: "):
        WorkerPool({"mine": lambda: make_agent("random")}, 1, move_seconds=1.0)


def test_an_agent_without_a_name_plays() -> None:
    assert {record.reason for record in played(blocks_of("nameless", "random", 1, 1), 1).values()} == {"played out"}


def test_an_agent_whose_construction_raises_later_forfeits_its_games(tmp_path: Path) -> None:
    """It is constructed once in the check, and again in the second worker, where it raises."""
    records: list[GameRecord] = []
    with WorkerPool({"random": "random", "twice": faulty_agents.ConstructedOnce(tmp_path)}, 2, move_seconds=30.0) as pool:
        pool.build_players()
        pool.play(blocks_of("random", "twice", 12, 4), records.append)
    assert len(records) == 96
    forfeited = [record for record in records if record.reason != "played out"]
    assert forfeited
    assert {(record.reason, record.detail) for record in forfeited} == {
        ("error", "its construction raised: twice: RuntimeError: no second")
    }
    assert all(record.black_score == (0.0 if record.black == "twice" else 1.0) for record in forfeited)


def test_a_worker_that_dies_by_no_fault_of_an_agent_ends_the_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_work", faulty_agents.ending_worker)
    with (
        WorkerPool(some("random"), 1, move_seconds=1.0) as pool,
        pytest.raises(WorkerError, match="for random end by themselves, exit code 4"),
    ):
        pool.build_players()


def test_the_part_of_a_block_that_has_been_played_grows_with_the_moves() -> None:
    (block,) = blocks_of("random", "greedy", 1, 2)
    progress, seen = BlockProgress(block), [0.0]

    def note(message: Asking | GameRecord) -> None:
        progress.add(message)
        seen.append(len(progress.done) + progress.games_in_play)

    play_block(block, [make_agent("random"), make_agent("greedy")], alone=False, finished=note, asking=note)
    assert seen == sorted(seen)
    assert 1.5 < seen[len(seen) // 2] < 2.5
    assert seen[-1] == len(progress.done) == 4
    assert progress.rest().missing == ()


def test_workers_are_gone_when_the_pool_is_left() -> None:
    with WorkerPool(some("random", "greedy"), 2, move_seconds=30.0) as pool:
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
        "    players = {name: PLAYERS[name] for name in ('hanging', 'random')}\n"
        "    with WorkerPool(players, 1, move_seconds=1000.0) as pool:\n"
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
    assert ends(worker)


def ends(process: int) -> bool:
    """Whether a process ends within a while: a signal may take a moment."""
    deadline = time.monotonic() + 20
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(process)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
