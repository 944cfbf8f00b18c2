"""README.md and the documentation are true: their Python runs, their commands are the ones that work, their links resolve."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typing_extensions

from agents import agent_specs
from othello_env import Game, OthelloEnv, OthelloSelfPlayVectorEnv, OthelloVectorEnv, othello_v0
from tests.conftest import REPOSITORY

README = REPOSITORY / "README.md"
DOCS = REPOSITORY / "docs"
# The guides for training libraries run in tests/frameworks, with the libraries; docs/sequences.md
# in its own test, without numba.
PAGES = [README, *(path for path in sorted(DOCS.rglob("*.md")) if path.parent.name != "guides" and path.name != "sequences.md")]
# ppo.md trains for half a minute; engines.md plays against GRhino.
MARKS = {"ppo.md": [pytest.mark.slow], "engines.md": [pytest.mark.engine]}
INSTALL = 'python3 -m venv .venv && .venv/bin/pip install -e ".[{extra}]" && .venv/bin/'


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=name_of(path), marks=MARKS.get(path.name, [])) for path in PAGES if blocks(path, "python")],
)
def test_the_python_of_a_page_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")  # dataclasses look up the module that defines them
    monkeypatch.setitem(sys.modules, "page", module)
    for code in blocks(path, "python"):
        exec(compile(code, name_of(path), "exec"), vars(module))
    assert capsys.readouterr().out


def test_the_two_commands_of_the_readme_are_one_line_each() -> None:
    commands = [code.strip() for code in blocks(README, "bash")]
    assert INSTALL.format(extra="train") + "python -m training.td_ntuple" in commands
    assert INSTALL.format(extra="dev") + "pytest" in commands


@pytest.mark.parametrize("path", [README, REPOSITORY / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))], ids=name_of)
def test_commands_name_modules_that_exist(path: Path) -> None:
    for module in re.findall(r"python -m ((?:othello_env|agents|training|tests)(?:\.\w+)*)", path.read_text(encoding="utf-8")):
        file = REPOSITORY.joinpath(*module.split("."))
        assert file.with_suffix(".py").is_file() or (file / "__main__.py").is_file(), module


def test_links_of_the_readme_resolve() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (REPOSITORY / target).is_file(), target


def hooks() -> Any:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("hooks", DOCS / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_agent_is_described() -> None:
    text = (DOCS / "hooks.py").read_text(encoding="utf-8")
    for spec in agent_specs():
        assert f'    "{spec.partition(":")[0]}": "' in text


def test_the_picture_of_the_readme_is_a_game_that_the_project_draws() -> None:
    from othello_env.rendering.svg import game_svg

    picture = (DOCS / "assets" / "game.svg").read_text(encoding="utf-8")
    found = re.search(r"moves: ([a-h1-8]+)", picture)
    assert found is not None
    game = Game.parse(found[1])
    assert game.final.is_over
    assert picture == game_svg(game, size=360, seconds_per_move=0.7) + "\n"


def test_every_command_has_a_help_page() -> None:
    modules = hooks().command_modules()
    assert "othello_env.perft" in modules
    assert "agents.play" in modules
    assert "training.evaluation.report" in modules
    assert len(modules) == len(set(modules)) > 12
    assert os.fspath(DOCS) not in sys.path


@pytest.mark.parametrize("kind", [othello_v0.raw_env, OthelloEnv, OthelloVectorEnv, OthelloSelfPlayVectorEnv])
def test_the_arguments_of_an_environment_are_described_under_their_names(kind: type) -> None:
    """Most of them lie in typed dicts, where the tool that makes the pages does not look."""
    parameters = set(inspect.signature(kind).parameters) - {"options", "observation_options"}
    hints = typing_extensions.get_type_hints(vars(kind)["__init__"], localns=vars(typing_extensions))
    for name in ("options", "observation_options"):
        if name in hints:
            (options,) = typing_extensions.get_args(hints[name])
            parameters |= set(typing_extensions.get_type_hints(options))
    title, section = re.split(r"^(Arguments.*:)$", inspect.cleandoc(kind.__doc__ or ""), flags=re.MULTILINE)[1:3]
    entries = re.findall(r"^    (\w[\w, ]*):", section.split("\n\n")[0], flags=re.MULTILINE)
    described = {name for entry in entries for name in entry.split(", ")}
    assert described == parameters if title == "Arguments:" else described < parameters
