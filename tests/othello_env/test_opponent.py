from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from agents import make_agent
from othello_env import AgentError, Game, OthelloEnv, OthelloVectorEnv, Position, PositionBatch, sample_legal
from tests.agents.test_league import PLAYER
from tests.othello_env.environments import PASS_AFTER_EIGHT, first_legal, snapshot

ENVIRONMENTS = [OthelloEnv, OthelloVectorEnv]
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"channels": "first"},
    {"flat": True, "dtype": "float32"},
    {"legal_plane": True, "dtype": "bool"},
    {"channels": "first", "flat": True, "legal_plane": True, "dtype": "uint8"},
]


class Recorder:
    """Agent that plays the first legal move and keeps what it was asked."""

    name = "recorder"

    def __init__(self) -> None:
        self.asked: list[list[Position]] = []
        self.auto_pass: set[bool] = set()

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        self.asked.append(list(positions))
        self.auto_pass.add(positions.auto_pass)
        return positions.legal_action_mask().argmax(axis=1)

    def __call__(self, observation: Any, mask: Any, rng: Any) -> Any:
        raise AssertionError("an agent is asked as one, even if it can be called")

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("this agent holds a process")


def finish(env: Any, rng: np.random.Generator) -> None:
    """Play random games with an environment."""
    observation, _ = env.reset(seed=0)
    for _ in range(40):
        mask = observation["action_mask"]
        if hasattr(env, "num_envs"):
            observation, *_ = env.step(sample_legal(mask, rng))
        else:
            observation, _, terminated, _, _ = env.step(rng.choice(np.flatnonzero(mask)))
            if terminated:
                observation, _ = env.reset()


@pytest.mark.parametrize("make", ENVIRONMENTS)
@pytest.mark.parametrize("auto_pass", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_an_agent_gets_the_positions_themselves_whatever_the_layout(make: Any, auto_pass: bool, layout: Any) -> None:
    agent = Recorder()
    games = {"num_envs": 20} if make is OthelloVectorEnv else {}
    env = make(opponent=agent, auto_pass=auto_pass, color="white", board_size=4, **games, **layout)
    finish(env, np.random.default_rng(0))
    assert agent.auto_pass == {auto_pass}
    assert agent.asked[0] == [Position.start(4)] * getattr(env, "num_envs", 1)
    asked = [position for positions in agent.asked for position in positions]
    assert {position.side_to_move for position in asked} == {0}
    assert any(position.must_pass for position in asked) == (not auto_pass)


@pytest.mark.parametrize("make", ENVIRONMENTS)
@pytest.mark.parametrize("spec", ["greedy", "positional:table=swh", "heuristics", "ntuple"])
@pytest.mark.parametrize("auto_pass", [True, False])
def test_agents_beat_a_random_learner(make: Any, spec: str, auto_pass: bool) -> None:
    if spec == "ntuple":
        pytest.importorskip("safetensors")
    rng, results = np.random.default_rng(0), []
    options = {"opponent": make_agent(spec), "auto_pass": auto_pass}
    if make is OthelloEnv:
        env: Any = OthelloEnv(**options)  # type: ignore[arg-type]
        for seed in range(12):
            observation, _ = env.reset(seed=seed)
            terminated = False
            while not terminated:
                observation, reward, terminated, _, _ = env.step(rng.choice(np.flatnonzero(observation["action_mask"])))
            results.append(reward)
    else:
        env = OthelloVectorEnv(100, autoreset_mode="SameStep", **options)  # type: ignore[arg-type]
        observation, _ = env.reset(seed=0)
        for _ in range(70):
            observation, rewards, terminated, _, _ = env.step(sample_legal(observation["action_mask"], rng))
            results += rewards[terminated].tolist()
        assert len(results) >= 100
    assert np.mean(results) < (-0.1 if make is OthelloVectorEnv else 0.5)


@pytest.mark.parametrize("make", ENVIRONMENTS)
def test_an_agent_may_play_the_colors_differently(make: Any, tmp_path: Path) -> None:
    (tmp_path / "player.txt").write_text(PLAYER)
    agent = make_agent(f"league:{tmp_path / 'player.txt'},view=black")
    finish(make(opponent=agent), np.random.default_rng(0))


@pytest.mark.parametrize("make", ENVIRONMENTS)
def test_an_agent_passes_where_it_must(make: Any) -> None:
    env = make(opponent=make_agent("greedy"), color="white", auto_pass=False)
    opening = PASS_AFTER_EIGHT[:-2]
    if make is OthelloVectorEnv:
        env = make(opponent=make_agent("greedy"), color="white", auto_pass=False, openings=[opening])
        env.reset(seed=0)
        env.step([47])  # h6, after which Black must pass
        position = env.positions[0]
    else:
        env.reset(seed=0, options={"moves": opening})
        env.step(47)
        position = env.position
    assert position == Game.parse(PASS_AFTER_EIGHT).final
    assert position.side_to_move == 1


@pytest.mark.parametrize("opponent", [None, "random"])
def test_the_random_opponent_is_the_default_in_one_game_and_in_many(opponent: Any) -> None:
    for make in ENVIRONMENTS:
        games = []
        for options in ({}, {"opponent": opponent}):
            env = make(**options)
            assert env.opponent == "random"
            finish(env, np.random.default_rng(0))
            games.append(snapshot(env))
        assert games[0] == games[1]


def test_the_random_opponent_chooses_each_legal_move_equally_often() -> None:
    env = OthelloEnv(color="white")
    replies = {Position.start().play(square): 0 for square in (19, 26, 37, 44)}
    for seed in range(400):
        env.reset(seed=seed)
        replies[env.position] += 1
    assert min(replies.values()) > 70


@pytest.mark.parametrize("make", ENVIRONMENTS)
@pytest.mark.parametrize("opponent", ["greedy", "Random", 5, object(), [], np.zeros(3), Recorder, {"select_moves": 1}])
def test_what_cannot_be_an_opponent_is_refused(make: Any, opponent: Any) -> None:
    expected = r"^opponent .*: expected 'random', an agent \(an object with select_moves\(positions, rng\)\), or a function"
    with pytest.raises(ValueError, match=expected):
        make(opponent=opponent)
    env = make()
    with pytest.raises(ValueError, match=expected):
        env.opponent = opponent
    assert env.opponent == "random"


@pytest.mark.parametrize("make", ENVIRONMENTS)
def test_an_agent_for_another_board_size_is_refused(make: Any) -> None:
    agent: Any = Recorder()
    agent.board_size = 6
    make(opponent=agent, board_size=6)
    with pytest.raises(ValueError, match="^recorder plays on board_size 6, not 8$"):
        make(opponent=agent)
    env = make()
    with pytest.raises(ValueError, match="^recorder plays on board_size 6, not 8$"):
        env.opponent = agent


@pytest.mark.parametrize("make", ENVIRONMENTS)
def test_an_opponent_can_be_replaced_between_games(make: Any) -> None:
    env, agent = make(color="white"), Recorder()
    env.opponent = agent
    assert env.opponent is agent
    env.reset(seed=0)
    assert agent.asked
    env.opponent = first_legal
    env.reset(seed=0)
    assert len(agent.asked) == 1


def test_registered_environments_take_agents_that_cannot_be_copied() -> None:
    agent = Recorder()
    environments: list[Any] = [
        gymnasium.make("othello_env/Othello-v0", opponent=agent, color="white"),
        gymnasium.make_vec("othello_env/Othello-v0", num_envs=3, opponent=agent, color="white"),
    ]
    for env in environments:
        env.reset(seed=0)
        assert env.unwrapped.opponent is agent
    assert [len(positions) for positions in agent.asked] == [1, 3]


class Failing(Recorder):
    """Agent that fails after it has drawn from the generator, once it is told to."""

    name = "failing"

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer, self.fails = answer, False

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        rng.random(3)
        moves = super().select_moves(positions, rng)
        positions.own[:] = 0
        return self.answer(moves) if self.fails else moves


@pytest.mark.parametrize("make", ENVIRONMENTS)
@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        (lambda moves: moves * 0, "illegal move", "^failing: illegal move: a1 in "),
        (lambda moves: moves + 100, "illegal move", r"^failing: illegal move: \d{3} in "),
        (lambda moves: moves.astype(float), "invalid output", "^failing: invalid output: float64"),
        (lambda moves: moves[:, None], "invalid output", r"^failing: invalid output: int64 of shape \(\d, 1\)"),
        (lambda moves: None, "invalid output", "^failing: invalid output: object"),
        (lambda moves: 1 / 0, "error", "^failing: error: ZeroDivisionError: division by zero$"),
    ],
)
def test_a_failing_agent_is_an_agent_error_and_changes_nothing(make: Any, answer: Any, reason: str, message: str) -> None:
    agent = Failing(answer)
    env = make(opponent=agent, color="white")
    observation, _ = env.reset(seed=0)
    before = snapshot(env)
    action = observation["action_mask"].argmax(axis=-1)
    agent.fails = True
    for seed in ("step", None, 5):
        with pytest.raises(AgentError, match=message) as caught:
            env.step(action) if seed == "step" else env.reset(seed=seed)
        assert caught.value.reason == reason
        assert "\n" not in str(caught.value)
        assert snapshot(env) == before
    agent.fails = False
    env.step(action)


def test_a_function_gets_one_observation_in_one_game_and_a_batch_in_many() -> None:
    shapes = []

    def opponent(observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> Any:
        shapes.append((observation.shape, mask.shape, str(observation.dtype)))
        return mask.argmax(axis=-1)

    OthelloEnv(opponent=opponent, color="white", channels="first", dtype="float32").reset(seed=0)
    OthelloVectorEnv(3, opponent=opponent, color="white", flat=True).reset(seed=0)
    assert shapes == [((2, 8, 8), (65,), "float32"), ((3, 128), (3, 65), "int8")]


@pytest.mark.parametrize("answer", [int, np.int8, np.array, lambda move: np.array([move]), lambda move: [move]])
def test_a_function_of_one_observation_may_answer_in_any_integer(answer: Any) -> None:
    env = OthelloEnv(opponent=lambda observation, mask, rng: answer(int(mask.argmax())), color="white")
    env.reset(seed=0)
    assert sum(env.position.discs) == 5
