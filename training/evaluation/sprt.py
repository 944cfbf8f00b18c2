"""Sequential tests: a match ends as soon as one of two hypotheses about strength is accepted.

`python -m training.evaluation.sprt --pentanomial 10,20,300,30,12 --elo0 0 --elo1 5`

Wald's (1945) sequential probability ratio test of H0: the first agent is elo0 stronger, against H1:
it is elo1 stronger. The observations are game pairs, an opening with both colors, with 0, 1/2, 1,
3/2 or 2 points. The probabilities of the five outcomes are unknown, so each likelihood is that of
the five probabilities that fit best under the hypothesis (the generalized test, as used by
fishtest; Van den Bergh, "A practical introduction to the GSPRT"). H1 is accepted when the logarithm
of the likelihood ratio reaches ln((1 - beta) / alpha), H0 when it reaches ln(beta / (1 - alpha)).

There are two scales. "logistic": Elo of the score s, s = 1 / (1 + 10^(-Elo / 400)). "normalized":
the expected score's distance from 1/2 in standard deviations of a game, times 800 / ln 10; the
standard deviation of a game is sqrt(2) times that of a pair's mean score. Equal normalized Elo
differences take equally many games to detect, whatever the draw rate and the openings.

Validity: the error rates, at most alpha at elo0 and beta at elo1, hold for large samples. The
difference between the hypotheses must be so small that at least tens of pairs are needed, because
then one pair changes the ratio little and the probabilities are known well. In simulations with 300
tests each, the error rates held within the counting error (0.03 to 0.07 for 0.05) both with bounds
10 Elo apart, 3,000 pairs per test, and with bounds 150 Elo apart, 15 pairs per test. For a strength
between elo0 and elo1 either hypothesis may be accepted. Pairs must be independent: not copies of
each other, and counted in an order that does not depend on their outcomes. A test must be stopped
only by its bounds, and the bounds must be chosen before the test. The score of a stopped match
overstates the difference that stopped it; to measure a difference, play a match of fixed length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from othello_env.command import Parser, command
from training.evaluation.results import PairCounts

Floats = npt.NDArray[np.float64]
Model = Literal["logistic", "normalized"]
Decision = Literal["H0", "H1"]

# [5] the mean score of a game in a pair, for each outcome of a pair.
_SCORES: Final = np.linspace(0, 1, 5)
# Normalized Elo for one standard deviation of a game.
_NORMALIZED_ELO: Final = 800 / math.log(10)
# Count that replaces 0 for an outcome that never occurred, so that no probability is 0. As in
# fishtest.
_UNSEEN: Final = 1e-3
# The notes warn of fewer pairs, larger Elo differences and wider bounds than these.
_FEW_PAIRS: Final = 30
_LARGE_ELO: Final = 200.0
_WIDE_BOUNDS: Final = 100.0


@dataclass(frozen=True, slots=True)
class SprtState:
    """State of a sequential test.

    llr: logarithm of the likelihood ratio; positive values favor H1. lower, upper: the bounds at
    which H0 and H1 are accepted. decision: the accepted hypothesis, None while the test goes on.
    pairs: number of game pairs. score: the first agent's share of the points, NaN without games.
    notes: warnings, one sentence each.
    """

    llr: float
    lower: float
    upper: float
    decision: Decision | None
    pairs: int
    score: float
    notes: tuple[str, ...]


def sprt(
    pair_scores: npt.ArrayLike, elo0: float, elo1: float, *, alpha: float = 0.05, beta: float = 0.05, model: Model = "logistic"
) -> SprtState:
    """Return the state of a test after these game pairs; see the module for its assumptions.

    pair_scores: [5] numbers of pairs in which the first agent got 0, 1/2, 1, 3/2, 2 points. elo0,
    elo1: the hypotheses, in Elo on the model's scale. alpha, beta: the probabilities of accepting
    H1 if H0 holds, and H0 if H1 holds. Raises `ValueError` for other values, `ArithmeticError` if
    the fit does not converge.
    """
    _check_settings(elo0, elo1, alpha, beta, model)
    counts = np.asarray(pair_scores, dtype=np.float64)
    if counts.shape != (5,) or not np.isfinite(counts).all() or (counts < 0).any():
        raise ValueError(
            f"pentanomial {np.asarray(pair_scores).tolist()}: expected five counts from 0, of pairs with 0, 1/2, 1, 3/2, 2 points"
        )
    pairs = float(counts.sum())
    lower, upper = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
    if not pairs:
        return SprtState(0.0, lower, upper, None, 0, math.nan, _notes(counts, elo0, elo1, model))
    llr = _log_likelihood_ratio(np.where(counts > 0, counts, _UNSEEN), elo0, elo1, model)
    decision: Decision | None = "H1" if llr >= upper else "H0" if llr <= lower else None
    return SprtState(llr, lower, upper, decision, round(pairs), float(counts @ _SCORES) / pairs, _notes(counts, elo0, elo1, model))


def _check_settings(elo0: float, elo1: float, alpha: float, beta: float, model: Model) -> None:
    if not (math.isfinite(elo0) and math.isfinite(elo1) and elo0 < elo1):
        raise ValueError(f"elo0 {elo0}, elo1 {elo1}: elo0 must be below elo1")
    if not (0 < alpha < 1 and 0 < beta < 1 and alpha + beta < 1):
        raise ValueError(f"alpha {alpha}, beta {beta}: expected error rates above 0 whose sum is below 1")
    if model not in get_args(Model):
        raise ValueError(f"model {model!r}: expected one of {', '.join(get_args(Model))}")
    if model == "normalized" and max(abs(elo0), abs(elo1)) > _LARGE_ELO:
        raise ValueError(f"elo0 {elo0:g}, elo1 {elo1:g}: normalized Elo is meant for differences up to {_LARGE_ELO:.0f}")


def _log_likelihood_ratio(counts: Floats, elo0: float, elo1: float, model: Model) -> float:
    """Return the logarithm of the likelihood ratio of H1 to H0. counts: [5], all positive."""
    observed = counts / counts.sum()
    if model == "logistic":
        fits = [_fit_with_mean(observed, 1 / (1 + 10 ** (-elo / 400))) for elo in (elo0, elo1)]
    else:
        # The standard deviation of a pair's mean score is 1/sqrt(2) times that of a game, so the
        # same distance is sqrt(2) times as many of them.
        fits = [_fit_with_deviations(observed, math.sqrt(2) * elo / _NORMALIZED_ELO) for elo in (elo0, elo1)]
    return float(counts @ np.log(fits[1] / fits[0]))


def _fit_with_mean(observed: Floats, mean: float) -> Floats:
    """Return the [5] probabilities that fit best among those with this mean score."""
    return _fit_orthogonal(observed, _SCORES - mean)


def _fit_orthogonal(observed: Floats, values: Floats) -> Floats:
    """Return the [5] probabilities p that fit best among those with sum p * values = 0.

    By Lagrange multipliers p = observed / (1 + x * values), where x is the one root for which all p
    are positive (Owen, 1988).
    """
    # p <= 1 for the smallest and for the largest value gives tighter bounds of x than p > 0.
    low = (observed[values.argmax()] - 1) / values.max()
    high = (observed[values.argmin()] - 1) / values.min()
    root = brentq(lambda x: float((observed * values / (1 + x * values)).sum()), low, high, xtol=1e-14, rtol=1e-14)
    fit: Floats = observed / (1 + root * values)
    return fit


def _fit_with_deviations(observed: Floats, deviations: float) -> Floats:
    """Return the [5] probabilities that fit best for a given distance of the mean score from 1/2.

    deviations: the distance, in standard deviations. The condition mean - 1/2 - deviations * sigma
    = 0 is not linear in the probabilities: each iteration replaces it by its tangent at the last
    fit (Van den Bergh, "Normalized Elo: practical computations", 4.1). Raises `ArithmeticError` if
    the iteration does not converge.
    """
    fit = np.full(5, 0.2)
    for number in range(1000):
        mean = float(fit @ _SCORES)
        sigma = math.sqrt(float(fit @ (_SCORES - mean) ** 2))
        values = _SCORES - 0.5 - deviations * sigma * (1 + ((_SCORES - mean) / sigma) ** 2) / 2
        # If nearly all pairs have the same outcome, the fits oscillate; smaller steps converge.
        step = (_fit_orthogonal(observed, values) - fit) / 2 ** (number // 100)
        fit += step
        if np.abs(step).max() < 1e-9:
            return fit
    raise ArithmeticError(f"no probabilities near {observed.tolist()} have a mean {deviations:.3g} standard deviations above 1/2")


def _notes(counts: Floats, elo0: float, elo1: float, model: Model) -> tuple[str, ...]:
    notes = []
    pairs = float(counts.sum())
    if pairs < _FEW_PAIRS:
        notes.append(f"{pairs:.0f} pairs are few: the error rates hold for large samples.")
    if elo1 - elo0 > _WIDE_BOUNDS:
        notes.append(f"elo1 - elo0 is {elo1 - elo0:g}: a test this short ends after few pairs, and its error rates are rough.")
    if max(abs(elo0), abs(elo1)) > _LARGE_ELO:
        notes.append(f"elo0 {elo0:g}, elo1 {elo1:g}: the test is meant for differences below {_LARGE_ELO:.0f} Elo.")
    if pairs and (counts > 0).sum() == 1:
        notes.append("All pairs have the same outcome: the ratio rests on the count that replaces 0 for the others.")
    score = float(counts @ _SCORES) / pairs if pairs else 0.5
    if model == "logistic" and abs(score - 0.5) > 1 / (1 + 10 ** (-_LARGE_ELO / 400)) - 0.5:
        notes.append(f"The score {score:.3f} is far from 1/2: measure such a difference with a match of fixed length.")
    return tuple(notes)


@dataclass(slots=True)
class Sprt:
    """Sequential test that runs along with a match.

    elo0, elo1, alpha, beta, model: see `sprt`. pairs: the game pairs so far. decision: the first
    hypothesis that was accepted; it does not change, even if games that were in progress when the
    bound was reached move the ratio back.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = "logistic"
    pairs: PairCounts = field(default_factory=PairCounts)
    decision: Decision | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for invalid settings."""
        _check_settings(self.elo0, self.elo1, self.alpha, self.beta, self.model)

    def update(self, with_black: int, with_white: int) -> SprtState:
        """Count a game pair by the first agent's outcomes: 0 a loss, 1 a draw, 2 a win."""
        self.pairs.add(with_black, with_white)
        state = self.state()
        if self.decision is None:
            self.decision = state.decision
        return state

    def state(self) -> SprtState:
        """Return the state of the test."""
        return sprt(self.pairs.pentanomial, self.elo0, self.elo1, alpha=self.alpha, beta=self.beta, model=self.model)


def format_state(state: SprtState) -> str:
    """Return one line with the numbers and the decision, followed by the notes."""
    verdict = {"H0": "H0 accepted", "H1": "H1 accepted", None: "undecided"}[state.decision]
    score = "" if math.isnan(state.score) else f", score {state.score:.3f}"
    first = f"LLR {state.llr:.2f} ({state.lower:.2f} to {state.upper:.2f}): {verdict}; {state.pairs} pairs{score}"
    return "\n".join([first, *(f"note: {note}" for note in state.notes)])


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. argv: its arguments, by default those of the process."""
    parser = Parser(
        prog="python -m training.evaluation.sprt",
        description="Show the state of a sequential test of two agents.",
    )
    pentanomial_help = "numbers of game pairs in which the first agent got 0, 1/2, 1, 3/2, 2 points"
    parser.add_argument("--pentanomial", required=True, metavar="N,N,N,N,N", help=pentanomial_help)
    parser.add_argument("--elo0", metavar="ELO", type=float, required=True, help="Elo difference, first agent minus second, under H0")
    parser.add_argument("--elo1", metavar="ELO", type=float, required=True, help="Elo difference under H1, above that of H0")
    parser.add_argument("--alpha", metavar="P", type=float, default=0.05, help="probability of accepting H1 if H0 holds (default: 0.05)")
    parser.add_argument("--beta", metavar="P", type=float, default=0.05, help="probability of accepting H0 if H1 holds (default: 0.05)")
    parser.add_argument("--model", choices=get_args(Model), default="logistic", help="scale of the Elo differences (default: logistic)")
    arguments = parser.parse_args(argv)
    with command("sprt"):
        counts = _parse_counts(arguments.pentanomial)
        try:
            state = sprt(counts, arguments.elo0, arguments.elo1, alpha=arguments.alpha, beta=arguments.beta, model=arguments.model)
        except ArithmeticError as error:
            raise ValueError(str(error)) from error
        print(format_state(state))


def _parse_counts(text: str) -> list[int]:
    try:
        return [int(count) for count in text.split(",")]
    except ValueError:
        raise ValueError(f"pentanomial {text!r}: expected five counts with commas between, such as 10,20,300,30,12") from None


if __name__ == "__main__":
    main()
