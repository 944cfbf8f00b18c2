from __future__ import annotations

import numpy as np
import pytest

from training.replay import Replay, Samples


def samples_of(numbers: range) -> Samples:
    """Positions whose fields are all made from one number each."""
    samples = Samples.empty(len(numbers), 5)
    for row, number in enumerate(numbers):
        for name, array in samples.arrays().items():
            array[row] = number % 2 if name == "policy_mask" else number % 100
    return samples


def numbers_in(replay: Replay) -> list[int]:
    arrays = replay.state()
    assert {len(array) for array in arrays.values()} == {replay.size}
    np.testing.assert_array_equal(arrays["own"], arrays["final_opp"])
    np.testing.assert_array_equal(arrays["own"], arrays["policy"][:, 4])
    return sorted(arrays["own"].tolist())


def test_the_oldest_positions_are_forgotten() -> None:
    replay = Replay(7, 5)
    for first, last, kept in ((0, 3, range(3)), (3, 3, range(3)), (3, 9, range(2, 9)), (9, 30, range(23, 30)), (30, 31, range(24, 31))):
        replay.add(samples_of(range(first, last)))
        assert numbers_in(replay) == list(kept)
        assert replay.added == last
        assert replay.size == len(kept)


def test_positions_are_drawn_equally_often() -> None:
    replay = Replay(10, 5)
    replay.add(samples_of(range(4)))
    drawn = replay.draw(4000, np.random.default_rng(0))
    assert len(drawn) == 4000
    counts = np.bincount(drawn.own.astype(int))
    assert len(counts) == 4
    assert counts.min() > 900
    np.testing.assert_array_equal(drawn.own, drawn.outcome)


@pytest.mark.parametrize("count", [0, 5, 10, 23])
def test_a_restored_buffer_goes_on_like_the_old_one(count: int) -> None:
    old, new = Replay(10, 5), Replay(10, 5)
    old.add(samples_of(range(count)))
    new.restore(old.state(), old.added)
    for replay in (old, new):
        replay.add(samples_of(range(50, 57)))
    for name, array in old.state().items():
        np.testing.assert_array_equal(new.state()[name], array)
    if count:
        one, other = (replay.draw(20, np.random.default_rng(1)).own for replay in (old, new))
        np.testing.assert_array_equal(one, other)


def test_nothing_can_be_drawn_from_nothing_or_put_where_it_does_not_fit() -> None:
    replay = Replay(10, 5)
    with pytest.raises(ValueError, match="empty"):
        replay.draw(1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="capacity 0"):
        Replay(0, 5)
    state = samples_of(range(3)).arrays()
    for arrays, added, message in (
        (state, 4, r"replay own: uint64 of shape \(3,\); expected uint64 of shape \(4,\)"),
        (state, 2, r"replay own: uint64 of shape \(3,\); expected uint64 of shape \(2,\)"),
        (state, 30, r"replay own: uint64 of shape \(3,\); expected uint64 of shape \(10,\)"),
        ({**state, "policy": np.zeros((3, 6), dtype=np.float16)}, 3, "replay policy: float16"),
        ({**state, "outcome": np.zeros(3, dtype=np.int16)}, 3, "replay outcome: int16"),
    ):
        with pytest.raises(ValueError, match=message):
            replay.restore(arrays, added)
    with pytest.raises(KeyError):
        replay.restore({"own": state["own"]}, 3)
    assert replay.added == 0
    assert not any(array.any() for array in replay._samples.arrays().values())
