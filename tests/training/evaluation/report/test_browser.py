"""The page in a browser. It steps through every game by its buttons, and reads the boards that it draws."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from othello_env import Game
from tests.training.evaluation.report.journals import NASTY, lost_by, played, reported, round_robin
from training.evaluation.journal import GameRecord

# Goes to each game by the list of games, and through its moves by the buttons and by the list of
# moves.
STEPPER = """
(() => {
  const element = id => document.getElementById(id);
  const board = () => Array.from(document.querySelectorAll("#board [data-square]"),
    disc => [Number(disc.dataset.square), disc.getAttribute("class")]);
  const hints = () => document.querySelectorAll("#board .hint").length;
  const games = Array.from(element("game").options, option => option.value).map(number => {
    element("game").value = number;
    element("game").dispatchEvent(new Event("change"));
    const boards = [[board(), hints()]];
    while (element("next").getAttribute("aria-disabled") === "false") {
      element("next").click();
      boards.push([board(), hints()]);
    }
    const end = element("status").textContent;
    element("first").click();
    const first = JSON.stringify(board());
    element("last").click();
    const moves = document.querySelectorAll("#moves [data-ply]").length;
    const last = JSON.stringify(board());
    return { number, boards, end, moves, same: first === JSON.stringify(boards[0][0]) && last === JSON.stringify(boards.at(-1)[0]) };
  });
  document.documentElement.dataset.games = JSON.stringify(games);
})();
"""


def dump(page: Path, address: str, profile: Path) -> str:
    """What a page consists of after its scripts have run."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    options += ["--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--dump-dom"]
    return subprocess.run([browser, *options, page.as_uri() + address], capture_output=True, text=True, check=True, timeout=120).stdout


def some_games() -> list[GameRecord]:
    games = round_robin(["one", NASTY], 20)
    games[5] = lost_by(games[5], "died", "gone")
    for size, number in ((4, 40), (6, 42)):
        games += [played(number, "one", NASTY, board_size=size), played(number + 1, NASTY, "one", board_size=size)]
    return games


@pytest.mark.slow
def test_every_game_can_be_stepped_through_to_its_recorded_final_board(tmp_path: Path) -> None:
    games = some_games()
    page = reported(tmp_path, games) / "report.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"<script>{STEPPER}</script></body>"), encoding="utf-8")
    dom = dump(page, "", tmp_path / "profile")
    found = re.search(r'<html[^>]* data-games="([^"]*)"', dom)
    assert found is not None
    stepped = json.loads(unescape(found[1]))
    assert [int(one["number"]) for one in stepped] == [record.game for record in games]
    for one, record in zip(stepped, games, strict=True):
        game = record.replayed()
        assert one["boards"] == [expected_board(game, ply) for ply in range(len(game.moves) + 1)], record.game
        assert (one["moves"], one["same"]) == (len(game.moves), True)
        assert one["end"].startswith(f"Move {len(game.moves)} of {len(game.moves)}: ")
        assert ("wins" in one["end"]) == (record.black_score != 0.5)


def expected_board(game: Game, ply: int) -> list[Any]:
    position = game.positions()[ply]
    colors = ((square, "black" if position.black >> square & 1 else "white") for square in range(64))
    discs = [[square, color] for square, color in colors if (position.black | position.white) >> square & 1]
    return [discs, 0 if position.is_over else len(position.legal_squares())]


@pytest.mark.slow
def test_an_address_leads_to_a_position(tmp_path: Path) -> None:
    out = reported(tmp_path, some_games())
    dom = dump(out / "report.html", "#game=5&ply=10", tmp_path / "profile")
    assert re.search(r'id="status"[^>]*>Move 10 of 10: .* (Black|White) wins: died of (black|white) \(gone\)\.<', dom)
