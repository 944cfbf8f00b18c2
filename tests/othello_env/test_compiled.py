"""The compiled kernel against NumPy: the same bits in every array, for every board size."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from othello_env import OthelloSelfPlayVectorEnv, Position, PositionBatch, backend, bitboard, sample_legal
from othello_env.bitboard import FULL, BitboardArray
from othello_env.squares import BOARD_SIZES
from tests.conftest import REPOSITORY

compiled = pytest.importorskip("othello_env.compiled", reason="numba is not installed", exc_type=ModuleNotFoundError)

ARRAYS = ("own", "opp", "side_to_move", "legal_moves", "is_over")


def scattered(board_size: int, count: int, rng: np.random.Generator) -> tuple[BitboardArray, BitboardArray]:
    """Boards with discs anywhere, from nearly empty to full."""
    words = rng.integers(1 << 64, size=(3, count), dtype=np.uint64)
    sparse = rng.integers(1 << 64, size=(2, count), dtype=np.uint64)
    occupied = words[0] | np.where(rng.random(count) < 0.5, sparse[0], np.uint64(0)) | np.where(rng.random(count) < 0.3, sparse[1], 0)
    occupied &= np.uint64(FULL[board_size])
    return occupied & words[1], occupied & ~words[1]


def crowded(board_size: int, count: int, rng: np.random.Generator) -> tuple[BitboardArray, BitboardArray]:
    """Boards with few empty squares, most of which one side dominates."""
    empty, minority = (np.bitwise_and.reduce(rng.integers(1 << 64, size=(3, count), dtype=np.uint64), axis=0) for _ in range(2))
    discs = np.uint64(FULL[board_size]) & ~empty
    sides = discs & minority, discs & ~minority
    is_own = rng.random(count) < 0.5
    return np.where(is_own, *sides), np.where(is_own, *sides[::-1])


def same(one: PositionBatch, other: PositionBatch) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def with_each(work: Callable[[], Any]) -> tuple[Any, Any]:
    """The results of NumPy and of compiled code."""
    before = backend._State.module, backend._State.wanted
    backend.use_numpy()
    by_numpy = work()
    assert backend.use_compiled()
    by_compiled = work()
    backend._State.module, backend._State.wanted = before
    return by_numpy, by_compiled


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_legal_moves_and_flips_are_the_same_on_a_million_boards(board_size: int, rng: np.random.Generator) -> None:
    own, opp = scattered(board_size, 350_000, rng)
    words, found = compiled.GEOMETRY[board_size], np.empty_like(own)
    compiled.fill_legal_moves(own, opp, found, words)
    assert np.array_equal(found, bitboard.legal_moves(own, opp, board_size))
    empty = (own | opp) ^ np.uint64(FULL[board_size])
    squares = bitboard.sample_squares(empty, rng).astype(np.uint64)
    move = np.where(empty != 0, np.left_shift(np.uint64(1), squares & np.uint64(63)), 0)
    compiled.fill_flips(own, opp, move, found, words)
    assert np.array_equal(found, bitboard.flips(own, opp, move, board_size))


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_placing_a_disc_and_deciding_who_moves_next_is_what_a_batch_does(board_size: int, rng: np.random.Generator) -> None:
    """`place` and `settle`, the rules of all compiled code for one board, on boards where passes and ends are frequent."""

    @compiled.kernel  # type: ignore[untyped-decorator, unused-ignore]
    def step(own: Any, opp: Any, moves: Any, legal: Any, passed: Any, words: Any) -> None:
        geometry = compiled.unpacked(words)
        for row in range(len(own)):
            flipped = compiled.flips(own[row], opp[row], moves[row], geometry)
            after = compiled.place(own[row], opp[row], moves[row], flipped)
            own[row], opp[row], legal[row], passed[row] = compiled.settle(after[0], after[1], geometry)

    own, opp = crowded(board_size, 20_000, rng)
    batch = PositionBatch(own, opp, np.zeros(len(own), dtype=np.uint8), board_size=board_size)
    batch = batch.take(batch.legal_moves != 0)
    squares = batch.sample_moves(rng)
    own, opp, side = batch.own.copy(), batch.opp.copy(), batch.side_to_move.copy()
    legal, passed = np.empty_like(own), np.empty(len(own), dtype=np.bool_)
    step(own, opp, np.left_shift(np.uint64(1), squares.astype(np.uint64)), legal, passed, compiled.GEOMETRY[board_size])
    batch.step(squares)
    assert min(passed.sum(), batch.is_over.sum(), (~passed & ~batch.is_over).sum()) > 100
    for found, expected in ((own, batch.own), (opp, batch.opp), (legal, batch.legal_moves), (passed, batch.side_to_move == side)):
        assert np.array_equal(found[~batch.is_over], expected[~batch.is_over])
    assert np.array_equal(legal == 0, batch.is_over)
    for row in np.flatnonzero(batch.is_over)[:200]:  # nobody has passed at the end of a game
        assert not passed[row]
        assert {int(own[row]), int(opp[row])} == {batch[row].black, batch[row].white}


@pytest.mark.slow
@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_legal_moves_and_flips_are_the_same_on_ten_million_boards(board_size: int, rng: np.random.Generator) -> None:
    for _ in range(10):
        test_legal_moves_and_flips_are_the_same_on_a_million_boards(board_size, rng)


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_a_move_of_a_single_position_is_the_same(board_size: int, rng: np.random.Generator) -> None:
    play_move = compiled.compile_play_move()
    outcomes = {"the other side": 0, "the same side again": 0, "over": 0}
    owns, opps = scattered(board_size, 4_000, rng)
    opps[1::2] &= rng.integers(1 << 64, size=2_000, dtype=np.uint64) & rng.integers(1 << 64, size=2_000, dtype=np.uint64)
    opps[3::4] &= rng.integers(1 << 64, size=1_000, dtype=np.uint64) & rng.integers(1 << 64, size=1_000, dtype=np.uint64)
    for own, opp in zip(owns.tolist(), opps.tolist(), strict=True):  # many of them with few discs to flip
        for square in bitboard.squares_of(bitboard.legal_moves(own, opp, board_size)):
            expected = bitboard.play_move(own, opp, square, board_size)
            found = play_move(own, opp, square, board_size)
            assert found == expected
            assert {type(value) for value in found} == {int}
            outcomes["over" if not expected[2] else "the other side" if expected[3] else "the same side again"] += 1
    assert min(outcomes.values()) > 30, outcomes


@pytest.mark.parametrize("auto_pass", [True, False])
@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_whole_games_are_the_same(board_size: int, auto_pass: bool) -> None:
    """Sampling, steps, passes, ends, resets, afterstates: the games of both, and what the generator has given."""

    def play() -> list[Any]:
        rng = np.random.default_rng(7)
        games, seen = PositionBatch.start(1500, board_size, auto_pass=auto_pass), []
        for step in range(100):
            games.step(games.sample_moves(rng))
            if step % 4 == 0:
                games.reset(games.is_over)
                rows = np.flatnonzero(rng.random(len(games)) < 0.3)
                games.step(games.take(rows).sample_moves(rng), rows)
            seen.append(games.copy())
        after = games.afterstates()
        everything = [getattr(batch, name) for batch in seen for name in ARRAYS]
        return [*everything, *(getattr(after, name) for name in ("rows", "squares", "own", "opp", "side")), *after.results(), rng.random(4)]

    by_numpy, by_compiled = with_each(play)
    assert len(by_numpy) == len(by_compiled) > 500
    for one, other in zip(by_numpy, by_compiled, strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def test_arbitrary_boards_step_alike(rng: np.random.Generator) -> None:
    """Boards that no game reaches, in which sides must pass more often than in games."""
    for board_size in BOARD_SIZES:
        own, opp = scattered(board_size, 40_000, rng)
        for auto_pass in (True, False):

            def play(own: BitboardArray = own, opp: BitboardArray = opp, n: int = board_size, auto: bool = auto_pass) -> PositionBatch:
                generator = np.random.default_rng(3)
                batch = PositionBatch(own, opp, np.zeros(len(own), dtype=np.uint8), board_size=n, auto_pass=auto)
                for _ in range(3):
                    batch.step(batch.sample_moves(generator))
                return batch

            assert same(*with_each(play))


@pytest.mark.parametrize("batch_size", [0, 1, 1023, 1024, 1025, 2049])
def test_batches_of_every_size_step_alike(batch_size: int) -> None:
    """The compiled loops work in blocks of 1,024."""

    def play() -> PositionBatch:
        rng = np.random.default_rng(5)
        games = PositionBatch.start(batch_size)
        for _ in range(30):
            games.step(games.sample_moves(rng))
        return games

    assert same(*with_each(play))


def test_parts_of_a_large_batch_run_at_the_same_time_and_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def play() -> PositionBatch:
        rng = np.random.default_rng(9)
        games = PositionBatch.start(5000)
        for _ in range(40):
            games.step(games.sample_moves(rng))
        return games

    backend.use_compiled()
    whole = play()
    monkeypatch.setenv("OTHELLO_ENV_THREADS", "3")
    monkeypatch.setattr(backend, "_ROWS_PER_THREAD", 700)
    parts: list[int] = []
    run_parts = backend.run_parts

    def counting(function: Callable[[int], None], num_parts: int) -> None:
        parts.append(num_parts)
        run_parts(function, num_parts)

    monkeypatch.setattr(backend, "run_parts", counting)
    assert same(play(), whole)
    assert set(parts) == {3}


def test_large_batches_run_in_threads() -> None:
    backend.use_compiled()
    rng = np.random.default_rng(1)
    large, small = PositionBatch.start(70_000), PositionBatch.start(7)
    for _ in range(5):
        moves = large.sample_moves(rng)
        large.step(moves)
        small.step(moves[:7])
    assert same(large.take(np.arange(7)), small)


def test_an_illegal_move_changes_nothing_and_names_the_row() -> None:
    def play() -> tuple[str, PositionBatch]:
        games = PositionBatch.start(300)
        moves = np.full(300, 19)
        moves[217] = 20
        with pytest.raises(ValueError, match=r"^row 217: ") as caught:
            games.step(moves)
        return str(caught.value), games

    (first, numpy_games), (second, compiled_games) = with_each(play)
    assert first == second
    assert same(numpy_games, PositionBatch.start(300))
    assert same(compiled_games, PositionBatch.start(300))


@pytest.mark.parametrize("moves", [[64], [-1], [65], [1000], [-45], [2**62 + 19], [63 + 64 + 20]])
@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_numbers_that_are_no_square_are_illegal_everywhere(moves: list[int], board_size: int) -> None:
    def play() -> str:
        with pytest.raises(ValueError, match=r"row 0: "):
            PositionBatch.start(1, board_size).step(moves)
        return ""

    with_each(play)


def test_sampling_from_masks_is_the_same(rng: np.random.Generator) -> None:
    mask = (rng.random((3000, 65)) < 0.1).astype(np.int8)
    one, other = with_each(lambda: sample_legal(mask, np.random.default_rng(2)))
    assert np.array_equal(one, other)


def in_a_fresh_process(code: str, **environment: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", "import sys, numpy as np\nfrom othello_env import PositionBatch, backend, use_compiled, use_numpy\n" + code],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env={**os.environ, **environment},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


PLAY = "rng = np.random.default_rng(0)\ngames = PositionBatch.start(SIZE)\nfor _ in range(9): games.step(games.sample_moves(rng))\n"


@pytest.mark.parametrize(
    ("size", "environment", "before", "loaded"),
    [
        (4096, {}, "", "True"),
        (10, {}, "", "False"),
        (10, {}, "use_compiled()", "True"),
        (4096, {"OTHELLO_ENV_COMPILED": "0"}, "", "False"),
        (4096, {}, "use_numpy()", "False"),
    ],
)
def test_numba_is_loaded_when_it_is_worth_it_and_not_switched_off(size: int, environment: dict[str, str], before: str, loaded: str) -> None:
    code = f"{before}\n{PLAY.replace('SIZE', str(size))}print('numba' in sys.modules, int(games.own.sum()) % 1009)"
    result = in_a_fresh_process(code, **environment)
    assert result[0] == loaded
    assert result == [loaded, in_a_fresh_process(code, OTHELLO_ENV_COMPILED="0")[1]]


def test_single_games_load_numba_only_once_a_program_has_played_many() -> None:
    code = (
        "import sys\n"
        "from othello_env import Position, backend\n"
        "backend.WORTHWHILE_MOVES = 100\n"
        "for game in range(4):\n"
        "    position = Position.start()\n"
        "    for _ in range(40): position = position.play(position.legal_squares()[0])\n"
        "    print('numba' in sys.modules)\n"
        "print(position.black, position.white)"
    )
    discs = in_a_fresh_process(code, OTHELLO_ENV_COMPILED="0")
    assert discs[:4] == ["False"] * 4
    assert in_a_fresh_process(code) == ["False", "False", "True", "True", *discs[4:]]


def test_a_numba_that_cannot_be_imported_is_named_in_a_warning_and_numpy_does_the_work() -> None:
    code = (
        "import warnings, types\n"
        "sys.modules['numba'] = types.ModuleType('numba')\n"  # there, and of no use
        "sys.modules['numba'].__spec__ = types.SimpleNamespace()\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        f"    {PLAY.replace('SIZE', '1000').strip().replace(chr(10), chr(10) + '    ')}\n"
        "print(len(caught), 'numba' in str(caught[0].message), use_compiled(), len(games))"
    )
    assert in_a_fresh_process(code) == ["1", "True", "False", "1000"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = (
        "import os\n"
        f"{PLAY.replace('SIZE', '70000')}"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    games.step(games.sample_moves(rng))\n"
        "    os._exit(0)\n"
        "print(os.waitpid(child, 0)[1])"
    )
    assert in_a_fresh_process(code) == ["0"]


def test_compiled_code_is_found_again_by_the_next_process() -> None:
    """Whatever compiled functions call lies with them on disk: code that refers to itself in two ways crashes when it is loaded."""
    code = (
        "from othello_env import Position\nfrom othello_env.perft import perft\nprint(perft(Position.start(), 8))\n"
        + PLAY.replace("SIZE", "1000")
        + "print(len(games))"
    )
    for _ in range(2):
        assert in_a_fresh_process(code) == ["390216", "1000"]


def output_of(code: str, folder: Path, **environment: str) -> tuple[str, str]:
    """Standard output and standard error of a fresh process in a folder, whose packages come first."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip(), run.stderr


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package whose one kernel calls a function of another subpackage."""
    sources = {
        "pack/__init__.py": "",
        "pack/loops/__init__.py": "",
        "pack/loops/count.py": "from othello_env.compiled import kernel\nfrom pack.rules.step import step\n\n"
        "@kernel\ndef count(number):\n    return step(number)\n",
        "pack/rules/__init__.py": "",
        "pack/rules/step.py": "from othello_env.compiled import inlined\n\n@inlined\ndef step(number):\n    return number + 1\n",
    }
    for name, text in sources.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


COUNT = "from pack.loops.count import count\nprint(count(1), sum(count.stats.cache_hits.values()), sum(count.stats.cache_misses.values()))"


@pytest.mark.slow
def test_a_kernel_is_compiled_anew_once_a_file_of_its_package_has_changed(package: Path) -> None:
    assert output_of(COUNT, package)[0] == "2 0 1"
    assert output_of(COUNT, package)[0] == "2 1 0"
    step = package / "pack" / "rules" / "step.py"
    step.write_text(step.read_text(encoding="utf-8").replace("number + 1", "number + 10"), encoding="utf-8")
    assert output_of(COUNT, package)[0] == "11 0 1"


@pytest.mark.slow
def test_a_kernel_is_compiled_anew_once_a_file_of_othello_env_has_changed(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "othello_env", tmp_path / "othello_env", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numpy as np\nfrom othello_env import Position, compiled\n"
        "own, opp = (np.array([discs], dtype=np.uint64) for discs in (Position.start().own, Position.start().opp))\n"
        "compiled.fill_legal_moves(own, opp, own, compiled.GEOMETRY[8])\n"
        "print(own[0], sum(compiled.fill_legal_moves.stats.cache_hits.values()))"
    )
    legal_moves = Position.start().legal_moves
    found = [output_of(code, tmp_path, PYTHONPATH="")[0] for _ in range(2)]
    assert found == [f"{legal_moves} 0", f"{legal_moves} 1"]
    kernel = tmp_path / "othello_env" / "bitboard.py"
    line = "    squares |= down >> step\n"
    assert line in kernel.read_text(encoding="utf-8")
    kernel.write_text(kernel.read_text(encoding="utf-8").replace(line, ""), encoding="utf-8")
    assert output_of(code, tmp_path, PYTHONPATH="")[0] == f"{legal_moves & ((1 << 64) - (1 << 37))} 0"


def test_one_line_says_that_code_is_compiled_and_none_where_it_is_on_disk(package: Path) -> None:
    line = "othello_env: compiling, which takes up to a minute, once on this computer\n"
    assert output_of(COUNT + "\ncount(1.5)", package)[1] == line  # compiled twice, for two types
    foreign = "\nimport numba\nnumba.njit(lambda number: number)(1)"
    assert output_of(COUNT + foreign, package)[1] == ""


def test_where_no_code_can_be_kept_the_line_says_so(package: Path) -> None:
    code = "import numba\ndef refuse(*arguments, cache=False, **options):\n    if cache:\n        raise RuntimeError('no locator')\n"
    code += "    return njit(*arguments, **options)\nnjit, numba.njit = numba.njit, refuse\nfrom pack.loops.count import count\ncount(1)"
    assert "in every run, since no cache folder is writable: set NUMBA_CACHE_DIR to one" in output_of(code, package)[1]


@pytest.mark.parametrize(
    ("name", "is_worker", "speaks"),
    [("MainProcess", False, True), ("SpawnProcess-1", True, True), ("SpawnProcess-2", True, False), ("SpawnProcess-11", True, False)],
)
def test_of_many_workers_one_says_that_it_compiles(name: str, is_worker: bool, speaks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.multiprocessing, "parent_process", lambda: object() if is_worker else None)
    monkeypatch.setattr(compiled.multiprocessing, "current_process", lambda: SimpleNamespace(name=name))
    assert compiled._speaks_for_its_workers() == speaks


def test_replaced_arrays_are_written_to_only_where_they_fit() -> None:
    """Compiled code does not check bounds: what somebody has put in the place of an array goes to NumPy, which does."""
    backend.use_compiled()
    short = PositionBatch.start(300)
    short.opp = short.opp[:100].copy()
    with pytest.raises(ValueError, match="broadcast"):
        short.step(short.sample_moves(np.random.default_rng(0)))
    with pytest.raises((ValueError, IndexError)):
        short.afterstates()
    signed = PositionBatch.start(300)
    signed.own = signed.own.astype(np.float64)
    with pytest.raises(TypeError):
        signed.step(signed.sample_moves(np.random.default_rng(0)))
    strided = PositionBatch.start(600)
    for name in ARRAYS:
        setattr(strided, name, getattr(strided, name)[::2])
    plain = PositionBatch.start(300)
    moves = plain.sample_moves(np.random.default_rng(0))
    strided.step(moves)
    plain.step(moves)
    assert same(strided, plain)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a process cannot choose its cores here")
def test_there_are_as_many_threads_as_cores_that_the_process_may_use() -> None:
    code = "import os\nfrom othello_env import backend\nbefore = len(os.sched_getaffinity(0))\nprint(backend.num_threads() == before)\n"
    code += "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nprint(backend.num_threads())"
    assert in_a_fresh_process(code, OTHELLO_ENV_THREADS="") == ["True", "1"]


def test_without_compilation_numpy_does_the_work() -> None:
    code = PLAY.replace("SIZE", "1000") + "print(len(games), use_compiled())"
    assert in_a_fresh_process("import warnings; warnings.simplefilter('ignore')\n" + code, NUMBA_DISABLE_JIT="1") == ["1000", "False"]


@pytest.mark.parametrize(("text", "works"), [("False", False), (" OFF ", False), ("0", False), ("", True), ("1", True)])
def test_the_environment_variable_takes_the_usual_words(text: str, works: bool) -> None:
    code = PLAY.replace("SIZE", "1000") + "print('numba' in sys.modules)"
    assert in_a_fresh_process(code, OTHELLO_ENV_COMPILED=text) == [str(works)]


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "0"])
def test_a_number_of_threads_that_is_none_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHELLO_ENV_THREADS", text)
    with pytest.raises(ValueError, match="expected a number of threads"):
        backend.num_threads()


def test_vector_environments_play_the_same_games() -> None:
    def play() -> list[Any]:
        env = OthelloSelfPlayVectorEnv(300, autoreset_mode="SameStep", auto_pass=False)
        rng = np.random.default_rng(4)
        observation, _ = env.reset(seed=3)
        seen: list[Any] = []
        for _ in range(150):
            observation, reward, terminated, *_ = env.step(sample_legal(observation["action_mask"], rng))
            seen += [observation["observation"].copy(), observation["action_mask"].copy(), reward, terminated]
        return seen

    by_numpy, by_compiled = with_each(play)
    assert all(np.array_equal(one, other) for one, other in zip(by_numpy, by_compiled, strict=True))
