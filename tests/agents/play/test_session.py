from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import make_agent
from agents.play.session import GameSession, Players
from othello_env import BLACK, WHITE, Game, IllegalMoveError, Position, PositionBatch
from othello_env.agent import AgentError

PASS_AFTER_EIGHT = "f5f6d3g5h5h4f7h6"  # Black must pass
WON_BY_C7 = "f5f4c3c6c5d6f3c4c7"  # White is wiped out


def first_legal() -> Any:
    class First:
        name = "first"

        def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
            return np.array([position.legal_squares()[0] for position in positions])

    return First()


def test_moves_are_played_by_name_and_number_and_described() -> None:
    session = GameSession((None, first_legal()))
    turn = session.play("d3")
    assert (turn.color, turn.square, turn.flipped, turn.passes) == (BLACK, 19, 1 << 27, False)
    assert session.describe(turn) == "black plays d3 and flips 1 disc"
    turn = session.play(session.think())
    assert session.describe(turn) == "white (first) plays c3 and flips 1 disc"
    assert session.turns == (session.turns[0], turn)
    assert session.player is None
    assert session.position == session.game.final


def test_a_forced_pass_is_part_of_the_turn() -> None:
    session = GameSession(game=Game.parse(PASS_AFTER_EIGHT))
    last = session.turns[-1]
    assert (last.color, last.passes) == (WHITE, True)
    assert session.position.side_to_move == WHITE
    assert session.describe(last).endswith("; black must pass")
    assert not any(turn.passes for turn in session.turns[:-1])


@pytest.mark.parametrize("move", ["a1", "z9", 19.5, 64, -1, "pass"])
def test_an_illegal_move_changes_nothing(move: Any) -> None:
    session = GameSession()
    before = dict(session.__dict__)
    with pytest.raises((IllegalMoveError, ValueError, TypeError)):
        session.play(move)
    assert session.__dict__ == before


def test_undo_against_an_agent_goes_back_to_ones_own_decision() -> None:
    session = GameSession((first_legal(), None))
    session.play(session.think())
    assert not session.can_undo  # the agent's first move is no decision of the person
    assert session.undo() == 0
    session.play(session.position.legal_squares()[0])
    session.play(session.think())
    assert session.undo() == 2
    assert len(session.game.moves) == 1
    assert session.player is None
    assert session.redo() == 2
    assert len(session.game.moves) == 3
    assert session.redo() == 0


def test_undo_crosses_a_pass() -> None:
    """After White's move Black passes, so White moves again: the decision before is White's own."""
    session = GameSession((first_legal(), None), Game.parse(PASS_AFTER_EIGHT + "c5"))
    assert session.undo() == 1
    assert str(session.game) == PASS_AFTER_EIGHT
    assert session.undo() == 1
    assert str(session.game) == PASS_AFTER_EIGHT[:-2]
    assert session.redo() == 1
    assert session.redo() == 1
    assert str(session.game) == PASS_AFTER_EIGHT + "c5"


def test_a_new_move_forgets_the_moves_taken_back() -> None:
    session = GameSession()
    session.play("d3")
    session.undo()
    assert session.can_redo
    session.play("f5")
    assert not session.can_redo


PLAYERS: list[Players] = [(None, None), (first_legal(), None), (None, first_legal()), (first_legal(), first_legal())]


@given(st.sampled_from(PLAYERS), st.integers(0, 7), st.integers(0, 99))
def test_undo_and_redo_walk_through_the_same_positions(players: Players, num_moves: int, seed: int) -> None:
    game = Game.random(num_moves, np.random.default_rng(seed), Position.start(4))
    session = GameSession(players, game)
    while session.undo():
        pass
    start = session.game
    while session.redo():
        assert session.game.moves[: len(start.moves)] == start.moves
    assert session.game == game


def test_a_game_that_ends_early_shows_both_scores() -> None:
    session = GameSession(game=Game.parse(WON_BY_C7))
    assert session.result is not None
    assert (session.result.winner, session.result.reason) == (BLACK, "no moves left")
    assert session.result.text == "Black wins (13-0 by discs, 64-0 with the empties to the winner)"
    with pytest.raises(IllegalMoveError, match="the game is over"):
        session.play("a1")
    with pytest.raises(ValueError, match="the game is over"):
        session.resign()
    session.undo()
    assert not session.is_over


def test_resignation_can_be_taken_back() -> None:
    session = GameSession()
    session.play("d3")
    session.resign()
    assert session.result is not None
    assert session.result.text == "Black wins: white resigned"
    with pytest.raises(IllegalMoveError):
        session.play("c3")
    assert session.can_undo
    session.undo()
    assert session.result is None
    session.resign(BLACK)
    assert session.result is not None
    assert session.result.winner == WHITE


def test_a_clock_runs_for_the_side_to_move_and_ends_the_game() -> None:
    now = [100.0]
    session = GameSession(clock=10, now=lambda: now[0])
    now[0] += 4
    assert session.seconds_left == (6, 10)
    session.play("d3")
    now[0] += 7
    assert session.seconds_left == (6, 3)
    session.play("c3")
    now[0] += 6.5
    assert session.result is not None
    assert (session.result.winner, session.result.reason) == (WHITE, "time")
    assert GameSession().seconds_left == (float("inf"), float("inf"))


@pytest.mark.parametrize("clock", [0, -1.0, float("nan")])
def test_a_clock_without_time_is_refused(clock: float) -> None:
    with pytest.raises(ValueError, match="expected a positive number of seconds"):
        GameSession(clock=clock)


def test_another_game_is_loaded() -> None:
    session = GameSession()
    session.play("d3")
    session.undo()
    session.load(Game.parse("f5d6"))
    assert str(session.game) == "f5d6"
    assert not session.can_redo
    with pytest.raises(ValueError, match="a 4x4 board, but board_size is 8"):
        session.load(Game((), Position.start(4)))


def test_agents_that_fail_or_cannot_play_are_named() -> None:
    class Failing:
        name = "failing"
        board_size = 8

        def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
            raise RuntimeError("tired")

    session = GameSession((Failing(), None))
    with pytest.raises(AgentError, match="failing: error: RuntimeError: tired"):
        session.think()
    assert session.revision == 0
    with pytest.raises(ValueError, match="plays on board_size 8, not 6"):
        GameSession((None, Failing()), Game((), Position.start(6)))
    with pytest.raises(ValueError, match="no agent is to move"):
        GameSession().think()


def test_every_change_has_a_number() -> None:
    session = GameSession((None, make_agent("random")), rng=np.random.default_rng(0))
    seen = [session.revision]
    for change in (
        lambda: session.play("d3"),
        lambda: session.play(session.think()),
        session.undo,
        session.redo,
        session.resign,
        session.undo,
    ):
        change()
        seen.append(session.revision)
    assert seen == list(range(7))
