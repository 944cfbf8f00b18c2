"""The weights that come with the agents, and what their cards say of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import make_agent
from agents.registry import SHIPPED_NTUPLE, SHIPPED_POLICY_VALUE, WEIGHTS
from othello_env import PositionBatch
from training.evaluation.match import play_match
from training.evaluation.openings import parse_openings, random_openings

FILES = [SHIPPED_NTUPLE, SHIPPED_POLICY_VALUE]


def card_of(file: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    return card


def test_there_is_a_card_for_each_file_and_nothing_else() -> None:
    expected = {file.name for file in FILES} | {file.with_suffix(".json").name for file in FILES}
    assert {path.name for path in WEIGHTS.iterdir()} == expected


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_card_belongs_to_its_file_and_says_where_it_is_from(file: Path) -> None:
    card = card_of(file)
    assert card["bytes"] == file.stat().st_size <= 2_000_000
    assert card["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert card["kind"] == file.stem
    assert card["command"].startswith("python -m training.")
    assert card["settings"]["seed"] >= 0
    assert card["games"] > 10_000
    assert all(card[name] for name in ("code_version", "training_time", "machine"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_results_of_a_card_add_up(file: Path) -> None:
    results = card_of(file)["results"]
    assert len(results) >= 5
    for result in results:
        assert result["wins"] + result["draws"] + result["losses"] == result["games"] >= 100
        assert result["score"] == pytest.approx((result["wins"] + result["draws"] / 2) / result["games"], abs=1e-4)
        assert result["interval"][0] <= result["score"] <= result["interval"][1]
        assert "/" not in result["openings"]


@pytest.mark.parametrize(
    "spec",
    [
        "ntuple",
        pytest.param("policy_value:simulations=8", marks=pytest.mark.slow),
        "policy_value:simulations=0",
        "alpha_beta:evaluation=ntuple,depth=2",
    ],
)
def test_the_shipped_networks_play(spec: str, rng: np.random.Generator) -> None:
    games = PositionBatch.start(20)
    for _ in range(20):
        games.step(games.sample_moves(rng))
    agent = make_agent(spec)
    assert games.is_legal(agent.select_moves(games, rng)).all()
    low, _ = play_match(agent, make_agent("random"), random_openings(20, 8, rng=rng)).interval
    assert low > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_shipped_networks_are_as_strong_as_their_cards_say(file: Path, shared_data: Path) -> None:
    """Up to 200 games of each match again; searches with compiled code and networks give the same moves up to rounding."""
    best = f"league:{shared_data / 'players' / 'cocmaes-4+2x2.txt'},view=mover"
    opponents = {"league:cocmaes-4+2x2.txt,view=mover": best, "positional:table=swh": "positional", "random": "random"}
    checked = 0
    for result in card_of(file)["results"]:
        if result["opponent"] not in opponents:
            continue
        source = result["openings"] if result["openings"].startswith("random:") else str(shared_data / result["openings"])
        openings = parse_openings(source, min(200, result["games"]), seed=20_003)
        agent = make_agent(result["agent"].replace(file.name, str(file)))
        low, high = play_match(agent, make_agent(opponents[result["opponent"]]), openings).interval
        assert low - 0.03 < result["score"] < high + 0.03
        checked += 1
    assert checked >= 4
