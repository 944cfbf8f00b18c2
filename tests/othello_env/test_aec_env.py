from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, parallel_api_test, performance_benchmark, seed_test
from pettingzoo.test.state_test import state_test
from pettingzoo.utils import wrappers
from pettingzoo.utils.conversions import turn_based_aec_to_parallel
from pettingzoo.utils.env_logger import EnvLogger

from othello_env import PASS, Game, IllegalMoveError, Position, othello_v0
from tests.strategies import board_sizes

OPTIONS = [{}, {"auto_pass": False}, {"board_size": 4}, {"board_size": 6, "auto_pass": False}, {"reward": "disc_difference"}]
# In this game Black passes after 8 moves.
PASS_AFTER_EIGHT = "f5f6d3g5h5h4f7h6"


@contextmanager
def record_warnings() -> Iterator[list[str]]:
    """What PettingZoo's logger warns of."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logger = EnvLogger.get_logger()
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)


def play_masked(env: Any, rng: np.random.Generator) -> list[tuple[str, int]]:
    """Play a game by the masks to its end; what was chosen by whom."""
    chosen = []
    for agent in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        action = None if termination or truncation else int(rng.choice(np.flatnonzero(observation["action_mask"])))
        if action is not None:
            chosen.append((agent, action))
        env.step(action)
    return chosen


@pytest.mark.filterwarnings("ignore:The observation collected")
@pytest.mark.filterwarnings("ignore:Observation")
@pytest.mark.parametrize("options", OPTIONS)
def test_pettingzoo_accepts_the_environment(options: dict[str, Any]) -> None:
    api_test(othello_v0.env(**options), num_cycles=200)
    api_test(othello_v0.raw_env(**options), num_cycles=200)
    seed_test(lambda: othello_v0.env(**options), num_cycles=200)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", OPTIONS)
def test_pettingzoo_accepts_the_state_and_the_parallel_conversion(options: dict[str, Any]) -> None:
    state_test(othello_v0.env(**options), turn_based_aec_to_parallel(othello_v0.env(**options)))
    parallel_api_test(turn_based_aec_to_parallel(othello_v0.env(**options)), num_cycles=200)


@pytest.mark.slow
def test_pettingzoos_performance_benchmark_runs_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    performance_benchmark(othello_v0.env())
    assert "turns per second" in capsys.readouterr().out


def test_pettingzoos_own_wrappers_do_what_the_guard_does() -> None:
    def wrapped() -> Any:
        env = wrappers.TerminateIllegalWrapper(othello_v0.raw_env(), illegal_reward=-1)
        return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))

    for seed in range(5):
        games = []
        for env in (wrapped(), othello_v0.env()):
            env.reset(seed=seed)
            games.append(play_masked(env, np.random.default_rng(seed)))
        assert games[0] == games[1]
    for env in (wrapped(), othello_v0.env()):
        env.reset()
        env.step(0)
        assert env.rewards == {"player_0": -1.0, "player_1": 0.0}
        assert np.flatnonzero(env.last()[0]["action_mask"]).tolist() == [PASS]


def test_a_truncation_from_outside_ends_the_game() -> None:
    env = othello_v0.env()
    env.reset()
    env.unwrapped.truncations = dict.fromkeys(env.agents, True)  # as a wrapper with a time limit does
    assert env.last()[2:4] == (False, True)
    env.step(None)
    env.step(None)
    assert env.agents == []


def test_observing_does_not_change_the_game() -> None:
    games = []
    for times in (0, 1, 5):
        env = othello_v0.env()
        env.reset(seed=1)
        rng = np.random.default_rng(1)
        chosen = []
        while env.agents:
            for _ in range(times):
                env.observe("player_0")
                env.observe("player_1")
                env.state()
            legal = env.position.legal_squares()
            chosen.append(int(rng.choice(legal)) if legal else None)
            env.step(chosen[-1])
        games.append(chosen)
    assert games[0] == games[1] == games[2]
    assert len(games[0]) > 50


def test_clones_and_states_keep_the_whole_game() -> None:
    env = othello_v0.env(board_size=4, auto_pass=False, render_mode="ansi")
    env.reset(seed=1)

    def shown(game: Any) -> list[str]:
        return [str(game.last()), str(game.render()), str(game.observe("player_1")), str(game.rewards), str(game.agents)]

    def step(game: Any, which: int) -> None:
        ended = game.terminations[game.agent_selection]
        game.step(None if ended else int(np.flatnonzero(game.last()[0]["action_mask"])[which]))

    while env.agents:
        clone, state, before = env.clone(), env.unwrapped.get_state(), shown(env)
        step(env, 0)
        assert shown(clone) == before
        if env.agents:
            after = shown(env)
            env.unwrapped.set_state(state)
            assert shown(env) == before
            step(env, -1)
            env.unwrapped.set_state(state)
            step(env, 0)
            assert shown(env) == after
    first, second = env.clone(), env.clone()
    for game in (first, second):
        game.reset(options={"random_plies": 5})  # from equal generators
    assert first.position == second.position


def test_a_reward_function_that_raises_leaves_the_state_as_it_is() -> None:
    env = othello_v0.env(reward=lambda position: None)  # type: ignore[arg-type, return-value]
    env.reset(options={"moves": "f5f4c3c6c5d6f3c4"})
    before = env.position
    with pytest.raises(TypeError):
        env.step(50)
    assert env.position == before
    assert not any(env.terminations.values())
    assert env.agent_selection == "player_0"


@pytest.mark.parametrize(
    ("options", "cost"), [({}, -1.0), ({"reward": "disc_difference"}, -64.0), ({"reward": "disc_difference", "board_size": 6}, -36.0)]
)
def test_an_illegal_move_is_never_better_than_a_defeat(options: dict[str, Any], cost: float) -> None:
    env = othello_v0.env(**options)
    env.reset()
    env.step(0)
    assert env.rewards == {"player_0": cost, "player_1": 0.0}


def test_the_name_of_the_guarded_environment_is_the_name_of_the_environment() -> None:
    assert str(othello_v0.env()) == str(othello_v0.raw_env()) == "othello_v0"


def test_a_numpy_board_size_is_one() -> None:
    size: Any = np.int64(6)
    env = othello_v0.env(board_size=size)
    env.reset(options={"position": Position.start(size)})
    assert env.observe("player_0")["observation"].shape == (6, 6, 2)


@given(board_sizes, st.booleans(), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_observations_masks_and_states_say_what_the_position_says(board_size: int, auto_pass: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    env = othello_v0.env(board_size=board_size, auto_pass=auto_pass)
    env.reset()
    n = board_size
    while env.agents:
        position: Position = env.position
        for side, agent in enumerate(env.possible_agents):
            observation = env.observe(agent)
            assert list(observation) == ["observation", "action_mask"]
            assert env.observation_space(agent).contains(observation)
            assert all(array.dtype == np.int8 for array in observation.values())
            own, opp = (position.black, position.white) if side == 0 else (position.white, position.black)
            for plane, discs in enumerate((own, opp)):
                expected = [[discs >> (row * n + column) & 1 for column in range(n)] for row in range(n)]
                assert observation["observation"][:, :, plane].tolist() == expected
            legal = (position.legal_squares() or (n * n,)) if agent == env.agent_selection else ()
            assert np.flatnonzero(observation["action_mask"]).tolist() == list(legal)
        state = env.state()
        assert env.state_space.contains(state)
        assert (state[..., :2] == env.observe("player_0")["observation"]).all()
        assert (state[..., 2] == (position.side_to_move == 0)).all()
        terminated = env.terminations[env.agent_selection]
        env.step(None if terminated else int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))


@pytest.mark.parametrize("options", OPTIONS)
def test_observing_changes_nothing_and_gives_fresh_arrays(options: dict[str, Any]) -> None:
    env = othello_v0.env(**options)
    env.reset()
    first = env.observe("player_0")
    first["observation"][:] = 7
    first["action_mask"][:] = 0
    second = env.last()[0]
    assert second["observation"].sum() == 4
    assert second["action_mask"].sum() == 4
    env.step(int(np.flatnonzero(second["action_mask"])[0]))  # the emptied mask of before must not forbid it
    assert not env.truncations["player_0"]


def test_both_agents_get_their_reward_in_the_ending_step() -> None:
    env = othello_v0.env()
    env.reset()
    for move in Game.parse("f5f4c3c6c5d6f3c4c7").moves[:-1]:
        env.step(move)
        assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
        assert not any(env.terminations.values())
    env.step(Game.parse("f5f4c3c6c5d6f3c4c7").moves[-1])
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    rewards = {}
    for agent in env.agent_iter():
        observation, rewards[agent], termination, _, _ = env.last()
        assert termination
        assert np.flatnonzero(observation["action_mask"]).tolist() == [PASS]
        env.step(None)
    assert rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.agents == []


@pytest.mark.parametrize(
    ("options", "black_reward"),
    [
        ({}, 1.0),
        ({"reward": "disc_difference"}, 13.0),
        ({"reward": "disc_difference", "scoring": "empties_to_winner"}, 64.0),
        ({"reward": lambda position: position.discs[0] / 64}, 13 / 64),
    ],
)
def test_rewards_follow_the_options_and_add_up_to_zero(options: dict[str, Any], black_reward: float) -> None:
    env = othello_v0.env(**options)
    env.reset(options={"moves": "f5f4c3c6c5d6f3c4"})
    env.step(50)
    assert env.rewards == {"player_0": black_reward, "player_1": -black_reward}
    assert all(type(reward) is float for reward in env.rewards.values())


def test_a_draw_is_zero_for_both() -> None:
    env = othello_v0.env()
    env.reset(options={"moves": "f5f4c3f6g7f7f3h7f8b2h6e7h8e3d7g3f2f1a1"})
    env.step("abcdefgh".index("c") + 8 * 4)
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
    assert env.terminations == {"player_0": True, "player_1": True}


def test_an_agent_that_cannot_move_is_skipped() -> None:
    env = othello_v0.env()
    env.reset(options={"moves": PASS_AFTER_EIGHT[:-2]})
    assert env.agent_selection == "player_1"
    env.step(47)  # h6
    assert env.agent_selection == "player_1"
    assert np.flatnonzero(env.last()[0]["action_mask"]).tolist() == [34, 52]  # c5 e7
    assert not env.observe("player_0")["action_mask"].any()
    assert env.infos["player_0"] == {"ply": 1, "passed": 1, "to_move": 1} == env.infos["player_1"]


def test_without_automatic_passes_the_pass_is_the_only_action() -> None:
    env = othello_v0.env(auto_pass=False)
    env.reset(options={"moves": PASS_AFTER_EIGHT})
    assert env.agent_selection == "player_0"
    assert np.flatnonzero(env.last()[0]["action_mask"]).tolist() == [PASS]
    env.step(PASS)
    assert env.agent_selection == "player_1"
    assert env.infos["player_1"]["passed"] == 1
    assert not any(env.terminations.values())


@pytest.mark.parametrize("auto_pass", [True, False])
def test_agents_alternate_strictly_only_without_automatic_passes(auto_pass: bool) -> None:
    env = othello_v0.env(board_size=4, auto_pass=auto_pass)
    repeats = passes = 0
    for seed in range(50):
        env.reset(seed=seed)
        chosen = play_masked(env, np.random.default_rng(seed))
        repeats += sum(first[0] == second[0] for first, second in zip(chosen, chosen[1:], strict=False))
        passes += sum(action == 16 for _, action in chosen)
    assert (repeats > 0) == auto_pass
    assert (passes > 0) == (not auto_pass)


@pytest.mark.parametrize("options", OPTIONS)
def test_copies_and_pickles_play_on_like_the_original_at_every_ply(options: dict[str, Any]) -> None:
    env = othello_v0.env(**options)
    env.reset(seed=3, options={"random_plies": 2})
    rng = np.random.default_rng(0)
    while env.agents:
        copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
        terminated = env.terminations[env.agent_selection]
        action = None if terminated else int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"])))
        env.step(action)
        for copied in copies:
            assert copied.position != env.position or terminated
            copied.step(action)
            assert copied.position == env.position
            assert (copied.agents, copied.rewards, copied.terminations) == (env.agents, env.rewards, env.terminations)
            assert (copied.infos, copied._cumulative_rewards) == (env.infos, env._cumulative_rewards)
            if env.agents:
                assert copied.agent_selection == env.agent_selection


@pytest.mark.parametrize("action", [0, 17, PASS])
def test_an_illegal_action_loses_the_game_and_spoils_nothing_after_it(action: int) -> None:
    env = othello_v0.env()
    env.reset()
    env.step(19)
    before = env.position
    with record_warnings() as messages:
        env.step(action)
    assert any("illegal" in message.lower() for message in messages)
    assert env.agent_selection == "player_0"  # the dead are taken out in order
    assert env.terminations == env.truncations == {"player_0": True, "player_1": True}
    assert env.rewards == {"player_0": 0.0, "player_1": -1.0}
    assert env.position == before
    assert np.flatnonzero(env.last()[0]["action_mask"]).tolist() == [PASS]
    rewards = {}
    for agent in env.agent_iter():
        rewards[agent] = env.last()[1]
        env.step(None)
    assert rewards == {"player_0": 0.0, "player_1": -1.0}

    for dead_steps in (0, 1, 2):
        env.reset()
        env.step(0)
        for _ in range(dead_steps):
            env.step(None)
        fresh = othello_v0.env()
        for game in (env, fresh):
            game.reset(seed=1)
        assert play_masked(env, np.random.default_rng(5)) == play_masked(fresh, np.random.default_rng(5))


@pytest.mark.parametrize("action", [65, -1, 10**20, 3.0, float("nan"), "d3", None, True, np.array([19, 26]), np.float32(19)])
def test_what_is_no_action_is_refused_and_changes_nothing(action: Any) -> None:
    for env in (othello_v0.env(), othello_v0.raw_env()):
        env.reset()
        with pytest.raises((ValueError, TypeError)) as caught:
            env.step(action)
        if env is not env.unwrapped:
            assert isinstance(caught.value, AssertionError)  # as PettingZoo's AssertOutOfBoundsWrapper raises
            assert f"action {action!r} of player_0 is not in action space Discrete(65)" == str(caught.value)
        assert env.position == Position.start()
        assert not any(env.terminations.values())
        env.step(19)
        assert env.position == Position.start().play("d3")


def test_the_unguarded_environment_raises_at_an_illegal_move_and_stays() -> None:
    env = othello_v0.raw_env()
    env.reset()
    with pytest.raises(IllegalMoveError):
        env.step(0)
    assert env.position == Position.start()
    assert env.agent_selection == "player_0"


@pytest.mark.parametrize("first_reset_fails", [False, True])
@pytest.mark.parametrize("use", ["last", "observe", "step", "state", "render", "agent_iter", "agents", "rewards"])
def test_use_before_reset_is_refused(use: str, first_reset_fails: bool) -> None:
    env = othello_v0.env()
    if first_reset_fails:
        with pytest.raises(ValueError, match="option moves"):
            env.reset(options={"moves": 5})
    arguments = {"observe": ("player_0",), "step": (19,)}

    def do() -> None:
        getattr(env, use)(*arguments.get(use, ()))

    with pytest.raises((AttributeError, AssertionError), match=r"before reset|reset\(\)"):
        do()


def test_a_finished_agent_takes_only_none_and_a_finished_game_only_warns() -> None:
    env = othello_v0.env()
    env.reset(options={"position": "X" * 64 + " O"})
    with pytest.raises(ValueError, match="only valid action is None"):
        env.step(19)
    env.step(None)
    env.step(None)
    assert env.agents == []
    with record_warnings() as messages:
        env.step(None)
    assert any("terminated" in message for message in messages)
    assert env.observe("player_0")["observation"][..., 0].all()  # still to be seen
    assert env.state()[..., 0].all()


def test_an_unknown_agent_is_refused() -> None:
    env = othello_v0.env()
    env.reset()
    with pytest.raises(ValueError, match="expected one of player_0, player_1"):
        env.observe("player_2")


def test_a_game_that_is_over_at_its_start_is_terminated_at_reset() -> None:
    env = othello_v0.env()
    env.reset(options={"position": "X" * 40 + "O" * 24 + " O"})
    assert env.terminations == {"player_0": True, "player_1": True}
    assert {agent: env._cumulative_rewards[agent] for agent in env.agents} == {"player_0": 1.0, "player_1": -1.0}
    assert env.last()[1:4] == (-1.0, True, False)
    assert play_masked(env, np.random.default_rng(0)) == []


def test_a_reset_starts_where_the_options_say() -> None:
    env = othello_v0.env()
    env.reset(options={"moves": "f5d6"})
    assert env.position == Game.parse("f5d6").final
    for moves in ([37, 43], ("f5", "D6"), np.array([37, 43]), iter([37, "d6"])):
        env.reset(options={"moves": moves})
        assert env.position == Game.parse("f5d6").final
    white_first = str(Position.start())[:-1] + "O"
    env.reset(options={"position": white_first, "moves": "e3"})
    assert env.position == Position.parse(white_first).play("e3")
    env.reset(options={"position": Position.parse(white_first)})
    assert env.agent_selection == "player_1"
    env.reset(options={"position": "XO" + "-" * 62 + " O"})
    assert env.agent_selection == "player_0"  # White passes before the first move


@pytest.mark.parametrize("auto_pass", [True, False])
def test_a_pass_that_is_forced_after_the_set_up_is_made_only_with_automatic_passes(auto_pass: bool) -> None:
    env = othello_v0.env(auto_pass=auto_pass)
    blocked = "XO" + "-" * 62 + " O"
    for options in ({"position": blocked}, {"moves": PASS_AFTER_EIGHT}):
        env.reset(options=options)
        assert env.position.must_pass == (not auto_pass)
        assert (env.last()[0]["action_mask"][PASS] == 1) == (not auto_pass)
    squares = [37, 45, 19, 38, 39, 31, 53, 47]
    for written in ({"position": blocked, "moves": "--"}, {"moves": PASS_AFTER_EIGHT + "pa"}, {"moves": [*squares, PASS]}):
        env.reset(options=written)
        assert not env.position.must_pass
        assert env.position.legal_moves
    env.reset(options={"moves": PASS_AFTER_EIGHT + "c5"})  # a pass that is left out is made all the same
    assert env.position.side_to_move == 0


def test_random_plies_may_end_before_a_forced_pass() -> None:
    env = othello_v0.env(board_size=4, auto_pass=False)
    must_pass = 0
    for seed in range(200):
        env.reset(seed=seed, options={"random_plies": 6})
        must_pass += env.position.must_pass
    assert must_pass > 0


def test_random_plies_repeat_with_the_seed_and_vary_without() -> None:
    env = othello_v0.env()
    seen = []
    for seed in (4, 4, None, None, 5):
        env.reset(seed=seed, options={"random_plies": 12, "moves": "f5"})
        assert sum(env.position.discs) == 4 + 13
        seen.append(env.position)
    assert seen[0] == seen[1]
    assert len(set(seen)) == 4


def test_seeds_go_on_from_the_last_one_and_a_refused_reset_takes_nothing_from_them() -> None:
    first, second = othello_v0.env(), othello_v0.env()
    for env in (first, second):
        env.reset(seed=4)
    with pytest.raises(ValueError, match="61 random plies"):
        first.reset(options={"random_plies": 61})
    seen = set()
    for _ in range(3):
        for env in (first, second):
            env.reset(options={"random_plies": 10})
        assert first.position == second.position
        seen.add(first.position)
    assert len(seen) == 3


def test_the_count_of_plies_leaves_out_passes_and_the_set_up() -> None:
    env = othello_v0.env(auto_pass=False, render_mode="ansi")
    env.reset(options={"moves": PASS_AFTER_EIGHT})
    assert env.infos["player_0"] == {"ply": 0, "passed": 0, "to_move": 0}
    env.step(PASS)
    assert env.infos["player_0"] == {"ply": 0, "passed": 1, "to_move": 1}
    env.step(34)
    assert env.infos["player_0"] == {"ply": 1, "passed": 0, "to_move": 0}
    assert "after c5" in str(env.render())
    env.reset()
    assert "after" not in str(env.render())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"position": "---"}, "3 signs"),
        ({"position": "-" * 36 + "X"}, "a 6x6 board, but board_size is 8"),
        ({"position": 5}, "option position: 5; expected a Position or its text"),
        ({"position": b"-" * 64 + b"X"}, "option position: b'-.*; expected a Position or its text"),
        ({"position": Game()}, "option position: Game.*; expected a Position or its text"),
        ({"moves": "f5a1"}, "option moves, number 2: a1 is illegal"),
        ({"moves": [0]}, "option moves, number 1: a1 is illegal"),
        ({"moves": "f5pa"}, "option moves, number 2: pass is illegal"),
        ({"moves": "f5x"}, "character 3: 'x'"),
        ({"moves": [37.0]}, "option moves, number 1: 37.0 is neither"),
        ({"moves": [None]}, "option moves, number 1: None is neither"),
        ({"moves": ["f5", "z9"]}, "'z9' names no square"),
        ({"moves": 0}, "option moves: 0"),
        ({"moves": False}, "option moves: False"),
        ({"moves": b"d3"}, "option moves: b'd3'; expected a transcript, or a sequence of squares"),
        ({"moves": bytearray(b"d3")}, "option moves: bytearray"),
        ({"moves": memoryview(b"d3")}, "option moves: <memory"),
        ({"moves": {"f5": 1}}, "option moves: .'f5': 1.; expected a transcript"),
        ({"moves": {37}}, "option moves: .37.; expected a transcript"),
        ({"moves": [True]}, "option moves, number 1: True is neither"),
        ({"moves": [b"f5"]}, "option moves, number 1: b'f5' is neither"),
        ({"moves": [[37]]}, "option moves, number 1: \\[37\\] is neither"),
        ("f5", "options 'f5': expected a dict"),
        ({"moves": 5}, "option moves"),
        ({"random_plies": -1}, "option random_plies: -1"),
        ({"random_plies": 2.5}, "option random_plies: 2.5"),
        ({"random_plies": True}, "option random_plies: True"),
        ({"random_plies": "3"}, "option random_plies: '3'"),
        ({"random_plies": 61}, "61 random plies"),
    ],
)
def test_a_bad_option_is_refused_in_one_line_and_the_game_goes_on(options: dict[str, Any], message: str) -> None:
    env = othello_v0.env()
    env.reset(seed=1)
    env.step(19)
    with pytest.raises(ValueError, match=message) as caught:
        env.reset(seed=2, options=options)
    assert "\n" not in str(caught.value)
    assert env.position == Position.start().play("d3")
    env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
    assert sum(env.position.discs) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"board_size": 7}, "board sizes are 4, 6, 8"),
        ({"render_mode": "ascii"}, "expected one of None, human, ansi, rgb_array"),
        ({"reward": "win"}, "outcome, disc_difference"),
        ({"scoring": "stones"}, "discs, empties_to_winner"),
        ({"reward": lambda position: 0.0, "scoring": "stones"}, "discs, empties_to_winner"),
        ({"board_size": 8.0}, "board_size 8.0"),
        ({"channels": "middle"}, "channels 'middle': expected one of last, first"),
        ({"dtype": "int9"}, "dtype 'int9': expected one of int8, uint8, bool, float32"),
        ({"flat": 1}, "flat 1: expected True or False"),
    ],
)
def test_a_bad_constructor_argument_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        othello_v0.env(**options)


def test_spaces_are_the_same_objects_on_every_call() -> None:
    env = othello_v0.env(board_size=6)
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.action_space(agent) == gymnasium.spaces.Discrete(37)
        assert env.observation_space(agent)["observation"].shape == (6, 6, 2)
    assert env.state_space.shape == (6, 6, 3)


def test_infos_have_the_same_numbers_for_both_agents_from_reset_to_end() -> None:
    env = othello_v0.env(board_size=4)
    env.reset()
    previous = None
    while not any(env.terminations.values()):
        for info in env.infos.values():
            assert list(info) == ["ply", "passed", "to_move"]
            assert all(type(value) is int for value in info.values())
        assert env.infos["player_0"] == env.infos["player_1"]
        assert env.infos["player_0"] is not env.infos["player_1"]
        assert env.infos["player_0"] is not previous
        previous = env.infos["player_0"]
        assert previous["ply"] == sum(env.position.discs) - 4
        env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))


def test_render_gives_the_board_as_text() -> None:
    env = othello_v0.env(render_mode="ansi")
    env.reset()
    env.step(19)
    text = env.render()
    assert isinstance(text, str)
    assert text.splitlines()[4] == "4 - - - X X - - - 4"
    assert text.splitlines()[-1] == "X 4  O 1  White to move, after d3"
    env.close()


def test_render_without_a_mode_warns_and_gives_nothing() -> None:
    env = othello_v0.env()
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
