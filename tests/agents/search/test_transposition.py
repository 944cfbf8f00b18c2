from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from agents.search.transposition import (
    MASK,
    MAX_NODES,
    NO_SQUARE,
    NODES,
    SEARCH,
    STOP,
    UNLIMITED,
    allocate,
    begin_search,
    best_square,
    depth_of,
    find,
    lower_bound,
    store,
    upper_bound,
)
from othello_env.bitboard import BitboardArray
from tests.kernels import kept_kernel


@dataclasses.dataclass(frozen=True)
class Entry:
    """What is put into the table, and what comes out."""

    own: int
    opp: int
    lower: int
    upper: int
    square: int
    depth: int


@kept_kernel
def store_all(table: Any, boards: Any, words: Any) -> None:
    """boards: [N, 2] uint64, own and opp. words: [N, 4] int64, lower, upper, square, depth."""
    for row in range(len(boards)):
        store(table, boards[row, 0], boards[row, 1], words[row, 0], words[row, 1], words[row, 2], words[row, 3])


@kept_kernel
def find_all(table: Any, boards: Any, words: Any, found: Any) -> None:
    """Write `words` of the positions that are found. found: [N], place or 0."""
    for row in range(len(boards)):
        place = find(table, boards[row, 0], boards[row, 1])
        found[row] = place
        if place:
            words[row, 0] = lower_bound(table, place)
            words[row, 1] = upper_bound(table, place)
            words[row, 2] = best_square(table, place)
            words[row, 3] = depth_of(table, place)


def put(table: BitboardArray, entries: Iterable[Entry]) -> None:
    rows = [dataclasses.astuple(entry) for entry in entries]
    store_all(table, np.array([row[:2] for row in rows], dtype=np.uint64), np.array([row[2:] for row in rows], dtype=np.int64))


def get(table: BitboardArray, entries: Iterable[Entry]) -> list[Entry | None]:
    """What the table knows about the entries' positions."""
    boards = np.array([(entry.own, entry.opp) for entry in entries], dtype=np.uint64)
    words, found = np.zeros((len(boards), 4), dtype=np.int64), np.zeros(len(boards), dtype=np.int64)
    find_all(table, boards, words, found)
    return [
        Entry(int(own), int(opp), *(int(word) for word in row)) if place else None
        for (own, opp), row, place in zip(boards, words, found, strict=True)
    ]


def random_entries(number: int, rng: np.random.Generator) -> list[Entry]:
    own, other = rng.integers(0, 1 << 64, size=(2, number), dtype=np.uint64)
    bounds = np.sort(rng.integers(-127, 128, size=(number, 2)), axis=1)
    squares, depths = rng.integers(0, NO_SQUARE + 1, size=number), rng.integers(0, 61, size=number)
    columns = (own, other & ~own, bounds[:, 0], bounds[:, 1], squares, depths)
    return [Entry(*(int(word) for word in row)) for row in zip(*columns, strict=True)]


def fresh(hash_mb: int = 1) -> BitboardArray:
    table = allocate(hash_mb)
    begin_search(table, UNLIMITED)
    return table


def one_bucket() -> BitboardArray:
    """A table in which all positions meet."""
    table = fresh()
    table[MASK] = 0
    return table


def test_what_was_stored_is_found(rng: np.random.Generator) -> None:
    table = fresh()
    for entry in random_entries(200, rng):
        put(table, [entry])
        assert get(table, [entry]) == [entry]


@pytest.mark.parametrize("bound", [0, 1, 64, 127, 2**30])
def test_bounds_come_back_with_their_sign(bound: int, rng: np.random.Generator) -> None:
    table = fresh()
    for lower, upper in [(-bound, bound), (bound, bound), (-bound, -bound)]:
        entry = dataclasses.replace(random_entries(1, rng)[0], lower=lower, upper=upper)
        put(table, [entry])
        assert get(table, [entry]) == [entry]


def test_a_position_is_never_taken_for_another(rng: np.random.Generator) -> None:
    table = one_bucket()
    for entry in random_entries(300, rng):
        swapped = dataclasses.replace(entry, own=entry.opp, opp=entry.own)
        other_own, other_opp = (dataclasses.replace(entry, **{side: getattr(entry, side) ^ 1 << 40}) for side in ("own", "opp"))
        put(table, [entry])
        assert get(table, [entry, swapped, other_own, other_opp]) == [entry, None, None, None]


def test_a_full_table_gives_back_what_belongs_to_the_position_or_nothing(rng: np.random.Generator) -> None:
    table = fresh()
    table[MASK] = 1023
    num_slots = 2 * 1024
    entries = random_entries(4 * num_slots, rng)
    put(table, entries)
    found = get(table, entries)
    assert all(known in (None, entry) for entry, known in zip(entries, found, strict=True))
    assert 0.95 * num_slots < sum(known is not None for known in found) <= num_slots


def test_an_empty_board_is_not_found_in_an_empty_table() -> None:
    nothing = Entry(0, 0, 0, 0, 0, 0)
    table = fresh()
    assert get(table, [nothing]) == [None]
    put(table, [nothing])
    assert get(table, [nothing]) == [nothing]


def test_the_same_position_takes_the_place_of_its_older_bounds(rng: np.random.Generator) -> None:
    table = one_bucket()
    first, second = random_entries(2, rng)
    put(table, [first, second])
    for depth in (60, 0):
        newer = [dataclasses.replace(entry, lower=-3, upper=5, depth=depth) for entry in (first, second)]
        put(table, newer)
        assert get(table, [first, second]) == newer


def test_of_three_positions_in_a_bucket_the_deeper_old_one_stays(rng: np.random.Generator) -> None:
    deep, shallow, new = (dataclasses.replace(entry, depth=depth) for entry, depth in zip(random_entries(3, rng), (20, 10, 5), strict=True))
    for order in ([deep, shallow, new], [shallow, deep, new]):
        table = one_bucket()
        put(table, order)
        assert get(table, [deep, shallow, new]) == [deep, None, new]


def test_a_new_search_finds_the_table_empty(rng: np.random.Generator) -> None:
    table = fresh()
    entries = random_entries(1000, rng)
    put(table, entries)
    begin_search(table, UNLIMITED)
    assert set(get(table, entries)) == {None}


def test_a_new_search_uses_the_slots_of_the_last_whatever_their_depth(rng: np.random.Generator) -> None:
    table = one_bucket()
    old, entries = random_entries(2, rng), random_entries(2, rng)
    put(table, [dataclasses.replace(entry, depth=60) for entry in old])
    begin_search(table, UNLIMITED)
    put(table, entries)
    assert get(table, [*entries, *old]) == [*entries, None, None]


def test_what_stays_in_the_table_does_not_depend_on_earlier_searches(rng: np.random.Generator) -> None:
    for depths in [(3, 3, 3), (1, 2, 3), (3, 2, 1), (2, 3, 2)]:
        entries = [dataclasses.replace(entry, depth=depth) for entry, depth in zip(random_entries(3, rng), depths, strict=True)]
        alone = one_bucket()
        put(alone, entries)
        for earlier in ([entries[0]], [entries[1]], entries[:2], entries[1::-1], [entries[2], entries[0]]):
            table = one_bucket()
            put(table, earlier)
            begin_search(table, UNLIMITED)
            put(table, entries)
            assert get(table, entries) == get(alone, entries)


def test_when_the_numbers_of_searches_begin_again_the_table_is_cleared(rng: np.random.Generator) -> None:
    table = allocate(1)
    entries = random_entries(1000, rng)
    begin_search(table, UNLIMITED)  # the first, whose number comes again
    put(table, entries)
    table[SEARCH] = (1 << 32) - 10
    numbers = []
    for _ in range(12):
        begin_search(table, UNLIMITED)
        numbers.append(int(table[SEARCH]))
        assert set(get(table, entries)) == {None}
        put(table, entries)
        assert None not in get(table, entries[-1:])
    assert numbers.count(1) == 1
    assert 0 < min(numbers) < max(numbers) < 1 << 32


def test_a_new_search_begins_to_count_at_zero() -> None:
    table = allocate(1)
    table[NODES], table[STOP] = 7, 1
    begin_search(table, np.uint64(500))
    assert (table[NODES], table[STOP], table[MAX_NODES]) == (0, 0, 500)
    begin_search(table, UNLIMITED)
    assert table[MAX_NODES] == (1 << 64) - 1


@pytest.mark.parametrize("hash_mb", [0, -1])
def test_a_table_of_no_size_is_refused(hash_mb: int) -> None:
    with pytest.raises(ValueError, match=f"hash_mb={hash_mb}: expected 1 to 1048576"):
        allocate(hash_mb)


@pytest.mark.parametrize("hash_mb", [1, 2, 3, 5, 64])
def test_the_table_takes_more_than_half_of_the_megabytes_and_no_more(hash_mb: int) -> None:
    table = allocate(hash_mb)
    table_bytes = (int(table[MASK]) + 1) * 64  # two slots of four words a bucket
    assert hash_mb << 19 < table_bytes <= hash_mb << 20
    assert (int(table[MASK]) + 1) & int(table[MASK]) == 0
    assert table.nbytes - table_bytes < 1 << 18  # the move lists
