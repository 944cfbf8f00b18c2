"""Release a trained network: its weights as a small file, and a card with its origin and scores.

`python -m training.release runs/NAME/ntuple.safetensors agents/weights/ntuple.safetensors --command
"..." --match ...`
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from agents import make_agent
from agents.weight_file import read_weights, write_weights
from othello_env.atomic_file import write_atomically
from othello_env.command import Parser, Progress, command
from training.evaluation.match import MatchResult, format_results, play_match
from training.evaluation.openings import parse_openings

MAX_BYTES: Final = 1_990_000
"""Maximum size of the weights, so that a file stays below two megabytes."""
KINDS: Final = ("ntuple", "policy_value")
_SEED: Final = 20_003


@dataclass(frozen=True, slots=True)
class Match:
    """Match to be played for the card.

    agent: a spec with {} in place of the file. games: 0 plays every opening twice.
    """

    agent: str
    opponent: str
    openings: str
    games: int


def release(network: Path, weights: Path, *, origin: dict[str, str], matches: Sequence[Match]) -> Iterator[MatchResult]:
    """Play matches with the weights in 16 bits, then write the weights and the card (`.json`).

    origin: entries of the card about the origin of the network. Yields the results of the matches;
    nothing is written before the last match ends. Raises `ValueError` or `OSError`, before the
    first match, for a network that is too large or matches that cannot be played.
    """
    kind = _kind_of(network)
    tensors, about = read_weights(network, kind)
    with np.errstate(over="ignore"):
        small = {name: array.astype(np.float16) for name, array in tensors.items()}
    if not all(np.isfinite(array).all() for array in small.values()):
        raise ValueError(f"{network}: has weights too large for 16 bits")
    size = sum(array.nbytes for array in small.values())
    if size > MAX_BYTES:
        raise ValueError(f"{network}: would take {size} bytes; expected at most {MAX_BYTES}")
    described = {name: value for name, value in about.items() if name not in ("kind", "format_version")}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / weights.name
        write_weights(file, kind, tensors=small, about=described)
        data = file.read_bytes()
        openings = [parse_openings(match.openings, match.games, seed=_SEED) for match in matches]
        pairs = [(make_agent(match.agent.replace("{}", str(file))), make_agent(match.opponent)) for match in matches]
        weights.parent.mkdir(parents=True, exist_ok=True)
        results = []
        for match, positions, (agent, opponent) in zip(matches, openings, pairs, strict=True):
            result = play_match(agent, opponent, positions, seed=_SEED)
            results.append(_entry(result, match))
            yield result
    card = {
        "kind": kind,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "settings": about.get("settings"),
        "games": about.get("games"),
        **origin,
        "results": results,
    }
    write_atomically(weights, data)
    write_atomically(weights.with_suffix(".json"), (json.dumps(card, indent=2) + "\n").encode())


def _kind_of(network: Path) -> str:
    """Return the kind of a weight file. Raises `CheckpointError` if no agent can use it."""
    for kind in KINDS[:-1]:
        try:
            read_weights(network, kind)
        except ValueError:
            continue
        return kind
    read_weights(network, KINDS[-1])
    return KINDS[-1]


def _entry(result: MatchResult, match: Match) -> dict[str, Any]:
    """Return the card's entry of a match. Files are named without their folders."""
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
    """Run the command line. argv: its arguments, by default those of the process."""
    parser = Parser(prog="python -m training.release", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("network", type=Path, help="network file of a run")
    parser.add_argument("weights", type=Path, help="file to write; the card is written beside it, as .json")
    parser.add_argument("--command", required=True, help="command that made the run")
    parser.add_argument("--code-version", required=True, help="commit of the code that made it")
    parser.add_argument("--training-time", required=True, help="duration of the run, such as '66 minutes'")
    parser.add_argument("--machine", required=True, help="kind of machine that made it")
    parser.add_argument(
        "--match",
        nargs=4,
        action="append",
        default=[],
        metavar=("AGENT", "OPPONENT", "OPENINGS", "GAMES"),
        help="match for the card: spec of the agent with {} in place of the file; the rest as in training.evaluation.match",
    )
    arguments = parser.parse_args(argv)
    origin = {name: getattr(arguments, name) for name in ("command", "code_version", "training_time", "machine")}
    with command("release", interrupted="interrupted; nothing was written"):
        matches = [Match(agent, opponent, openings, int(games)) for agent, opponent, openings, games in arguments.match]
        with Progress(len(matches), unit="matches") as progress:
            for result in release(arguments.network, arguments.weights, origin=origin, matches=matches):
                progress.update()
                progress.write(format_results([result]).splitlines()[1])
        print(f"{arguments.weights}: {arguments.weights.stat().st_size} bytes, and a card with {len(matches)} results")


if __name__ == "__main__":
    main()
