"""Ratings from counts of results.

Players that games connect form a group; each group has its own fit, with intervals and
probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.special import expit, ndtr

from training.evaluation.ratings.likelihood import SCORES, Floats, Indices, Likelihood, maximize, profile_limit
from training.evaluation.standings import Standings

# Elo of one unit of log-odds.
_ELO: Final = 400 / math.log(10)
_Z_95: Final = 1.959964

# With more players, the [P, P] matrices would take too much memory.
MAX_PLAYERS: Final = 2000


@dataclass(frozen=True, slots=True)
class Estimate:
    """Number with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PlayerRating:
    """Rating of a player.

    elo: NaN for a player without games. low, high: 95% interval of the distance to the anchor or to
    the mean; infinite if the results set no limit. games, score: number of games in complete pairs,
    and the share of the points that the player got in them. group: index of its group; ratings of
    different groups cannot be compared.
    """

    name: str
    elo: float
    low: float
    high: float
    games: int
    score: float
    group: int


@dataclass(frozen=True, slots=True)
class Group:
    """Players that are connected by games.

    players: best first. games: number of games between them. black_advantage: value of moving
    first, in Elo. draw_probability: of a game between equal players if moving first is no
    advantage.
    """

    players: tuple[str, ...]
    games: int
    black_advantage: Estimate
    draw_probability: Estimate


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of a tournament.

    players: by group, then best first. groups: the one with the most games first;
    `PlayerRating.group` is an index into it. superiority: [P, P] in the order of players, the
    probability that the player of the row is stronger than the player of the column; 0.5 on the
    diagonal, NaN between groups. anchor: player and its rating; None if the mean of every group is
    0. notes: sentences that a reader must know.
    """

    players: tuple[PlayerRating, ...]
    groups: tuple[Group, ...]
    superiority: Floats
    anchor: tuple[str, float] | None
    notes: tuple[str, ...]

    @property
    def black_advantage(self) -> Estimate:
        """Value of moving first, in Elo, in the first group; NaN without games."""
        return self.groups[0].black_advantage if self.groups else Estimate(math.nan, math.nan, math.nan)

    @property
    def draw_probability(self) -> Estimate:
        """Probability of a draw between equal players in the first group; NaN without games."""
        return self.groups[0].draw_probability if self.groups else Estimate(math.nan, math.nan, math.nan)

    def __getitem__(self, name: str) -> PlayerRating:
        """Return the rating of a player. Raises `KeyError` for an unknown name."""
        for player in self.players:
            if player.name == name:
                return player
        raise KeyError(name)


def fit_ratings(
    pairs: Mapping[tuple[str, str], npt.ArrayLike] | Standings,
    *,
    players: Iterable[str] | None = None,
    anchor: tuple[str, float] | None = None,
) -> Ratings:
    """Return the ratings that fit the results best.

    pairs: for each two players the [3, 3] counts of their pairs of games, see `PairCounts`; or the
    standings of a tournament. players: further players to include in the result. anchor: a player
    and its rating in Elo; by default the mean of each group is 0. Raises `ValueError` for invalid
    counts, an unknown anchor, or more than `MAX_PLAYERS` players.
    """
    notes: list[str] = []
    names: list[str] = list(players or ())
    if isinstance(pairs, Standings):
        names += pairs.players
        if pairs.incomplete:
            notes.append(f"Left out, since the other game of the pair is missing: {len(pairs.incomplete)}.")
        pairs = pairs.pairs
    counts = _merge_counts(pairs, notes)
    names = sorted({*names, *(name for pair in pairs for name in pair)})
    if len(names) > MAX_PLAYERS:
        raise ValueError(f"{len(names):,} players: at most {MAX_PLAYERS:,} can be rated together")
    if anchor is not None and anchor[0] not in names:
        raise ValueError(f"anchor {anchor[0]}: not among the players {', '.join(names)}")
    fits = [_fit_group(members, counts, anchor=anchor, notes=notes) for members in _connected_groups(names, counts)]
    fits.sort(key=lambda fit: (-fit.games, fit.names))
    _note_groups(fits, anchor, notes)
    return _join_groups(fits, names, anchor=anchor, notes=notes)


def _merge_counts(pairs: Mapping[tuple[str, str], npt.ArrayLike], notes: list[str]) -> dict[tuple[str, str], Floats]:
    """Return the counts of each pairing once; the first player is the first in the alphabet."""
    counts: dict[tuple[str, str], Floats] = {}
    for (first, second), given in pairs.items():
        cells = np.asarray(given, dtype=np.float64)
        if cells.shape != (3, 3) or not np.isfinite(cells).all() or (cells < 0).any():
            raise ValueError(f"pair counts of {first} and {second}: {np.asarray(given).tolist()} are not [3, 3] counts")
        if first == second:
            notes.append(f"{first}: games against itself are left out.")
        elif cells.any():
            # From the opponent's perspective wins and losses are exchanged, and so are the colors.
            names, cells = ((first, second), cells) if first < second else ((second, first), cells[::-1, ::-1].T)
            counts[names] = counts.get(names, 0) + cells
    # Sorted, so that rounding does not depend on the order in which players met.
    return dict(sorted(counts.items()))


def _connected_groups(names: Sequence[str], counts: Mapping[tuple[str, str], Floats]) -> list[list[str]]:
    """Return the groups of players that games connect; players without games are in none."""
    index = {name: number for number, name in enumerate(names)}
    edges = np.zeros((len(names), len(names)))
    for first, second in counts:
        edges[index[first], index[second]] = 1
    if not len(names):
        return []
    _, labels = connected_components(edges, directed=False)
    groups: dict[int, list[str]] = {}
    for name, label in zip(names, labels.tolist(), strict=True):
        groups.setdefault(label, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


@dataclass(frozen=True, slots=True)
class _Fit:
    """Fit of a group.

    Arrays: [P] in the order of names; covariance: [P, P], of elo.
    """

    names: list[str]
    elo: Floats
    low: Floats
    high: Floats
    covariance: Floats
    player_games: Floats
    points: Floats
    black_advantage: Estimate
    draw_probability: Estimate

    @property
    def games(self) -> int:
        return round(float(self.player_games.sum()) / 2)


def _fit_group(names: list[str], counts: Mapping[tuple[str, str], Floats], *, anchor: tuple[str, float] | None, notes: list[str]) -> _Fit:
    """Fit the ratings of the players of a group."""
    index = {name: number for number, name in enumerate(names)}
    pairings = [pairing for pairing in counts if pairing[0] in index]
    firsts = np.array([index[first] for first, _ in pairings])
    seconds = np.array([index[second] for _, second in pairings])
    likelihood = Likelihood(firsts, seconds, np.array([counts[pairing] for pairing in pairings]), num_players=len(names))
    parameters = maximize(likelihood)
    inverse = np.linalg.inv(likelihood.hessian(parameters))
    covariance = _ELO**2 * inverse @ likelihood.gradient_products(parameters) @ inverse
    elo = _ELO * (parameters[:-2] - parameters[:-2].mean())

    results = likelihood.results.sum(axis=1)
    games, points = np.zeros(len(names)), np.zeros(len(names))
    for player, view in ((firsts, results), (seconds, results[:, ::-1])):
        np.add.at(games, player, view.sum(axis=1))
        np.add.at(points, player, view @ SCORES)

    took_points = _took_points(firsts, seconds, results, num_players=len(names))
    reference = _reference(names, took_points, anchor=anchor)
    contrast = np.eye(len(names)) - reference
    half_width = _Z_95 * np.sqrt(np.einsum("pi,ij,pj->p", contrast, covariance[:-2, :-2], contrast).clip(0))
    if anchor is not None and anchor[0] in index:
        elo = elo - elo[index[anchor[0]]] + anchor[1]
    no_lower_limit, no_upper_limit = _unlimited(took_points, reference)
    low, high = elo - half_width, elo + half_width
    scale = np.ones(len(names))
    for player in np.flatnonzero(no_lower_limit ^ no_upper_limit).tolist():
        # Estimates without a limit on one side are far from normally distributed.
        distance = _ELO * profile_limit(likelihood, parameters, contrast[player], direction=-1 if no_upper_limit[player] else 1)
        low[player], high[player] = elo[player] - distance, elo[player] + distance
        scale[player] = distance / half_width[player]
    _note_unlimited(names, results, no_lower_limit=no_lower_limit, no_upper_limit=no_upper_limit, notes=notes)
    return _Fit(
        names=names,
        elo=elo,
        low=np.where(no_lower_limit, -math.inf, low),
        high=np.where(no_upper_limit, math.inf, high),
        covariance=scale[:, None] * covariance[:-2, :-2] * scale,
        player_games=games,
        points=points,
        black_advantage=_black_advantage(likelihood, _ELO * parameters[-2], math.sqrt(covariance[-2, -2])),
        draw_probability=_draw_probability(likelihood, parameters[-1], math.sqrt(covariance[-1, -1]) / _ELO),
    )


def _took_points(firsts: Indices, seconds: Indices, results: Floats, *, num_players: int) -> Floats:
    """Return [P, P], 1 where the player of the row took points from the player of the column.

    results: [L, 3] losses, draws and wins of the first player.
    """
    took_points = np.zeros((num_players, num_players))
    took_points[firsts, seconds] = results[:, 1:].any(axis=1)
    took_points[seconds, firsts] = results[:, :2].any(axis=1)
    return took_points


def _reference(names: Sequence[str], took_points: Floats, *, anchor: tuple[str, float] | None) -> Floats:
    """Return weights [P]; intervals are those of the distance to the weighted mean of the ratings.

    If there is an anchor, it has all the weight. Otherwise the weights are equal in the largest set
    of players that are connected by points taken in both directions, directly or through others; if
    there are no two such players, in the set of all players. Thus an undefeated player, whose
    rating no result limits, does not widen the intervals of the others.
    """
    if anchor is not None and anchor[0] in names:
        return np.array([float(name == anchor[0]) for name in names])
    _, labels = connected_components(took_points, connection="strong")
    sizes = np.bincount(labels)[labels]
    if sizes.max() == 1:
        return np.full(len(names), 1 / len(names))
    # Of sets of the same size, the one with the name that comes first.
    weights = (labels == labels[sizes.argmax()]).astype(np.float64)
    normalized: Floats = weights / weights.sum()
    return normalized


def _unlimited(took_points: Floats, reference: Floats) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return two masks [P]: players whose ratings have no lower limit, and no upper limit.

    The results limit a player's rating from above if a player of the reference took points from it,
    directly or through others (Ford, 1957), and from below if it took points from a player of the
    reference.
    """
    inside = np.flatnonzero(reference)
    no_lower_limit, no_upper_limit = np.zeros(len(took_points), dtype=np.bool_), np.zeros(len(took_points), dtype=np.bool_)
    for unlimited, graph in ((no_upper_limit, took_points), (no_lower_limit, took_points.T)):
        for member in inside:
            reached = np.zeros(len(took_points), dtype=np.bool_)
            reached[breadth_first_order(graph, member, return_predecessors=False)] = True
            unlimited |= ~reached
            if len(inside) < len(took_points):
                break  # the members of the reference reach each other, so one is enough
    return no_lower_limit, no_upper_limit


def _note_unlimited(
    names: Sequence[str],
    results: Floats,
    *,
    no_lower_limit: npt.NDArray[np.bool_],
    no_upper_limit: npt.NDArray[np.bool_],
    notes: list[str],
) -> None:
    decisive = results[:, [0, 2]].any()
    if not decisive:
        notes.append(
            f"Every game between {_list_names(names)} was drawn: their ratings are equal, and draws alone say little about how far."
        )
    for mask, side, direction in ((no_upper_limit, "upper", "took points from"), (no_lower_limit, "lower", "lost points to")):
        concerned = [name for name, is_unlimited in zip(names, mask, strict=True) if is_unlimited]
        if concerned:
            notes.append(
                f"{_list_names(concerned)}: no {side} limit. No player of the reference {direction} "
                f"{'it' if len(concerned) == 1 else 'them'}, directly or through others; only the prior keeps the rating finite."
            )


def _black_advantage(likelihood: Likelihood, value: float, deviation: float) -> Estimate:
    """Return Black's advantage in Elo; its interval is open if only one color won games."""
    results = likelihood.results.sum(axis=0)
    black_wins, white_wins = results[0, 2] + results[1, 0], results[0, 0] + results[1, 2]
    low = value - _Z_95 * deviation if black_wins else -math.inf
    return Estimate(value, low, value + _Z_95 * deviation if white_wins else math.inf)


def _draw_probability(likelihood: Likelihood, log_weight: float, deviation: float) -> Estimate:
    """Return the probability of a draw between equal players.

    Its interval is that of the log-odds; it extends to 0 if no game was drawn, and to 1 if all
    were.
    """
    draws, games = likelihood.results[..., 1].sum(), likelihood.results.sum()
    low, value, high = (float(expit(log_weight + shift * _Z_95 * deviation - math.log(2))) for shift in (-1, 0, 1))
    return Estimate(value, low if draws else 0.0, high if draws < games else 1.0)


def _note_groups(fits: Sequence[_Fit], anchor: tuple[str, float] | None, notes: list[str]) -> None:
    if len(fits) > 1:
        groups = "; ".join(f"group {number}: {_list_names(sorted(fit.names))}" for number, fit in enumerate(fits, 1))
        notes.append(f"No games connect the {len(fits)} groups, so ratings can be compared within a group only: {groups}.")
    rated = {name for fit in fits for name in fit.names}
    if anchor is not None and anchor[0] not in rated:
        notes.append(f"The anchor {anchor[0]} has no complete pairs of games: the mean of each group is 0 instead.")
    elif anchor is not None and len(fits) > 1:
        notes.append(f"{anchor[0]} anchors its own group; the mean of each other group is 0.")


def _join_groups(fits: Sequence[_Fit], names: Sequence[str], *, anchor: tuple[str, float] | None, notes: list[str]) -> Ratings:
    """Return the ratings of all groups; players that are in no group come last."""
    players: list[PlayerRating] = []
    groups: list[Group] = []
    superiority = np.full((len(names), len(names)), np.nan)
    for number, fit in enumerate(fits):
        order = sorted(range(len(fit.names)), key=lambda player: (-round(float(fit.elo[player]), 6), fit.names[player]))
        start = len(players)
        own = slice(start, start + len(order))
        superiority[own, own] = _superiority(fit.elo[order], fit.covariance[np.ix_(order, order)])
        for player in order:
            games = round(float(fit.player_games[player]))
            elo, low, high = float(fit.elo[player]), float(fit.low[player]), float(fit.high[player])
            players.append(PlayerRating(fit.names[player], elo, low, high, games, float(fit.points[player]) / games, number))
        groups.append(Group(tuple(fit.names[player] for player in order), fit.games, fit.black_advantage, fit.draw_probability))
    rated = {player.name for player in players}
    without = [name for name in names if name not in rated]
    for number, name in enumerate(without, len(groups)):
        superiority[len(players), len(players)] = 0.5
        players.append(PlayerRating(name, math.nan, math.nan, math.nan, 0, math.nan, number))
    if without:
        notes.append(f"{_list_names(without)}: no complete pairs of games against others, so no rating.")
    return Ratings(tuple(players), tuple(groups), superiority, anchor if anchor and anchor[0] in rated else None, tuple(notes))


def _superiority(elo: Floats, covariance: Floats) -> Floats:
    """Return [P, P], the probability that the player of the row is stronger.

    It is computed from the joint normal distribution of the estimates.
    """
    variances = covariance.diagonal()
    deviation = np.sqrt((variances[:, None] + variances - 2 * covariance).clip(1e-12))
    probabilities: Floats = ndtr((elo[:, None] - elo) / deviation)
    np.fill_diagonal(probabilities, 0.5)
    return probabilities


def _list_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
