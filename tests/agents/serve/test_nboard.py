from __future__ import annotations

import re

import numpy as np

from agents import Agent, make_agent
from agents.external.ggf import format_ggf
from agents.serve.nboard import NBoardServer
from othello_env import Game, Position
from tests.agents.external.test_ggf import NBOARD_GAME, passing
from tests.agents.external.test_gtp import PASSES
from tests.agents.serve.test_gtp import Failing

FFO_1 = Position.parse("--XXXXX--OOOXX-O-OOOXXOX-OXOXOXXOXXXOXXX--XOXOXX-XXXOOO--OOOOO-- X")


def serving(agent: Agent | str = "greedy") -> NBoardServer:
    def make(depth: int) -> Agent:
        return make_agent(f"alpha_beta:depth={depth}")

    made = make_agent(agent) if isinstance(agent, str) else agent
    return NBoardServer(made, make, rng=np.random.default_rng(1))


def ask(server: NBoardServer, *lines: str) -> list[str]:
    answers = [answer for line in lines for answer in server.answers(line)]
    assert not any("\n" in answer for answer in answers)
    return answers


def test_a_session_as_the_protocol_describes_it() -> None:
    server = serving("alpha_beta:depth=2")
    assert ask(server, "nboard 2", "ping 7", "set depth 4", "set contempt 10") == ["pong 7", "set myname alpha_beta:evaluation=swh,depth=4"]
    assert ask(server, f"set game {NBOARD_GAME}", "move F4/1.2/0.3", "learn") == ["learned"]
    position = Game.parse("f5f6e6f4").final
    *_, search, cleared, move = ask(server, "go")
    assert cleared == "status"
    found = re.fullmatch(r"=== ([A-H][1-8])/(-?\d+\.\d\d)/(\d+\.\d\d)", move)
    assert found is not None
    position.play(found[1].lower())
    assert search.startswith(f"search {found[1]}")
    assert search.endswith(f" {found[2]} 0 4")
    assert ask(server, "go")[-1].split("/")[0] == move.split("/")[0], "go does not play the move"
    assert ask(server, "quit") == []
    assert server.has_quit


def test_unknown_commands_are_ignored() -> None:
    assert ask(serving(), "fly", "", "set", "set wings 2", "   ", "MOVE d3", "hintt 3") == []


def test_bad_arguments_are_told_in_the_status_and_change_nothing() -> None:
    server = serving("alpha_beta:depth=1")
    answers = ask(server, "move a1", "move zz", "move", "set game (;GM[Go];)", "set depth x", "set depth 0", "hint x", "move PA")
    assert len(answers) == 8
    assert all(answer.startswith("status ") for answer in answers)
    assert ask(server, "move d3", "go")[-1].startswith("=== ")


def test_moves_of_version_1_have_no_command() -> None:
    server = serving()
    ask(server, "F5", "d6")
    assert server._positions[-1] == Game.parse("f5d6").final


def test_passes_are_moves() -> None:
    position = passing()
    server = serving()
    ask(server, f"set game {format_ggf(position)}")
    assert ask(server, "go") == ["=== PA//0.00"]
    assert ask(server, "move PA") == []
    assert server._positions[-1] == position.resolve_pass()
    assert ask(server, f"set game {format_ggf(Game.parse(PASSES).final)}", "go") == ["=== PA//0.00"]


def test_hints_give_scores_and_principal_variations_with_passes() -> None:
    server = serving("alpha_beta:depth=1,solver=14")
    lines = ask(server, f"set game {format_ggf(FFO_1)}", "hint 2")
    assert lines[0].startswith("status ")
    assert lines[-1] == "status"
    assert lines[-2].startswith("nodestats ")
    found = [re.fullmatch(r"search ((?:[A-H][1-8]|PA)+) (\S+) 0 (\S+)", line) for line in lines[1:-2]]
    assert [(match[1][:2], match[2], match[3]) for match in found if match] == [
        ("G8", "18.00", "100%"),
        ("H1", "12.00", "100%"),
    ]
    position, moves = FFO_1, re.findall("..", found[0][1] if found[0] else "")
    for move in moves:
        position = position.play("pass" if move == "PA" else move.lower(), auto_pass=False)
    assert position.score("empties_to_winner") == 18
    assert ask(server, "hint 1")[1].split()[:3] == ["search", "G8" + "".join(moves[1:]), "18.00"]


def test_a_hint_at_a_forced_pass_begins_with_it() -> None:
    server = serving("alpha_beta:depth=3")
    position = passing()
    (line,) = [line for line in ask(server, f"set game {format_ggf(position)}", "hint 2") if line.startswith("search")]
    (after,) = [line for line in ask(server, "move PA", "hint 1") if line.startswith("search")]
    assert line.split()[1] == "PA" + after.split()[1]
    assert float(line.split()[2]) == -float(after.split()[2])


def test_the_positions_of_a_game_are_analyzed_from_the_end() -> None:
    lines = ask(serving("alpha_beta:depth=1"), f"set game {NBOARD_GAME}", "analyze")
    assert [line.split()[:2] for line in lines] == [["analysis", str(number)] for number in (3, 2, 1, 0)]
    assert ask(serving(), "analyze", "hint 1") == ["status greedy gives no scores"] * 2


def test_an_agent_that_fails_is_told_in_the_status() -> None:
    server = serving(Failing(RuntimeError("no")))
    assert ask(server, "go", "ping 1") == ["status failing is thinking", "status", "status failing: error: RuntimeError: no idea", "pong 1"]
