from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import heuristics, make_agent
from agents.base import WON, Agent
from agents.heuristics import (
    FEATURE_COUNTS,
    GEOMETRY,
    BeginnerEvaluator,
    HeuristicEvaluator,
    beginner_agent,
    c_squares,
    frontier_discs,
    heuristics_agent,
    odd_regions,
    potential_moves,
    stable_discs,
    x_squares,
)
from othello_env import Position, PositionBatch
from othello_env.bitboard import BitboardArray, pack, popcount
from othello_env.squares import format_square, parse_square
from othello_env.symmetry import NUM_SYMMETRIES, transform, transform_position
from tests.strategies import positions
from training.evaluation.match import play_match
from training.evaluation.openings import random_openings

Feature = Callable[[BitboardArray, BitboardArray, Any], BitboardArray]


def odd_region_squares(own: BitboardArray, opp: BitboardArray, geometry: Any) -> BitboardArray:
    return odd_regions(own, opp, geometry)[0]


def odd_region_firsts(own: BitboardArray, opp: BitboardArray, geometry: Any) -> BitboardArray:
    return odd_regions(own, opp, geometry)[1]


FEATURES: dict[str, Feature] = {
    "stable_discs": stable_discs,
    "frontier_discs": frontier_discs,
    "potential_moves": potential_moves,
    "x_squares": x_squares,
    "c_squares": c_squares,
    "odd_region_squares": odd_region_squares,
    "odd_region_firsts": odd_region_firsts,
}


def feature_of(feature: Feature, own: int, opp: int, board_size: int) -> int:
    """A feature of one board."""
    words = np.array([[own], [opp]], dtype=np.uint64)
    return int(feature(words[0], words[1], GEOMETRY[board_size])[0])


def names(feature: Feature, position: Position) -> tuple[str, str]:
    """The squares of a feature from Black's and from White's view."""
    n = position.board_size
    views = ((position.black, position.white), (position.white, position.black))
    sets = (feature_of(feature, own, opp, n) for own, opp in views)
    black, white = (" ".join(format_square(s, n) for s in range(n * n) if bits >> s & 1) for bits in sets)
    return black, white


def random_discs(num_boards: int, board_size: int, rng: np.random.Generator) -> tuple[BitboardArray, BitboardArray]:
    """Discs anywhere, from few to a full board, and from one colour to the other."""
    squares = board_size**2
    occupied = rng.random((num_boards, squares)) < rng.random((num_boards, 1)) ** 0.2
    own = rng.random((num_boards, squares)) < rng.random((num_boards, 1))
    return pack(occupied & own), pack(occupied & ~own)


# Stable discs.


def test_discs_in_a_row_from_a_corner_are_stable() -> None:
    board = Position.parse("XXXO----" + "X-------" + "--------" * 5 + "-------O" + "X")
    assert names(stable_discs, board) == ("a1 b1 c1 a2", "h8")


def test_a_full_edge_is_stable_without_corners_of_the_same_colour() -> None:
    board = Position.parse("OXXOXOXX" + "-X------" + "--------" * 6 + "X")
    assert names(stable_discs, board) == ("b1 c1 e1 g1 h1", "a1 d1 f1")


def test_an_edge_with_a_gap_is_not_stable() -> None:
    assert names(stable_discs, Position.parse("-XXXXXXO" + "--------" * 7 + "X")) == ("", "h1")


def test_an_inner_disc_needs_all_four_lines() -> None:
    assert names(stable_discs, Position.parse("XX------" + "XX------" + "--------" * 6 + "X"))[0] == "a1 b1 a2"
    assert names(stable_discs, Position.parse("XX------" + "XX------" + "X-------" + "--------" * 5 + "X"))[0] == "a1 b1 a2 b2 a3"


def test_a_disc_beside_a_stable_disc_of_the_other_colour_is_not_stable() -> None:
    assert names(stable_discs, Position.parse("OX------" + "--------" * 7 + "X")) == ("", "a1")


def test_full_lines_make_inner_discs_of_the_6x6_board_stable() -> None:
    # No disc of c3's row, column and diagonals is missing, and no neighbour of it is stable for
    # Black.
    board = Position.parse("O-X-X-" + "-OXX--" + "OOXOXO" + "-XXX--" + "X-O-X-" + "--O--X" + "X")
    assert names(stable_discs, board) == ("c3 f6", "a1")


def test_all_discs_of_a_4x4_board_with_one_empty_corner_can_be_stable() -> None:
    # The lines through d4 hold on to stable neighbours: a1 b2 c3 for White, from d1 and from a4 for
    # Black.
    black, white = names(stable_discs, Position.parse("OXXX" + "XOXX" + "XXOX" + "XXX-" + "X"))
    assert (len(black.split()), white) == (12, "a1 b2 c3")


def test_the_start_has_no_stable_disc() -> None:
    for board_size in (4, 6, 8):
        assert names(stable_discs, Position.start(board_size)) == ("", "")


# The other features.


def test_frontier_and_potential_moves_of_the_start() -> None:
    assert names(frontier_discs, Position.start()) == ("e4 d5", "d4 e5")
    assert names(potential_moves, Position.start())[0] == "c3 d3 e3 c4 f4 c5 f5 d6 e6 f6"


def test_an_enclosed_disc_is_no_frontier_and_offers_no_move() -> None:
    board = Position.parse("------" + "-XXX--" + "-XOX--" + "-XXX--" + "------" * 2 + "X")
    assert names(frontier_discs, board) == ("b2 c2 d2 b3 d3 b4 c4 d4", "")
    assert names(potential_moves, board) == ("", "a1 b1 c1 d1 e1 a2 e2 a3 e3 a4 e4 a5 b5 c5 d5 e5")


def test_the_edge_of_the_board_is_no_empty_square() -> None:
    board = Position.parse("OXXX" + "XXXX" + "XXX-" + "XX--" + "X")
    assert names(frontier_discs, board) == ("c2 d2 b3 c3 b4", "")
    assert names(potential_moves, board) == ("", "d3 c4 d4")


def test_x_and_c_squares_count_beside_empty_corners_only() -> None:
    board = Position.parse("-X----O-" + "O-----X-" + "--------" * 4 + "-X----O-" + "O------X" + "X")
    assert names(x_squares, board) == ("g2", "")  # a8 and h8 are taken
    assert names(c_squares, board) == ("b1", "g1 a2")


def test_c_squares_of_the_4x4_board() -> None:
    assert names(c_squares, Position.parse("-XO-" + "X--O" + "----" + "X--O" + "X")) == ("b1 a2", "c1 d2")


def test_regions_of_an_odd_number_of_empty_squares() -> None:
    board = Position.parse("-XX-" + "XXXX" + "XXOX" + "X--X" + "X")
    assert names(odd_region_squares, board)[0] == names(odd_region_firsts, board)[0] == "a1 d1"


def test_squares_that_touch_at_a_corner_are_one_region() -> None:
    board = Position.parse("-XXXXX" + "X-XXX-" + "XXXX-X" + "XXXXXX" * 2 + "XXX---" + "X")
    assert names(odd_region_squares, board) == ("d6 e6 f6", "d6 e6 f6")
    assert names(odd_region_firsts, board)[0] == "d6"


# Against the definitions, square by square.


def steps_of(square: int, n: int) -> Iterator[tuple[int, int | None]]:
    """The eight steps from a square: the step's number, opposite ones differ by 4, and the square there."""
    row, column = divmod(square, n)
    for number, (down, right) in enumerate([(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]):
        inside = 0 <= row + down < n and 0 <= column + right < n
        yield number, (row + down) * n + column + right if inside else None


def line_is_full(square: int, number: int, occupied: int, n: int) -> bool:
    for direction in (number, number + 4):
        place: int | None = square
        while place is not None:
            if not occupied >> place & 1:
                return False
            place = dict(steps_of(place, n))[direction]
    return True


def expected_stable(own: int, opp: int, n: int) -> int:
    stable, before = 0, -1
    while stable != before:
        before = stable
        for square in range(n * n):
            there = dict(steps_of(square, n))
            held = all(
                line_is_full(square, line, own | opp, n)
                or any(neighbour is None or stable >> neighbour & 1 for neighbour in (there[line], there[line + 4]))
                for line in range(4)
            )
            if own >> square & 1 and held:
                stable |= 1 << square
    return stable


def expected_touching(squares: int, others: int, n: int, numbers: tuple[int, ...] = tuple(range(8))) -> int:
    """Those of `squares` from which one of the steps leads to one of `others`."""
    touching = (
        s for s in range(n * n) if any(place is not None and others >> place & 1 for number, place in steps_of(s, n) if number in numbers)
    )
    return sum(1 << s for s in touching if squares >> s & 1)


def expected_odd_regions(empty: int, n: int) -> tuple[int, int]:
    squares = firsts = 0
    while empty:
        first = empty & -empty
        region = first
        while grown := expected_touching(empty & ~region, region, n):
            region |= grown
        empty &= ~region
        if region.bit_count() % 2:
            squares, firsts = squares | region, firsts | first
    return squares, firsts


@settings(deadline=None)
@given(positions)
def test_every_feature_is_what_its_definition_says(position: Position) -> None:
    own, opp, n = position.own, position.opp, position.board_size
    empty = (own | opp) ^ ((1 << n * n) - 1)
    empty_corners = empty & sum(1 << s for s in (0, n - 1, n * n - n, n * n - 1))
    expected = {
        "stable_discs": expected_stable(own, opp, n),
        "frontier_discs": expected_touching(own, empty, n),
        "potential_moves": expected_touching(empty, opp, n),
        "x_squares": expected_touching(own, empty_corners, n, (1, 3, 5, 7)),
        "c_squares": expected_touching(own, empty_corners, n, (0, 2, 4, 6)),
    }
    expected["odd_region_squares"], expected["odd_region_firsts"] = expected_odd_regions(empty, n)
    assert {name: feature_of(feature, own, opp, n) for name, feature in FEATURES.items()} == expected


@settings(deadline=None)
@given(positions, st.integers(0, NUM_SYMMETRIES - 1))
def test_features_turn_with_the_board(position: Position, symmetry: int) -> None:
    n = position.board_size
    turned = transform_position(position, symmetry)
    for name, feature in FEATURES.items():
        squares, squares_turned = (feature_of(feature, p.own, p.opp, n) for p in (position, turned))
        if name == "odd_region_firsts":
            assert squares.bit_count() == squares_turned.bit_count()
        else:
            assert squares_turned == transform(squares, symmetry, n)


@settings(deadline=None)
@given(positions, st.integers(0, NUM_SYMMETRIES - 1), st.sampled_from([HeuristicEvaluator(), BeginnerEvaluator()]))
def test_values_are_the_same_in_every_symmetry_and_for_both_colours(
    position: Position, symmetry: int, evaluate: HeuristicEvaluator | BeginnerEvaluator
) -> None:
    other_color = Position(position.own, position.opp, 1 - position.side_to_move, position.board_size)
    batches = [PositionBatch.from_positions([p]) for p in (position, transform_position(position, symmetry), other_color)]
    values, *others = (np.sort(evaluate(batch.afterstates())) for batch in batches)
    if position.legal_moves:  # otherwise the pass to the other side is made at once, or the game is over
        for same in others:
            np.testing.assert_array_equal(values, same)


# Soundness: what is called stable never turns.


def stable_by_color(batch: PositionBatch) -> tuple[BitboardArray, BitboardArray]:
    black, white = discs_by_color(batch)
    geometry = GEOMETRY[batch.board_size]
    return stable_discs(black, white, geometry), stable_discs(white, black, geometry)


def discs_by_color(batch: PositionBatch) -> tuple[BitboardArray, BitboardArray]:
    is_black = batch.side_to_move == 0
    return np.where(is_black, batch.own, batch.opp), np.where(is_black, batch.opp, batch.own)


@pytest.mark.parametrize(("board_size", "num_plies"), [(8, 30), (8, 44), (8, 54), (6, 16), (6, 27), (4, 6), (4, 9)])
def test_stable_discs_survive_random_continuations(board_size: int, num_plies: int, rng: np.random.Generator) -> None:
    games = PositionBatch.start(1500, board_size)
    for _ in range(num_plies):
        games.step(games.sample_moves(rng))
    stable = stable_by_color(games)
    assert popcount(stable[0]).sum() > 200
    for _ in range(4):
        continued = games.copy()
        while not continued.is_over.all():
            continued.step(continued.sample_moves(rng))
            for squares, discs in zip(stable, discs_by_color(continued), strict=True):
                assert not (squares & ~discs).any()


@pytest.mark.parametrize(("board_size", "num_positions"), [(8, 12), (6, 20), (4, 40)])
def test_stable_discs_survive_every_continuation(board_size: int, num_positions: int, rng: np.random.Generator) -> None:
    games = PositionBatch.start(num_positions, board_size)
    while (games.empties > 6).any():
        running = np.flatnonzero(~games.is_over & (games.empties > 6))
        if not len(running):
            break
        games.step(games.take(running).sample_moves(rng), running)
    games = games.take(games.empties <= 6)
    stable = stable_by_color(games)
    assert popcount(stable[0] | stable[1]).mean() > 3
    for position, black, white in zip(games, *stable, strict=True):
        seen, waiting = {position}, [position]
        while waiting:
            after = waiting.pop()
            assert not (int(black) & ~after.black) | (int(white) & ~after.white), f"{position} -> {after}"
            children = {after.play(square) for square in after.legal_squares()} - seen
            seen |= children
            waiting.extend(children)


# Compiled.


@pytest.fixture(scope="module")
def compiled_features() -> Any:
    pytest.importorskip("agents.board")  # makes the features known to numba
    kernels = pytest.importorskip("tests.kernels")

    def fill(own: BitboardArray, opp: BitboardArray, squares: BitboardArray, geometry: heuristics.Geometry) -> None:
        for row in range(len(own)):
            squares[row, 0] = stable_discs(own[row], opp[row], geometry)
            squares[row, 1] = frontier_discs(own[row], opp[row], geometry)
            squares[row, 2] = potential_moves(own[row], opp[row], geometry)
            squares[row, 3] = x_squares(own[row], opp[row], geometry)
            squares[row, 4] = c_squares(own[row], opp[row], geometry)
            squares[row, 5], squares[row, 6] = odd_regions(own[row], opp[row], geometry)

    return kernels.kept_kernel(fill)


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_compiled_features_are_the_same(board_size: int, compiled_features: Any, rng: np.random.Generator) -> None:
    own, opp = random_discs(5000, board_size, rng)
    squares = np.empty((len(own), len(FEATURES)), dtype=np.uint64)
    compiled_features(own, opp, squares, GEOMETRY[board_size])
    for column, (name, feature) in enumerate(FEATURES.items()):
        np.testing.assert_array_equal(squares[:, column], feature(own, opp, GEOMETRY[board_size]), err_msg=name)


# The agents.

AGENTS = [heuristics_agent(), beginner_agent()]
each_agent = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: str(agent.name))


def move_of(agent: Agent, position: Position) -> str:
    moves = agent.select_moves(PositionBatch.from_positions([position]), np.random.default_rng(0))
    return format_square(int(moves[0]), position.board_size)


def test_counts_of_a_drawn_board() -> None:
    # Black has just moved. White's only reply is the corner h1, which outflanks g1.
    position = Position.parse("-----OX-" + "--------" * 7 + "O")
    own, opp = np.array([[position.black], [position.white]], dtype=np.uint64)
    assert {name: float(count(own, opp, 8)[0]) for name, count in FEATURE_COUNTS.items()} == {
        "corners": 0,
        "corner_replies": 1,
        "x_squares": 0,
        "c_squares": 1,
        "stability": 0,
        "frontier": 0,
        "potential_mobility": 1 * 4 - 1 * 4,
        "mobility": 1,
        "replies": 1,
        "discs": 0,
        "odd_regions": 0,
    }


def test_a_value_is_the_weighted_sum_of_the_counts() -> None:
    weights = dict.fromkeys(FEATURE_COUNTS, 0.0) | {"discs": 2, "replies": -0.5}
    # After the first move Black has 4 discs against 1, and White has three replies.
    values = HeuristicEvaluator(**weights)(PositionBatch.start(1, 8).afterstates())
    np.testing.assert_array_equal(values, [2 * 3 - 0.5 * 3] * 4)


def test_every_feature_has_its_weight() -> None:
    assert [field.name for field in dataclasses.fields(HeuristicEvaluator)] == list(FEATURE_COUNTS)


@each_agent
def test_a_corner_is_taken(agent: Agent) -> None:
    assert move_of(agent, Position.parse("-OX-----" + "-OOX----" + "--------" * 6 + "X")) == "a1"


@each_agent
def test_the_square_beside_an_empty_corner_is_left_alone(agent: Agent) -> None:
    board = "--------" + "--OX----" + "--------" * 3 + "--OX----" + "--------" * 2
    assert Position.parse(board + "X").legal_squares() == (parse_square("b2"), parse_square("b6"))
    assert move_of(agent, Position.parse(board + "X")) == "b6"


@each_agent
def test_a_win_at_once_beats_a_corner(agent: Agent) -> None:
    # a2 turns both white discs, a1 one.
    position = Position.parse("--------" + "-OOX----" + "--X-----" + "--------" * 5 + "X")
    assert {"a1", "a2"} <= {format_square(square) for square in position.legal_squares()}
    assert move_of(agent, position) == "a2"


@pytest.mark.parametrize("evaluate", [HeuristicEvaluator(), BeginnerEvaluator()])
def test_a_finished_game_counts_by_its_result(evaluate: HeuristicEvaluator | BeginnerEvaluator, rng: np.random.Generator) -> None:
    games = PositionBatch.start(2000, 4)
    num_plies = rng.integers(6, 12, len(games))
    for ply in range(12):
        running = np.flatnonzero((ply < num_plies) & ~games.is_over)
        games.step(games.take(running).sample_moves(rng), running)
    afterstates = games.afterstates()
    values = evaluate(afterstates)
    ends, differences = afterstates.results()
    assert len(set(np.sign(differences))) == 3
    np.testing.assert_array_equal(values[ends], np.sign(differences) * WON + differences)
    assert np.abs(np.delete(values, ends)).max() < WON / 5


@each_agent
@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_agents_beat_greedy_on_every_board(agent: Agent, board_size: int, rng: np.random.Generator) -> None:
    openings = random_openings(100, 4, rng=rng, board_size=board_size)
    result = play_match(agent, make_agent("greedy"), openings)
    assert result.interval[0] > (0.8 if board_size == 8 else 0.5)


@each_agent
def test_agents_beat_the_published_tables(agent: Agent, rng: np.random.Generator) -> None:
    result = play_match(agent, make_agent("positional"), random_openings(100, 8, rng=rng))
    assert result.interval[0] > 0.5
