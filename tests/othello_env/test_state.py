from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from othello_env import Game, Position, PositionBatch, othello_v0
from othello_env.state import copy_generator, restore_generator
from tests.othello_env.environments import KINDS, MAKERS, NAMES, PASS_AFTER_EIGHT, VECTORS, play, position_of, prepared, snapshot

# A state has the generator, and not the seed that it once came from.
UNKNOWN_SEED = {"_np_random_seed": "-1"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_state_counts_as_a_reset(kind: str) -> None:
    env = prepared(kind)
    state = env.get_state()
    for restored in (state, pickle.loads(pickle.dumps(state))):
        fresh, twin = MAKERS[kind](), env.clone()
        fresh.set_state(restored)
        assert snapshot(fresh) | UNKNOWN_SEED == snapshot(env) | UNKNOWN_SEED
        for game in (fresh, twin):
            play(game, position_of(env).legal_squares()[0])
        assert position_of(fresh) == position_of(twin) != position_of(env)


@pytest.mark.parametrize("inside", [False, True])
def test_a_fresh_guarded_environment_can_be_used_once_its_state_is_set(inside: bool) -> None:
    env = othello_v0.env(render_mode="ansi")
    (env.unwrapped if inside else env).set_state(prepared("env").get_state())
    assert env.last()[1:4] == (0.0, False, False)
    assert env.agents == ["player_0", "player_1"]
    assert env.observe("player_0")["observation"].sum() == env.state()[..., :2].sum() == 6
    assert "X 3  O 3" in str(env.render())
    agents = 0
    for agent in env.agent_iter():
        assert agent == env.agent_selection
        _, _, termination, truncation, _ = env.last()
        env.step(None if termination or truncation else env.position.legal_squares()[0])
        agents += 1
    assert agents > 20


@pytest.mark.parametrize("kind", KINDS)
def test_before_the_first_reset_there_is_no_state_but_a_clone(kind: str) -> None:
    with pytest.raises(ValueError, match=r"get_state\(\) before the first reset\(\)"):
        MAKERS[kind]().get_state()
    clone = MAKERS[kind]().clone()
    clone.reset(seed=0)
    assert position_of(clone) == Position.start()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fresh", [True, False])
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(kind: str, fresh: bool) -> None:
    env = MAKERS[kind]() if fresh else prepared(kind)
    good = prepared(kind).get_state()
    before = snapshot(env)

    def refuses(state: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message) as caught:
            env.set_state(state)
        assert "\n" not in str(caught.value)
        assert {name: snapshot(env)[name] for name in before} == before

    for board_size in (4, 6):
        refuses(prepared(kind, board_size=board_size).get_state(), f"board_size {board_size} does not fit an environment with board_size 8")
    refuses(prepared(kind, auto_pass=False).get_state(), "auto_pass False does not fit an environment with auto_pass True")
    for other in KINDS:
        if NAMES[other] != NAMES[kind]:
            refuses(prepared(other).get_state(), "state with environment .* does not fit")
    nothings: list[Any] = [{}, None, 5, [], "state"]
    for nothing in nothings:
        refuses(nothing, "expected a state from get_state")
    for name in good:
        refuses({key: value for key, value in good.items() if key != name}, f"state without {name}")
        for wrong in ("wrong", b"", [5], object(), 2.5, -1, np.zeros(3), {"state": 5}):
            refuses({**good, name: wrong}, "random generator" if name == "rng" else f"state with {name}")
    refuses({**good, "rng": {**good["rng"], "state": 5}}, "random generator")
    env.set_state(good)


def test_a_state_whose_parts_contradict_each_other_is_refused() -> None:
    env = prepared("env")
    good, before = env.get_state(), snapshot(env)
    must_pass = Game.parse(PASS_AFTER_EIGHT[:-2]).final.play("h6", auto_pass=False)
    for name, changes in (
        ("terminations", {"position": Position.parse("X" * 64 + "O")}),
        ("position", {"position": must_pass}),
        ("position", {"position": Position.start(6)}),
        ("agent_selection", {"agent_selection": "player_1"}),
        ("agents", {"agents": ["player_1", "player_0"]}),
        ("agents", {"agents": ("player_0", "player_1")}),
        ("rewards", {"agents": ["player_0"]}),
        ("terminations", {"terminations": {"player_0": False}}),
        ("truncations", {"truncations": {"player_0": 0, "player_1": 0}}),
        ("rewards", {"rewards": {"player_0": "1", "player_1": 0.0}}),
        ("infos", {"infos": {"player_0": {}, "player_1": None}}),
        ("last_move", {"last_move": 65}),
        ("last_move", {"last_move": True}),
        ("skip_agent_selection", {"skip_agent_selection": "player_2"}),
    ):
        with pytest.raises(ValueError, match=f"state with {name} "):
            env.set_state({**good, **changes})
        assert snapshot(env) == before


@pytest.mark.parametrize("kind", VECTORS)
def test_arrays_that_contradict_the_positions_are_refused(kind: str) -> None:
    env = prepared(kind)
    good, before = env.get_state(), snapshot(env)
    for changes in (
        {"positions": PositionBatch.from_positions([Position.parse("X" * 64 + "O")] * 2)},
        {"positions": PositionBatch.start(3)},
        {"positions": PositionBatch.start(2, 6)},
        {"positions": PositionBatch.start(2, auto_pass=False)},
        {"waiting_mask": np.array([True, False])},
        {"forfeited_mask": np.array([True, False])},
        {"plies": np.array([-1, 0])},
        {"plies": np.array([0, 0, 0])},
        {"colors": np.array([2, 0], dtype=np.int8)},
        {"colors": np.array([0, 0])},
    ):
        with pytest.raises(ValueError, match="^state with [^\n]*$"):
            env.set_state({**good, **changes})
        assert snapshot(env) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_does_not_change_when_the_environment_goes_on(kind: str) -> None:
    env = prepared(kind)
    state, before = env.get_state(), snapshot(env)
    for _ in range(4):
        play(env, position_of(env).legal_squares()[0])
    env.set_state(state)
    assert snapshot(env) | UNKNOWN_SEED == before | UNKNOWN_SEED


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.SFC64, np.random.Philox])
def test_generators_are_copied_and_restored(bits: type[Any]) -> None:
    rng = np.random.Generator(bits(3))
    rng.random(3)
    state = rng.bit_generator.state
    copied, restored = copy_generator(rng), restore_generator(state, np.random.default_rng(0))
    drawn = rng.random(5).tolist()
    assert copied.random(5).tolist() == restored.random(5).tolist() == drawn
    assert copied.spawn(1)[0].random() != rng.spawn(1)[0].random()  # both take seeds from the same sequence


@pytest.mark.parametrize("name", ["Generator", "RandomState", "BitGenerator", "beta", "seed", "no_such", None, 5])
def test_a_state_of_something_else_restores_no_generator(name: Any) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="^state of the random generator: "):
        restore_generator({**rng.bit_generator.state, "bit_generator": name}, rng)


def test_the_seed_is_unknown_after_a_state_is_restored() -> None:
    """-1 is Gymnasium's number for a generator that was set from outside."""
    env = prepared("OthelloEnv")
    assert env.np_random_seed == 3
    env.set_state(env.get_state())
    assert env.np_random_seed == -1


@pytest.mark.parametrize("make", [othello_v0.env, othello_v0.raw_env])
def test_a_loop_over_agents_goes_on_after_a_state_is_restored(make: Any) -> None:
    """PettingZoo's loop wants a `step` or a `reset` in each round, and a restored state counts as a reset."""
    env = make()
    env.reset(seed=0)
    start, rounds = env.get_state(), 0
    for _ in env.agent_iter():
        rounds += 1
        if rounds == 6:
            break
        if rounds % 2:
            env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
        else:
            env.set_state(start)
    assert rounds == 6
