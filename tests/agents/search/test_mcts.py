from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents import make_agent
from agents.greedy import disc_difference
from agents.search import mcts
from agents.search.leaf import AfterstateEvaluator, Evaluation, RolloutEvaluator
from agents.search.mcts import MCTSAgent, Searches, SearchResult, SearchSettings, considered_visits, mcts_agent, search, tree_bytes
from othello_env import Position, PositionBatch
from othello_env.squares import parse_square
from tests.agents.search.test_leaf import late_positions
from tests.agents.test_base import mixed_positions
from training.evaluation.match import play_match

NEVER = 1e18  # a pb_c_base that leaves pb_c_init a constant


@dataclass
class ConstantEvaluator:
    """The same value for every side to move, uniform policy. Counts calls, and refuses what no evaluator should see."""

    value: float = 0.0
    sizes: list[int] = field(default_factory=list)

    def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
        assert len(positions)
        assert not positions.is_over.any()
        assert (positions.legal_moves != 0).all()
        fresh = PositionBatch(positions.own, positions.opp, positions.side_to_move, board_size=positions.board_size)
        assert list(fresh) == list(positions)
        assert (fresh.legal_moves == positions.legal_moves).all()
        self.sizes.append(len(positions))
        return Evaluation(None, np.full(len(positions), self.value, dtype=np.float32))


@dataclass
class TableEvaluator:
    """Values of some positions; 0 for the others."""

    values: dict[Position, float]

    def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
        return Evaluation(None, np.array([self.values.get(position, 0.0) for position in positions], dtype=np.float32))


class ScatteredEvaluator:
    """Values and policies that differ from position to position without any order, and are always the same for one position."""

    def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
        words = positions.own * np.uint64(0x9E3779B97F4A7C15) ^ positions.opp * np.uint64(0xC2B2AE3D27D4EB4F)
        words = words[:, None] + np.arange(positions.pass_square + 2, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
        numbers = (words >> np.uint64(40)).astype(np.float32) / 2**23 - 1
        return Evaluation(2 * numbers[:, 1:], numbers[:, 0])


def batch_of(*positions: Position) -> PositionBatch:
    return PositionBatch.from_positions(positions)


def run(positions: PositionBatch, evaluator: Any = None, *, seed: int = 0, **settings: Any) -> SearchResult:
    return search(positions, evaluator or ScatteredEvaluator(), settings=SearchSettings(**settings), rng=np.random.default_rng(seed))


@cache
def solve(position: Position) -> int:
    """The outcome with best play, from the view of the side to move."""
    if position.is_over:
        return position.outcome * (1 - 2 * position.side_to_move)
    return max(value_of_move(position, square, solve) for square in position.legal_squares())


def value_of_move(position: Position, square: int, value: Callable[[Position], int]) -> int:
    child = position.play(square)
    return value(child) if child.side_to_move == position.side_to_move else -value(child)


# A slow search in the plainest words, to compare with.


class Node:
    def __init__(self, position: Position, evaluator: Any) -> None:
        self.position = position
        self.squares = position.legal_squares()
        self.visits = dict.fromkeys(self.squares, 0)
        self.value_sums = dict.fromkeys(self.squares, 0.0)
        self.children: dict[int, Node] = {}
        if position.is_over:
            self.value = float(position.outcome * (1 - 2 * position.side_to_move))
            return
        logits, values = evaluator.evaluate(batch_of(position), np.random.default_rng(0))
        self.value = float(values[0])
        weights = [math.exp(logits[0, square]) for square in self.squares]
        self.priors = {square: weight / sum(weights) for square, weight in zip(self.squares, weights, strict=True)}

    def puct_move(self, settings: SearchSettings) -> int:
        num_visits = 1 + sum(self.visits.values())
        mean = (self.value + sum(self.value_sums.values())) / num_visits
        factor = settings.pb_c_init + math.log((1 + num_visits + settings.pb_c_base) / settings.pb_c_base)

        def score(square: int) -> float:
            visits = self.visits[square]
            value = self.value_sums[square] / visits if visits else mean - settings.fpu_reduction
            return value + factor * self.priors[square] * math.sqrt(num_visits) / (1 + visits)

        return max(self.squares, key=score)

    def completed_logits(self, settings: SearchSettings) -> dict[int, float]:
        visited = [square for square in self.squares if self.visits[square]]
        values = {square: self.value_sums[square] / self.visits[square] for square in visited}
        mixed = self.value
        if visited:
            mean = sum(self.priors[s] * values[s] for s in visited) / sum(self.priors[s] for s in visited)
            num_visits = sum(self.visits.values())
            mixed = (self.value + num_visits * mean) / (1 + num_visits)
        scale = (settings.maxvisit_init + max(self.visits.values())) * settings.value_scale
        return {square: math.log(self.priors[square]) + scale * values.get(square, mixed) for square in self.squares}

    def improved_policy(self, settings: SearchSettings) -> dict[int, float]:
        logits = self.completed_logits(settings)
        weights = {square: math.exp(logit - max(logits.values())) for square, logit in logits.items()}
        return {square: weight / sum(weights.values()) for square, weight in weights.items()}

    def gumbel_move(self, settings: SearchSettings) -> int:
        policy, num_visits = self.improved_policy(settings), sum(self.visits.values())
        return max(self.squares, key=lambda square: policy[square] - self.visits[square] / (1 + num_visits))

    def considered_move(self, settings: SearchSettings) -> int:
        num_considered = min(settings.max_num_considered_actions, len(self.squares))
        wanted = considered_visits(num_considered, settings.simulations)[0][sum(self.visits.values())]
        logits = self.completed_logits(settings)
        return max((square for square in self.squares if self.visits[square] == wanted), key=lambda square: logits[square])

    def simulate(self, settings: SearchSettings, evaluator: Any, passes: list[Position], *, root: bool = True) -> float:
        """One walk from here. Returns the value that it brings back, from the view of the side to move here."""
        if self.position.is_over:
            return self.value
        if settings.method == "puct":
            square = self.puct_move(settings)
        else:
            square = self.considered_move(settings) if root else self.gumbel_move(settings)
        if square in self.children:
            child = self.children[square]
            value = child.simulate(settings, evaluator, passes, root=False)
        else:
            child = self.children[square] = Node(self.position.play(square), evaluator)
            value = child.value
        if child.position.side_to_move != self.position.side_to_move:
            value = -value
        elif not child.position.is_over:
            passes.append(child.position)
        self.visits[square] += 1
        self.value_sums[square] += value
        return value


def slow_search(position: Position, settings: SearchSettings, passes: list[Position]) -> Node:
    root = Node(position, ScatteredEvaluator())
    for _ in range(settings.simulations):
        root.simulate(settings, ScatteredEvaluator(), passes)
    return root


def varied_positions(rng: np.random.Generator) -> list[Position]:
    """Openings and endgames of all board sizes with a choice to make; passes and ends are near in many."""
    positions = [Position.start(n) for n in (4, 6, 8)]
    for board_size, empties in ((4, 3), (4, 5), (4, 7), (6, 5), (6, 9), (8, 6), (8, 10), (8, 30)):
        positions += late_positions(rng, count=6, empties=empties, board_size=board_size)
    return [position for position in positions if len(position.legal_squares()) > 1]


@pytest.mark.parametrize(
    "settings",
    [
        SearchSettings(simulations=60),
        SearchSettings(simulations=60, pb_c_init=0.4, pb_c_base=30.0, fpu_reduction=0.2),
        SearchSettings(simulations=60, method="gumbel", gumbel_scale=0.0),
        SearchSettings(simulations=37, method="gumbel", gumbel_scale=0.0, max_num_considered_actions=3, value_scale=0.02),
    ],
    ids=["puct", "puct-2", "gumbel", "gumbel-2"],
)
def test_visits_are_those_of_a_slow_search_in_plain_words(settings: SearchSettings, rng: np.random.Generator) -> None:
    passes: list[Position] = []
    for position in varied_positions(rng):
        root = slow_search(position, settings, passes)
        result = search(batch_of(position), ScatteredEvaluator(), settings=settings, rng=rng)
        visits = {square: int(result.visit_counts[0, square]) for square in root.squares}
        assert visits == root.visits, position
        assert result.visit_counts.sum() == settings.simulations
        mean = (root.value + sum(root.value_sums.values())) / (1 + settings.simulations)
        assert result.root_values[0] == pytest.approx(mean, abs=1e-5)
        for square in root.squares:
            if visits[square]:
                assert result.q_values[0, square] == pytest.approx(root.value_sums[square] / visits[square], abs=1e-5)
            share = visits[square] / settings.simulations if settings.method == "puct" else root.improved_policy(settings)[square]
            assert result.policy[0, square] == pytest.approx(share, abs=1e-4)
    assert len(passes) > 50


def test_visits_worked_by_hand() -> None:
    """Four moves, exploration sqrt(N) / (4 (1 + n)), the first move's position is worth +0.5 to the mover, all others 0.

    Scores before each walk: 0.25 four times: the first move. Mean 0.25: 0.5 + 0.354 / 2 = 0.677
    against 0.25 + 0.354: the first again, on to a value of 0. Mean 0.167: 0.25 + 0.433 / 3 against
    0.167 + 0.433: the second. Mean 0.125: 0.25 + 0.5 / 3 and 0.5 / 2 against 0.125 + 0.5: the
    third.
    """
    start = Position.start(4)
    first, second, third, fourth = start.legal_squares()
    evaluator = TableEvaluator({start.play(first): -0.5})
    result = run(batch_of(start), evaluator, simulations=4, pb_c_init=1.0, pb_c_base=NEVER)
    assert [int(result.visit_counts[0, square]) for square in (first, second, third, fourth)] == [2, 1, 1, 0]
    assert result.q_values[0, [first, second, third]].tolist() == [0.25, 0.0, 0.0]
    assert math.isnan(result.q_values[0, fourth])
    assert result.root_values[0] == pytest.approx(0.1)
    assert result.moves[0] == first
    assert result.policy[0, first] == 0.5


def test_a_value_keeps_its_sign_where_the_opponent_must_pass(rng: np.random.Generator) -> None:
    num_passes = 0
    for position in late_positions(rng, count=300, empties=5, board_size=4):
        squares = position.legal_squares()
        children = [position.play(square) for square in squares]
        if len(squares) < 2 or any(child.is_over for child in children):
            continue
        # So much exploration that each move is tried once.
        result = run(batch_of(position), ConstantEvaluator(0.6), simulations=len(squares), pb_c_init=1000.0)
        for square, child in zip(squares, children, strict=True):
            same_side = child.side_to_move == position.side_to_move
            num_passes += same_side
            assert result.q_values[0, square] == pytest.approx(0.6 if same_side else -0.6)
    assert num_passes > 10


@pytest.mark.parametrize(
    ("text", "move", "outcome"),
    [("OXXX--O-O--X-X-X X", "c3", 1), ("X-XXOOOOO--XOOOO X", "c3", 0), ("OOXOOO-XO-OX---O X", "b4", -1)],
    ids=["win", "draw", "loss"],
)
@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_a_move_that_ends_the_game_counts_by_the_result(text: str, move: str, outcome: int, method: str) -> None:
    position = Position.parse(text)
    square = parse_square(move, 4)
    assert position.play(square).is_over
    assert len(position.legal_squares()) > 1
    result = run(batch_of(position), ConstantEvaluator(0.77), simulations=16, method=method, pb_c_init=30.0)
    assert result.visit_counts[0, square] > 2
    assert result.q_values[0, square] == outcome


@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_a_win_that_can_be_forced_is_found(method: str, rng: np.random.Generator) -> None:
    positions = []
    for position in late_positions(rng, count=300, empties=4, board_size=6):
        winning = [square for square in position.legal_squares() if value_of_move(position, square, solve) == 1]
        if len(winning) == 1 < len(position.legal_squares()):
            positions.append((position, winning[0]))
    assert len(positions) > 20
    result = run(batch_of(*(position for position, _ in positions)), ConstantEvaluator(), simulations=400, method=method)
    assert result.moves.tolist() == [square for _, square in positions]


@pytest.mark.parametrize("method", ["puct", "gumbel"])
@pytest.mark.parametrize("board_size", [6, 8])
def test_long_searches_play_endgames_perfectly(method: str, board_size: int, rng: np.random.Generator) -> None:
    positions = late_positions(rng, count=25, empties=6, board_size=board_size)
    result = run(batch_of(*positions), RolloutEvaluator(), simulations=2000, method=method)
    for position, move in zip(positions, result.moves.tolist(), strict=True):
        assert value_of_move(position, move, solve) == solve(position), position


@pytest.mark.parametrize("method", ["puct", "gumbel"])
@pytest.mark.parametrize("leaves_per_call", [1, 5])
def test_a_position_is_searched_alone_as_among_others(
    method: str, leaves_per_call: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions = mixed_positions(rng, 400)
    settings: dict[str, Any] = {"simulations": 40, "method": method, "gumbel_scale": 0.0, "leaves_per_call": leaves_per_call}
    monkeypatch.setenv("OTHELLO_ENV_THREADS", "1")
    together = run(positions, **settings)
    for row in range(0, 400, 8):
        alone = run(positions.take(np.array([row])), **settings)
        assert alone.visit_counts[0].tolist() == together.visit_counts[row].tolist()
        assert alone.root_values[0] == together.root_values[row]
        assert alone.moves[0] == together.moves[row]
    monkeypatch.setenv("OTHELLO_ENV_THREADS", "3")
    in_threads = run(positions, **settings)
    monkeypatch.setattr(mcts, "TREE_MEMORY", 1 << 20)
    in_groups = run(positions, **settings)
    for other in (in_threads, in_groups):
        assert (other.visit_counts == together.visit_counts).all()
        assert (other.moves == together.moves).all()


def test_large_batches_are_searched_in_groups(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = ConstantEvaluator()
    monkeypatch.setattr(mcts, "TREE_MEMORY", 20 * tree_bytes(SearchSettings(simulations=10), empties=60))
    run(PositionBatch.start(70), evaluator, simulations=10)
    assert evaluator.sizes == [20] * 33 + [10] * 11


def test_the_memory_of_a_tree_is_known_up_front() -> None:
    settings = SearchSettings(simulations=30, leaves_per_call=7)
    tree = mcts._empty_tree(5, settings, empties=60)
    assert sum(array.nbytes for array in tree) == 5 * tree_bytes(settings, empties=60)


def test_leaves_of_all_games_go_to_the_evaluator_together() -> None:
    evaluator = ConstantEvaluator()
    run(PositionBatch.start(30), evaluator, simulations=20)
    assert evaluator.sizes == [30] * 21


@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_several_leaves_of_one_game_go_to_the_evaluator_together(method: str) -> None:
    start = PositionBatch.start(1)
    start.step([19])
    evaluator = ConstantEvaluator()
    result = run(start, evaluator, simulations=64, method=method, leaves_per_call=8)
    assert result.visit_counts.sum() == 64
    assert max(evaluator.sizes) > 2
    assert len(evaluator.sizes) < 40
    assert sum(evaluator.sizes) == 65


def test_several_leaves_a_call_still_play_endgames_perfectly(rng: np.random.Generator) -> None:
    positions = late_positions(rng, count=25, empties=5, board_size=8)
    for method in ("puct", "gumbel"):
        result = run(batch_of(*positions), ConstantEvaluator(), simulations=1000, method=method, leaves_per_call=16)
        assert result.visit_counts.sum(axis=1).tolist() == [1000 * (len(p.legal_squares()) > 1) for p in positions]
        for position, move in zip(positions, result.moves.tolist(), strict=True):
            assert value_of_move(position, move, solve) == solve(position), position


@pytest.mark.parametrize("method", ["puct", "gumbel"])
@pytest.mark.parametrize("leaves_per_call", [1, 5])
def test_a_search_does_not_depend_on_what_else_is_running(method: Any, leaves_per_call: int, rng: np.random.Generator) -> None:
    """Searches of different lengths, a new one wherever one has ended, against searches of one position each."""
    positions = mixed_positions(rng, 200)
    positions = positions.take(np.flatnonzero(~positions.is_over))
    lengths = rng.integers(1, 31, size=len(positions))
    settings = SearchSettings(simulations=30, method=method, gumbel_scale=0.0, leaves_per_call=leaves_per_call)
    searches = Searches(16, settings, board_size=positions.board_size, empties=60)
    waiting, place_of = list(range(len(positions))), dict[int, int]()
    while waiting or len(searches.idle) < 16:
        numbers = searches.idle[: len(waiting)]
        rows = np.array([waiting.pop() for _ in numbers], dtype=np.int64)
        searches.begin(numbers, positions.take(rows), simulations=lengths[rows])
        place_of.update(zip(numbers.tolist(), rows.tolist(), strict=True))
        ended = searches.advance(ScatteredEvaluator(), rng)
        found = searches.results(ended)
        for index, number in enumerate(ended.tolist()):
            row = np.array([place_of.pop(number)])
            alone = search(positions.take(row), ScatteredEvaluator(), settings=replace(settings, simulations=int(lengths[row[0]])), rng=rng)
            for name in ("visit_counts", "q_values", "policy", "root_values", "moves"):
                np.testing.assert_array_equal(getattr(found, name)[index], getattr(alone, name)[0])
    assert not place_of


@pytest.mark.parametrize("method", ["puct", "gumbel"])
@pytest.mark.parametrize("calls", [0, 1, 9])
def test_restored_searches_go_on_like_the_old_ones(method: Any, calls: int, rng: np.random.Generator) -> None:
    settings = SearchSettings(simulations=12, method=method, leaves_per_call=3, dirichlet_fraction=0.25)
    old, new = (Searches(30, settings, board_size=8, empties=60) for _ in range(2))
    positions = mixed_positions(rng, 300)
    positions = positions.take(np.flatnonzero(~positions.is_over))

    rows = np.zeros(30, dtype=np.int64)  # what each search began with

    def play(searches: Searches, calls: int, seed: int) -> list[Any]:
        rng, found = np.random.default_rng(seed), []
        for _ in range(calls):
            idle = searches.idle
            rows[idle] = rng.integers(len(positions), size=len(idle))
            searches.begin(idle, positions.take(rows[idle]), simulations=rng.integers(1, 13, size=len(idle)))
            ended = searches.advance(RolloutEvaluator(), rng)
            result = searches.results(ended)
            found.append([array.tolist() for array in (ended, result.visit_counts, result.policy, result.root_values, result.moves)])
        return found

    play(old, calls, seed=1)
    new.restore(old.state(), positions.take(rows))
    assert play(old, 40, seed=2) == play(new, 40, seed=2)
    for name, array in old.state().items():
        np.testing.assert_array_equal(new.state()[name], array)


def begun_searches() -> tuple[Searches, PositionBatch]:
    """Some that have just begun, some that are under way, some idle; and what they began with, near the end of games."""
    settings = SearchSettings(simulations=30, method="gumbel", leaves_per_call=3)
    positions = batch_of(*late_positions(np.random.default_rng(0), count=12, empties=6, board_size=6))
    searches = Searches(12, settings, board_size=6, empties=6)
    searches.begin(np.arange(6), positions.take(np.arange(6)), simulations=np.array([30, 30, 9, 5, 2, 1]))
    for _ in range(3):
        searches.advance(ScatteredEvaluator(), np.random.default_rng(0))
    searches.begin(np.array([8, 9]), positions.take(np.array([8, 9])))
    assert 4 <= len(searches.idle) < 8
    return searches, positions


def restored(state: dict[str, Any], positions: PositionBatch) -> Searches:
    searches = Searches(12, begun_searches()[0].settings, board_size=6, empties=6)
    searches.restore(state, positions)
    return searches


def damaged_states() -> Iterator[tuple[str, Any]]:
    for name in ("num_nodes", "limit", "leaves", "parent_edge", "simulations_done", "visits"):
        for change in (-100, -1, 1, 100) if name != "limit" else (-100, 1, 100):
            yield name, lambda array, change=change: array + array.dtype.type(change)
    for name in ("value", "value_sum", "noise", "edge_prior"):
        for value in (np.nan, np.inf, -np.inf):
            yield name, lambda array, value=value: np.where(array == 0, array, array.dtype.type(value))
    yield "edge_prior", lambda array: 0 * array
    yield "edge_prior", lambda array: -array
    yield "noise", lambda array: array.astype(np.float32)
    yield "leaves", lambda array: array[:, :1]
    yield "leaves", lambda array: np.repeat(array[:, :1], 3, axis=1)
    yield "num_nodes", lambda array: array[:3]
    yield "parent_edge", lambda array: array[:, :-1]


@pytest.mark.parametrize(("name", "damage"), list(damaged_states()))
def test_damaged_searches_are_not_restored(name: str, damage: Any) -> None:
    searches, positions = begun_searches()
    state = searches.state()
    restored(state, positions)
    with pytest.raises(ValueError):  # noqa: PT011 - which of the checks finds it is not what matters
        restored({**state, name: damage(state[name])}, positions)
    with pytest.raises(KeyError):
        restored({key: array for key, array in state.items() if key != name}, positions)


@dataclass
class SavedSearches:
    """The state of `begun_searches`, to be damaged, and of which searches it is: `game` has many nodes, `fresh` a root alone."""

    searches: Searches
    positions: PositionBatch
    state: dict[str, Any]
    game: int = 2
    fresh: int = 8

    def set(self, name: str, value: Any, *place: int | slice) -> None:
        index = (self.game, *place)
        self.state[name][index] = value

    def set_visits(self, node: int, visits: int) -> None:
        """Let a node be one that has been evaluated, or with 0 visits one that waits for the evaluator."""
        tree, first = self.searches._tree, int(self.searches._tree.first_edge[self.game, node])
        self.set("visits", visits, node)
        self.set("edge_prior", 0.5 if visits else 0.0, slice(first, first + int(tree.num_edges[self.game, node])))


@pytest.fixture
def saved() -> SavedSearches:
    searches, positions = begun_searches()
    found = SavedSearches(searches, positions, searches.state())
    assert found.state["leaves"][found.game].tolist() == [7, -1, -1]
    assert (found.state["num_nodes"][found.game], found.state["simulations_done"][found.game]) == (8, 6)
    assert (found.state["num_nodes"][found.fresh], found.state["simulations_done"][found.fresh]) == (1, -1)
    restored(found.state, positions)
    return found


DAMAGES: list[Callable[[SavedSearches], None]] = []


def damage(function: Callable[[SavedSearches], None]) -> Callable[[SavedSearches], None]:
    """A change after which one thing in the state contradicts the others."""
    DAMAGES.append(function)
    return function


@damage
def has_no_leaf(saved: SavedSearches) -> None:
    saved.set_visits(7, 1)
    saved.set("leaves", -1)
    saved.set("simulations_done", 7)


@damage
def has_a_gap_between_its_leaves(saved: SavedSearches) -> None:
    saved.set_visits(6, 0)
    saved.set("leaves", [7, -1, 6])


@damage
def has_a_leaf_beyond_its_nodes(saved: SavedSearches) -> None:
    saved.set_visits(7, 1)
    saved.set("leaves", 8, 0)


@damage
def has_a_negative_leaf(saved: SavedSearches) -> None:
    saved.set_visits(7, 1)
    saved.set("leaves", -2, 0)


@damage
def has_a_leaf_twice(saved: SavedSearches) -> None:
    saved.set("leaves", 7, 1)


@damage
def has_done_too_much(saved: SavedSearches) -> None:
    saved.set("simulations_done", 9)


@damage
def waits_for_its_root_after_it_has_begun(saved: SavedSearches) -> None:
    saved.state["simulations_done"][saved.fresh] = 0


@damage
def has_two_nodes_before_it_has_begun(saved: SavedSearches) -> None:
    saved.state["num_nodes"][saved.fresh] = 2
    saved.state["parent_edge"][saved.fresh, 1] = 0
    saved.state["leaves"][saved.fresh] = [0, 1, -1]


@damage
def has_more_nodes_than_simulations(saved: SavedSearches) -> None:
    saved.set("simulations_done", 5)
    saved.set("visits", 6, 0)


@damage
def has_a_node_without_a_visit(saved: SavedSearches) -> None:
    saved.set("visits", 0, 1)


@damage
def has_a_visited_leaf(saved: SavedSearches) -> None:
    saved.set("visits", 1, 7)


@damage
def has_a_negative_number_of_visits(saved: SavedSearches) -> None:
    saved.set("visits", -1, 1)


@damage
def has_more_visits_than_simulations(saved: SavedSearches) -> None:
    saved.set("visits", 8, 0)


@damage
def has_a_large_value(saved: SavedSearches) -> None:
    saved.set("value", -1e31, 1)


@damage
def has_a_large_sum_of_values(saved: SavedSearches) -> None:
    saved.set("value_sum", -1e31, 1)


@damage
def has_a_large_prior(saved: SavedSearches) -> None:
    saved.set("edge_prior", 1e31, 0)


@damage
def has_a_move_without_a_prior(saved: SavedSearches) -> None:
    saved.set("edge_prior", 0.0, 0)


@damage
def has_a_leaf_with_a_prior(saved: SavedSearches) -> None:
    saved.set("edge_prior", 0.5, int(saved.searches._tree.first_edge[saved.game, 7]))


@damage
def has_large_noise(saved: SavedSearches) -> None:
    saved.set("noise", -1e31, 5)


@damage
def has_a_root_with_a_parent(saved: SavedSearches) -> None:
    saved.set("parent_edge", 0, 0)


@damage
def reaches_a_node_by_the_edge_of_another(saved: SavedSearches) -> None:
    saved.set("parent_edge", saved.state["parent_edge"][saved.game, 1], 2)


@damage
def reaches_a_node_by_an_edge_that_is_not_there(saved: SavedSearches) -> None:
    saved.set("parent_edge", saved.searches._tree.edges_used[saved.game], 7)


@damage
def has_priors_for_too_many_edges(saved: SavedSearches) -> None:
    saved.state["edge_prior"] = np.pad(saved.state["edge_prior"], ((0, 0), (0, 1)))


@damage
def begins_with_other_positions(saved: SavedSearches) -> None:
    saved.positions = saved.positions.take(np.arange(11))


@damage
def has_a_negative_number_of_nodes(saved: SavedSearches) -> None:
    saved.state["num_nodes"][5] = -1


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_search_that_contradicts_itself_in_one_place_is_not_restored(
    damage: Callable[[SavedSearches], None], saved: SavedSearches
) -> None:
    damage(saved)
    with pytest.raises(ValueError):  # noqa: PT011 - which of the checks finds it is not what matters
        restored(saved.state, saved.positions)


def test_a_search_that_waits_for_a_finished_game_is_not_restored() -> None:
    settings = SearchSettings(simulations=30, method="gumbel", leaves_per_call=3)
    positions = batch_of(*late_positions(np.random.default_rng(0), count=12, empties=3, board_size=6))
    searches = Searches(12, settings, board_size=6, empties=6)
    searches.begin(np.arange(12), positions)
    for _ in range(3):
        searches.advance(ScatteredEvaluator(), np.random.default_rng(0))
    state, tree, changed = searches.state(), searches._tree, 0
    restored(state, positions)
    for game in np.flatnonzero(tree.leaves[:, 0] >= 0).tolist():
        num_leaves = int((tree.leaves[game] >= 0).sum())
        for node in np.flatnonzero(tree.is_over[game, : tree.nodes_used[game]])[: 3 - num_leaves].tolist():
            state["leaves"][game, num_leaves] = node
            state["visits"][game, node] = 0
            changed += 1
            break
    assert changed
    with pytest.raises(ValueError, match="contradict themselves"):
        restored(state, positions)


def test_a_root_with_one_move_has_no_limit_of_simulations() -> None:
    forced = next(p for p in late_positions(np.random.default_rng(0), count=200, empties=6, board_size=6) if len(p.legal_squares()) == 1)
    searches = Searches(12, SearchSettings(simulations=30, method="gumbel", leaves_per_call=3), board_size=6, empties=6)
    searches.begin(np.array([3]), batch_of(forced))
    state, positions = searches.state(), batch_of(*[forced] * 12)
    restored(state, positions)
    state["limit"][3] = 5
    with pytest.raises(ValueError, match="other positions"):
        restored(state, positions)


def test_searches_are_not_restored_for_other_positions() -> None:
    searches, positions = begun_searches()
    with pytest.raises(ValueError):  # noqa: PT011
        restored(searches.state(), positions.take(np.arange(12)[::-1]))


def test_random_damage_is_found_or_does_no_harm(rng: np.random.Generator) -> None:
    """Single numbers replaced: what is not found ends in moves that are legal."""
    searches, positions = begun_searches()
    found = 0
    for _ in range(200):
        state = searches.state()
        array = state[str(rng.choice(list(state)))]
        if array.dtype.kind == "f":
            array.flat[rng.integers(array.size)] = rng.choice([0.0, -1.0, 2.0, 1e20, np.nan, np.inf])
        else:
            array.flat[rng.integers(array.size)] += array.dtype.type(rng.choice([-40, -2, -1, 1, 2, 40]))
        try:
            damaged = restored(state, positions)
        except ValueError:
            found += 1
            continue
        running = np.setdiff1d(np.arange(12), damaged.idle)
        for _ in range(40):
            damaged.advance(ScatteredEvaluator(), rng)
        assert len(damaged.idle) == 12
        assert positions.take(running).is_legal(damaged.results(running).moves).all()
    assert 50 < found < 200


def test_searches_that_cannot_be_are_not_begun() -> None:
    searches = Searches(2, SearchSettings(simulations=5), board_size=4, empties=12)
    numbers, start = np.arange(2), PositionBatch.start(2, 4)
    for simulations in ([0, 5], [5, 6]):
        with pytest.raises(ValueError, match="expected 1 to 5"):
            searches.begin(numbers, start, simulations=np.array(simulations))
    over = PositionBatch([0xFFFF, 0xFFFF], [0, 0], [0, 0], board_size=4)
    with pytest.raises(ValueError, match="finished"):
        searches.begin(numbers, over)
    with pytest.raises(ValueError, match="board_size 6 with up to 32 empty squares: expected 4 and at most 12"):
        searches.begin(numbers, PositionBatch.start(2, 6))
    for wrong in (numbers[:1], numbers[[0, 1, 1]]):
        with pytest.raises(ValueError, match=f"{len(wrong)} numbers, 2 positions"):
            searches.begin(wrong, start)
    with pytest.raises(ValueError, match="expected 4 and at most 11"):
        Searches(2, SearchSettings(simulations=5), board_size=4, empties=11).begin(numbers, start)
    assert searches.idle.tolist() == [0, 1]
    assert searches.advance(ConstantEvaluator(), np.random.default_rng(0)).tolist() == []
    for number in (0, 1):
        with pytest.raises(ValueError, match="has no result"):
            searches.results(np.array([number]))
        searches.begin(numbers[:1], start.take(numbers[:1])) if number == 0 else None
    with pytest.raises(ValueError, match="is running"):
        searches.begin(numbers, start)
    assert searches.idle.tolist() == [1]


def test_sequential_halving_follows_its_table() -> None:
    """Two phases for four moves: 16 / (2 * 4) = 2 rounds of four, then 16 / (2 * 2) = 4 rounds of two."""
    visits, phases = considered_visits(4, 16)
    assert visits == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert phases == [0] * 8 + [1] * 8
    assert considered_visits(1, 3)[0] == [0, 1, 2]
    assert considered_visits(2, 5)[0] == [0, 0, 1, 1, 2]
    assert considered_visits(8, 24)[0] == [0] * 8 + [1] * 4 + [2] * 4 + [3, 3, 4, 4, 5, 5, 6, 6]
    assert considered_visits(16, 4)[0] == [0] * 4


@pytest.mark.parametrize("leaves_per_call", [1, 3, 16])
def test_gumbel_visits_the_considered_moves_by_the_table(leaves_per_call: int, rng: np.random.Generator) -> None:
    positions = batch_of(*(p for p in late_positions(rng, count=40, empties=40, board_size=8) if len(p.legal_squares()) > 4))
    settings: dict[str, Any] = {"method": "gumbel", "max_num_considered_actions": 4, "leaves_per_call": leaves_per_call}
    result = run(positions, simulations=16, **settings)
    assert (np.sort(result.visit_counts, axis=1)[:, -5:] == [0, 2, 2, 6, 6]).all()
    assert (np.take_along_axis(result.visit_counts, result.moves[:, None], axis=1) == 6).all()


def test_gumbel_without_noise_considers_the_highest_logits_and_plays_the_best(rng: np.random.Generator) -> None:
    positions = batch_of(*(p for p in late_positions(rng, count=40, empties=40, board_size=8) if len(p.legal_squares()) > 4))
    result = run(positions, simulations=4, method="gumbel", gumbel_scale=0.0, max_num_considered_actions=4)
    logits, _ = ScatteredEvaluator().evaluate(positions, rng)
    assert logits is not None
    logits[positions.legal_action_mask() == 0] = -np.inf
    highest = np.argsort(logits, axis=1)[:, -4:]
    assert (np.take_along_axis(result.visit_counts, highest, axis=1) == 1).all()
    scores = np.where(result.visit_counts > 0, logits + (50 + 1) * 0.5 * result.q_values, -np.inf)
    assert result.moves.tolist() == scores.argmax(axis=1).tolist()


def test_gumbel_noise_varies_the_considered_moves() -> None:
    start = PositionBatch.start(400)
    result = run(start, ConstantEvaluator(), simulations=2, method="gumbel", max_num_considered_actions=2)
    counts = (result.visit_counts > 0).sum(axis=0)[[19, 26, 37, 44]]
    assert (abs(counts - 200) < 5 * 10).all()


@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_policies_sum_to_one_on_the_legal_moves(method: str, rng: np.random.Generator) -> None:
    positions = mixed_positions(rng)
    result = run(positions, RolloutEvaluator(), simulations=30, method=method)
    np.testing.assert_allclose(result.policy.sum(axis=1), 1, atol=1e-5)
    assert (result.policy[positions.legal_action_mask() == 0] == 0).all()
    assert (result.policy >= 0).all()
    assert (result.visit_counts[positions.legal_action_mask() == 0] == 0).all()
    positions.step(result.moves)


def test_forced_moves_and_finished_games_are_not_searched(rng: np.random.Generator) -> None:
    positions = mixed_positions(rng, 600)
    only_one = positions.legal_action_mask().sum(axis=1) == 1
    result = run(positions, ConstantEvaluator(0.25), simulations=5)
    assert (result.visit_counts.sum(axis=1) == np.where(only_one, 0, 5)).all()
    assert (result.policy[only_one] == positions.legal_action_mask()[only_one]).all()
    assert (result.moves[positions.is_over] == 64).all()
    assert (result.root_values[only_one & ~positions.is_over] == 0.25).all()
    for row in np.flatnonzero(positions.is_over).tolist():
        assert result.root_values[row] == positions[row].outcome * (1 - 2 * positions[row].side_to_move)


def test_batches_without_automatic_passes(rng: np.random.Generator) -> None:
    games = PositionBatch.start(200, 4, auto_pass=False)
    num_passes = 0
    while not games.is_over.all():
        result = run(games, ConstantEvaluator(0.5), simulations=6)
        passing = (games.legal_moves == 0) & ~games.is_over
        num_passes += int(passing.sum())
        assert (result.moves[passing] == games.pass_square).all()
        assert (result.root_values[passing] == -0.5).all()  # 0.5 to the other side
        assert (result.policy[passing, -1] == 1).all()
        games.step(np.where(rng.random(200) < 0.5, games.sample_moves(rng), result.moves))
    assert num_passes > 50
    assert run(games, simulations=6).moves.tolist() == [16] * 200


def test_searches_leave_the_positions_alone(rng: np.random.Generator) -> None:
    positions = mixed_positions(rng, 60)
    before = list(positions)
    run(positions, RolloutEvaluator(), simulations=10)
    assert list(positions) == before


@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_searches_repeat_with_their_seed(method: str) -> None:
    start = PositionBatch.start(5)
    first, again, other = (run(start, RolloutEvaluator(), simulations=50, method=method, seed=seed) for seed in (1, 1, 2))
    assert (first.visit_counts == again.visit_counts).all()
    assert first.moves.tolist() == again.moves.tolist()
    assert (first.root_values != other.root_values).any()
    assert run(start.take(np.array([], dtype=np.int64)), simulations=5).policy.shape == (0, 65)


def test_equal_moves_are_chosen_with_equal_chances() -> None:
    result = run(PositionBatch.start(4000), ConstantEvaluator(), simulations=4)
    counts = np.bincount(result.moves, minlength=64)[[19, 26, 37, 44]]
    assert (abs(counts - 1000) < 5 * 28).all()


def test_noise_in_the_prior_of_the_root() -> None:
    """With noise alone for a prior, of alpha 0.03, nearly all of the prior is on one move."""
    start = PositionBatch.start(300)
    settings: dict[str, Any] = {"simulations": 40, "pb_c_init": 10.0, "dirichlet_alpha": 0.03}
    none, some, only = (run(start, ConstantEvaluator(), dirichlet_fraction=fraction, **settings) for fraction in (0.0, 0.25, 1.0))
    assert (none.visit_counts[:, [19, 26, 37, 44]] >= 9).all()
    assert (some.visit_counts.max(axis=1) > 14).mean() > 0.5
    assert (only.visit_counts.max(axis=1) > 30).mean() > 0.5
    assert len(set(only.moves.tolist())) == 4


def test_logits_of_minus_infinity_and_of_any_size_are_borne() -> None:
    class Sure:
        def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
            logits = np.full((len(positions), 65), -np.inf, dtype=np.float32)
            logits[:, 26] = 3e38
            return Evaluation(logits, np.zeros(len(positions), dtype=np.float32))

    for method in ("puct", "gumbel"):
        result = run(PositionBatch.start(1), Sure(), simulations=50, method=method, gumbel_scale=0.0)
        assert result.moves.tolist() == [26]
        assert np.isfinite(result.policy).all()


def test_answers_that_are_no_evaluation_are_refused() -> None:
    class Wrong:
        def __init__(self, logits: npt.NDArray[np.float32] | None, values: npt.NDArray[np.float32]) -> None:
            self.evaluation = Evaluation(logits, values)

        def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
            return self.evaluation

    zeros = np.zeros(3, dtype=np.float32)
    nan = np.full(3, np.nan, dtype=np.float32)
    for values, found in ((nan, "nan"), (zeros[:2], r"shape \(2,\)")):
        with pytest.raises(ValueError, match=f"values of {found}; expected 3 finite numbers"):
            run(PositionBatch.start(3), Wrong(None, values), simulations=5)
    with pytest.raises(ValueError, match=r"logits of shape \(3, 64\); expected \(3, 65\)"):
        run(PositionBatch.start(3), Wrong(np.zeros((3, 64), dtype=np.float32), zeros), simulations=5)
    infinite = np.zeros((1, 65), dtype=np.float32)
    infinite[0, 19] = np.inf
    with pytest.raises(ValueError, match="the logit inf for a legal square"):
        run(PositionBatch.start(1), Wrong(infinite, zeros[:1]), simulations=5)


def test_logits_of_illegal_squares_do_not_matter() -> None:
    class Careless:
        def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
            logits = np.where(positions.legal_action_mask() == 1, 0, np.nan).astype(np.float32)
            return Evaluation(logits, np.zeros(len(positions), dtype=np.float32))

    result = run(PositionBatch.start(1), Careless(), simulations=9)
    assert result.visit_counts.sum() == 9
    assert np.isfinite(result.policy).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"simulations": 0}, "simulations 0: must be at least 1"),
        ({"simulations": 5, "leaves_per_call": 0}, "leaves_per_call 0: must be at least 1"),
        ({"simulations": 5, "max_num_considered_actions": 0}, "max_num_considered_actions 0: must be at least 1"),
        ({"simulations": 5, "pb_c_init": -1.0}, "pb_c_init -1.0: must be a number that is not negative"),
        ({"simulations": 5, "pb_c_init": math.nan}, "pb_c_init nan: must be a number that is not negative"),
        ({"simulations": 5, "pb_c_base": 0.0}, "pb_c_base 0.0: must be a positive number"),
        ({"simulations": 5, "dirichlet_fraction": 1.5}, "dirichlet_fraction 1.5: must be between 0 and 1"),
        ({"simulations": 10**9}, "simulations 1000000000: at most"),
        ({"simulations": 5, "value_scale": 1e300, "maxvisit_init": 1e300}, "at most 1e"),
        ({"simulations": 5, "method": "uct"}, "method 'uct': expected one of puct, gumbel"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SearchSettings(**settings)


@pytest.mark.parametrize("method", ["puct", "gumbel"])
def test_a_hundred_simulations_beat_random_moves(method: Any) -> None:
    agent = mcts_agent(simulations=100, method=method)
    result = play_match(agent, make_agent("random"), [Position.start()] * 15)
    assert result.score > 0.9


def test_the_agent_says_what_it_is() -> None:
    assert mcts_agent().name == "mcts:simulations=200"
    assert mcts_agent(simulations=50, method="gumbel", rollouts=2).name == "mcts:simulations=50,method=gumbel,rollouts=2"
    copied = pickle.loads(pickle.dumps(mcts_agent()))
    assert copied == mcts_agent()
    with pytest.raises(ValueError, match="simulations 0"):
        mcts_agent(simulations=0)
    with pytest.raises(ValueError, match="rollouts 0"):
        mcts_agent(rollouts=0)


def test_search_improves_on_the_evaluator_that_it_asks() -> None:
    """A search that counts discs at its leaves beats the agent that counts them one move ahead."""
    evaluator = AfterstateEvaluator(disc_difference, temperature=8.0, scale=16.0)
    agent = MCTSAgent("search", evaluator, SearchSettings(simulations=60))
    openings = late_positions(np.random.default_rng(0), count=15, empties=52, board_size=8)
    assert play_match(agent, make_agent("greedy"), openings).score > 0.7


def test_more_actions_may_be_considered_than_there_are() -> None:
    for method in ("puct", "gumbel"):
        result = run(PositionBatch.start(2), simulations=10, method=method, max_num_considered_actions=1000)
        assert result.visit_counts.sum(axis=1).tolist() == [10, 10]


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_finished_games_are_worth_who_won_and_by_how_much(board_size: int, rng: np.random.Generator) -> None:
    """In positions before the last move; with no share of the margin the outcome alone counts."""
    games = PositionBatch.start(300, board_size)
    last: list[Position] = []
    while not games.is_over.all():
        last += [
            position
            for position in games
            if len(squares := position.legal_squares()) > 1 and any(position.play(s).is_over for s in squares)
        ]
        games.step(games.sample_moves(rng))
    last = last[:60]
    checked = 0
    for share in (0.0, 0.75):
        settings = SearchSettings(simulations=20, method="gumbel", margin_share=share)
        found = search(PositionBatch.from_positions(last), ConstantEvaluator(), settings=settings, rng=rng)
        for row, position in enumerate(last):
            for square in position.legal_squares():
                after = position.play(square)
                if not after.is_over or not found.visit_counts[row, square]:
                    continue
                black = (1 - share) * after.outcome + share * after.score("empties_to_winner") / board_size**2
                expected = black if position.side_to_move == 0 else -black
                assert found.q_values[row, square] == pytest.approx(expected, abs=1e-6)
                checked += 1
    assert checked > 1
    over = games.take(games.is_over)
    values = search(over, ConstantEvaluator(), settings=SearchSettings(simulations=2, margin_share=0.75), rng=rng).root_values
    black_values = 0.25 * over.outcome + 0.75 * over.score("empties_to_winner") / board_size**2
    np.testing.assert_allclose(values, np.where(over.side_to_move == 0, black_values, -black_values), atol=1e-6)
