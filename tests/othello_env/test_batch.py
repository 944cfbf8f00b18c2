from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from othello_env import BLACK, PASS, WHITE, IllegalMoveError, Position, PositionBatch, batch
from othello_env.observation import ObservationFormat
from tests.othello_env.test_batch_rows import assert_rows

pytestmark = pytest.mark.usefixtures("either_backend")


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_a_large_batch_is_handled_in_chunks_like_a_small_one(board_size: int, rng: np.random.Generator) -> None:
    size = 2 * batch.CHUNK + 17
    games = PositionBatch.start(size, board_size)
    watched = np.array([0, 1, batch.CHUNK - 1, batch.CHUNK, size - 1])
    expected = [Position.start(board_size)] * len(watched)
    while not games.is_over.all():
        moves = games.sample_moves(rng)
        expected = [p if p.is_over else p.play(int(m)) for p, m in zip(expected, moves[watched], strict=True)]
        games.step(moves)
        assert list(games.take(watched)) == expected
    assert (games.legal_moves == 0).all()


@pytest.mark.parametrize(
    ("board_size", "games", "outcomes", "mean_difference", "early_ends"),
    [  # 300,000 games of an independent program: shares of black wins, white wins, draws; mean disc difference; ends with empties
        (4, 40_000, (0.3534, 0.5503, 0.0964), -1.50, 0.132),
        (6, 20_000, (0.4345, 0.5086, 0.0569), -0.92, 0.035),
        (8, 20_000, (0.4533, 0.5046, 0.0421), -0.88, 0.0097),
    ],
)
def test_random_games_have_the_known_statistics(
    board_size: int, games: int, outcomes: tuple[float, float, float], mean_difference: float, early_ends: float
) -> None:
    rng = np.random.default_rng(7)
    played = PositionBatch.start(games, board_size)
    while not played.is_over.all():
        played.step(played.sample_moves(rng))
    shares = [float((played.outcome == value).mean()) for value in (1, -1, 0)]
    np.testing.assert_allclose(shares, outcomes, atol=5 * (0.25 / games) ** 0.5)
    difference = played.score("discs")
    assert abs(difference.mean() - mean_difference) < 5 * difference.std() / games**0.5
    assert abs((played.empties > 0).mean() - early_ends) < 5 * (early_ends / games) ** 0.5


@pytest.mark.parametrize("wrong", [0, PASS, 65, -1, 255, 2**40, -(2**63)])
def test_one_illegal_move_refuses_the_whole_step_and_changes_nothing(wrong: int) -> None:
    games = PositionBatch.start(5)
    games.step([19, 26, 37, 44, 19])
    before = list(games)
    moves = np.array([games[row].legal_squares()[0] for row in range(5)])
    moves[3] = wrong
    with pytest.raises(IllegalMoveError, match="row 3: .* illegal for white"):
        games.step(moves)
    assert list(games) == before


@pytest.mark.parametrize("squares", [[19.0, 26.0], [True, False], [19], [[19, 26]], 19, ["d3", "c4"], [np.nan, 19]])
def test_moves_of_a_wrong_type_or_shape_are_refused(squares: Any) -> None:
    games = PositionBatch.start(2)
    with pytest.raises(ValueError, match=r"expected integers of shape \(2,\)"):
        games.step(squares)
    assert list(games) == [Position.start()] * 2


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
def test_every_integer_type_is_accepted(dtype: type) -> None:
    games = PositionBatch.start(2)
    games.step(np.array([19, 26], dtype=dtype))
    assert list(games) == [Position.start().play("d3"), Position.start().play("c4")]


def test_moves_may_be_played_in_some_rows_only() -> None:
    games = PositionBatch.from_positions([Position.start(), Position.parse("X" * 64 + "O"), Position.start(), Position.start()])
    games.step([26, PASS, 19], rows=np.array([3, 1, 0]))
    assert list(games) == [Position.start().play(19), games[1], Position.start(), Position.start().play(26)]
    assert games.is_legal([18, 18], rows=np.array([0, 2])).tolist() == [True, False]
    with pytest.raises(IllegalMoveError, match="row 2: "):
        games.step([18, 18], rows=np.array([0, 2]))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        games.step([18], rows=np.array([0, 2]))


def test_finished_rows_take_the_pass_and_stay() -> None:
    over = Position.parse("X" * 64 + " O")
    games = PositionBatch.from_positions([over, Position.start()])
    games.step([PASS, 19])
    assert list(games) == [over, Position.start().play("d3")]
    with pytest.raises(IllegalMoveError, match="row 0: .*the game is over"):
        games.step([0, games[1].legal_squares()[0]])


def test_without_automatic_passes_the_pass_is_a_move() -> None:
    blocked = Position.parse("XO" + "-" * 62 + " O")
    games = PositionBatch.from_positions([blocked], auto_pass=False)
    assert games.legal_action_mask()[0].nonzero()[0].tolist() == [PASS]
    assert games.sample_moves(np.random.default_rng(0)).tolist() == [PASS]
    games.step([PASS])
    assert list(games) == [blocked.resolve_pass()]


def test_reset_puts_positions_into_the_chosen_rows_only() -> None:
    games = PositionBatch.start(4)
    games.step([19, 26, 37, 44])
    second, last = games[1], games[3]
    games.reset(np.array([True, False, True, False]))
    assert list(games) == [Position.start(), second, Position.start(), last]
    blocked = Position.parse("XO" + "-" * 62 + " O")
    games.reset(np.array([3, 0]), PositionBatch.from_positions([blocked, last], auto_pass=False))
    assert_rows(games, [last, second, Position.start(), blocked.resolve_pass()])


def test_reset_refuses_positions_that_do_not_fit() -> None:
    games = PositionBatch.start(3)
    with pytest.raises(ValueError, match="2 rows of 8x8 cannot take 3 positions of 8x8"):
        games.reset(np.array([0, 1]), PositionBatch.start(3))
    with pytest.raises(ValueError, match="positions of 6x6"):
        games.reset(np.array([0]), PositionBatch.start(1, 6))


def test_taken_and_copied_batches_are_independent() -> None:
    games = PositionBatch.start(3)
    taken, copied = games.take(np.array([2, 0])), games.copy()
    games.step([19, 19, 19])
    assert list(taken) == [Position.start()] * 2
    assert list(copied) == [Position.start()] * 3


def test_rows_that_are_no_position_are_refused() -> None:
    with pytest.raises(ValueError, match="row 1 is no position"):
        PositionBatch([1, 1], [2, 1], [BLACK, BLACK])
    with pytest.raises(ValueError, match="row 0 is no position"):
        PositionBatch([1 << 16], [0], [WHITE], board_size=4)
    with pytest.raises(ValueError, match="side_to_move: int from 2 to 2; expected integers from 0 to 1"):
        PositionBatch([0], [0], [2])
    with pytest.raises(ValueError, match=r"expected three times \[B\]"):
        PositionBatch([0, 0], [0], [0])
    with pytest.raises(ValueError, match="exactly one"):
        PositionBatch.from_positions([Position.start(4), Position.start(8)])


@pytest.mark.parametrize(
    ("own", "opp", "side"),
    [
        ([1.7], [2.2], [0.9]),
        (["1"], ["2"], ["0"]),
        ([-1], [0], [0]),
        (np.array([-1]), [0], [0]),
        ([2**64], [0], [0]),
        ([1], [2], [256]),
        ([1], [2], np.array([256])),
        ([True], [False], [False]),
        ([None], [0], [0]),
    ],
)
def test_what_is_no_disc_or_side_is_refused(own: Any, opp: Any, side: Any) -> None:
    with pytest.raises(ValueError, match=r"^(own|opp|side_to_move): [^\n]*$"):
        PositionBatch(own, opp, side)


@pytest.mark.parametrize(
    "rows", [slice(0, 2), 1, np.array([0.0]), np.array([[0]]), [3], [-4], np.array([True]), np.ones((3, 1), dtype=bool), "ab"]
)
def test_rows_that_are_none_are_refused(rows: Any) -> None:
    games = PositionBatch.start(3)
    for use in (lambda: games.take(rows), lambda: games.reset(rows), lambda: games.reset(rows, PositionBatch.start(1))):
        with pytest.raises(ValueError, match=r"^rows[^\n]*$"):
            use()


def test_rows_may_be_lists_and_masks_and_may_be_none_at_all() -> None:
    games = PositionBatch.start(3)
    games.step([19, 26, 37])
    assert list(games.take([2, -3])) == [games[2], games[0]]  # type: ignore[arg-type]
    assert len(games.take(np.zeros(3, dtype=bool))) == len(games.take([])) == 0  # type: ignore[arg-type]
    games.reset(np.zeros(3, dtype=bool))
    games.reset([], PositionBatch.start(0))  # type: ignore[arg-type]
    assert Position.start() not in list(games)


def test_an_unknown_scoring_is_refused() -> None:
    with pytest.raises(ValueError, match="discs, empties_to_winner"):
        PositionBatch.start(1).score("points")  # type: ignore[arg-type]


def test_an_empty_batch_is_a_batch() -> None:
    games = PositionBatch.start(0)
    games.step(np.empty(0, dtype=np.int64))
    assert len(games) == len(games.afterstates()) == len(games.children()) == 0
    assert games.legal_action_mask().shape == (0, 65)


def test_the_same_seed_samples_the_same_moves() -> None:
    games = PositionBatch.start(1000)
    first, second = (games.sample_moves(np.random.default_rng(3)) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert set(first.tolist()) == {19, 26, 37, 44}


def test_no_square_stands_for_a_forced_pass() -> None:
    games = PositionBatch.from_positions([Position.start(), Position.parse("XO" + "-" * 62 + " O")], auto_pass=False)
    before = list(games)
    for move in (*range(PASS), PASS + 1, -1):
        assert games.is_legal([19, move]).tolist() == [True, False]
        with pytest.raises(IllegalMoveError, match="row 1: .*illegal for white"):
            games.step([19, move])
        assert list(games) == before
    games.step([19, PASS])
    assert games[1] == before[1].resolve_pass()


LAYOUTS: list[dict[str, Any]] = [
    {},
    {"channels": "first"},
    {"dtype": "float32", "flat": True},
    {"legal_plane": True, "dtype": "uint8"},
    {"channels": "first", "legal_plane": True, "dtype": "bool"},
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
@pytest.mark.parametrize("board_size", [4, 8])
def test_a_batch_is_observed_as_its_positions_are(layout: Any, board_size: int, rng: np.random.Generator) -> None:
    games = PositionBatch.start(30, board_size)
    for _ in range(9):
        games.step(games.sample_moves(rng))
    seen = games.observe(**layout)
    shown = ObservationFormat(board_size, **layout)
    for row, position in enumerate(games):
        single = shown.observe(position, position.side_to_move, to_act=True)
        for name in ("observation", "action_mask"):
            np.testing.assert_array_equal(seen[name][row], single[name])
            assert seen[name].dtype == single[name].dtype
    np.testing.assert_array_equal(seen["action_mask"], games.legal_action_mask())
    seen["observation"][:] = 7
    assert games.observe(**layout)["observation"].max() <= 1


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="channels 'none': expected one of last, first"):
        PositionBatch.start(1).observe(channels="none")  # type: ignore[arg-type]
    message = (
        "PositionBatch.observe: unexpected argument 'chanels'; did you mean 'channels'? expected one of channels, dtype, flat, legal_plane"
    )
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        PositionBatch.start(1).observe(chanels="first")  # type: ignore[call-arg]
