from __future__ import annotations

import os
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest

from othello_env import Game, Position
from othello_env.perft import Passes, perft
from othello_env.perft.__main__ import main

# Counted by two independent programs, a bitboard and a mailbox one; the 8x8 numbers with passes as
# plies are also aartbik's (www.aartbik.com/MISC/reversi.html), those with free passes Egaroucid's.
# Games over before the full depth count once.
PLY: dict[int, list[int]] = {
    4: [4, 12, 44, 128, 424, 1256, 3624, 9116, 20044, 36540, 50704, 57436, 59564, 59980, 60060, 60060, 60060, 60060],
    6: [4, 12, 56, 244, 1364, 7604, 47740, 308716, 2114912],
    8: [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288],
}
FREE: dict[int, list[int]] = {
    4: [4, 12, 44, 128, 436, 1296, 3788, 9768, 22184, 41636, 60060, 60060],
    6: [4, 12, 56, 244, 1364, 7604, 47740, 308716, 2115128],
    8: [4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005320],
}
DEEP: dict[tuple[int, Passes], list[tuple[int, int]]] = {
    (6, "ply"): [(10, 14976792), (11, 108820292)],
    (6, "free"): [(10, 14978604), (11, 108843700)],
    (8, "ply"): [(10, 24571284), (11, 212258800)],
    (8, "free"): [(10, 24571420), (11, 212260880)],
}


@pytest.mark.usefixtures("either_backend")
@pytest.mark.parametrize(("passes", "board_size"), [(passes, n) for passes in ("ply", "free") for n in (4, 6, 8)])
def test_counts_are_the_known_ones(passes: Passes, board_size: int) -> None:
    expected = (PLY if passes == "ply" else FREE)[board_size]
    assert [perft(Position.start(board_size), depth, passes) for depth in range(1, len(expected) + 1)] == expected


@pytest.mark.slow
@pytest.mark.usefixtures("either_backend")
@pytest.mark.parametrize(("board_size", "passes"), list(DEEP))
def test_deep_counts_are_the_known_ones(board_size: int, passes: Passes) -> None:
    for depth, count in DEEP[board_size, passes]:
        assert perft(Position.start(board_size), depth, passes) == count


@pytest.mark.usefixtures("either_backend")
def test_counts_from_positions_with_passes_and_ends_do_not_depend_on_the_backend(rng: np.random.Generator) -> None:
    """Late positions, where passes and ends lie within the depth; held against counting on `Position`."""

    def count(position: Position, depth: int, passes: Passes) -> int:
        if passes == "free":
            position = position.resolve_pass()
        if depth == 0 or position.is_over:
            return 1
        if position.must_pass:
            return count(position.resolve_pass(), depth - 1, passes)
        return sum(count(position.play(square, auto_pass=passes == "free"), depth - 1, passes) for square in position.legal_squares())

    for _ in range(10):
        position = Game.random(53, rng).final
        for passes in get_args(Passes):
            assert perft(position, 7, passes) == count(position, 7, passes), position


def test_no_depth_is_one_sequence_and_so_is_a_finished_game() -> None:
    assert perft(Position.start(), 0) == 1
    assert perft(Position.parse("X" * 64 + "O"), 5) == perft(Position.parse("X" * 64 + "O"), 1, "free") == 1


def test_a_forced_pass_is_a_ply_or_free() -> None:
    blocked = Position.parse("XO" + "-" * 62 + " O")
    assert perft(blocked, 1, "ply") == perft(blocked, 2, "ply") == 1
    assert perft(blocked, 1, "free") == 1


def test_impossible_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="depth -1"):
        perft(Position.start(), -1)
    with pytest.raises(ValueError, match="ply, free"):
        perft(Position.start(), 1, "none")  # type: ignore[arg-type]


def test_the_command_prints_the_counts_without_a_warning() -> None:
    command = [sys.executable, "-W", "error", "-m", "othello_env.perft", "4", "--passes", "free", "--board-size", "6"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONWARNINGS": ""})
    assert run.stderr == ""
    assert [line.split()[2] for line in run.stdout.splitlines()] == ["4", "12", "56", "244"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-1"], "perft: depth -1: expected an integer from 1"),
        (["0"], "perft: depth 0: expected an integer from 1"),
        (["2.5"], "perft: argument depth: invalid int value: '2.5'"),
        (["three"], "perft: argument depth: invalid int value: 'three'"),
        ([], "perft: the following arguments are required: depth"),
        (["3", "--passes", "no"], "perft: argument --passes: invalid choice: 'no'"),
        (["3", "--board-size", "5"], "perft: argument --board-size: invalid choice: 5"),
    ],
)
def test_bad_arguments_give_one_line_and_exit_code_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith(message)
    assert errors.count("\n") == 1
