from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from agents.base import Moves
from agents.play.session import GameSession
from agents.registry import make_agent
from agents.web.games import ActiveGame, GameStore, StaleRevisionError, TooManyGamesError, UnknownGameError
from othello_env import PositionBatch


class CountingAgent:
    name = "counting"

    def __init__(self) -> None:
        self.calls = 0

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        self.calls += 1
        return make_agent("greedy").select_moves(positions, rng)


def new_game() -> ActiveGame:
    return ActiveGame(GameSession(), ("person", "person"))


def test_requests_for_the_same_move_share_one_search() -> None:
    agent = CountingAgent()

    async def ask_twice() -> GameSession:
        game = ActiveGame(GameSession((agent, None)), ("counting", "person"))
        with ThreadPoolExecutor(2) as executor:
            await asyncio.gather(game.play_agent_move(executor), game.play_agent_move(executor))
        return game.session

    assert len(asyncio.run(ask_twice()).turns) == 1
    assert agent.calls == 1


def test_a_stale_revision_is_refused() -> None:
    game = new_game()
    game.check_revision(0)
    game.session.play("d3")
    with pytest.raises(StaleRevisionError):
        game.check_revision(0)


def test_a_game_is_found_by_its_id_until_it_was_idle() -> None:
    now = [0.0]
    store, game = GameStore(max_games=2, idle_seconds=10, now=lambda: now[0]), new_game()
    store.add(game)
    now[0] = 9.0
    assert store.get(game.id) is game
    now[0] = 18.0
    assert store.get(game.id) is game
    now[0] = 28.0
    with pytest.raises(UnknownGameError):
        store.get(game.id)


def test_games_in_use_are_never_dropped_for_new_ones() -> None:
    store = GameStore(max_games=2, idle_seconds=1000, now=lambda: 0.0)
    games = [new_game(), new_game()]
    for game in games:
        store.add(game)
    with pytest.raises(TooManyGamesError):
        store.add(new_game())
    assert [store.get(game.id) for game in games] == games
