from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from agents.human import HumanAgent, QuitGame
from agents.play import main, play_game
from othello_env import Game, Position, PositionBatch
from tests.agents.ntuple.test_network import network_of


def typing(*answers: str) -> tuple[HumanAgent, list[str]]:
    """A person who types these answers, and what is shown to them."""
    left, shown = list(answers), []

    def read(question: str) -> str:
        if not left:
            raise EOFError
        shown.append(question)
        return left.pop(0)

    return HumanAgent(read, shown.append), shown


def test_a_person_is_asked_until_the_move_is_legal() -> None:
    human, shown = typing("z9", "", "a1", " D3 ")
    moves = human.select_moves(PositionBatch.start(1), np.random.default_rng(0))
    assert moves.tolist() == [19]
    assert any("'z9' names no square" in line for line in shown)
    assert "a1 is not legal; legal are d3 c4 f5 e6" in shown


@pytest.mark.parametrize("answers", [("quit",), ("Q",), ()])
def test_a_person_may_quit(answers: tuple[str, ...]) -> None:
    human, _ = typing(*answers)
    with pytest.raises(QuitGame):
        human.select_moves(PositionBatch.start(1), np.random.default_rng(0))


def test_a_game_is_told_with_its_passes() -> None:
    game = Game.parse("f5f6d3g5h5h4f7h6")
    black, _ = typing("f5", "d3", "h5", "f7")
    white, _ = typing("f6", "g5", "h4", "h6", "c5")
    told: list[str] = []
    played = play_game(black, white, Position.start(), rng=np.random.default_rng(0), write=told.append)
    assert played.moves[:8] == game.moves
    assert played.moves[8] == 34
    assert told[7:10] == ["white (human) plays h6", "black must pass", "white (human) plays c5"]


def test_the_command_plays_a_whole_game(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # The person tries every square in turn until the game is over.
    names = [f"{column}{row}" for row in range(1, 5) for column in "abcd"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(names * 20)))
    main(["greedy", "--board-size", "4", "--color", "white", "--seed", "1"])
    output = capsys.readouterr().out
    assert "black (greedy) plays" in output
    transcript = output.splitlines()[-1].removeprefix("Transcript: ")
    assert Game.parse(transcript, Position.start(4)).final.is_over


def test_the_command_stops_at_the_end_of_the_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("d3\n"))
    main(["random"])
    output = capsys.readouterr().out
    assert len(Game.parse(output.splitlines()[-1].removeprefix("Transcript: ")).moves) in (2, 3)


def test_the_command_refuses_an_agent_that_cannot_play_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^play: 'nobody': no agent"):
        main(["nobody"])
    network_of(8).save(tmp_path / "net")
    with pytest.raises(SystemExit, match=r"^play: ntuple:net plays on board_size 8, not 6"):
        main([f"ntuple:{tmp_path / 'net'}", "--board-size", "6", "--color", "white"])
