"""Games against GRhino through the tournament runner."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.external.gtp import GtpEngine
from agents.external.process import EngineError
from othello_env import Game, Position
from othello_env.squares import format_square, parse_square
from tests.agents.external.fakes import all_gone
from tests.agents.external.test_gtp import PASSES
from tests.conftest import REPOSITORY
from tests.rhino import needs_rhino, rhino_command, rhino_spec
from training.evaluation.tournament import main as tournament

pytestmark = [pytest.mark.engine, needs_rhino]


def play(folder: Path, *arguments: str) -> list[dict[str, object]]:
    """The games of a tournament, as its journal has them."""
    tournament([*arguments, "--workers", "2", "--out", str(folder)])
    lines = [json.loads(line) for line in (folder / "games.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if "moves" in line]


def passes_of(game: dict[str, object]) -> int:
    position, passes = Position.parse(str(game["opening"])), 0
    for move in Game.parse(str(game["moves"]), position).moves:
        after = position.play(move)
        passes += after.side_to_move == position.side_to_move and not after.is_over
        position = after
    return passes


def test_a_hundred_games_against_level_1_without_a_protocol_error(tmp_path: Path) -> None:
    # A player that keeps few discs and many that are random lead to passes.
    games = play(tmp_path, rhino_spec(1), "random", "--openings", "random:8", "--games", "100", "--seed", "1")
    assert len(games) == 100
    assert {game["reason"] for game in games} == {"played out"}
    passes = [passes_of(game) for game in games]
    assert sum(count > 0 for count in passes) >= 20
    assert max(passes) >= 4


def test_level_2_beats_level_1(tmp_path: Path) -> None:
    # 28 of 30 games in /reference: 0.93.
    games = play(tmp_path, rhino_spec(2), rhino_spec(1), "--openings", "random:8", "--games", "40", "--seed", "2")
    assert {game["reason"] for game in games} == {"played out"}
    scores = [float(str(game["black_score"])) if game["black"] == rhino_spec(2) else 1 - float(str(game["black_score"])) for game in games]
    assert sum(scores) / len(scores) > 0.6


def test_both_sides_of_a_match_between_our_server_and_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = f"gtp:{sys.executable} -m agents.serve --protocol gtp --agent positional"
    games = play(tmp_path, ours, rhino_spec(1), "--openings", "random:8", "--games", "10")
    assert {game["reason"] for game in games} == {"played out"}


def test_every_position_of_a_game_with_many_passes() -> None:
    with GtpEngine(rhino_command(level=1)) as engine:
        for position in Game.parse(PASSES).positions():
            if not position.is_over:
                assert engine.choose(position).lower() in map(format_square, position.legal_squares())
        assert engine.ask("name") == "GTP GRhino"
        with pytest.raises(EngineError, match="refused 'boardsize 6': unacceptable size"):
            engine.choose(Position.start(6))
    assert all_gone([engine.pid])


@pytest.mark.parametrize("plies", [8, 30, 50])
def test_random_positions_are_set_up_as_they_are(plies: int) -> None:
    rng = np.random.default_rng(plies)
    with GtpEngine(rhino_command(level=1)) as engine:
        for _ in range(5):
            position = Game.random(plies, rng).final
            engine.choose(position)
            engine.ask("undo")
            assert shown_board(engine.ask("showboard")) == str(position).split()[0]


def shown_board(text: str) -> str:
    """The squares of GRhino's showboard."""
    rows = [line.split("|")[0] for line in text.splitlines()]
    squares = [sign for row in rows if row[:1].isdigit() or row.strip()[:1].isdigit() for sign in row if sign in "XO.-+"]
    return "".join(sign if sign in "XO" else "-" for sign in squares)


def test_an_invalid_option_is_told_in_the_words_of_the_engine() -> None:
    with pytest.raises(EngineError, match="gtp-rhino exited with code 1 .*invalid argument for option"):
        GtpEngine((rhino_command()[0], "-l", "9"))


def test_the_example_of_the_documentation_runs() -> None:
    text = (REPOSITORY / "docs" / "engines.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    assert np.asarray(names["moves"]).tolist() == [parse_square("g8")]
