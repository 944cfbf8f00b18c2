from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from othello_env import (
    AgentError,
    Game,
    IllegalMoveError,
    OthelloSelfPlayVectorEnv,
    OthelloVectorEnv,
    Position,
    PositionBatch,
    othello_v0,
)
from othello_env.vector_env import sample_legal

MODES = list(AutoresetMode)
BOTH = [OthelloSelfPlayVectorEnv, OthelloVectorEnv]
SELF_PLAY_INFOS = {"to_move", "mover", "rewards_both", "passed", "ply", "illegal"}
# Black wins with c7 in this game, by taking the last disc.
NINE_MOVES = "f5f4c3c6c5d6f3c4"
# Black's one move takes White's one disc.
DOOMED = Position.parse("XO" + "-" * 62 + "X")


def play(env: Any, observation: Any, rng: np.random.Generator) -> Any:
    return env.step(sample_legal(observation["action_mask"], rng))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [{}, {"board_size": 4}, {"board_size": 6, "auto_pass": False}, {"board_size": 4, "random_plies": 3}])
def test_self_play_is_what_single_games_are(mode: AutoresetMode, options: dict[str, Any]) -> None:
    """Every game is followed on a `Position`; what the infos and the rewards say is checked against it."""
    env = OthelloSelfPlayVectorEnv(24, autoreset_mode=mode, **options)
    rng = np.random.default_rng(0)
    observation, infos = env.reset(seed=1)
    positions = list(env.positions)
    plies = [0] * 24
    waiting: Any = np.zeros(24, dtype=bool)
    ends = passes = 0
    for _ in range(150):
        actions = sample_legal(observation["action_mask"], rng)
        if mode == AutoresetMode.DISABLED and waiting.any():
            observation, infos = env.reset(options={"reset_mask": waiting})
            for row in np.flatnonzero(waiting).tolist():
                positions[row], plies[row] = env.positions[row], 0
            waiting[:] = False
            assert list(env.positions) == positions
            continue
        observation, rewards, terminated, truncated, infos = env.step(actions)
        assert not truncated.any()
        for row in range(24):
            if waiting[row]:  # with NEXT_STEP: a new game, whatever the action
                assert (rewards[row], terminated[row]) == (0, False)
                assert not infos["passed"][row]
                positions[row], plies[row] = env.positions[row], 0
                continue
            before = positions[row]
            after = before.play(int(actions[row]), auto_pass=env.positions.auto_pass)
            plies[row] += actions[row] != after.board_size**2
            assert terminated[row] == after.is_over
            outcome = after.outcome if after.is_over else 0
            assert infos["rewards_both"][row].tolist() == [outcome, -outcome]
            assert rewards[row] == (outcome if before.side_to_move == 0 else -outcome)
            assert infos["mover"][row] == before.side_to_move
            passed = not after.is_over and (after.side_to_move == before.side_to_move or actions[row] == after.board_size**2)
            assert infos["passed"][row] == passed
            passes += passed
            ends += after.is_over
            if after.is_over and mode == AutoresetMode.SAME_STEP:
                final = {name: value[row] for name, value in infos["final_obs"].items()}
                assert infos["_final_obs"][row]
                assert infos["_final_info"][row]
                assert infos["final_info"]["ply"][row] == plies[row]
                assert np.flatnonzero(final["action_mask"]).tolist() == [after.board_size**2]
                assert final["observation"].sum() == sum(after.discs)
                after, plies[row] = env.positions[row], 0
            positions[row] = after
        assert list(env.positions) == positions
        assert infos["to_move"].tolist() == [position.side_to_move for position in positions]
        assert infos["ply"].tolist() == plies
        waiting = terminated & (mode != AutoresetMode.SAME_STEP)
        assert env.observation_space.contains(observation)
        assert not infos["illegal"].any()
    assert ends > 20
    assert passes > 0 or not options


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("color", ["black", "white", "random"])
def test_the_learner_sees_its_own_turns_wins_and_losses(mode: AutoresetMode, color: Any) -> None:
    env = OthelloVectorEnv(50, autoreset_mode=mode, color=color, board_size=4)
    rng = np.random.default_rng(0)
    observation, infos = env.reset(seed=1)
    waiting = np.zeros(50, dtype=bool)
    seen = {1.0: 0, -1.0: 0, 0.0: 0}
    colors: set[int] = set()
    for _ in range(120):
        if mode == AutoresetMode.DISABLED and waiting.any():
            observation, infos = env.reset(options={"reset_mask": waiting})
            waiting[:] = False
        colors |= set(infos["color"].tolist())
        assert (env.positions.side_to_move == infos["color"])[~waiting].all()
        own = observation["observation"][..., 0].reshape(50, 16)
        expected = np.where(infos["color"] == 0, env.positions.discs[:, 0], env.positions.discs[:, 1])
        assert own.sum(axis=1).tolist() == expected.tolist()
        held = infos["color"].copy()
        observation, rewards, terminated, _, infos = play(env, observation, rng)
        if mode != AutoresetMode.SAME_STEP:
            for row in np.flatnonzero(terminated).tolist():
                outcome = env.positions[row].outcome
                assert rewards[row] == (outcome if held[row] == 0 else -outcome)
                assert np.flatnonzero(observation["action_mask"][row]).tolist() == [16]
        for reward in rewards[terminated].tolist():
            seen[reward] += 1
        assert (rewards[~terminated] == 0).all()
        waiting = terminated & (mode != AutoresetMode.SAME_STEP)
    assert colors == ({0} if color == "black" else {1} if color == "white" else {0, 1})
    assert min(seen.values()) > 0


def test_a_game_that_the_opponents_move_ends_is_lost_in_the_same_step() -> None:
    # After these six moves Black is to move; the learner has White, and Black's win comes on the
    # move after White's c4.
    calls = []

    def opponent(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        calls.append(observation.shape)
        wanted = 50 if mask[0, 50] and observation[0].sum() == 12 else int(np.flatnonzero(mask[0])[0])
        return np.array([wanted])

    start = Game.parse(NINE_MOVES[:-2]).final
    env = OthelloVectorEnv(1, opponent=opponent, color="white", openings=[start], autoreset_mode="Disabled")
    env.reset(seed=0)
    assert env.positions[0] == start
    _, rewards, terminated, _, _ = env.step([26])  # c4
    assert (rewards.tolist(), terminated.tolist()) == ([-1.0], [True])
    assert calls == [(1, 8, 8, 2)]


def test_the_opponent_is_asked_for_all_games_at_once_and_sees_its_own_side() -> None:
    asked: list[int] = []

    def opponent(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        asked.append(len(observation))
        assert (mask.sum(axis=1) > 0).all()
        own, opp = (observation[..., plane].sum(axis=(1, 2)) for plane in (0, 1))
        if len(asked) == 1:
            assert own.tolist() == opp.tolist() == [2] * len(own)
        return sample_legal(mask, rng)

    env = OthelloVectorEnv(40, opponent=opponent, color="white")
    observation, _ = env.reset(seed=0)
    assert asked == [40]
    assert (observation["observation"][..., 0].sum(axis=(1, 2)) == 1).all()  # one disc was turned
    play(env, observation, np.random.default_rng(0))
    assert len(asked) == 2


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("mode", MODES)
def test_an_illegal_action_ends_only_its_own_game(kind: Any, mode: AutoresetMode) -> None:
    env = kind(4, autoreset_mode=mode, **({"color": "black"} if kind is OthelloVectorEnv else {}))
    env.reset(seed=0)
    observation, rewards, terminated, _, infos = env.step([19, 0, 64, 26])
    assert terminated.tolist() == [False, True, True, False]
    assert rewards.tolist() == [0, -1, -1, 0]
    assert infos["illegal"].tolist() == [False, True, True, False]
    if kind is OthelloSelfPlayVectorEnv:
        assert infos["rewards_both"].tolist() == [[0, 0], [-1, 0], [-1, 0], [0, 0]]
    ended = infos["final_obs"] if mode == AutoresetMode.SAME_STEP else observation
    assert [np.flatnonzero(mask).tolist() for mask in ended["action_mask"][1:3]] == [[64], [64]]
    if mode == AutoresetMode.DISABLED:
        with pytest.raises(ValueError, match=r"envs \[1, 2\] are over"):
            env.step([64] * 4)
        observation, _ = env.reset(options={"reset_mask": terminated})
    elif mode == AutoresetMode.NEXT_STEP:
        observation, rewards, terminated, _, _ = env.step(sample_legal(observation["action_mask"], np.random.default_rng(0)))
        assert (rewards[1:3].tolist(), terminated[1:3].tolist()) == ([0, 0], [False, False])
    assert [position.discs for position in (env.positions[1], env.positions[2])] == [(2, 2)] * 2


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("mode", MODES)
def test_a_game_that_follows_an_illegal_action_is_a_whole_game(kind: Any, mode: AutoresetMode) -> None:
    env = kind(4, autoreset_mode=mode, **({"color": "white"} if kind is OthelloVectorEnv else {}))
    env.reset(seed=0)
    observation, _, terminated, _, _ = env.step([64] * 4)
    assert terminated.all()
    if mode == AutoresetMode.DISABLED:
        observation, _ = env.reset(options={"reset_mask": terminated})
    elif mode == AutoresetMode.NEXT_STEP:
        observation, *_ = env.step([64] * 4)
    rng = np.random.default_rng(0)
    for _ in range(5):
        assert (observation["action_mask"][:, :64].sum(axis=1) > 0).all()
        observation, _, terminated, _, infos = play(env, observation, rng)
        assert not terminated.any()
        assert not infos["illegal"].any()
    assert (env.positions.discs.sum(axis=1) > 8).all()


@pytest.mark.parametrize("kind", BOTH)
def test_the_first_reset_comes_first_and_is_of_all_games(kind: Any) -> None:
    env = kind(3, autoreset_mode="Disabled")
    with pytest.raises(ValueError, match="before the first reset"):
        env.step([19] * 3)
    with pytest.raises(ValueError, match="the first reset must be of all games"):
        env.reset(options={"reset_mask": np.array([True, False, False])})
    env.reset(options={"reset_mask": np.ones(3, dtype=bool)})
    for wrong in (5, [1], "f5"):
        with pytest.raises(ValueError, match="expected a dict"):
            env.reset(options=wrong)
    for seed in (1.5, [None, 1], "1", True):
        with pytest.raises(ValueError, match="seed .*: expected an integer, a sequence of them, or None"):
            env.reset(seed=seed)


INFOS: dict[str, tuple[str, tuple[int, ...]]] = {
    "to_move": ("int8", (6,)),
    "mover": ("int8", (6,)),
    "rewards_both": ("float32", (6, 2)),
    "passed": ("bool", (6,)),
    "ply": ("int64", (6,)),
    "illegal": ("bool", (6,)),
    "action_mask": ("int8", (6, 65)),
    "color": ("int8", (6,)),
}


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("mode", MODES)
def test_infos_have_the_same_keys_types_and_shapes_from_reset_on(kind: Any, mode: AutoresetMode) -> None:
    env = kind(6, autoreset_mode=mode)
    names = SELF_PLAY_INFOS if kind is OthelloSelfPlayVectorEnv else {"action_mask", "color", "ply", "illegal"}
    observation, infos = env.reset(seed=0)
    for _ in range(3):
        assert set(infos) == names | {f"_{name}" for name in names}
        for name in names:
            assert (str(infos[name].dtype), infos[name].shape) == INFOS[name]
            assert infos[f"_{name}"].tolist() == [True] * 6
        assert not infos["illegal"].any()
        assert not infos.get("rewards_both", np.zeros(1)).any()
        observation, *_, infos = play(env, observation, np.random.default_rng(0))
    _, infos = env.reset(seed=1, options={"reset_mask": np.ones(6, dtype=bool)})
    assert infos["ply"].max() <= 1
    if kind is OthelloSelfPlayVectorEnv:
        assert infos["to_move"].tolist() == infos["mover"].tolist() == [0] * 6
        assert not infos["passed"].any()


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("mode", MODES)
def test_a_partial_reset_leaves_the_other_games_alone(kind: Any, mode: AutoresetMode) -> None:
    env = kind(6, autoreset_mode=mode)
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(4):
        observation, *_ = play(env, observation, rng)
    before = list(env.positions)
    mask = np.array([True, False, True, False, False, False])
    observation, infos = env.reset(options={"reset_mask": mask})
    assert [env.positions[row] == before[row] for row in range(6)] == [False, True, False, True, True, True]
    assert (infos["ply"][mask] <= 1).all()
    assert (infos["ply"][~mask] >= 4).all()
    play(env, observation, rng)


def failing(position: Position) -> float:
    raise RuntimeError("no reward today")


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("mode", MODES)
def test_a_reward_function_that_raises_leaves_everything_as_it_was(kind: Any, mode: AutoresetMode) -> None:
    start = Game.parse(NINE_MOVES).final
    env = kind(2, openings=[start], reward=failing, autoreset_mode=mode, **({"color": "black"} if kind is OthelloVectorEnv else {}))
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(RuntimeError, match="no reward today"):
        env.step([50, 50])
    after = env.get_state()
    assert list(after["positions"]) == [start, start]
    assert not after["waiting_mask"].any()
    assert after["rng"] == before["rng"]


def test_an_interrupted_step_leaves_everything_as_it_was() -> None:
    interrupts = False

    def opponent(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        rng.random(3)
        if interrupts:
            raise KeyboardInterrupt
        return sample_legal(mask, rng)

    env = OthelloVectorEnv(2, opponent=opponent, color="black")
    env.reset(seed=0)
    before = env.get_state()
    interrupts = True
    with pytest.raises(KeyboardInterrupt):
        env.step([19, 19])
    with pytest.raises(KeyboardInterrupt):
        env.step([26, 19])
    assert list(env.positions) == list(before["positions"])
    assert env.get_state()["rng"] == before["rng"]


def test_a_start_that_leaves_the_learner_no_turn_is_drawn_again_or_refused() -> None:
    def last_disc(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(mask[:, 50] == 1, 50, sample_legal(mask, rng))

    ending, other = Game.parse(NINE_MOVES).final, Position.start()
    env = OthelloVectorEnv(40, opponent=last_disc, color="white", openings=[ending, other])
    env.reset(seed=0)
    assert not env.positions.is_over.any()
    assert {sum(position.discs) for position in env.positions} == {5}
    env = OthelloVectorEnv(2, opponent=last_disc, color="white", openings=[ending])
    with pytest.raises(ValueError, match="env 0: the game is over before the learner's first turn"):
        env.reset(seed=0)


@pytest.mark.parametrize("auto_pass", [True, False])
def test_openings_are_set_up_as_the_aec_environment_sets_them_up(auto_pass: bool) -> None:
    texts = ["f5f6d3g5h5h4f7h6", "f5f6d3g5h5h4f7h6 pass", "XO" + "-" * 62 + " O", "f5d6"]
    aec = othello_v0.env(auto_pass=auto_pass)
    expected = []
    for text in texts:
        aec.reset(options={"moves" if text[1].isdigit() else "position": text})
        expected.append(aec.position)
    for text, position in zip(texts, expected, strict=True):
        env = OthelloSelfPlayVectorEnv(1, openings=[text], auto_pass=auto_pass)
        env.reset()
        assert env.positions[0] == position


@pytest.mark.parametrize("auto_pass", [True, False])
def test_random_plies_are_discs_placed(auto_pass: bool) -> None:
    env = OthelloSelfPlayVectorEnv(2000, board_size=4, auto_pass=auto_pass, random_plies=6)
    env.reset(seed=0)
    assert set(env.positions.discs.sum(axis=1).tolist()) == {10}
    assert (env.positions.legal_moves == 0).any() == (not auto_pass)


def test_states_of_other_environments_are_refused_whole() -> None:
    env = OthelloVectorEnv(2)
    env.reset(seed=0)
    before = list(env.positions)
    others = [OthelloSelfPlayVectorEnv(2), OthelloVectorEnv(2, auto_pass=False), OthelloVectorEnv(2, board_size=6)]
    for other in others:
        other.reset(seed=1)
        with pytest.raises(ValueError, match="does not fit"):
            env.set_state(other.get_state())
    with pytest.raises(ValueError, match="expected a state from get_state"):
        env.set_state({})
    assert list(env.positions) == before


@pytest.mark.parametrize("kind", BOTH)
def test_a_clone_shares_no_space_and_no_metadata(kind: Any) -> None:
    env = kind(2)
    env.reset(seed=0)
    clone = env.clone()
    for name in ("action_space", "observation_space", "single_action_space", "single_observation_space", "metadata"):
        assert getattr(clone, name) == getattr(env, name)
        assert getattr(clone, name) is not getattr(env, name)


@pytest.mark.parametrize("kind", BOTH)
def test_illegal_actions_are_raised_or_replaced_where_asked(kind: Any) -> None:
    env = kind(3, illegal="raise")
    observation, _ = env.reset(seed=0)
    before = env.get_state()
    legal = sample_legal(observation["action_mask"], np.random.default_rng(0))
    with pytest.raises(IllegalMoveError, match="env 1: action 0 is illegal in "):
        env.step([legal[0], 0, legal[2]])
    assert list(env.positions) == list(before["positions"])
    env = kind(200, illegal="random", board_size=4)
    env.reset(seed=0)
    for _ in range(30):
        _, _, _, _, infos = env.step(np.full(200, 5))  # a square that is taken from the start
        assert infos["illegal"].any()
    assert env.positions.empties.min() < 6


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("mode", MODES)
def test_states_and_clones_go_on_alike(kind: Any, mode: AutoresetMode) -> None:
    env = kind(20, autoreset_mode=mode, board_size=4, random_plies=1, illegal="random")
    observation, _ = env.reset(seed=5)
    rng = np.random.default_rng(0)
    for _ in range(1 if mode == AutoresetMode.DISABLED else 6):
        observation, *_ = play(env, observation, rng)
    state, clone, copied, pickled = env.get_state(), env.clone(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))

    def follow(game: Any) -> list[Any]:
        moves, log = np.random.default_rng(3), []
        for _ in range(3 if mode == AutoresetMode.DISABLED else 25):
            observation, rewards, terminated, _, infos = game.step(moves.integers(16, size=20))
            log.append([observation["observation"].tolist(), rewards.tolist(), terminated.tolist(), infos["ply"].tolist()])
            if terminated.any() and mode == AutoresetMode.DISABLED:
                game.reset(options={"reset_mask": terminated})
        return log

    first = follow(env)
    assert follow(clone) == follow(copied) == follow(pickled) == first
    env.set_state(state)
    assert follow(env) == first
    other = kind(3)
    other.reset(seed=0)
    with pytest.raises(ValueError, match="state with num_envs 3 does not fit an environment with num_envs 20"):
        env.set_state(other.get_state())


@pytest.mark.parametrize("kind", BOTH)
def test_the_same_seed_gives_the_same_games(kind: Any) -> None:
    def log(seed: Any) -> list[Any]:
        env = kind(10, random_plies=4)
        observation, _ = env.reset(seed=seed)
        rng = np.random.default_rng(1)
        return [observation["observation"].tolist(), *(play(env, observation, rng)[0]["action_mask"].tolist() for _ in range(1))]

    assert log(3) == log(3) == log(np.int64(3))
    assert log(3) != log(4)
    assert log([1, 2]) == log([1, 2]) != log([2, 1])


@pytest.mark.parametrize("kind", BOTH)
def test_arrays_are_fresh_on_every_call(kind: Any) -> None:
    env = kind(5)
    results = [env.reset(seed=0)]
    rng = np.random.default_rng(0)
    for _ in range(3):
        observation, rewards, terminated, truncated, infos = play(env, results[-1][0], rng)
        results.append((observation, {**infos, "rewards": rewards, "terminated": terminated, "truncated": truncated}))
    arrays = [array for observation, infos in results for array in (*observation.values(), *infos.values())]
    for number, array in enumerate(arrays):
        assert array.flags.writeable
        assert not any(np.shares_memory(array, other) for other in arrays[number + 1 :])
        assert not any(np.shares_memory(array, getattr(env.positions, name)) for name in ("own", "opp", "legal_moves"))


@pytest.mark.parametrize("kind", BOTH)
def test_openings_and_random_plies_vary_the_starts(kind: Any) -> None:
    openings = ["f5d6", str(Game.parse("f5f6")), Game.parse("c4e3").final]
    env = kind(60, openings=openings, **({"color": "black"} if kind is OthelloVectorEnv else {}))
    env.reset(seed=0)
    assert {position.discs for position in env.positions} <= {(3, 3)}
    assert len(set(env.positions)) == 3
    env = kind(60, random_plies=5, **({"color": "white"} if kind is OthelloVectorEnv else {}))
    env.reset(seed=0)
    assert {sum(position.discs) for position in env.positions} == {9}
    assert len(set(env.positions)) > 40


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs 0"),
        ({"num_envs": 2.0}, "num_envs 2.0"),
        ({"board_size": 7}, "board_size 7"),
        ({"autoreset_mode": "never"}, "autoreset_mode 'never': expected an AutoresetMode, or one of NextStep, SameStep, Disabled"),
        ({"illegal": "ignore"}, "illegal 'ignore': expected one of terminate, raise, random"),
        ({"reward": "win"}, "outcome, disc_difference"),
        ({"scoring": "stones"}, "discs, empties_to_winner"),
        ({"openings": []}, "openings \\[\\]: expected a sequence of positions or transcripts"),
        ({"openings": "f5d6"}, "openings 'f5d6': expected a sequence"),
        ({"openings": [None]}, "opening 0: None is neither a position nor a transcript"),
        ({"openings": ["f5a1"]}, "opening 0: move 2: a1 is illegal"),
        ({"openings": ["f5", "X" * 64 + "O"]}, "opening 1: the game is over"),
        ({"openings": [Position.start(6)]}, "opening 0: .*a 6x6 board, but board_size is 8"),
        ({"openings": [Position.parse("X" * 64 + "O")]}, "opening 0: the game is over"),
        ({"auto_pass": "no"}, "auto_pass 'no': expected True or False"),
        ({"random_plies": -1}, "random_plies -1"),
        ({"random_plies": 2.5}, "random_plies 2.5: expected an integer from 0"),
        ({"render_mode": "svg"}, "render_mode 'svg'"),
        ({"channels": "none"}, "channels 'none'"),
    ],
)
def test_an_unknown_option_value_is_refused_in_one_line(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        kind(**{"num_envs": 2, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mask", [[True, False], np.array([1, 0]), np.array([True]), np.array([False, False]), True])
@pytest.mark.parametrize("kind", BOTH)
def test_a_wrong_reset_mask_is_refused(kind: Any, mask: Any) -> None:
    env = kind(2)
    env.reset(seed=0)
    before = list(env.positions)
    with pytest.raises(ValueError, match=r"reset_mask: .*expected a bool array of shape \(2,\)"):
        env.reset(seed=1, options={"reset_mask": mask})
    assert list(env.positions) == before


@pytest.mark.parametrize("actions", [[19], [[19, 19]], [19.0, 19.0], ["d3", "d3"], None, 19])
@pytest.mark.parametrize("kind", BOTH)
def test_actions_of_a_wrong_shape_or_type_are_refused(kind: Any, actions: Any) -> None:
    env = kind(2)
    env.reset(seed=0)
    before = list(env.positions)
    with pytest.raises(ValueError, match=r"actions: .*expected integers of shape \(2,\)"):
        env.step(actions)
    assert list(env.positions) == before


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda mask: np.zeros(len(mask), dtype=int), "^opponent opponent: illegal move: a1 in "),
        (lambda mask: np.zeros(1), r"^opponent opponent: invalid output: float64 of shape \(1,\); expected \d+ integers"),
        (lambda mask: None, "^opponent opponent: invalid output: object"),
        (lambda mask: 1 / 0, "^opponent opponent: error: ZeroDivisionError: division by zero"),
    ],
)
def test_an_opponent_that_fails_is_named_and_nothing_has_changed(answer: Any, message: str) -> None:
    fails = False

    def opponent(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> Any:
        rng.random()
        return answer(mask) if fails else sample_legal(mask, rng)

    env = OthelloVectorEnv(6, opponent=opponent)
    observation, _ = env.reset(seed=0)
    before = env.get_state()
    actions = sample_legal(observation["action_mask"], np.random.default_rng(0))
    fails = True
    with pytest.raises(AgentError, match=message) as caught:
        env.step(actions)
    assert "\n" not in str(caught.value)
    with pytest.raises(AgentError):
        env.reset()
    after = env.get_state()
    assert list(before["positions"]) == list(after["positions"])
    assert before["rng"] == after["rng"]
    fails = False
    env.step(actions)


def test_random_plies_that_leave_no_game_are_refused() -> None:
    env = OthelloSelfPlayVectorEnv(2, openings=[DOOMED], random_plies=2)
    with pytest.raises(ValueError, match="random_plies 2: the game was over in each of 100 draws"):
        env.reset(seed=0)


def test_rewards_follow_the_options() -> None:
    start = Game.parse(NINE_MOVES).final
    for options, reward in (({"reward": "disc_difference"}, 13), ({"reward": "disc_difference", "scoring": "empties_to_winner"}, 64)):
        env = OthelloSelfPlayVectorEnv(1, openings=[start], autoreset_mode="SameStep", **options)  # type: ignore[arg-type]
        env.reset()
        _, rewards, _, _, infos = env.step([50])
        assert rewards.tolist() == [reward]
        assert infos["rewards_both"].tolist() == [[reward, -reward]]
    env = OthelloSelfPlayVectorEnv(1, openings=[start], reward=lambda position: 0.25)
    env.reset()
    assert env.step([50])[1].tolist() == [0.25]
    env = OthelloSelfPlayVectorEnv(1, reward="disc_difference")
    env.reset()
    assert env.step([0])[1].tolist() == [-64]


def test_sampled_actions_are_legal_and_evenly_spread() -> None:
    mask = PositionBatch.start(8000).legal_action_mask()
    actions = sample_legal(mask, np.random.default_rng(0))
    counts = np.bincount(actions, minlength=65)
    assert set(np.flatnonzero(counts)) == {19, 26, 37, 44}
    assert (abs(counts[[19, 26, 37, 44]] - 2000) < 250).all()
    only_pass = np.eye(65, dtype=np.int8)[[64, 64]]
    assert sample_legal(only_pass, np.random.default_rng(0)).tolist() == [64, 64]
    assert sample_legal(np.eye(37, dtype=bool)[[36, 5]], np.random.default_rng(0)).tolist() == [36, 5]


@pytest.mark.parametrize("mode", MODES)
def test_gymnasium_makes_both_without_a_warning(mode: AutoresetMode) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = gymnasium.make_vec("othello_env/Othello-v0", num_envs=3, autoreset_mode=mode, color="white")
        self_play = gymnasium.make_vec("othello_env/OthelloSelfPlay-v0", num_envs=3, autoreset_mode=mode)
    assert type(learner.unwrapped) is OthelloVectorEnv
    assert type(self_play.unwrapped) is OthelloSelfPlayVectorEnv
    for env in (learner, self_play):
        assert env.metadata["autoreset_mode"] is mode
        assert env.unwrapped.autoreset_mode is mode  # type: ignore[attr-defined]
        observation, _ = env.reset(seed=1)
        assert env.observation_space.contains(observation)
    assert OthelloSelfPlayVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_gymnasiums_episode_statistics_are_the_learners(mode: AutoresetMode) -> None:
    env = RecordEpisodeStatistics(OthelloVectorEnv(30, autoreset_mode=mode, board_size=4))
    observation, _ = env.reset(seed=0)
    rng = np.random.default_rng(0)
    returns, expected = [], []
    for _ in range(40):
        observation, rewards, terminated, _, infos = play(env, observation, rng)
        if "episode" in infos:
            returns += infos["episode"]["r"][infos["_episode"]].tolist()
        expected += rewards[terminated].tolist()
    assert sorted(returns) == sorted(expected)
    assert len(returns) > 50


def test_boards_are_rendered_as_texts() -> None:
    env = OthelloSelfPlayVectorEnv(2, render_mode="ansi")
    env.reset()
    boards = env.render()
    assert boards is not None
    assert [board.splitlines()[-1] for board in boards] == ["X 2  O 2  Black to move"] * 2
    assert OthelloSelfPlayVectorEnv(1).render() is None
