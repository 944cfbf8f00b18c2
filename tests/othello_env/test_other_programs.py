"""Step by step against OpenSpiel, rust-reversi and EnvPool, which share nothing with this package, over random games."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from othello_env import PASS, Position, PositionBatch, othello_v0
from othello_env.bitboard import unpack

NUM_GAMES = [pytest.param(200, id="quick"), pytest.param(20_000, id="long", marks=pytest.mark.slow)]

# Positions a few moves before an early end: from here a fair share of games ends with empty
# squares, or by a wipe-out.
EARLY_ENDS = ["f5f4c3c6c5d6f3", "f5f4c3e6f7f6f3", "f5f4e3d2d3d6e6f6", "f5f4c3d6d3d2e6f6", "f5f4c3e6f7g6g4e8g8", "f5f6d3g5h5h4f7h6"]


def random_games(num_games: int) -> Iterator[tuple[PositionBatch, np.ndarray]]:
    """Batches without automatic passes and the moves about to be played in them, until all games are over."""
    rng = np.random.default_rng(11)
    games = PositionBatch.start(num_games, auto_pass=False)
    while not games.is_over.all():
        moves = games.sample_moves(rng)
        yield games, moves
        games.step(moves)
    yield games, np.full(num_games, PASS)


@pytest.mark.parametrize("num_games", NUM_GAMES)
def test_open_spiel_agrees_at_every_step_of_random_games(num_games: int) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_game("othello")
    states = [game.new_initial_state() for _ in range(num_games)]
    for positions, moves in random_games(num_games):
        masks, over, side = positions.legal_action_mask(), positions.is_over.tolist(), positions.side_to_move.tolist()
        outcomes = positions.outcome
        for row, state in enumerate(states):
            # OpenSpiel ends a game when the board is full, or after a pass of each side.
            for _ in range(2 * (over[row] and not state.is_terminal())):
                state.apply_action(PASS)
            assert state.is_terminal() == over[row]
            if over[row]:
                assert state.returns() == [outcomes[row], -outcomes[row]]
            else:
                assert state.current_player() == side[row]
                assert state.legal_actions() == np.flatnonzero(masks[row]).tolist()
                state.apply_action(int(moves[row]))


@pytest.mark.parametrize("num_games", NUM_GAMES)
def test_rust_reversi_agrees_at_every_step_of_random_games(num_games: int) -> None:
    rust_reversi = pytest.importorskip("rust_reversi")
    boards = [rust_reversi.Board() for _ in range(num_games)]
    for positions, moves in random_games(num_games):
        masks, lines = positions.legal_action_mask(), [str(position)[:PASS] for position in positions]
        for row, board in enumerate(boards):
            white = board.get_turn() == rust_reversi.Turn.WHITE
            assert board.is_game_over() == positions.is_over[row]
            if board.is_game_over():
                assert (board.black_piece_num(), board.white_piece_num()) == positions[row].discs
                continue
            assert white == positions.side_to_move[row]
            assert board.get_board_line() == lines[row]
            assert board.get_legal_moves_vec() == np.flatnonzero(masks[row, :PASS]).tolist()
            if moves[row] == PASS:
                board.do_pass()
            else:
                board.do_move(int(moves[row]))


@pytest.mark.parametrize("num_games", NUM_GAMES)
def test_env_pool_agrees_at_every_step_of_random_games(num_games: int) -> None:
    """Boards, masks, sides and results; a game that ends before the board is full goes on for two passes there."""
    envpool = pytest.importorskip("envpool")
    env = envpool.make_gymnasium("Othello-v1", num_envs=num_games, num_threads=2, seed=1)
    infos = env.reset()[1]
    order = np.argsort(infos["env_id"])  # a batch holds the games in the order in which the threads were done with them
    black = infos["current_player"][order]  # players 0 and 1 take the colors at random
    running = np.ones(num_games, dtype=np.bool_)
    passes = np.zeros(num_games, dtype=np.int64)
    num_early_ends = 0
    for positions, moves in and_passes(random_games(num_games), 2):
        over = positions.is_over
        own, opp = (unpack(discs, 64).reshape(-1, 8, 8).astype(np.int32) for discs in (positions.own, positions.opp))
        playing = running & ~over
        assert np.array_equal(infos["board"][order][playing], (own - opp)[playing])
        assert np.array_equal(infos["legal_action_mask"][order][playing], positions.legal_action_mask()[playing])
        assert np.array_equal(infos["current_player"][order][playing] == black[playing], positions.side_to_move[playing] == 0)
        passes += running & over
        _, rewards, terminations, truncations, infos = env.step(moves.astype(np.int32), np.arange(num_games))
        order = np.argsort(infos["env_id"])
        assert not truncations[order][running].any()
        ended = np.flatnonzero(running & terminations[order])
        after = positions.copy()
        after.step(moves)
        assert after.is_over[ended].all()
        both = rewards.reshape(-1, 2)[order]
        assert np.array_equal(both[ended, black[ended]], after.outcome[ended])
        assert (both[ended].sum(axis=1) == 0).all()
        num_early_ends += int((passes[ended] > 0).sum())
        running[ended] = False
    assert not running.any()
    assert passes.max() <= 2
    assert num_early_ends > 0


def and_passes(games: Iterator[tuple[PositionBatch, np.ndarray]], number: int) -> Iterator[tuple[PositionBatch, np.ndarray]]:
    """The last batch, whose games are all over, comes again."""
    for last in games:
        yield last
    for _ in range(number):
        yield last


@pytest.mark.parametrize("transcript", EARLY_ENDS)
def test_open_spiel_agrees_on_all_games_that_may_end_early(transcript: str) -> None:
    pyspiel = pytest.importorskip("pyspiel")
    state = pyspiel.load_game("othello").new_initial_state()
    position = Position.start()
    moves = [transcript[i : i + 2] for i in range(0, len(transcript), 2)]
    for move in moves:
        while state.legal_actions() == [PASS]:
            state.apply_action(PASS)
        state.apply_action(state.string_to_action(move))
        position = position.play(move)
    assert_same_tree(state, position, depth=3)


def assert_same_tree(state: object, position: Position, depth: int) -> None:
    """Every line of play of `depth` moves, with automatic passes on our side and explicit ones on OpenSpiel's."""
    while state.legal_actions() == [PASS]:  # type: ignore[attr-defined]
        state = state.child(PASS)  # type: ignore[attr-defined]
    assert state.is_terminal() == position.is_over  # type: ignore[attr-defined]
    if position.is_over:
        assert state.returns()[0] == position.outcome  # type: ignore[attr-defined]
        return
    assert state.current_player() == position.side_to_move  # type: ignore[attr-defined]
    assert tuple(state.legal_actions()) == position.legal_squares()  # type: ignore[attr-defined]
    if depth:
        for move in position.legal_squares():
            assert_same_tree(state.child(move), position.play(move), depth - 1)  # type: ignore[attr-defined]


def test_pgx_numbers_squares_and_pass_alike_and_sees_the_same_planes() -> None:
    pgx = pytest.importorskip("pgx")
    jax = pytest.importorskip("jax")
    env = pgx.make("othello")
    state = env.init(jax.random.PRNGKey(0))
    step = jax.jit(env.step)
    ours = othello_v0.env(auto_pass=False)
    ours.reset()
    rng = np.random.default_rng(4)
    while not ours.terminations[ours.agent_selection]:
        observation = ours.last()[0]
        assert np.asarray(state.legal_action_mask).astype(np.int8).tolist() == observation["action_mask"].tolist()
        np.testing.assert_array_equal(np.asarray(state.observation), observation["observation"])
        action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
        state = step(state, action)
        ours.step(action)
    assert sum(ours.position.discs) > 20
