"""Makes of a run's network what comes with the agents: a small file of weights, and a card that says where it is from and how it plays.

`python -m training.release runs/NAME/ntuple.safetensors agents/weights/ntuple.safetensors --command "..." --match ...`
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from agents import make_agent
from agents.weight_file import read_weights, write_weights
from training.evaluation.match import MatchResult, format_results, play_match
from training.evaluation.openings import parse_openings

LARGEST: Final = 1_990_000
"""Bytes that the weights of a file may take, so that it stays below two hash_mb."""
KINDS: Final = ("ntuple", "policy_value")
_SEED: Final = 20_003


@dataclass(frozen=True, slots=True)
class Match:
    """A match to be played. agent: a spec with {} where the file belongs. games: 0 for every opening twice."""

    agent: str
    opponent: str
    openings: str
    games: int


def release(network: Path, weights: Path, *, origin: dict[str, str], matches: Sequence[Match]) -> Iterator[MatchResult]:
    """Write the weights in 16 bits, play the matches with them, and write the card beside them, `.json`.

    origin: what the card says of how the network came about. Yields the results as they come; the card is written after the last.
    Raises `ValueError` or `OSError`, before anything is written, for a network that is too large or matches that cannot be played.
    """
    kind = _kind_of(network)
    tensors, about = read_weights(network, kind)
    with np.errstate(over="ignore"):
        small = {name: array.astype(np.float16) for name, array in tensors.items()}
    if not all(np.isfinite(array).all() for array in small.values()):
        raise ValueError(f"{network}: has weights too large for 16 bits")
    size = sum(array.nbytes for array in small.values())
    if size > LARGEST:
        raise ValueError(f"{network}: would take {size} bytes; expected at most {LARGEST}")
    openings = [parse_openings(match.openings, match.games, seed=_SEED) for match in matches]
    opponents = [make_agent(match.opponent) for match in matches]
    for match in matches:
        make_agent(match.agent.replace("{}", str(network)))

    described = {name: value for name, value in about.items() if name not in ("kind", "format_version")}
    weights.parent.mkdir(parents=True, exist_ok=True)
    write_weights(weights, kind, tensors=small, about=described)
    results = []
    for match, positions, opponent in zip(matches, openings, opponents, strict=True):
        result = play_match(make_agent(match.agent.replace("{}", str(weights))), opponent, positions, seed=_SEED)
        results.append(_entry(result, match))
        yield result
    card = {
        "kind": kind,
        "bytes": weights.stat().st_size,
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "settings": about.get("settings"),
        "games": about.get("games"),
        **origin,
        "results": results,
    }
    weights.with_suffix(".json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")


def _kind_of(network: Path) -> str:
    """The kind of a file of weights. Raises `CheckpointError` where it is none that agents play with."""
    for kind in KINDS[:-1]:
        try:
            read_weights(network, kind)
        except ValueError:
            continue
        return kind
    read_weights(network, KINDS[-1])
    return KINDS[-1]


def _entry(result: MatchResult, match: Match) -> dict[str, Any]:
    """What the card says of a match. Files are named without their folders."""
    low, high = result.interval
    return {
        "agent": result.agents[0],
        "opponent": result.agents[1],
        "openings": Path(match.openings).name,
        "games": result.games,
        "wins": result.wins,
        "draws": result.draws,
        "losses": result.losses,
        "score": round(result.score, 4),
        "interval": [round(low, 4), round(high, 4)],
    }


def main(argv: Sequence[str] | None = None) -> None:
    """The command line. argv: its arguments, by default those of the process."""
    parser = argparse.ArgumentParser(prog="python -m training.release", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("network", type=Path, help="the network file of a run")
    parser.add_argument("weights", type=Path, help="where the weights go; the card goes beside them")
    parser.add_argument("--command", required=True, help="the command that made the run")
    parser.add_argument("--code-version", required=True, help="the commit that it ran on")
    parser.add_argument("--training-time", required=True, help="how long that took")
    parser.add_argument("--machine", required=True, help="on what kind of machine")
    parser.add_argument(
        "--match",
        nargs=4,
        action="append",
        default=[],
        metavar=("AGENT", "OPPONENT", "OPENINGS", "GAMES"),
        help="a match for the card: the agent's spec with {} where the file belongs; the rest as in training.evaluation.match",
    )
    arguments = parser.parse_args(argv)
    origin = {name: getattr(arguments, name) for name in ("command", "code_version", "training_time", "machine")}
    try:
        matches = [Match(agent, opponent, openings, int(games)) for agent, opponent, openings, games in arguments.match]
        for result in release(arguments.network, arguments.weights, origin=origin, matches=matches):
            print(format_results([result]).splitlines()[1], flush=True)
    except (OSError, ValueError) as error:
        sys.exit(f"release: {' '.join(str(error).split())}")
    print(f"{arguments.weights}: {arguments.weights.stat().st_size} bytes, and a card with {len(matches)} results")


if __name__ == "__main__":
    main()
