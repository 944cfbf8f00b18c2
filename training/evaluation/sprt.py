"""Sequential tests: play until it is clear which of two hypotheses about the difference in strength fits, and no longer.

`python -m training.evaluation.sprt --pentanomial 10,20,300,30,12 --elo0 0 --elo1 5`

Wald's (1945) sequential probability ratio test of H0: the first agent is elo0 stronger, against H1: it is elo1 stronger. The
observations are pairs of games, an opening with both colours, with 0, 1/2, 1, 3/2 or 2 points; how often each of the five comes is
not known, so the likelihoods are those of the five chances that fit best under each hypothesis (the generalised test, as fishtest
plays it; Van den Bergh, "A practical introduction to the GSPRT"). H1 is accepted when the logarithm of the likelihood ratio reaches
ln((1 - beta) / alpha), H0 when it reaches ln(beta / (1 - alpha)).

Two scales. "logistic": Elo of the score s, s = 1 / (1 + 10^(-Elo / 400)). "normalized": the expected score's distance from 1/2 in
standard deviations of a game, times 800 / ln 10; a deviation of a game is sqrt(2) times that of a pair's mean score. Equal normalized
Elo need equally many games to show, whatever the draws and the openings.

Validity. The error rates, at most alpha at elo0 and beta at elo1, are those of a large sample: the difference between the hypotheses must
be so small that tens of pairs are needed at least, for then one pair moves the ratio little and the chances are known well. In
simulations, 300 tests each, they held within the error of counting (0.03 to 0.07 for 0.05) with bounds 10 Elo apart, 3,000 pairs a test,
as with bounds 150 apart, 15 pairs. A strength between elo0 and elo1 may end either way. Pairs must be independent: not copies of each
other, and counted in an order that does not depend on their results. A test must be stopped by its bounds only, and its bounds chosen
before it. The score of a stopped match overstates the difference that stopped it; play a match of fixed length to measure one.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from training.evaluation.standings import PairCounts

Floats = npt.NDArray[np.float64]
Model = Literal["logistic", "normalized"]
Decision = Literal["H0", "H1"]

# The mean score of a game in a pair, for each of the five results of a pair.
_SCORES: Final = np.linspace(0, 1, 5)
# Normalized Elo for one standard deviation of a game.
_NORMALIZED_ELO: Final = 800 / math.log(10)
# What stands for a result that was never seen, so that no chance is 0. As in fishtest.
_UNSEEN: Final = 1e-3
# Below so many pairs, and above so many Elo, the notes warn.
_FEW_PAIRS: Final = 30
_LARGE_ELO: Final = 200.0
_WIDE_BOUNDS: Final = 100.0


@dataclass(frozen=True, slots=True)
class SprtState:
    """Where a test stands.

    llr: the logarithm of the likelihood ratio; positive speaks for H1. lower, upper: where H0 and H1 are accepted. decision: the
    hypothesis that is accepted, None while the test goes on. pairs: of games. score: the first agent's share of the points, nan
    without games. notes: sentences on what the numbers cannot be trusted for.
    """

    llr: float
    lower: float
    upper: float
    decision: Decision | None
    pairs: int
    score: float
    notes: tuple[str, ...]


def pentanomial(counts: PairCounts) -> npt.NDArray[np.int64]:
    """[5] how many pairs gave the first agent 0, 1/2, 1, 3/2, 2 points. counts: [3, 3], see `PairCounts`."""
    cells = np.asarray(counts)
    if cells.shape != (3, 3):
        raise ValueError(f"pair counts of shape {cells.shape}: expected (3, 3)")
    flipped = cells[:, ::-1]
    return np.array([flipped.trace(offset) for offset in (2, 1, 0, -1, -2)], dtype=np.int64)


def sprt(
    pair_scores: npt.ArrayLike, elo0: float, elo1: float, *, alpha: float = 0.05, beta: float = 0.05, model: Model = "logistic"
) -> SprtState:
    """Where a test stands after these pairs of games; see the module for what it assumes.

    pair_scores: [5] counts of the pairs that gave the first agent 0, 1/2, 1, 3/2, 2 points. elo0, elo1: the hypotheses, in Elo on the
    model's scale. alpha, beta: the chances to accept H1 where H0 holds, and H0 where H1 holds. Raises `ValueError` for anything else.
    """
    _check_settings(elo0, elo1, alpha, beta, model)
    counts = np.asarray(pair_scores, dtype=np.float64)
    if counts.shape != (5,) or not np.isfinite(counts).all() or (counts < 0).any():
        raise ValueError(f"pentanomial {np.asarray(pair_scores).tolist()}: expected five counts, of pairs with 0, 1/2, 1, 3/2, 2 points")
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
        raise ValueError(f"alpha {alpha}, beta {beta}: chances of an error are above 0, and below 1 together")
    if model not in get_args(Model):
        raise ValueError(f"model {model!r}: expected one of {', '.join(get_args(Model))}")
    if model == "normalized" and max(abs(elo0), abs(elo1)) > _LARGE_ELO:
        raise ValueError(f"elo0 {elo0:g}, elo1 {elo1:g}: normalized Elo is meant for differences up to {_LARGE_ELO:.0f}")


def _log_likelihood_ratio(counts: Floats, elo0: float, elo1: float, model: Model) -> float:
    """The logarithm of how many times likelier the counts are under H1 than under H0. counts: [5], none of them 0."""
    observed = counts / counts.sum()
    if model == "logistic":
        fits = [_fit_with_mean(observed, 1 / (1 + 10 ** (-elo / 400))) for elo in (elo0, elo1)]
    else:
        # A pair's mean score varies by 1/sqrt(2) of a game's, so the same distance is sqrt(2) as many of its deviations.
        fits = [_fit_with_deviations(observed, math.sqrt(2) * elo / _NORMALIZED_ELO) for elo in (elo0, elo1)]
    return float(counts @ np.log(fits[1] / fits[0]))


def _fit_with_mean(observed: Floats, mean: float) -> Floats:
    """[5] the chances of the five results that fit best among those with this mean score."""
    return _fit_orthogonal(observed, _SCORES - mean)


def _fit_orthogonal(observed: Floats, values: Floats) -> Floats:
    """[5] the chances p that fit best among those with sum p * values = 0.

    By Lagrange p = observed / (1 + x * values), where x is the one root for which all p are positive (Owen, 1988).
    """
    # p <= 1 for the smallest and the largest value bounds x more tightly than p > 0 does.
    low = (observed[values.argmax()] - 1) / values.max()
    high = (observed[values.argmin()] - 1) / values.min()
    root = brentq(lambda x: float((observed * values / (1 + x * values)).sum()), low, high, xtol=1e-14, rtol=1e-14)
    fit: Floats = observed / (1 + root * values)
    return fit


def _fit_with_deviations(observed: Floats, deviations: float) -> Floats:
    """[5] the chances that fit best among those whose mean score is so many standard deviations above 1/2.

    The condition mean - 1/2 - deviations * sigma = 0 is not linear in the chances: it is replaced by its tangent at the last fit, over
    and over (Van den Bergh, "Normalized Elo: practical computations", 4.1). Raises `ArithmeticError` where that does not settle.
    """
    fit = np.full(5, 0.2)
    for number in range(1000):
        mean = float(fit @ _SCORES)
        sigma = math.sqrt(float(fit @ (_SCORES - mean) ** 2))
        values = _SCORES - 0.5 - deviations * sigma * (1 + ((_SCORES - mean) / sigma) ** 2) / 2
        # Where nearly all pairs ended alike the fits swing to and fro: smaller steps still arrive.
        step = (_fit_orthogonal(observed, values) - fit) / 2 ** (number // 100)
        fit += step
        if np.abs(step).max() < 1e-9:
            return fit
    raise ArithmeticError(f"sprt: no chances near {observed.tolist()} are {deviations:.3g} deviations above 1/2")


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
        notes.append("All pairs ended alike: the ratio rests on the stand-in for results that were never seen.")
    score = float(counts @ _SCORES) / pairs if pairs else 0.5
    if model == "logistic" and abs(score - 0.5) > 1 / (1 + 10 ** (-_LARGE_ELO / 400)) - 0.5:
        notes.append(f"The score {score:.3f} is far from 1/2: measure such a difference with a match of fixed length.")
    return tuple(notes)


@dataclass(slots=True)
class Sprt:
    """A test that runs along with a match.

    elo0, elo1, alpha, beta, model: see `sprt`. counts: [5] the pairs so far. decision: the first hypothesis that was accepted; it stays,
    also where the results of games that were under way when the bound was reached turn the ratio back.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = "logistic"
    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(5, dtype=np.int64))
    decision: Decision | None = None

    def __post_init__(self) -> None:
        """Raises `ValueError` for settings that make no test."""
        _check_settings(self.elo0, self.elo1, self.alpha, self.beta, self.model)

    def update(self, results: tuple[int, int]) -> SprtState:
        """Count a pair of games. results: of the first agent, with Black and with White: 0 a loss, 1 a draw, 2 a win."""
        if len(results) != 2 or any(result not in (0, 1, 2) for result in results):
            raise ValueError(f"results {results}: expected two of 0, 1, 2")
        self.counts[sum(results)] += 1
        state = self.state()
        if self.decision is None:
            self.decision = state.decision
        return state

    def state(self, counts: npt.ArrayLike | None = None) -> SprtState:
        """Where the test stands. counts: [5] pairs or [3, 3] as `PairCounts`, instead of those it has been given."""
        pair_scores = np.asarray(self.counts if counts is None else counts)
        if pair_scores.shape == (3, 3):
            pair_scores = pentanomial(pair_scores)
        return sprt(pair_scores, self.elo0, self.elo1, alpha=self.alpha, beta=self.beta, model=self.model)


def format_state(state: SprtState) -> str:
    """One line of numbers and decision, then the notes."""
    verdict = {"H0": "H0 accepted", "H1": "H1 accepted", None: "undecided"}[state.decision]
    score = "" if math.isnan(state.score) else f", score {state.score:.3f}"
    first = f"LLR {state.llr:.2f} ({state.lower:.2f} to {state.upper:.2f}): {verdict}; {state.pairs} pairs{score}"
    return "\n".join([first, *(f"note: {note}" for note in state.notes)])


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluation.sprt", description="Say where a sequential test of two agents stands."
    )
    pentanomial_help = "pairs of games in which the first agent got 0, 1/2, 1, 3/2, 2 points"
    parser.add_argument("--pentanomial", required=True, metavar="N,N,N,N,N", help=pentanomial_help)
    parser.add_argument("--elo0", type=float, required=True, help="how much stronger the first agent is under H0")
    parser.add_argument("--elo1", type=float, required=True, help="how much stronger it is under H1")
    parser.add_argument("--alpha", type=float, default=0.05, help="chance to accept H1 where H0 holds (default: 0.05)")
    parser.add_argument("--beta", type=float, default=0.05, help="chance to accept H0 where H1 holds (default: 0.05)")
    parser.add_argument("--model", choices=get_args(Model), default="logistic", help="scale of elo0 and elo1 (default: logistic)")
    arguments = parser.parse_args(argv)
    try:
        counts = [int(count) for count in arguments.pentanomial.split(",")]
        state = sprt(counts, arguments.elo0, arguments.elo1, alpha=arguments.alpha, beta=arguments.beta, model=arguments.model)
    except (ValueError, ArithmeticError) as error:
        sys.exit(f"sprt: {error}")
    print(format_state(state))


if __name__ == "__main__":
    main()
