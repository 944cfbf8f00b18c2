from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.weight_file import CheckpointError
from training.checkpoints import (
    Arrays,
    check_fits,
    check_game_counts,
    checkpoint,
    read_checkpoint,
    read_counter,
    read_sums,
    write_checkpoint,
)


def test_parts_keep_their_arrays_apart_and_another_kind_is_refused(tmp_path: Path) -> None:
    parts: dict[str, Arrays] = {"one": {"a": np.arange(3)}, "two": {"a": np.arange(4), "b/c": np.eye(2)}}
    write_checkpoint(tmp_path / "state", "mine", parts=parts, about={})
    read, _ = read_checkpoint(tmp_path / "state", "mine")
    assert {(part, name): array.tolist() for part, arrays in read.items() for name, array in arrays.items()} == {
        ("one", "a"): [0, 1, 2],
        ("two", "a"): [0, 1, 2, 3],
        ("two", "b/c"): [[1, 0], [0, 1]],
    }
    with pytest.raises(CheckpointError, match="holds 'mine'"):
        read_checkpoint(tmp_path / "state", "yours")


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError("x"), OverflowError("x"), AttributeError("x"), KeyError("x"), IndexError("x"), TypeError("x"), ValueError("x")],
)
def test_content_that_does_not_fit_is_a_checkpoint_error_with_the_file(tmp_path: Path, error: Exception) -> None:
    write_checkpoint(tmp_path / "state", "mine", parts={}, about={})
    message = rf"state': not a checkpoint to resume from \({type(error).__name__}: '?x'?\)"
    with pytest.raises(CheckpointError, match=message), checkpoint(tmp_path / "state", "mine"):
        raise error


def test_an_array_of_another_shape_or_dtype_is_refused() -> None:
    like = np.zeros((2, 3), dtype=np.float32)
    check_fits("a", np.ones((2, 3), dtype=np.float32), like)
    for array in (np.zeros((3, 2), dtype=np.float32), np.zeros((2, 3)), np.zeros(6, dtype=np.float32)):
        with pytest.raises(ValueError, match=r"^a: .*; expected float32 of shape \(2, 3\)$"):
            check_fits("a", array, like)


@pytest.mark.parametrize("value", [-1, 1.0, True, "1", None, [1]])
def test_a_counter_is_an_integer_from_0(value: Any) -> None:
    assert read_counter({"games": 0}, "games") == 0
    assert read_counter({"games": 10**9}, "games") == 10**9
    with pytest.raises(ValueError, match="^games .*: expected an integer from 0$"):
        read_counter({"games": value}, "games")
    with pytest.raises(KeyError):
        read_counter({}, "games")


@pytest.mark.parametrize("value", [[1.0], [1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]], [float("nan"), 1], [1.0, -1], [1.0, 0.5], [float("inf"), 1]])
def test_sums_are_finite_numbers_and_their_count(value: Any) -> None:
    np.testing.assert_array_equal(read_sums({"losses": [-2.5, 3]}, "losses", 2), [-2.5, 3.0])
    with pytest.raises(ValueError, match="^losses .*: expected 2 finite numbers, the last one a count$"):
        read_sums({"losses": value}, "losses", 2)


def test_games_have_as_many_plies_as_the_board_allows() -> None:
    # On 6x6 a game has 1 to 32 plies.
    for games, plies in ((0, 0), (0, 64), (1, 1), (1, 96), (10, 10), (10, 12 * 32)):
        check_game_counts(games_done=games, plies_done=plies, num_running=2, board_size=6)
    for games, plies in ((0, 65), (1, 0), (1, 97), (10, 9), (10, 12 * 32 + 1), (10**9, 100), (10, 10**9)):
        with pytest.raises(ValueError, match=f"^{games} games with {plies} plies: a game has 1 to 32 plies"):
            check_game_counts(games_done=games, plies_done=plies, num_running=2, board_size=6)
