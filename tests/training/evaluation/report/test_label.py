from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.evaluation.report.label import short_labels, text_width

FACTORIES = [f"factory:my_package.my_agents:make_{which}_agent" for which in ("first", "second", "third")]
CHECKPOINTS = [f"policy_value:/home/me/runs/2024-05-01/checkpoints/{number:08}.safetensors" for number in (12000, 24000, 24001)]


@pytest.mark.parametrize("width", [80, 120, 196])
@pytest.mark.parametrize("names", [FACTORIES, CHECKPOINTS, [*FACTORIES, *CHECKPOINTS, "random"]])
def test_labels_of_similar_names_differ_and_fit(names: list[str], width: float) -> None:
    labels = short_labels(names, width=width)
    assert len(set(labels.values())) == len(names)
    assert all(text_width(label) <= width for label in labels.values())


def test_names_that_fit_are_whole() -> None:
    names = ["random", "alpha_beta:depth=3", "positional:table=bench"]
    assert short_labels(names, width=196) == {name: name for name in names}


def test_labels_show_where_names_differ() -> None:
    labels = short_labels(CHECKPOINTS, width=196)
    assert ["12000" in labels[CHECKPOINTS[0]], "24000" in labels[CHECKPOINTS[1]], "24001" in labels[CHECKPOINTS[2]]] == [True] * 3
    assert all(label.startswith("policy") for label in labels.values())


# Long names of few letters, so that many beginnings and ends are equal.
NAMES = st.lists(st.text("abW.…12", min_size=1, max_size=60), min_size=1, max_size=8, unique=True)


@settings(max_examples=150, deadline=None)
@given(NAMES, st.floats(60, 200))
def test_different_names_have_different_labels(names: list[str], width: float) -> None:
    labels = short_labels(names, width=width)
    assert list(labels) == names
    assert len(set(labels.values())) == len(names)
    assert all(text_width(label) <= width for label in labels.values())
