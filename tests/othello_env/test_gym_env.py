from __future__ import annotations

import copy
import pickle
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from othello_env import AgentError, Game, IllegalMoveError, OthelloEnv, Position

NINE_MOVES = "f5f4c3c6c5d6f3c4"  # Black wins with c7 next
OPTIONS: list[dict[str, Any]] = [
    {},
    {"color": "white"},
    {"board_size": 4, "auto_pass": False, "color": "black"},
    {"channels": "first", "dtype": "float32", "legal_plane": True},
    {"render_mode": "rgb_array", "flat": True, "dtype": "bool", "reward": "disc_difference"},
    {"render_mode": "ansi", "illegal": "random"},
]


def first_legal(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> int:
    return int(np.flatnonzero(mask)[0])


@pytest.mark.parametrize("options", OPTIONS)
def test_gymnasiums_checker_has_nothing_to_say(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")  # the checker opens a window of each render mode
    monkeypatch.setattr("othello_env.rendering.modes.FRAMES_PER_SECOND", 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("othello_env/Othello-v0", **options).unwrapped)


@pytest.mark.parametrize("color", ["black", "white", "random"])
@pytest.mark.parametrize("auto_pass", [True, False])
def test_the_learner_sees_its_own_turns_wins_losses_and_draws(color: Any, auto_pass: bool) -> None:
    env = OthelloEnv(color=color, board_size=4, auto_pass=auto_pass)
    rng = np.random.default_rng(0)
    rewards: dict[float, int] = {1.0: 0, -1.0: 0, 0.0: 0}
    colors = set()
    for seed in range(150):
        observation, info = env.reset(seed=seed)
        terminated = False
        colors.add(info["color"])
        while not terminated:
            position = env.position
            assert position.side_to_move == info["color"]
            assert np.flatnonzero(observation["action_mask"]).tolist() == list(position.legal_squares())
            assert observation["action_mask"].tolist() == info["action_mask"].tolist() == env.action_masks().tolist()
            assert env.action_masks().dtype == np.bool_
            assert observation["observation"][..., 0].sum() == position.own.bit_count()
            observation, reward, terminated, truncated, info = env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
            assert (type(reward), type(terminated), truncated) == (float, bool, False)
            assert info["ply"] == sum(env.position.discs) - 4  # passes do not count
            assert terminated or reward == 0
        outcome = env.position.outcome
        assert reward == (outcome if info["color"] == 0 else -outcome)
        assert np.flatnonzero(info["action_mask"]).tolist() == [16]
        own = env.position.discs[info["color"]]
        assert observation["observation"][..., 0].sum() == own
        rewards[reward] += 1
    assert colors == ({0} if color == "black" else {1} if color == "white" else {0, 1})
    assert min(rewards.values()) > 0


def test_a_game_that_the_opponents_move_ends_is_lost_in_the_same_step() -> None:
    def opponent(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> int:
        return 50

    env = OthelloEnv(opponent=opponent, color="white")
    env.reset(options={"moves": NINE_MOVES[:-2]})
    _, reward, terminated, _, _ = env.step(26)  # c4, after which the opponent's c7 takes the last disc
    assert (reward, terminated) == (-1.0, True)


def test_the_reset_options_set_the_game_up() -> None:
    env = OthelloEnv(opponent=first_legal)
    _, info = env.reset(options={"color": "black", "moves": "f5d6"})
    assert (env.position, info["color"]) == (Game.parse("f5d6").final, 0)
    _, info = env.reset(options={"color": "white", "moves": "f5d6"})
    assert sum(env.position.discs) == 7  # the opponent has moved
    assert (env.position.side_to_move, info["color"], info["ply"]) == (1, 1, 1)
    first, second = (env.reset(seed=3, options={"random_plies": 6})[0]["observation"].tolist() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("action", [0, 64, 65, -1, 10**20])
def test_an_illegal_action_does_what_was_asked_for(action: int) -> None:
    env = OthelloEnv(color="black")
    env.reset(seed=0)
    observation, reward, terminated, _, info = env.step(action)
    assert (reward, terminated, info["illegal"]) == (-1.0, True, True)
    assert np.flatnonzero(observation["action_mask"]).tolist() == [64]
    assert env.position == Position.start()

    env = OthelloEnv(color="black", illegal="raise")
    env.reset(seed=0)
    with pytest.raises(IllegalMoveError, match="illegal for black"):
        env.step(action)
    assert env.position == Position.start()
    env.step(19)

    env = OthelloEnv(color="black", illegal="random")
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(action)
    assert (reward, terminated, info["illegal"]) == (0.0, False, True)
    assert sum(env.position.discs) == 6


@pytest.mark.parametrize("action", [19.0, float("nan"), "d3", None, np.array([19, 26])])
def test_what_is_no_integer_is_no_action(action: Any) -> None:
    env = OthelloEnv(color="black")
    env.reset(seed=0)
    with pytest.raises(TypeError):
        env.step(action)
    assert env.position == Position.start()


def test_a_step_after_the_end_or_before_the_start_is_refused() -> None:
    env = OthelloEnv(color="black")
    with pytest.raises(ValueError, match="call reset"):
        env.step(19)
    env.reset(options={"moves": NINE_MOVES})
    assert env.step(50)[1:3] == (1.0, True)
    with pytest.raises(ValueError, match="call reset"):
        env.step(19)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda: 0, "^opponent opponent: illegal move: a1 in "),
        (lambda: "d3", r"^opponent opponent: invalid output: <U2 of shape \(1,\); expected 1 integers"),
        (lambda: None, "^opponent opponent: invalid output: object"),
        (lambda: [19, 26], r"^opponent opponent: invalid output: int64 of shape \(2,\); expected 1 integers"),
        (lambda: 1 / 0, "^opponent opponent: error: ZeroDivisionError: division by zero"),
        (lambda: sys.exit(3), "^opponent opponent: error: SystemExit: 3"),
    ],
)
def test_an_opponent_that_fails_is_named_and_nothing_has_changed(answer: Any, message: str) -> None:
    def opponent(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> Any:
        return answer() if fails else first_legal(observation, mask, rng)

    fails = True
    env = OthelloEnv(opponent=opponent, color="black")
    env.reset(seed=0)
    with pytest.raises(AgentError, match=message) as caught:
        env.step(19)
    assert "\n" not in str(caught.value)
    assert env.position == Position.start()
    fails = False
    env.step(19)
    assert sum(env.position.discs) == 6


def test_a_start_that_leaves_the_learner_no_turn_is_refused() -> None:
    env = OthelloEnv(opponent=lambda observation, mask, rng: 50, color="white")
    env.reset(seed=0, options={"color": "black"})
    before = env.position
    for options in ({"position": "X" * 64 + " O"}, {"moves": NINE_MOVES}):
        with pytest.raises(ValueError, match="over before the learner's first turn"):
            env.reset(options=options)
        assert env.position == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"color": "red"}, "color 'red': expected one of random, black, white"),
        ({"illegal": "ignore"}, "illegal 'ignore'"),
        ({"render_mode": "ascii"}, "render_mode 'ascii'"),
        ({"board_size": 9}, "board_size 9"),
        ({"reward": "x"}, "reward 'x'"),
        ({"dtype": "x"}, "dtype 'x'"),
    ],
)
def test_an_unknown_option_value_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OthelloEnv(**options)


def test_copies_and_pickles_go_on_like_the_original() -> None:
    env = OthelloEnv()
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    terminated = False
    while not terminated:
        copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
        action = int(rng.choice(np.flatnonzero(env.action_masks())))
        _, reward, terminated, _, _ = env.step(action)
        for copied in copies:
            other = copied.step(action)
            assert copied.position == env.position
            assert other[1:3] == (reward, terminated)


def test_the_disc_difference_is_the_learners() -> None:
    for color, sign in (("black", 1), ("white", -1)):
        env = OthelloEnv(reward="disc_difference", scoring="empties_to_winner", color=color, opponent=first_legal)  # type: ignore[arg-type]
        env.reset(seed=0)
        terminated, reward = False, 0.0
        while not terminated:
            _, reward, terminated, _, _ = env.step(int(np.flatnonzero(env.action_masks())[0]))
        assert reward == sign * env.position.score("empties_to_winner")


def test_a_failure_leaves_the_generator_as_it_was() -> None:
    fails = False

    def opponent(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> int:
        rng.random(5)
        if fails:
            raise RuntimeError("two\nlines")
        return int(np.flatnonzero(mask)[0])

    env = OthelloEnv(opponent=opponent, color="black")
    env.reset(seed=0)
    before = env.get_state()
    fails = True
    with pytest.raises(AgentError, match="^opponent opponent: error: RuntimeError: two lines"):
        env.step(19)
    with pytest.raises(AgentError):
        env.reset(seed=5, options={"color": "white"})
    with pytest.raises(ValueError, match="option moves"):
        env.reset(seed=6, options={"moves": 5})
    with pytest.raises(ValueError, match="expected a dict"):
        env.reset(seed=7, options=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="option color 'red': expected one of random, black, white"):
        env.reset(seed=8, options={"color": "red"})
    assert env.get_state() == before


def test_a_reward_function_that_raises_leaves_the_game_as_it_was() -> None:
    env = OthelloEnv(reward=lambda position: None, color="black")  # type: ignore[arg-type, return-value]
    env.reset(options={"moves": NINE_MOVES})
    before = env.position
    with pytest.raises(TypeError):
        env.step(50)
    assert env.position == before
    assert env.action_masks()[50]


def test_clones_and_states_go_on_like_the_original() -> None:
    env = OthelloEnv()
    env.reset(seed=1)
    env.step(int(np.flatnonzero(env.action_masks())[0]))
    clone, state = env.clone(), env.get_state()

    def follow(game: OthelloEnv) -> list[Any]:
        return [game.step(int(np.flatnonzero(game.action_masks())[0]))[0]["observation"].tolist() for _ in range(10)]

    first = follow(env)
    assert follow(clone) == first
    env.set_state(state)
    assert follow(env) == first
    assert clone.action_space is not env.action_space
    small = OthelloEnv(board_size=6)
    small.reset(seed=0)
    with pytest.raises(ValueError, match="state with board_size 6 does not fit"):
        env.set_state(small.get_state())


def test_the_last_move_is_shown() -> None:
    env = OthelloEnv(render_mode="ansi", opponent=first_legal, color="black")
    env.reset(seed=0)
    assert "after" not in str(env.render())
    env.step(19)
    assert "after c3" in str(env.render())  # the opponent's
