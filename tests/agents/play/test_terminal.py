from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import AgentSpecError, make_agent
from agents.play.session import GameSession
from agents.play.source import read_source
from agents.play.terminal import HELP, Style, TerminalGame
from othello_env import Game, IllegalMoveError, Position, PositionBatch, RecordFormatError
from othello_env.agent import AgentError
from othello_env.records import GameRecord, write_records
from othello_env.rendering.text import board_lines

PASS_AFTER_EIGHT = "f5f6d3g5h5h4f7h6"


def typed(session: GameSession, *answers: str, style: Style | None = None) -> tuple[Game, list[str]]:
    """The game after a person has typed these answers, and everything that was written."""
    left, shown = list(answers), list[str]()

    def read(prompt: str) -> str:
        shown.append(prompt)
        if not left:
            raise EOFError
        return left.pop(0)

    return TerminalGame(session, read=read, write=shown.append, style=style or Style()).play(), shown


def test_a_person_is_asked_until_the_move_is_legal() -> None:
    game, shown = typed(GameSession(), "z9", "", "a1", " D3 ")
    assert str(game) == "d3"
    assert any(line.startswith("'z9' names no square") for line in shown)
    assert "a1 is not legal; legal are d3 c4 f5 e6" in shown
    assert "black plays d3 and flips 1 disc" in shown


@pytest.mark.parametrize("answers", [("quit",), ("Q",), ("exit",), ()])
def test_a_person_may_quit(answers: tuple[str, ...]) -> None:
    game, shown = typed(GameSession(), *answers)
    assert game.moves == ()
    assert shown[-1] == "Transcript: "


def test_forced_passes_are_told() -> None:
    moves = [PASS_AFTER_EIGHT[i : i + 2] for i in range(0, 16, 2)]
    _, shown = typed(GameSession(), *moves, "c5")
    assert "white plays h6 and flips 1 disc; black must pass" in shown
    assert shown.count("White's move (or help): ") == 5


def test_the_board_is_shown_after_the_moves_of_both_sides() -> None:
    _, shown = typed(GameSession((None, make_agent("greedy"))), "d3")
    assert sum("a b c d e f g h" in line for line in shown) == 3


def test_help_names_every_command() -> None:
    terminal = TerminalGame(GameSession(), read=lambda _: "quit", write=lambda _: None)
    for name in set(terminal._commands) - {"help", "?", "q", "exit"}:
        assert f"{name} " in HELP or f"{name}," in HELP, name
    _, shown = typed(GameSession(), "help", "?")
    assert shown.count(HELP) == 2
    assert max(map(len, HELP.splitlines())) <= 60


def test_moves_are_taken_back_and_played_again() -> None:
    game, shown = typed(GameSession(), "undo", "redo", "d3", "c5", "undo", "undo", "redo")
    assert str(game) == "d3"
    assert "there is nothing to take back" in shown
    assert "there is nothing to play again" in shown


def test_hints_and_values_come_from_a_search() -> None:
    pytest.importorskip("numba")
    _, shown = typed(GameSession(game=Game((), Position.start(4))), "hint", "eval")
    hint = next(line for line in shown if " for " in line)
    assert hint.startswith("-")  # Black loses on 4x4
    values = [line for line in shown if line[:2] in ("b1", "a2", "d3", "c4") and "  " in line]
    assert len(values) == 4
    assert len({line.split()[1] for line in values}) == 1  # by symmetry


def test_the_game_goes_on_without_the_library_that_hints_need(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(board_size: int) -> Any:
        raise AgentSpecError("compiled code needs numba")

    monkeypatch.setattr("agents.play.terminal.analyst", missing)
    game, shown = typed(GameSession(), "hint", "eval", "d3")
    assert str(game) == "d3"
    assert shown.count("no values: compiled code needs numba") == 2


def test_a_game_whose_time_runs_out_while_a_person_thinks_is_over() -> None:
    now = [0.0]
    session = GameSession(clock=5, now=lambda: now[0])
    answers, shown = ["d3", "c5", "d6", "undo", "quit"], list[str]()

    def read(prompt: str) -> str:
        shown.append(prompt)
        now[0] += 3
        return answers.pop(0)

    game = TerminalGame(session, read=read, write=shown.append).play()
    assert str(game) == "d3"  # after "undo"; Black's second move came too late
    assert shown.count("White wins: black ran out of time") >= 1


def test_a_game_whose_time_runs_out_while_an_agent_thinks_is_over() -> None:
    now = [0.0]

    class Slow:
        name = "slow"

        def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
            now[0] += 10
            return np.array([positions[0].legal_squares()[0]])

    _, shown = typed(GameSession((None, Slow()), clock=5, now=lambda: now[0]), "d3", "quit")
    assert shown.count("Black wins: white ran out of time") == 1
    assert not any(line.startswith("white (slow) plays") for line in shown)


def test_a_finished_game_offers_another_one() -> None:
    start = Game.parse("f5f4c3c6c5d6f3c4")
    game, shown = typed(GameSession(game=start), "c7", "d3", "hint", "eval", "resign", "new", "quit")
    assert game == start
    assert "Black wins (13-0 by discs, 64-0 with the empties to the winner)" in shown
    assert "new, undo, save FILE or quit: " in shown
    assert shown.count("the game is over") == 3


def test_resignation() -> None:
    _, shown = typed(GameSession(), "d3", "resign", "undo", "c5")
    assert "Black wins: white resigned" in shown
    assert "white plays c5 and flips 1 disc" in shown


def test_dots_can_be_hidden_and_shown() -> None:
    _, shown = typed(GameSession(), "dots", "dots", "board")
    boards = [line for line in shown if "a b c" in line]
    assert ["·" in board for board in boards] == [True, False, True, True]


def test_games_are_saved_and_loaded(tmp_path: Path) -> None:
    for suffix in ("txt", "ggf", "sgf", "pgn"):
        file = tmp_path / f"game.{suffix}"
        game, shown = typed(GameSession((None, make_agent("greedy"))), "d3", f"save {file}")
        assert f"saved in {file}" in shown
        loaded, _ = typed(GameSession(), f"load {file}")
        assert loaded == game
    game, shown = typed(GameSession(), "load f5d6", "moves", "load a1", "load no.ggf", "load")
    assert str(game) == "f5d6"
    assert "f5d6" in shown
    assert sum(line.startswith("not loaded: ") for line in shown) == 3


@pytest.mark.parametrize(
    ("source", "error"), [("a1", IllegalMoveError), ("nonsense", RecordFormatError), ("no/file.sgf", OSError), ("", RecordFormatError)]
)
def test_what_is_no_game_is_refused(source: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_source(source, board_size=8)


def test_a_file_of_another_board_size_or_without_games_is_refused(tmp_path: Path) -> None:
    write_records(tmp_path / "small.ggf", [GameRecord(Game((), Position.start(6)))])
    with pytest.raises(RecordFormatError, match="the game is on 6x6, but board_size is 8"):
        read_source(str(tmp_path / "small.ggf"), board_size=8)
    (tmp_path / "empty.txt").touch()
    with pytest.raises(RecordFormatError, match="no game"):
        read_source(str(tmp_path / "empty.txt"), board_size=8)


def test_the_last_move_and_its_flips_are_marked() -> None:
    session = GameSession(game=Game.parse("d3"))
    turn = session.turns[-1]
    lines = board_lines(session.position, last_move=turn.square, flipped=turn.flipped)
    assert lines[3] == "3 - - ·(X)· - - - 3"
    assert lines[4] == "4 - - - x X - - - 4"
    corner = board_lines(Position.parse("X" + "-" * 62 + "O X"), last_move=63)
    assert corner[8] == "8 - - - - - - -(O)8"
    assert board_lines(Position.parse("X" + "-" * 62 + "O X"), last_move=0)[1] == "1(X)- - - - - - - 1"


def test_colors_add_nothing_but_styles() -> None:
    position = Game.parse("d3c5").final
    plain = board_lines(position)
    colored = board_lines(position, last_move=34, flipped=1 << 35, color=True)
    assert all("\x1b[" in line for line in colored[1:-1])
    assert [_without_styles(line) for line in colored] == plain


def _without_styles(line: str) -> str:
    while "\x1b" in line:
        start = line.index("\x1b")
        line = line[:start] + line[line.index("m", start) + 1 :]
    return line.rstrip()


class Failing:
    """Plays the first legal move twice, and then does what it is told."""

    name = "failing"

    def __init__(self, fail: Callable[[], Any]) -> None:
        self.fail, self.num_moves = fail, 0

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        self.num_moves += 1
        return np.array([positions[0].legal_squares()[0]]) if self.num_moves <= 2 else self.fail()


def raising(error: BaseException) -> Any:
    raise error


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        (lambda: raising(KeyboardInterrupt()), KeyboardInterrupt),
        (lambda: raising(RuntimeError("tired")), AgentError),
        (lambda: np.array([27]), AgentError),
        (lambda: None, AgentError),
    ],
)
def test_the_position_and_the_transcript_are_shown_however_a_game_ends(fail: Callable[[], Any], error: type[BaseException]) -> None:
    shown: list[str] = []
    session = GameSession((make_agent("greedy"), Failing(fail)))
    with pytest.raises(error):
        TerminalGame(session, read=lambda _: "", write=shown.append).play()
    assert len(session.game.moves) == 5
    assert shown[-1] == f"Transcript: {session.game}"
    assert shown[-2].endswith(f"after {str(session.game)[-2:]}")
    assert any("a b c" in line for line in shown[-6:])


def test_a_terminal_that_fails_is_no_fault_of_the_person() -> None:
    shown: list[str] = []

    def read(_: str) -> str:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        TerminalGame(GameSession(), read=read, write=shown.append).play()
    assert shown[-1].startswith("Transcript: ")
