"""Likelihood of game results in the model of `training.evaluation.ratings`.

The module has its derivatives, its maximum, and limits of the profile likelihood.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize
from scipy.special import expit

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# The three results of a game from one player's perspective, loss, draw and win: the score, and 1
# for a draw.
SCORES: Final = np.array([0.0, 0.5, 1.0])
_IS_DRAW: Final = np.array([0.0, 1.0, 0.0])

_LOG_2: Final = math.log(2)
# An iteration ends when a Newton step is smaller than this, in log-odds.
_TOLERANCE: Final = 1e-8


class Likelihood:
    """Likelihood of the results of a group of players, with the prior.

    Parameters: [P + 2], the strengths, Black's advantage, and the logarithm of the draw weight v.
    The strengths are determined up to a constant; a penalty keeps their mean at 0. Derivatives are
    computed per pairing, with respect to the difference in strength, Black's advantage and log v,
    and then summed over the pairings.
    """

    def __init__(self, firsts: Indices, seconds: Indices, counts: Floats, *, num_players: int) -> None:
        """firsts, seconds: [L] players of each pairing. counts: [L, 3, 3], see `PairCounts`."""
        self.num_players = num_players
        self.counts = counts
        self._firsts, self._seconds = firsts, seconds
        # [L, 2, 3] results of the first player with Black and with White.
        self.results = np.stack([counts.sum(axis=2), counts.sum(axis=1)], axis=1)
        # Black's advantage helps the first player in one game and the opponent in the other.
        self._color_signs = np.array([1.0, -1.0])
        self._virtual_games = (num_players - 1) / len(counts)

    def _log_probabilities(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return log-probabilities, [L, 2, 3], and differences in strength, [L].

        The probabilities are those of a loss, a draw and a win of the first player with Black and
        with White.
        """
        difference = parameters[self._firsts] - parameters[self._seconds]
        edge = (difference[:, None] + self._color_signs * parameters[-2]) / 2
        logits = np.stack([-edge, np.full_like(edge, parameters[-1]), edge], axis=2)
        largest = logits.max(axis=2, keepdims=True)
        return logits - largest - np.log(np.exp(logits - largest).sum(axis=2, keepdims=True)), difference

    def loss(self, parameters: Floats) -> float:
        """Return the negative logarithm of the likelihood times the prior."""
        log_probabilities, difference = self._log_probabilities(parameters)
        prior = self._virtual_games * _virtual_game_loss(difference).sum()
        prior += _virtual_game_loss(parameters[-2]) + _virtual_game_loss(parameters[-1] - _LOG_2)
        return float(-(self.results * log_probabilities).sum() + prior + parameters[:-2].sum() ** 2 / 2)

    def gradient(self, parameters: Floats) -> Floats:
        """Return the gradient of the loss, [P + 2]."""
        log_probabilities, difference = self._log_probabilities(parameters)
        probabilities, games = np.exp(log_probabilities), self.results.sum(axis=2)
        score = self.results @ SCORES - games * (probabilities @ SCORES)
        draws = self.results[..., 1] - games * probabilities[..., 1]
        by_pairing = -np.stack([score.sum(axis=1), score @ self._color_signs, draws.sum(axis=1)], axis=1)
        by_pairing[:, 0] += self._virtual_games * (expit(difference) - 0.5)
        gradient = np.zeros(self.num_players + 2)
        np.add.at(gradient, self._firsts, by_pairing[:, 0])
        np.subtract.at(gradient, self._seconds, by_pairing[:, 0])
        gradient[-2:] = by_pairing[:, 1:].sum(axis=0)
        gradient[-2] += expit(parameters[-2]) - 0.5
        gradient[-1] += expit(parameters[-1] - _LOG_2) - 0.5
        gradient[:-2] += parameters[:-2].sum()
        return gradient

    def hessian(self, parameters: Floats) -> Floats:
        """Return the second derivatives of the loss, [P + 2, P + 2], a positive definite matrix."""
        log_probabilities, difference = self._log_probabilities(parameters)
        probabilities, games = np.exp(log_probabilities), self.results.sum(axis=2)
        mean, draw = probabilities @ SCORES, probabilities[..., 1]
        variance = games * (probabilities @ SCORES**2 - mean**2)
        covariance = games * (probabilities @ (SCORES * _IS_DRAW) - mean * draw)
        by_pairing = np.empty((len(games), 3, 3))
        by_pairing[:, 0, 0] = variance.sum(axis=1) + self._virtual_games * _win_variance(difference)
        by_pairing[:, 1, 1] = variance.sum(axis=1)
        by_pairing[:, 2, 2] = (games * draw * (1 - draw)).sum(axis=1)
        by_pairing[:, 0, 1] = by_pairing[:, 1, 0] = variance @ self._color_signs
        by_pairing[:, 0, 2] = by_pairing[:, 2, 0] = covariance.sum(axis=1)
        by_pairing[:, 1, 2] = by_pairing[:, 2, 1] = covariance @ self._color_signs
        hessian = self._sum_matrices(by_pairing)
        hessian[-2, -2] += _win_variance(parameters[-2])
        hessian[-1, -1] += _win_variance(parameters[-1] - _LOG_2)
        hessian[:-2, :-2] += 1
        return hessian

    def gradient_products(self, parameters: Floats) -> Floats:
        """Return the sum over observations of the outer product of the gradient with itself.

        Shape [P + 2, P + 2]. An observation is a pair of games or a virtual game. This is the
        middle factor of the sandwich estimate of the covariance.
        """
        log_probabilities, difference = self._log_probabilities(parameters)
        probabilities = np.exp(log_probabilities)
        score = SCORES - (probabilities @ SCORES)[..., None]
        draws = _IS_DRAW - probabilities[..., 1, None]
        with_black, with_white = score[:, 0, :, None], score[:, 1, None, :]
        by_result = np.stack([with_black + with_white, with_black - with_white, draws[:, 0, :, None] + draws[:, 1, None, :]], axis=3)
        by_pairing = np.einsum("lab,labj,labk->ljk", self.counts, by_result, by_result)
        by_pairing[:, 0, 0] += self._virtual_games * _virtual_game_products(difference)
        products = self._sum_matrices(by_pairing)
        products[-2, -2] += _virtual_game_products(parameters[-2])
        products[-1, -1] += _virtual_game_products(parameters[-1] - _LOG_2)
        return products

    def _sum_matrices(self, by_pairing: Floats) -> Floats:
        """Sum matrices over the pairings.

        by_pairing: [L, 3, 3], in (difference, advantage, log v). Returns [P + 2, P + 2], in the
        parameters.
        """
        firsts, seconds = self._firsts, self._seconds
        total = np.zeros((self.num_players + 2, self.num_players + 2))
        for rows, columns, sign in ((firsts, firsts, 1), (seconds, seconds, 1), (firsts, seconds, -1), (seconds, firsts, -1)):
            np.add.at(total, (rows, columns), sign * by_pairing[:, 0, 0])
        for rows, sign in ((firsts, 1), (seconds, -1)):
            np.add.at(total[:, -2:], rows, sign * by_pairing[:, 0, 1:])
        total[-2:, :-2] = total[:-2, -2:].T
        total[-2:, -2:] = by_pairing[:, 1:, 1:].sum(axis=0)
        return total


def _virtual_game_loss(log_odds: Any) -> Any:
    """Return the negative log-likelihood of half a win and half a loss."""
    return (np.logaddexp(0, log_odds) + np.logaddexp(0, -log_odds)) / 2


def _virtual_game_products(log_odds: Any) -> Any:
    """Return the mean square of the derivatives of a win and of a loss.

    This is (p**2 + (1 - p)**2) / 2 = 1/2 - p(1 - p).
    """
    return 0.5 - _win_variance(log_odds)


def _win_variance(log_odds: Any) -> Any:
    """Return p(1 - p), the variance of a win."""
    return expit(log_odds) * expit(-log_odds)


def maximize(likelihood: Likelihood) -> Floats:
    """Return the parameters of the maximum, [P + 2]. Raises `ArithmeticError` if none is found."""
    start = np.zeros(likelihood.num_players + 2)
    # Scaled to one game, so that a million games are no harder than ten.
    games = likelihood.results.sum()
    found = minimize(
        lambda at: likelihood.loss(at) / games,
        start,
        jac=lambda at: likelihood.gradient(at) / games,
        hess=lambda at: likelihood.hessian(at) / games,
        method="trust-exact",
        options={"gtol": 1e-8, "maxiter": 1000},
    )
    parameters: Floats = found.x
    # Rounding errors in the loss stop the search early if some results are a millionth of all.
    # Newton steps need only the derivatives.
    for _ in range(50):
        step = np.linalg.solve(likelihood.hessian(parameters), likelihood.gradient(parameters))
        parameters = parameters - step
        if np.abs(step).max() < _TOLERANCE:
            return parameters
    raise ArithmeticError(f"ratings: no maximum of the likelihood found; last step {np.abs(step).max():.3g}")


def profile_limit(likelihood: Likelihood, parameters: Floats, contrast: Floats, *, direction: int) -> float:
    """Return the distance at which the profile likelihood has fallen to 2.5% of its maximum.

    The distance is from the estimate, in log-odds. contrast: [P] weights of the strengths; their
    weighted sum is moved, and all other parameters are fitted again. direction: +1 or -1. The two
    games of a pair count as one, because results that are all the same do not show how much they
    depend on each other. For a player that won all its games, the probability of these results is
    at best 1, so at the limit it is 2.5%.
    """
    weights = np.append(contrast, [0.0, 0.0])
    least = likelihood.loss(parameters)
    best, estimate = parameters.copy(), float(weights @ parameters)

    def excess(distance: float) -> float:
        """Return the loss of log-likelihood at this distance, minus the loss allowed."""
        nonlocal best
        for _ in range(100):
            system = np.block([[likelihood.hessian(best), weights[:, None]], [weights, np.zeros((1, 1))]])
            missing = estimate + direction * distance - weights @ best
            step = np.linalg.solve(system, np.append(-likelihood.gradient(best), missing))[:-1]
            best = best + step
            if np.abs(step).max() < _TOLERANCE:
                break
        return (likelihood.loss(best) - least) / 2 + math.log(0.025)

    # Small steps, because each fit starts from the last one.
    distance = 0.5
    while excess(distance) < 0:
        distance += 0.5
    return float(brentq(excess, distance - 0.5, distance, xtol=1e-4))
