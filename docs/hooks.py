"""Pages that MkDocs builds from the project itself, so that no text exists twice.

Generated: the help of every command, the cards of the shipped networks, the space tables and pictures of the environments,
the agents' specs, an example tournament report, and copies of the changelog, the complaints page, the notebooks and the
learning curves.

`agents` and `training` run from the checkout, so build with `python -m mkdocs build`, which has the current folder on the path.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]


@event_priority(100)  # before the plugin that makes pages of notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and pictures."""
    for path, content in _generated().items():
        files.append(File.generated(config, path, content=content))
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):  # the plugin looks at files on disk only
        files.append(File(f"notebooks/{notebook.name}", str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace `<!-- generate: NAME ARGUMENT -->` by what a function of `_FRAGMENTS` returns."""
    return re.sub(r"<!-- generate: (\w+)(?: (\S+))? -->", lambda match: _FRAGMENTS[match[1]](match[2] or ""), markdown)


def _generated() -> dict[str, str | bytes]:
    pages: dict[str, str | bytes] = {
        "reference/commands.md": _commands_page(),
        "reference/changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        "reference/complaints.md": (ROOT / "tests" / "complaints.md").read_text(encoding="utf-8"),
        "training/networks.md": _networks_page(),
        "assets/report.html": _report(),
        **_pictures(),
    }
    for curve in sorted((ROOT / "training" / "presets").glob("*.png")):
        pages[f"training/{curve.name}"] = curve.read_bytes()
    return pages


# Started by the project itself, not by users.
_INTERNAL = {"agents.external.guard"}


def command_modules() -> list[str]:
    """The modules that `python -m` runs, in the order of their packages."""
    found = []
    for package in ("othello_env", "agents", "training"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if path.name == "__main__.py" or 'if __name__ == "__main__":' in path.read_text(encoding="utf-8"):
                found.append(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__"))
    return [module for module in found if module not in _INTERNAL]


def _help(module: str) -> str:
    environment = os.environ | {"COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    run = subprocess.run(
        [sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True, cwd=ROOT, env=environment, encoding="utf-8"
    )
    return run.stdout


def _commands_page() -> str:
    parts = [
        "# Commands\n",
        "The help of every command. Run them from the root of the clone, with `.venv/bin/python` (Windows: `.venv\\Scripts\\python`).\n",
    ]
    parts += [f"## {module}\n\n```text\n{_help(module).rstrip()}\n```\n" for module in command_modules()]
    return "\n".join(parts)


def _networks_page() -> str:
    parts = [
        "# Trained networks\n",
        '`make_agent("ntuple")` and `make_agent("policy_value")` play with networks that come with the repository. '
        "`python -m training.release` makes such files of your own runs.\n",
    ]
    for path in sorted((ROOT / "agents" / "weights").glob("*.json")):
        card = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"## {path.stem}\n")
        facts = {key: value for key, value in card.items() if key not in ("results", "settings")}
        parts += ["| | |\n|---|---|", *(f"| {key.replace('_', ' ')} | `{value}` |" for key, value in facts.items()), ""]
        parts += ["Scores with 95% intervals:\n", "| agent | opponent | openings | games | score |\n|---|---|---|---|---|"]
        for result in card["results"]:
            low, high = result["interval"]
            row = (
                result["agent"],
                result["opponent"],
                result["openings"],
                result["games"],
                f"{result['score']:.3f} [{low:.3f}, {high:.3f}]",
            )
            parts.append("| " + " | ".join(map(str, row)) + " |")
        parts += ["\nSettings:\n", "```json", json.dumps(card["settings"], indent=2), "```\n"]
    return "\n".join(parts)


def _pictures() -> dict[str, str | bytes]:
    from othello_env import Position
    from othello_env.rendering.svg import board_svg

    return {
        "assets/start.svg": board_svg(Position.start(), size=300),
        "assets/board-6x6.svg": board_svg(Position.start(6), size=240),
    }


def _report() -> bytes:
    """The report of a small tournament, played at build time with a fixed seed."""
    with tempfile.TemporaryDirectory() as folder:
        run = ["random", "greedy", "positional", "beginner", "--openings", "balanced", "--games", "40", "--seed", "1", "--out", folder]
        for module, arguments in (("tournament", run), ("report", [folder])):
            command = [sys.executable, "-m", f"training.evaluation.{module}", *arguments]
            subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
        return (Path(folder) / "report.html").read_bytes()


def _spaces(name: str) -> str:
    """The table at the top of an environment's page."""
    import gymnasium

    from othello_env import OthelloSelfPlayVectorEnv, OthelloVectorEnv, othello_v0

    def of_spaces(action: Any, observation: Any) -> Iterator[tuple[str, str]]:
        yield "Action space", f"`{action}`"
        for key in ("observation", "action_mask"):
            yield f'Observation `"{key}"`', f"`{observation[key]}`"

    if name == "aec":
        env = othello_v0.env()
        rows = [
            ("Import", "`from othello_env import othello_v0`"),
            ("Make", "`othello_v0.env()`"),
            ("Agents", "`player_0` (Black, moves first), `player_1` (White)"),
            *of_spaces(env.action_space("player_0"), env.observation_space("player_0")),
            ("State", f"`{env.state_space}`"),
        ]
    elif name == "gymnasium":
        single = gymnasium.make("othello_env/Othello-v0")
        rows = [("Import", "`import gymnasium, othello_env`"), ("Make", '`gymnasium.make("othello_env/Othello-v0")`')]
        rows += of_spaces(single.action_space, single.observation_space)
    else:
        kind = {"vector": OthelloVectorEnv, "self-play": OthelloSelfPlayVectorEnv}[name]
        vector = kind(4)
        spec = {"vector": "Othello-v0", "self-play": "OthelloSelfPlay-v0"}[name]
        rows = [
            ("Import", f"`from othello_env import {kind.__name__}`"),
            ("Make", f'`gymnasium.make_vec("othello_env/{spec}", num_envs=4)`'),
            *of_spaces(vector.action_space, vector.observation_space),
        ]
    return "\n".join(["| | |", "|---|---|", *(f"| {label} | {value} |" for label, value in rows)])


_DESCRIPTIONS = {
    "random": "plays any legal move",
    "greedy": "flips the most discs",
    "positional": "uses one of three published tables of square weights",
    "beginner": "follows the advice that beginners get: corners first, leave few replies, edges can wait",
    "heuristics": "sums weighted features: corners, stability, mobility, frontier",
    "ntuple": "looks one move ahead with an n-tuple network: the shipped one, or a FILE of `training.td_ntuple`",
    "policy_value": "runs a Gumbel search with a policy-value network: the shipped one, or a FILE of `training.alphazero` or "
    "`training.ppo`; `simulations=0` uses the policy alone",
    "league": "plays with a published network in the text format of the Othello League",
    "alpha_beta": "searches with alpha-beta over an n-tuple network from a FILE or over one of the evaluations, and plays perfectly "
    "once at most `solver` squares are empty",
    "mcts": "runs a Monte Carlo tree search with random playouts, or with the n-tuple network of a FILE",
    "gtp": "an engine that speaks the Go Text Protocol, started by COMMAND, such as `gtp:gtp-rhino -l 2`",
    "nboard": "an engine that speaks the NBoard protocol, started by COMMAND",
    "factory": "calls a function of your own: `factory:my_package.agents:make`",
}


def _specs(_: str) -> str:
    """The table of agent specs. An agent without a description here fails the build."""
    from agents import agent_specs

    rows = [(spec.replace("|", "\\|"), _DESCRIPTIONS[spec.partition(":")[0]]) for spec in agent_specs()]
    return "\n".join(["| Spec | The agent |", "|---|---|", *(f"| `{spec}` | {text} |" for spec, text in rows)])


def _levels(_: str) -> str:
    """The table of playing levels."""
    from agents.play.levels import LEVELS, level_spec

    rows = [(level.capitalize(), level_spec(level), level_spec(level, 6)) for level in LEVELS]
    return "\n".join(
        ["| Level | Agent on 8x8 | Agent on 4x4 and 6x6 |", "|---|---|---|", *(f"| {a} | `{b}` | `{c}` |" for a, b, c in rows)]
    )


_FRAGMENTS: dict[str, Callable[[str], str]] = {"levels": _levels, "spaces": _spaces, "specs": _specs}
