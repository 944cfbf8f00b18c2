"""Leaf evaluators for tree search: a policy and a value for each position of a batch.

An evaluator is a pure function of positions and a random generator. Policy-value networks, random
playouts and value functions of afterstates implement the protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from agents.base import Values, groups_of
from agents.xorshift import below, mixed, next_word
from othello_env import backend
from othello_env.batch import Afterstates, PositionBatch
from othello_env.bitboard import BitboardArray
from othello_env.compiled import GEOMETRY, flips, kernel, place, popcount, settle, unpacked

# A playout takes about two microseconds, dispatching rows to a thread about a hundred.
_PLAYOUTS_PER_THREAD: Final = 128

_MOST_ROLLOUTS: Final = 1_000_000

_ONE: Final = np.uint64(1)


class Evaluation(NamedTuple):
    """The evaluation of L positions, from the perspective of the side to move.

    policy_logits: [L, A] float32 with A = n*n + 1, unnormalized; only the entries of legal squares
    are read, and -inf means probability 0. None stands for a uniform policy. values: [L] float32,
    from -1 (loss) to 1 (win).
    """

    policy_logits: npt.NDArray[np.float32] | None
    values: npt.NDArray[np.float32]


class Evaluator(Protocol):
    """Protocol of leaf evaluators for tree search."""

    def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
        """Return the evaluation of each position.

        positions: [L] with L > 0, which must not be modified; the side to move has a legal square
        in each. rng: the source of all randomness. The evaluation of a position should depend on
        the other positions only through the random numbers that it receives.
        """
        ...


@dataclass(frozen=True, slots=True)
class RolloutEvaluator:
    """Evaluates by uniformly random playouts: the value is their mean outcome.

    The policy is uniform. rollouts: number of playouts per position, 1 to 1,000,000; other numbers
    raise `ValueError`. Each position consumes 64 random bits of the generator, in order, which
    determine its playouts.
    """

    rollouts: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.rollouts <= _MOST_ROLLOUTS:
            raise ValueError(f"rollouts {self.rollouts}: must be at least 1, and at most {_MOST_ROLLOUTS}")

    def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:
        """See `Evaluator`."""
        seeds = rng.integers(1 << 64, size=len(positions), dtype=np.uint64)
        values = np.empty(len(positions), dtype=np.float32)
        arrays = (positions.own, positions.opp, seeds, values)
        rows_per_thread = -(-_PLAYOUTS_PER_THREAD // self.rollouts)  # at least 1
        backend.run_rows(_play_out, arrays, self.rollouts, GEOMETRY[positions.board_size], rows_per_thread=rows_per_thread)
        return Evaluation(None, values)


@dataclass(frozen=True, slots=True)
class AfterstateEvaluator:
    """Evaluates by a one-ply search with a value function of afterstates.

    The policy is the softmax of the afterstate values divided by `temperature`. The value is the
    tanh of the highest afterstate value divided by `scale`. value_function: such as an n-tuple
    network; see `evaluate` of `AfterstateAgent`. Raises `ValueError` for a temperature or scale
    that is not positive.
    """

    value_function: Callable[[Afterstates], Values]
    temperature: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("temperature", "scale"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} {getattr(self, name)}: must be positive")

    def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:  # noqa: ARG002 - nothing is random
        """See `Evaluator`."""
        afterstates = positions.afterstates()
        values = np.asarray(self.value_function(afterstates), dtype=np.float64)
        logits = np.full((len(positions), positions.pass_square + 1), -np.inf, dtype=np.float32)
        logits[afterstates.rows, afterstates.squares] = values / self.temperature
        first, _ = groups_of(afterstates.rows)
        best = np.maximum.reduceat(values, first)
        return Evaluation(logits, np.tanh(best / self.scale).astype(np.float32))


@kernel
def _play_out(
    own: BitboardArray,
    opp: BitboardArray,
    seeds: npt.NDArray[np.uint64],
    values: npt.NDArray[np.float32],
    rollouts: int,
    words: BitboardArray,
) -> None:
    """Write the mean outcomes of random games from [L] positions into `values`.

    They are from the perspective of the side to move.
    """
    geometry = unpacked(words)
    for row in range(len(own)):
        state = mixed(seeds[row]) | _ONE  # the one state that xorshift never leaves is 0
        total = 0
        for _ in range(rollouts):
            mover, other, moves, passed = settle(own[row], opp[row], geometry)
            same_view = not passed  # whether the mover is the side to move of the row
            while moves != 0:
                state = next_word(state)
                rank = below(state, np.uint64(popcount(moves)))
                while rank > 0:
                    moves &= moves - _ONE
                    rank -= _ONE
                move = moves & (~moves + _ONE)
                mover, other = place(mover, other, move, flips(mover, other, move, geometry))
                mover, other, moves, passed = settle(mover, other, geometry)
                same_view = same_view if passed else not same_view
            difference = popcount(mover) - popcount(other)
            outcome = np.int64(difference > 0) - np.int64(difference < 0)
            total += outcome if same_view else -outcome
        values[row] = total / rollouts
