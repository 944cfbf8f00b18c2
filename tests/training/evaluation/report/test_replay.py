from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from othello_env import Game, Position
from othello_env.position import BLACK
from othello_env.squares import BOARD_SIZES
from tests.training.evaluation.report.journals import NASTY, lost_by, played, round_robin
from training.evaluation.report import page
from training.evaluation.report.replay import SQUARE_LETTERS, describe_result, encode_plies, format_replay_data, replayed_game

ASSETS = Path(page.__file__).parent / "assets"
# White must pass before the first move.
PASS_AT_THE_START = Game((2,), Position.parse("XO-- ---- ---- ---- O"))
# Black wins with 13 discs and nothing else on the board.
WIPED_OUT = Game.parse("f5f4c3c6c5d6f3c4c7")


def some_games() -> list[Game]:
    games = [played(number, "one", "two", board_size=size, plies=number % 3).replayed() for size in BOARD_SIZES for number in range(15)]
    games += [PASS_AT_THE_START, WIPED_OUT, Game(), Game((), Position.parse("X" * 16 + "X"))]
    positions = [game.positions() for game in games]
    assert any(one.side_to_move == other.side_to_move for line in positions for one, other in zip(line, line[1:], strict=False))
    return games


def read_plies(opening: str, plies: str) -> list[tuple[str, list[int], bool]]:
    """Each position with its legal squares, and whether the game is over, in the way of the page: from the text alone."""
    squares, side = list(opening.split()[0]), opening.split()[1]
    found = []
    for word in plies.split(" "):
        sign = next(letter for letter in word if letter in ":;.")
        changed, legal = word.split(sign)
        for letter in changed:
            squares[SQUARE_LETTERS.index(letter)] = side
        side = {":": "X", ";": "O", ".": side}[sign]
        found.append(("".join(squares) + f" {side}", [SQUARE_LETTERS.index(letter) for letter in legal], sign == "."))
    return found


def test_every_position_follows_from_the_text_without_the_rules() -> None:
    for game in some_games():
        for (text, legal, is_over), position in zip(read_plies(str(game.start), encode_plies(game)), game.positions(), strict=True):
            assert is_over == position.is_over
            assert legal == ([] if is_over else list(position.legal_squares()))
            shown = Position.parse(text)
            assert (shown.black, shown.white) == (position.black, position.white)
            assert is_over or shown.side_to_move == position.side_to_move


def test_a_move_names_its_square_first_then_the_flipped_ones() -> None:
    # d3 flips d4; White may answer c3, c5 and e3.
    assert (
        SQUARE_LETTERS[19] + SQUARE_LETTERS[27] + ";" + "".join(SQUARE_LETTERS[square] for square in (18, 20, 34))
        == (encode_plies(Game.parse("d3")).split()[1])
    )


def test_the_page_reads_the_positions_that_the_game_has(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not there: it runs the page's script outside a browser")
    games = some_games()
    script = (
        (ASSETS / "positions.js").read_text(encoding="utf-8")
        + """
    const text = one => one.squares.map(disc => SYMBOLS[disc]).join("");
    const move = one => one.square < 0 ? "" : squareName(one.square, one.size);
    const answer = one => [text(one), one.next, one.legal, one.player, move(one), one.passed];
    const games = JSON.parse(require("fs").readFileSync(0, "utf8"));
    console.log(JSON.stringify(games.map(game => readPositions(...game).map(answer))));
    """
    )
    path = tmp_path / "positions.js"
    path.write_text(script, encoding="utf-8")
    asked = json.dumps([[str(game.start), encode_plies(game), SQUARE_LETTERS] for game in games])
    run = subprocess.run([node, str(path)], input=asked, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(run.stdout) == [expected_positions(game) for game in games]


def expected_positions(game: Game) -> list[list[Any]]:
    expected: list[list[Any]] = []
    for number, position in enumerate(game.positions()):
        before = game.positions()[number - 1] if number else None
        player = 0 if before is None else before.side_to_move + 1
        next_player = 0 if position.is_over else position.side_to_move + 1
        turn = game.start.side_to_move + 1 if before is None else 3 - player
        move = str(game)[2 * number - 2 : 2 * number] if number else ""
        passed = turn if next_player and next_player != turn else 0
        legal = [] if position.is_over else list(position.legal_squares())
        expected.append([str(position)[:-2], next_player, legal, player, move, passed])
    return expected


def test_a_result_has_both_scores_where_they_differ() -> None:
    record = played(0, "one", "two")
    final = record.replayed().final
    assert final.empties == 0
    assert describe_result(record, final) == f"{'Black' if record.black_score else 'White'} wins ({final.discs[0]}-{final.discs[1]})"
    assert describe_result(record, WIPED_OUT.final) == "Black wins (13-0 by discs, 64-0 with the empties to the winner)"
    assert describe_result(record, Position.parse("X" * 8 + "O" * 8 + "X")) == "draw (8-8)"
    assert describe_result(record, Position.parse("X" + "-" * 14 + "O" + "X")) == "draw (1-1)"
    fault = lost_by(record, "timeout", "slow")
    loser = "black" if fault.black_score == 0 else "white"
    assert describe_result(fault, fault.replayed().final) == f"{'White' if loser == 'black' else 'Black'} wins: timeout of {loser}"


def test_the_data_of_games_is_small_and_can_stand_in_a_page() -> None:
    games = [replace(one, detail=NASTY, ended=NASTY, prefix=NASTY) for one in round_robin([NASTY, "two"], 10)]
    text = format_replay_data([replayed_game(one, one.replayed()) for one in games])
    assert "<" not in text
    assert ">" not in text
    data = json.loads(text)
    assert data["players"] == [NASTY, "two"]
    assert {one[key] for one in data["games"] for key in ("detail", "ended", "prefix")} == {NASTY}
    assert [one["game"] for one in data["games"]] == list(range(20))
    assert np.mean([len(one["plies"]) for one in data["games"]]) < 1000


def test_sides_are_those_of_the_opening() -> None:
    assert PASS_AT_THE_START.positions()[0].side_to_move == BLACK
    assert encode_plies(PASS_AT_THE_START).startswith(":C ")
