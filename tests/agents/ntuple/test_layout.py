from __future__ import annotations

import numpy as np
import pytest

from agents.ntuple.layout import Layout, straight_and_corner_groups


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
