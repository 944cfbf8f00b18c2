from __future__ import annotations

import numpy as np
import pytest

from othello_env import Game, IllegalMoveError, Position, RecordFormatError, backend
from othello_env.sequences import PADDING, IllegalReason, Verdicts, find_illegal_moves, pad_games, random_games, write_passes
from othello_env.squares import BOARD_SIZES, parse_square

WIPE_OUT = "e6f4e3f6g5d6e7f5c5"  # 9 moves, and White has no disc left
EARLY_PASS = "f5f6d3g5h5h4f7h6"  # Black has no move; White has c5 and e7


def verdict(transcript: str, *more: str | int, auto_pass: bool = True) -> tuple[int, IllegalReason]:
    """The column of the first illegal move and the reason. more: entries after the transcript."""
    squares = [*Game.parse(transcript).moves, *(parse_square(entry) if isinstance(entry, str) else entry for entry in more)]
    moves = np.full((1, 70), PADDING)
    moves[0, : len(squares)] = squares
    verdicts = find_illegal_moves(moves, auto_pass=auto_pass)
    return int(verdicts.first_illegal[0]), verdicts.reason(0)


def test_legal_games_have_no_illegal_move(either_backend: None) -> None:
    verdicts = find_illegal_moves(pad_games([Game.parse(WIPE_OUT).moves, Game.parse(EARLY_PASS + "c5").moves, []]))
    assert verdicts.is_legal.all()
    assert verdicts.first_illegal.tolist() == [-1, -1, -1]
    assert verdicts.entries.tolist() == [PADDING] * 3
    assert [verdicts.reason(row) for row in range(len(verdicts))] == [IllegalReason.NONE] * 3
    assert verdicts.describe(1) == "game 1: legal"


def test_every_reason_is_found(either_backend: None) -> None:
    assert verdict("f5", "f5") == (1, IllegalReason.OCCUPIED)
    assert verdict("", "a1") == (0, IllegalReason.NO_FLIPS)
    assert verdict("", "e3") == (0, IllegalReason.OTHER_SIDE)
    assert verdict(WIPE_OUT, "a1") == (9, IllegalReason.AFTER_END)
    assert verdict(WIPE_OUT, "f5") == (9, IllegalReason.AFTER_END)
    assert verdict(WIPE_OUT, "pass") == (9, IllegalReason.AFTER_END)
    assert verdict("f5", "pass") == (1, IllegalReason.PASS)
    assert verdict("f5", 65) == (1, IllegalReason.NO_SQUARE)
    assert verdict("f5", 254) == (1, IllegalReason.NO_SQUARE)
    assert verdict("f5", PADDING, PADDING, "d6") == (3, IllegalReason.AFTER_PADDING)


def test_after_a_forced_pass_the_same_side_moves(either_backend: None) -> None:
    assert verdict(EARLY_PASS, "c5") == (-1, IllegalReason.NONE)
    assert verdict(EARLY_PASS, "pass", "c5") == (-1, IllegalReason.NONE)
    assert verdict(EARLY_PASS, "pass", "pass", "c5") == (9, IllegalReason.PASS)
    assert verdict(EARLY_PASS, "c5", "pass") == (9, IllegalReason.PASS)
    assert verdict(EARLY_PASS, "c5", auto_pass=False) == (8, IllegalReason.OTHER_SIDE)
    assert verdict(EARLY_PASS, "pass", "c5", auto_pass=False) == (-1, IllegalReason.NONE)
    assert verdict(EARLY_PASS, "pass", "pass", auto_pass=False) == (9, IllegalReason.PASS)
    assert verdict(EARLY_PASS, "f5", auto_pass=False) == (8, IllegalReason.OCCUPIED)
    assert verdict(EARLY_PASS, "a1", auto_pass=False) == (8, IllegalReason.NO_FLIPS)


def test_the_turn_is_never_handed_over_because_the_other_side_could_move(either_backend: None) -> None:
    """Moves of the other side are illegal in every position of random games, but for the forced passes."""
    moves = random_games(120, 6, 13)
    for auto_pass in (True, False):
        games = moves if auto_pass else write_passes(moves, 6)
        tried = 0
        for row in range(len(games)):
            position = Position.start(6)
            for column in range(int(np.argmax(np.append(games[row], PADDING) == PADDING))):
                other = Position(position.opp, position.own, 1 - position.side_to_move, 6).legal_moves & ~position.legal_moves
                if row % 20 == column % 20 and other:
                    sequence = np.append(games[row], PADDING)[None].copy()
                    sequence[0, column] = other.bit_length() - 1
                    verdicts = find_illegal_moves(sequence, 6, auto_pass=auto_pass)
                    assert (verdicts.first_illegal[0], verdicts.reason(0)) == (column, IllegalReason.OTHER_SIDE)
                    tried += 1
                position = position.play(int(games[row, column]), auto_pass=auto_pass)
        assert tried > 100


def slow_verdict(moves: list[int], board_size: int) -> tuple[int, IllegalReason]:
    """The referee once more, one game at a time, with `Position` and passes as moves of their own."""
    position, is_pass, passed = Position.start(board_size), board_size**2, False
    for column, move in enumerate(moves):
        if move == PADDING:
            later = [place for place in range(column, len(moves)) if moves[place] != PADDING]
            return (later[0], IllegalReason.AFTER_PADDING) if later else (-1, IllegalReason.NONE)
        if move > is_pass:
            return column, IllegalReason.NO_SQUARE
        if position.is_over:
            return column, IllegalReason.AFTER_END
        if move == is_pass:
            if not passed:
                return column, IllegalReason.PASS
            passed = False
            continue
        try:
            after = position.play(move)
        except IllegalMoveError:
            other = Position(position.opp, position.own, 1 - position.side_to_move, board_size)
            if (position.own | position.opp) >> move & 1:
                return column, IllegalReason.OCCUPIED
            return column, IllegalReason.OTHER_SIDE if other.legal_moves >> move & 1 else IllegalReason.NO_FLIPS
        passed, position = after.side_to_move == position.side_to_move and not after.is_over, after
    return -1, IllegalReason.NONE


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_damaged_games_get_the_verdict_of_a_slow_referee(board_size: int, rng: np.random.Generator, either_backend: None) -> None:
    moves = random_games(400, board_size, 21)
    moves[::3] = write_passes(moves, board_size, length=2 * board_size**2)[::3, : moves.shape[1]]
    damage = rng.integers(0, moves.shape[1], size=(len(moves), 2))
    moves[np.arange(len(moves)), damage[:, 0]] = rng.integers(0, board_size**2 + 2, size=len(moves))
    moves[::5] = np.take_along_axis(moves[::5], rng.permuted(np.tile(np.arange(moves.shape[1]), (len(moves[::5]), 1)), axis=1), axis=1)
    moves[1::7, damage[0, 1] :] = PADDING
    verdicts = find_illegal_moves(moves, board_size)
    found = [(int(column), IllegalReason(reason)) for column, reason in zip(verdicts.first_illegal, verdicts.reasons, strict=True)]
    assert found == [slow_verdict(game, board_size) for game in moves.tolist()]
    assert set(verdicts.reasons.tolist()) >= {0, 1, 2, 3, 5}


@pytest.mark.parametrize("auto_pass", [True, False])
@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_numpy_and_compiled_code_give_the_same_verdicts(board_size: int, auto_pass: bool, rng: np.random.Generator) -> None:
    pytest.importorskip("numba")
    moves = write_passes(random_games(3_000, board_size, 34), board_size)
    damaged = rng.random(moves.shape) < 0.01
    moves[damaged] = rng.integers(0, 256, size=damaged.sum())

    def verdicts() -> Verdicts:
        return find_illegal_moves(moves, board_size, auto_pass=auto_pass)

    before = backend._State.module, backend._State.wanted, backend.play_move
    backend.use_numpy()
    by_numpy = verdicts()
    assert backend.use_compiled()
    by_compiled = verdicts()
    backend._State.module, backend._State.wanted, backend.play_move = before
    for name in ("first_illegal", "reasons", "entries"):
        assert np.array_equal(getattr(by_numpy, name), getattr(by_compiled, name)), name
    assert 0.1 < by_numpy.is_legal.mean() < 0.95


def test_a_verdict_names_game_move_and_reason() -> None:
    verdicts = find_illegal_moves(pad_games([[19, 18], [19, 18, 0], [64]]))
    assert verdicts.entries.tolist() == [PADDING, 0, 64]
    assert verdicts.describe(1) == "game 1, move 3 (a1): no disc is flipped there"
    assert verdicts.describe(2) == "game 2, move 1 (pass): a pass that is not forced"
    verdicts = find_illegal_moves(np.array([[200]]))
    assert verdicts.describe(0) == "game 0, move 1 (200): not a square of the board"


def test_every_reason_has_an_explanation() -> None:
    entries = np.zeros(7, dtype=np.uint8)
    reasons = np.arange(1, 8, dtype=np.uint8)
    verdicts = Verdicts(np.zeros(7, dtype=np.int64), reasons, entries, 8)
    texts = [verdicts.describe(row) for row in range(7)]
    assert len(reasons) == len(IllegalReason) - 1
    assert len({text.partition(": ")[2] for text in texts}) == 7


def test_no_games_are_no_verdicts(either_backend: None) -> None:
    assert find_illegal_moves(np.empty((0, 60), dtype=np.int64)).is_legal.shape == (0,)


def test_transcripts_with_the_same_fault_are_refused_elsewhere_too() -> None:
    with pytest.raises(IllegalMoveError):
        Game.parse("e3")
    with pytest.raises(RecordFormatError):
        Game.parse("f5pa")
