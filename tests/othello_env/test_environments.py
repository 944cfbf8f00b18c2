"""What all environments share: actions, keyword arguments, reset options and render modes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest

from othello_env import PASS, Game, IllegalMoveError, OthelloSelfPlayVectorEnv, OthelloVectorEnv, Position
from othello_env.rendering.window import Window
from tests.othello_env.environments import (
    KINDS,
    MAKERS,
    NAMES,
    PASS_AFTER_EIGHT,
    SINGLES,
    VECTORS,
    first_legal,
    play,
    position_of,
    snapshot,
)

D3 = 19
AFTER_D3 = Position.start().play("d3")


class Scalar:
    """Number as a tensor of PyTorch or JAX holds it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        return self.value

    def __index__(self) -> int:
        return int(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.value, dtype=dtype)

    def __repr__(self) -> str:
        return f"Scalar({self.value!r})"


def tensors(value: Any) -> list[Any]:
    try:
        import torch
    except ImportError:
        return []
    return [torch.tensor(value), torch.tensor([value]), torch.tensor([[value]])]


INTEGERS: list[Any] = [D3, np.array(D3), np.array([D3]), np.array([[D3]], dtype=np.uint64), Scalar(D3), *tensors(D3)]
INTEGERS += [np.dtype(kind).type(D3) for kind in ("int8", "uint8", "int32", "uint32", "int64", "uint64")]
NO_INTEGERS: list[Any] = [19.0, float("nan"), "d3", b"d3", None, True, np.True_, np.float32(19), np.array([19.0]), np.array([True])]
NO_INTEGERS += [[], {}, np.array([]), np.array([D3, 26]), Scalar(19.0), Scalar(True), *tensors(19.0), *tensors(True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", INTEGERS, ids=repr)
def test_one_integer_is_an_action_in_any_type(kind: str, action: Any) -> None:
    env = MAKERS[kind]()
    env.reset(seed=0)
    play(env, action)
    replied = AFTER_D3.play(AFTER_D3.legal_squares()[0])
    assert position_of(env) == (replied if kind in ("OthelloEnv", "OthelloVectorEnv") else AFTER_D3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("action", NO_INTEGERS, ids=repr)
def test_anything_else_is_refused_and_changes_nothing(kind: str, action: Any) -> None:
    env = MAKERS[kind]()
    env.reset(seed=0)
    before = snapshot(env)
    with pytest.raises((TypeError, ValueError)):
        play(env, action)
    assert snapshot(env) == before


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("actions", [*INTEGERS, [D3], [np.array([D3])], [Scalar(D3)]], ids=repr)
def test_a_vector_of_one_game_takes_the_actions_of_a_single_game(kind: str, actions: Any) -> None:
    env = OthelloVectorEnv(1, color="black") if kind == "OthelloVectorEnv" else OthelloSelfPlayVectorEnv(1)
    env.reset(seed=0)
    infos = env.step(actions)[-1]
    assert infos["illegal"].tolist() == [False]
    assert infos["ply"][0] >= 1


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("illegal", ["terminate", "random", "raise"])
def test_illegal_integers_of_any_type_have_the_effect_asked_for(kind: str, dtype: str, illegal: str) -> None:
    env = MAKERS[kind](illegal=illegal)
    env.reset(seed=0)
    largest = np.iinfo(dtype).max
    actions = np.array([D3, largest], dtype=dtype)
    if illegal == "raise":
        with pytest.raises(IllegalMoveError, match=f"env 1: action {largest} is illegal"):
            env.step(actions)
        return
    _, rewards, terminated, _, infos = env.step(actions)
    assert infos["illegal"].tolist() == [False, True]
    assert terminated.tolist() == [False, illegal == "terminate"]
    assert rewards.tolist() == [0, -1 if illegal == "terminate" else 0]


@pytest.mark.parametrize(("reward", "worst"), [("outcome", -1), ("disc_difference", -36), (lambda position: 5.0, -1)])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "raw_env"])
def test_an_illegal_action_costs_as_much_as_the_worst_defeat(kind: str, reward: Any, worst: float) -> None:
    env = MAKERS[kind](board_size=6, reward=reward)
    env.reset(seed=0)
    result = play(env, 0)
    rewards = env.rewards["player_0"] if result is None else result[1]
    assert np.all(np.asarray(rewards) == worst)


@pytest.mark.parametrize("kind", KINDS)
def test_no_square_stands_for_a_forced_pass(kind: str) -> None:
    must_pass = Game.parse(PASS_AFTER_EIGHT[:-2]).final.play("h6", auto_pass=False)
    assert must_pass.must_pass
    env = MAKERS[kind](auto_pass=False, **({"openings": [must_pass]} if kind in VECTORS else {}))
    for action in (*range(PASS), PASS + 1):
        env.reset(seed=0, options=None if kind in VECTORS else {"position": must_pass})
        if kind in VECTORS:
            assert env.step([action, PASS])[-1]["illegal"].tolist() == [True, False]
            continue
        if kind == "OthelloEnv":
            assert env.step(action)[-1]["illegal"]
        elif kind == "raw_env" or action > PASS:
            with pytest.raises(ValueError, match=r"illegal for black|not in action space"):
                env.step(action)
        else:
            env.step(action)
            assert env.rewards == {"player_0": -1.0, "player_1": 0.0}
        assert env.position == must_pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("wrong", "nearest"), [("boardsize", "board_size"), ("channel", "channels"), ("rewards", "reward"), ("autopass", "auto_pass")]
)
def test_a_misspelt_argument_is_named_with_the_environment_and_the_nearest_one(kind: str, wrong: str, nearest: str) -> None:
    with pytest.raises(TypeError) as caught:
        MAKERS[kind](**{wrong: 8})
    message = f"{NAMES[kind]}: unexpected argument {wrong!r}; did you mean {nearest!r}? expected one of "
    assert str(caught.value).startswith(message)
    assert {"render_mode", "board_size", "auto_pass", "reward", "flat"} <= set(str(caught.value).removeprefix(message).split(", "))


@pytest.mark.parametrize(
    ("make", "name", "argument", "hint"),
    [
        (gymnasium.make, "OthelloEnv", "colour", " did you mean 'color'\\?"),
        (gymnasium.make, "OthelloEnv", "oponent", " did you mean 'opponent'\\?"),
        (gymnasium.make, "OthelloEnv", "num_envs", ""),
        (gymnasium.make_vec, "OthelloVectorEnv", "colour", " did you mean 'color'\\?"),
        (gymnasium.make_vec, "OthelloVectorEnv", "n_envs", " did you mean 'num_envs'\\?"),
        (gymnasium.make_vec, "OthelloVectorEnv", "max_episode_steps", ""),
        (gymnasium.make_vec, "OthelloSelfPlayVectorEnv", "max_episode_steps", ""),
        (gymnasium.make_vec, "OthelloSelfPlayVectorEnv", "opening", " did you mean 'openings'\\?"),
    ],
)
def test_gymnasium_passes_the_message_on(make: Callable[..., Any], name: str, argument: str, hint: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: unexpected argument {argument!r};{hint} expected one of "):
        make("othello_env/OthelloSelfPlay-v0" if "SelfPlay" in name else "othello_env/Othello-v0", **{argument: 1})


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has a registry since 1.27")
def test_pettingzoo_passes_the_message_on() -> None:
    with pytest.raises(TypeError, match="othello_v0: unexpected argument 'boardsize'; did you mean 'board_size'"):
        pettingzoo.make("aec", "othello_env/othello-v0", boardsize=6)


def test_gymnasiums_limit_of_steps_truncates_a_single_game() -> None:
    env = gymnasium.make("othello_env/Othello-v0", max_episode_steps=2, color="black", opponent=first_legal)
    observation, _ = env.reset(seed=0)
    for last in (False, True):
        observation, _, terminated, truncated, _ = env.step(observation["action_mask"].argmax())
        assert (terminated, truncated) == (False, last)


RESET_OPTIONS = {
    kind: ["reset_mask"] if kind in VECTORS else ["position", "moves", "random_plies", *(["color"] if kind == "OthelloEnv" else [])]
    for kind in KINDS
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("key", "nearest"), [("nonsense", ""), (5, ""), ("move", "moves"), ("resetmask", "reset_mask")])
def test_an_unknown_reset_option_is_ignored_with_a_warning_that_names_the_known_ones(kind: str, key: Any, nearest: str) -> None:
    env = MAKERS[kind]()
    hint = f" did you mean '{nearest}'\\?" if nearest in RESET_OPTIONS[kind] else ""
    expected = f"^{NAMES[kind]}: unknown reset option {key!r} is ignored;{hint} expected one of {', '.join(RESET_OPTIONS[kind])}$"
    with pytest.warns(UserWarning, match=expected):
        env.reset(seed=0, options={key: 3})
    assert position_of(env) == Position.start()


@pytest.mark.parametrize("kind", KINDS)
def test_known_reset_options_give_no_warning(kind: str) -> None:
    values: dict[str, Any] = {
        "position": Position.start(),
        "moves": "",
        "random_plies": 0,
        "color": "black",
        "reset_mask": np.ones(2, bool),
    }
    env = MAKERS[kind]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for options in ({name: values[name] for name in RESET_OPTIONS[kind]}, {}, None):
            env.reset(seed=0, options=options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_warning_made_an_error_leaves_the_environment_unchanged(kind: str) -> None:
    env = MAKERS[kind]()
    env.reset(seed=0)
    before = snapshot(env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="unknown reset option"):
            env.reset(seed=1, options={"nonsense": 3})
    assert snapshot(env) == before


@pytest.mark.parametrize("kind", SINGLES)
@pytest.mark.parametrize("number", [60, 61, 5000, 10**30])
def test_random_plies_beyond_the_board_are_refused_at_once(kind: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    env = MAKERS[kind]()
    monkeypatch.delattr(Position, "play")
    with pytest.raises(ValueError, match=f"{number} random plies from .*: the game is over after 60 at the latest"):
        env.reset(seed=0, options={"random_plies": number})


@pytest.mark.parametrize("kind", VECTORS)
def test_random_plies_beyond_the_board_are_refused_when_a_vector_is_made(kind: str) -> None:
    late = Game.random(50, np.random.default_rng(0)).final
    for number, openings, fewest in ((60, None, 60), (5000, None, 60), (10**30, None, 60), (10, [Position.start(), late], 10)):
        with pytest.raises(
            ValueError, match=f"random_plies {number}: a game from the fullest opening is over after {fewest} at the latest"
        ):
            MAKERS[kind](random_plies=number, openings=openings)
    for wrong in (2.5, "3", True, None, np.array([1])):
        with pytest.raises(ValueError, match="random_plies .*: expected an integer from 0"):
            MAKERS[kind](random_plies=wrong)
    env = MAKERS[kind](random_plies=np.int64(9), openings=[late.resolve_pass(), Position.start()])
    assert env.reset(seed=1)[0]["action_mask"].shape == (2, 65)


@pytest.mark.parametrize("kind", KINDS)
def test_the_render_mode_is_an_attribute(kind: str) -> None:
    modes = MAKERS[kind]().metadata["render_modes"]
    assert modes == (["ansi"] if kind in VECTORS else ["human", "ansi", "rgb_array"])
    for mode in (None, *modes):
        assert MAKERS[kind](render_mode=mode).render_mode == mode


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "env"])
def test_the_start_position_is_rendered_before_the_first_reset(kind: str) -> None:
    rendered = MAKERS[kind](render_mode="ansi").render()
    for board in rendered if kind in VECTORS else [rendered]:
        assert board.splitlines()[-1] == "X 2  O 2  Black to move"


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The frames that windows have shown."""
    shown: list[np.ndarray] = []
    monkeypatch.setattr(Window, "__init__", lambda self, title: None)
    monkeypatch.setattr(Window, "show", lambda self, frame, rate: shown.append(frame))
    return shown


@pytest.mark.parametrize("kind", SINGLES)
def test_a_window_follows_every_reset_and_every_step(kind: str, frames: list[np.ndarray]) -> None:
    windowed, drawn = MAKERS[kind](render_mode="human"), MAKERS[kind](render_mode="rgb_array")
    for count in range(1, 5):
        for env in (windowed, drawn):
            if count in (1, 4):
                env.reset(seed=count)
            else:
                env.step(env.position.legal_squares()[0])
        assert len(frames) == count
        np.testing.assert_array_equal(frames[-1], drawn.render())
