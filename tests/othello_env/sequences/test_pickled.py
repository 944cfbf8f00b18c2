from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from othello_env import RecordFormatError
from othello_env.sequences.pickled import load_games

GAMES = [[26, 18, 19], [], [37, -100, 300], (44,)]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_lists_of_lists_of_integers_are_read(protocol: int) -> None:
    values, lengths = load_games(pickle.dumps(GAMES, protocol=protocol))
    assert values.tolist() == [26, 18, 19, 37, -100, 300, 44]
    assert lengths.tolist() == [3, 0, 3, 1]
    assert load_games(pickle.dumps([], protocol=protocol))[1].tolist() == []


@pytest.mark.parametrize("protocol", [2, 5])
def test_many_games_are_read(protocol: int) -> None:
    games = np.random.default_rng(0).integers(0, 64, size=(3_000, 60)).tolist()
    values, lengths = load_games(pickle.dumps(games, protocol=protocol))
    assert values.reshape(-1, 60).tolist() == games
    assert lengths.tolist() == [60] * 3_000


class Command:
    """Its pickle writes a file when it is loaded the usual way."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.write_text, (self.path, "executed")


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_pickle_that_calls_something_is_refused_and_calls_nothing(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "executed"
    data = pickle.dumps([[1, 2], Command(path)], protocol=protocol)
    with pytest.raises(RecordFormatError, match="refused: from byte"):
        load_games(data)
    assert not path.exists()
    pickle.loads(data)
    assert path.exists(), "the test's pickle works"


@pytest.mark.parametrize(
    "thing",
    [[[1, "a"]], [[1.5]], [[None]], [[True]], {"games": [[1]]}, [{1, 2}], [b"abc"], [[1 << 40]], [np.arange(3)], [[np.int64(3)]]],
    ids=repr,
)
def test_other_things_are_refused(thing: Any) -> None:
    with pytest.raises(RecordFormatError, match="refused: from byte"):
        load_games(pickle.dumps(thing))


@pytest.mark.parametrize("thing", [5, [5], [[1], 5], [[[1]]], [[1, []]]], ids=repr)
def test_lists_of_another_depth_are_refused(thing: Any) -> None:
    with pytest.raises(RecordFormatError, match="no list of lists of integers"):
        load_games(pickle.dumps(thing))


def test_a_small_pickle_does_not_become_a_large_array() -> None:
    game = list(range(60))
    with pytest.raises(RecordFormatError, match="100000 lists of up to 60 entries: these are no games"):
        load_games(pickle.dumps([game] * 100_000))
    with pytest.raises(RecordFormatError, match="1 lists of up to 257 entries"):
        load_games(pickle.dumps([list(range(257))]))
    itself: list[Any] = []
    itself.append(itself)
    with pytest.raises(RecordFormatError, match="no list of lists of integers"):
        load_games(pickle.dumps(itself))


def test_room_is_made_for_no_more_entries_than_a_file_can_have() -> None:
    """LONG_BINPUT with the number 2**32 - 1 makes the unpickler ask for 64 GB."""
    with pytest.raises(RecordFormatError, match="refused: from byte 3"):
        load_games(b"\x80\x02]r\xff\xff\xff\xff.")


def test_damaged_pickles_give_one_line_and_no_wrong_game() -> None:
    rng = np.random.default_rng(1)
    games = rng.integers(0, 64, size=(20, 60)).tolist()
    originals = [pickle.dumps(games, protocol=protocol) for protocol in (2, 4)]
    start, messages = time.perf_counter(), []
    for trial in range(2_000):
        data = bytearray(originals[trial % 2])
        if trial % 4 == 0:
            del data[rng.integers(len(data)) :]
        for place in rng.integers(len(data) + 1, size=3):
            data[place : place + 1] = rng.bytes(1)
        try:
            values, lengths = load_games(bytes(data))
        except RecordFormatError as error:
            messages.append(str(error))
        else:  # changed numbers cannot be noticed here
            assert lengths.sum() == len(values) <= len(data)
    assert len(messages) > 500
    assert not [message for message in messages if "\n" in message]
    assert time.perf_counter() - start < 10
