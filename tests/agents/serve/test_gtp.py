from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import Agent, make_agent
from agents.serve.gtp import GtpServer
from othello_env import Game, Position
from othello_env.records import GameRecord, write_records
from othello_env.squares import format_square
from tests.agents.external.test_gtp import PASSES


def serving(agent: Agent | str = "greedy", board_size: int = 8) -> GtpServer:
    made = make_agent(agent) if isinstance(agent, str) else agent
    return GtpServer(made, rng=np.random.default_rng(1), board_size=board_size)


def ask(server: GtpServer, *lines: str) -> list[str]:
    """The answers, each without the empty line at its end."""
    answers = []
    for line in lines:
        for answer in server.answers(line):
            assert answer.endswith("\n")
            assert "\n\n" not in answer
            answers.append(answer[:-1])
    return answers


def test_administrative_commands() -> None:
    server = serving()
    assert ask(server, "protocol_version", "name", "known_command genmove", "known_command fly", "list_games") == [
        "= 2",
        "= othello-env greedy",
        "= true",
        "= false",
        "= Othello",
    ]
    commands = ask(server, "list_commands")[0].removeprefix("= ").split("\n")
    required = "protocol_version name version known_command list_commands quit boardsize clear_board komi play genmove"
    assert {*required.split(), "reg_genmove", "undo", "time_settings", "final_score", "showboard"} <= {*commands}
    assert not server.has_quit
    assert ask(server, "quit") == ["="]
    assert server.has_quit


def test_every_listed_command_is_answered_whatever_its_arguments() -> None:
    for agent in ("greedy", "alpha_beta:depth=1"):
        server = serving(agent)
        for command in ask(server, "list_commands")[0].removeprefix("= ").split("\n"):
            for arguments in ("", "b", "x y z", "b pass", "-1", "8", "w d3", "é"):
                (answer,) = ask(server, f"{command} {arguments}")
                assert answer[0] in "=?"


def test_ids_comments_tabs_and_control_characters_are_read_as_the_protocol_says() -> None:
    server = serving()
    assert ask(server, "7 protocol_version\r\n", "", "   ", "# comment", "12", "\x01name # x") == ["=7 2", "= othello-env greedy"]
    assert ask(server, "3 play\tb\td3", "4 play b d3", "5 fly") == ["=3", "?4 illegal move", "?5 unknown command"]


def test_a_game_is_played_with_the_colors_of_the_rules() -> None:
    server = serving()
    assert ask(server, "play black F5", "play b d6", "play w f6", "genmove w") == ["=", "? illegal move", "=", "? illegal move"]
    (answer,) = ask(server, "genmove BLACK")
    Game.parse(f"f5f6{answer.removeprefix('= ')}")
    assert ask(server, "gogui-rules_side_to_move") == ["= white"]


def test_forced_passes_happen_by_themselves_and_may_be_sent() -> None:
    game = Game.parse(PASSES)
    quiet, told = serving(), serving()
    positions = game.positions()
    for number, move in enumerate(game.moves):
        side, name = "bw"[positions[number].side_to_move], format_square(move)
        assert ask(quiet, f"play {side} {name}") == ask(told, f"play {side} {name}") == ["="]
        after = positions[number + 1]
        if after.side_to_move == positions[number].side_to_move and not after.is_over:
            other = "wb"[after.side_to_move]
            assert ask(quiet, f"reg_genmove {other}") == ["= pass"]
            assert ask(told, f"play {other} pass", f"play {side} pass") == ["=", "? illegal move"]
    assert ask(quiet, "final_score", "genmove b", "genmove w") == ["= W+64", "= pass", "= pass"]
    assert ask(told, "final_score", "play b pass", "play w pass") == ["= W+64", "=", "="]


def test_undo_takes_back_moves_and_sent_passes() -> None:
    server = serving()
    assert ask(server, "undo") == ["? cannot undo"]
    ask(server, "play b f5", "play w f6")
    assert ask(server, "undo", "gogui-rules_side_to_move", "undo", "gogui-rules_legal_moves", "undo") == [
        "=",
        "= white",
        "=",
        "= d3 c4 f5 e6",
        "? cannot undo",
    ]


def test_reg_genmove_leaves_the_board_as_it_is() -> None:
    server = serving("alpha_beta:depth=2")
    (answer,) = ask(server, "reg_genmove b")
    assert ask(server, "genmove b") == [answer]
    assert ask(server, "gogui-rules_side_to_move") == ["= white"]


def test_positions_are_set_up_and_scored_with_the_empties_to_the_winner() -> None:
    server = serving()
    assert ask(server, f"setup_board {Game.parse('f5d6c5f6e7f4g5e6e3').final}", "final_score") == ["=", "= B+64"]
    assert ask(server, f"setup_board {Game.parse('f5f4c3f6g7f7f3h7f8b2h6e7h8e3d7g3f2f1a1c5').final}", "final_score") == ["=", "= 0"]
    assert ask(server, "gogui-rules_final_result")[0].startswith("= X 12  O 12  draw")
    assert ask(server, "clear_board", "final_score") == ["=", "? cannot score"]
    assert ask(server, "setup_board XO")[0].startswith("? syntax error")


def test_a_game_is_loaded_from_a_file(tmp_path: Path) -> None:
    game = Game.parse("f5d6c3d3c4")
    file = tmp_path / "a game.sgf"
    write_records(file, [GameRecord(game)])
    server = serving()
    assert ask(server, f"loadsgf {file}") == ["="]
    assert server._position == game.final
    assert ask(server, f"loadsgf {file} 3") == ["="]
    assert server._position == game.positions()[2]
    assert ask(server, "undo") == ["="]
    (tmp_path / "empty.sgf").touch()
    for bad in (tmp_path / "missing.sgf", tmp_path / "empty.sgf", tmp_path, ""):
        assert ask(server, f"loadsgf {bad}")[0].startswith("? cannot load file: ")
    assert server._position == game.positions()[1]


def test_boards_of_every_size_that_the_agent_plays() -> None:
    server = serving("greedy", 6)
    assert ask(server, "gogui-rules_board_size", "boardsize 4", "gogui-rules_board", "boardsize 10", "boardsize x") == [
        "= 6",
        "=",
        "=\n. . . .\n. X O .\n. O X .\n. . . .",
        "? unacceptable size",
        "? unacceptable size",
    ]
    assert ask(serving("alpha_beta:evaluation=ntuple,depth=1"), "boardsize 6") == ["? unacceptable size"]


def test_the_board_for_gogui_begins_with_the_last_row() -> None:
    assert ask(serving(), "play b d3", "gogui-rules_board")[1].split("\n")[1:] == [
        *[". . . . . . . ."] * 3,
        ". . . X O . . .",
        ". . . X X . . .",
        ". . . X . . . .",
        *[". . . . . . . ."] * 2,
    ]


def test_the_board_is_shown_with_its_first_row_on_top() -> None:
    shown = ask(serving(), "play b d3", "showboard")[1].split("\n")
    assert shown[0] == "="
    assert re.fullmatch("3 . . . X . . . . 3", shown[4])


def test_analysis_gives_moves_scores_and_principal_variations() -> None:
    server = serving("alpha_beta:depth=3,solver=10")
    (answer,) = ask(server, "analyze 3")
    lines = answer.removeprefix("= ").split("\n")
    assert len(lines) == 3
    scores = []
    for line in lines:
        pv, score, depth = line.split(" ", 2)
        Game.parse(pv)
        scores.append(float(score))
        assert depth == "depth 4"
    assert scores == sorted(scores, reverse=True)
    assert ask(server, "gogui-analyze_commands") == ["= string/Best moves/analyze"]
    # FFO #1: g8 +18, h1 +12.
    position = "--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X"
    exact = serving("alpha_beta:depth=1,solver=14")
    answer = ask(exact, f"setup_board {position}", "analyze 2")[1]
    assert [line.split()[0][:2] + line.split()[1] for line in answer.removeprefix("= ").split("\n")] == ["G8+18.00", "H1+12.00"]
    assert answer.count("exact") == 2
    assert ask(serving("greedy"), "analyze") == ["? unknown command"]


class Failing:
    name = "failing"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def select_moves(self, positions: object, rng: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def search(self, position: Position) -> Any:
        raise RuntimeError("no\nidea")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (RuntimeError("two\nlines"), "? failing: error: RuntimeError: two lines"),
        (np.array([0]), "? failing: illegal move: a1 in --"),
        ("d3", "? failing: invalid output: <U2 of shape ()"),
    ],
)
def test_an_agent_that_fails_is_an_error_of_the_protocol(answer: Any, message: str) -> None:
    server = serving(Failing(answer))
    assert ask(server, "genmove b")[0].startswith(message)
    assert ask(server, "analyze") == ["? failing: error: RuntimeError: no idea"]
    assert ask(server, "gogui-rules_side_to_move") == ["= black"]
