"""Engines that fail in the games of a tournament."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from othello_env.command import format_command
from tests.agents.external.fakes import fake_command
from training.evaluation.tournament import main as tournament

TRAPS = {
    "crash@50": "fake_engine.py exited with code 7 (segmentation fault in thread 3) in answer to 'genmove",
    "hang@50": "gave no answer in time in answer to 'genmove",
    "garbage@50": "the engine answered 'zz9', which is not a move, in",
    "illegal@50": "the engine answered 'a1', illegal for",
}


def test_an_engine_that_fails_loses_that_game_with_the_reason_and_the_match_goes_on(tmp_path: Path) -> None:
    engines = {f"gtp:{format_command(*fake_command('grhino', trap))},timeout=1": detail for trap, detail in TRAPS.items()}
    arguments = ["--gauntlet", "--games", "2", "--openings", "random:6", "--workers", "1", "--out", str(tmp_path)]
    tournament(["positional", *engines, *arguments])
    games = [json.loads(line) for line in (tmp_path / "games.jsonl").read_text(encoding="utf-8").splitlines()]
    games = [game for game in games if "moves" in game]
    assert len(games) == 2 * len(TRAPS)
    for game in games:
        engine = game["white"] if game["black"] == "positional" else game["black"]
        assert game["black_score"] == (1.0 if game["black"] == "positional" else 0.0)
        assert game["reason"] == "error"
        assert engines[engine].removeprefix("fake_engine.py ") in game["detail"]


@pytest.mark.slow
def test_games_of_an_engine_are_played_out_after_it_crashed_in_others(tmp_path: Path) -> None:
    # It crashes with the last empty square, which in many games is not its own.
    spec = f"gtp:{format_command(*fake_command('egaroucid', 'crash@1'))}"
    tournament(["random", spec, "--games", "40", "--openings", "random:6", "--workers", "2", "--out", str(tmp_path)])
    games = [json.loads(line) for line in (tmp_path / "games.jsonl").read_text(encoding="utf-8").splitlines()]
    reasons = [game["reason"] for game in games if "moves" in game]
    assert len(reasons) == 40
    assert {*reasons} == {"error", "played out"}
