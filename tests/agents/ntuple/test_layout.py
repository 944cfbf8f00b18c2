from __future__ import annotations

import numpy as np
import pytest

from agents.ntuple.layout import Group, Layout, straight_and_corner_groups


def test_tables_and_indices_worked_by_hand() -> None:
    """One table for the tuple (1, 0), one for two single squares, then the count tables; on the empty board all digits are 1."""
    layout = Layout((((1, 0),), ((2,), (3,))), 4, num_stages=2, counts=True)
    assert layout.table_sizes == (9, 3, 8 * 32 * 32, 32 * 32)
    assert layout.lookups_per_table == (1, 2, 1, 1)
    assert (layout.num_tuples, layout.num_lookups, layout.stage_size, layout.num_weights) == (3, 5, 9228, 18456)
    assert layout.empty_indices.tolist() == [4, 10, 10, 12, 12 + 8192]
    assert layout.place_values[:4].tolist() == [[1, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert not layout.place_values[4:].any()
    assert layout.stages(np.array([4, 5, 10, 11, 16])).tolist() == [0, 0, 0, 1, 1]  # 5 to 16 discs
    assert layout.mirrored_indices().tolist() == list(range(9228))  # no symmetry exchanges a1 and b1
    edge = Layout((((0, 1, 2, 3),),), 4)
    mirrored = edge.mirrored_indices()
    assert (len(mirrored), mirrored[0], mirrored[1], mirrored[27], mirrored[80]) == (81, 0, 27, 1, 80)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ((), "needs tuples"),
        ((((0, 1), (2,)),), "must have one length"),
        (((),), "must have one length"),
        ((((0, 64),),), "expected different squares from 0 to 63"),
        ((((0, 0),),), "expected different squares from 0 to 63"),
        (((tuple(range(16)),),), "weights per stage: expected fewer than 16777216"),
    ],
)
def test_impossible_tuples_are_refused(groups: tuple[Group, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout(groups)


@pytest.mark.parametrize("num_stages", [0, -1, 61])
def test_there_are_no_more_stages_than_numbers_of_discs(num_stages: int) -> None:
    with pytest.raises(ValueError, match="num_stages"):
        Layout((((0, 1),),), num_stages=num_stages)


def test_the_standard_patterns_are_46_tuples_and_167265_weights() -> None:
    groups = straight_and_corner_groups()
    assert [len(tuples) for tuples in groups] == [4, 8, 4, 4, 4, 4, 2, 4, 4, 4, 4]
    assert Layout(groups).num_weights == 167_265
    edges = {(0, 1, 2, 3, 4, 5, 6, 7, 9, 14), (56, 57, 58, 59, 60, 61, 62, 63, 49, 54)}
    edges |= {(0, 8, 16, 24, 32, 40, 48, 56, 9, 49), (7, 15, 23, 31, 39, 47, 55, 63, 14, 54)}
    assert {frozenset(squares) for squares in groups[0]} == {frozenset(squares) for squares in edges}


def test_mirroring_twice_is_the_identity() -> None:
    mirrored = Layout(straight_and_corner_groups(), counts=True).mirrored_indices()
    assert (mirrored[mirrored] == np.arange(len(mirrored))).all()
    assert (mirrored != np.arange(len(mirrored))).any()


def test_small_boards_have_no_such_patterns() -> None:
    with pytest.raises(ValueError, match="at least 6"):
        straight_and_corner_groups(4)
