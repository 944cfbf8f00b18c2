"""The import law: training -> agents -> othello_env, heavy libraries only where they are named here."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PACKAGES = ("othello_env", "agents", "training")
# For each tree, the packages of the project that it may import. The longest tree that contains a file counts.
MAY_IMPORT = {
    "othello_env": {"othello_env"},
    "agents": {"othello_env", "agents"},
    "training/evaluation": {"othello_env", "agents", "training.evaluation"},
    "training": {"othello_env", "agents", "training"},
}
# The files (or trees) in which a heavy library may be imported at all.
MAY_USE = {
    "torch": ("agents/networks.py", "agents/policy_value.py", "training/"),
    "numba": ("othello_env/compiled.py", "agents/", "training/"),
    "pygame": ("othello_env/rendering/window.py",),
    "ray": ("training/distributed.py",),
    "matplotlib": ("training/",),
    "PIL": ("othello_env/rendering/gif.py",),
    "stable_baselines3": ("othello_env/adapters/sb3.py",),
    "safetensors": ("agents/", "training/"),
    "tensorboard": ("training/",),
    "tqdm": ("training/", "agents/"),
    "tyro": ("training/", "agents/"),
}
NOT_IN_EVALUATION = {"torch", "tensorboard"}
NO_NAMES = {"utils", "common", "helpers", "core"}


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((REPOSITORY / package).rglob("*.py"))]


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module


def tree_of(name: str) -> str:
    return max((tree for tree in MAY_IMPORT if name.startswith(tree + "/")), key=len)


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_imports_go_one_way(path: Path) -> None:
    name = path.relative_to(REPOSITORY).as_posix()
    for module in imported_modules(path):
        top = module.split(".")[0]
        if top in PACKAGES:
            assert any(module == allowed or module.startswith(allowed + ".") for allowed in MAY_IMPORT[tree_of(name)]), module
        if top in MAY_USE:
            assert name.startswith(MAY_USE[top]), module
        if tree_of(name) == "training/evaluation":
            assert top not in NOT_IN_EVALUATION, module
        assert top != "tests"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_nothing_is_imported_by_a_string_and_pygame_only_when_a_window_opens(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
    }
    assert not names & {"import_module", "__import__"}
    at_import = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    loaded = {alias.name for node in at_import if isinstance(node, ast.Import) for alias in node.names}
    loaded |= {node.module or "" for node in at_import if isinstance(node, ast.ImportFrom)}
    late = {"pygame", "PIL", "safetensors"}
    assert not {name.split(".")[0] for name in loaded} & late


def test_the_law_is_checked_on_every_package() -> None:
    assert {path.relative_to(REPOSITORY).parts[0] for path in sources()} == set(PACKAGES)
    assert len(sources()) > 20


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {part for path in sources() for part in (*path.relative_to(REPOSITORY).parts[:-1], path.stem)}
    assert not names & NO_NAMES


def loaded_modules(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after a statement."""
    code = f"import sys; {statement}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    return set(run.stdout.split())


def test_the_environment_loads_nothing_heavy() -> None:
    loaded = loaded_modules("import othello_env; env = othello_env.othello_v0.env(); env.reset(); env.step(19)")
    assert "othello_env" in loaded
    assert not loaded & {"torch", "numba", "pygame", "ray", "matplotlib", "safetensors", "tyro", "agents", "training"}


def test_agents_and_matches_load_no_torch() -> None:
    statement = "import agents, training.evaluation.match; agents.make_agent('positional')"
    assert not loaded_modules(statement) & {"torch", "numba", "pygame", "ray", "matplotlib"}


def test_the_core_works_where_the_optional_libraries_do_not_exist() -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'numba', 'pygame', 'matplotlib', 'safetensors', 'tyro', 'tqdm', 'tensorboard'): sys.modules[name] = None\n"
        "import numpy as np\n"
        "from othello_env import PositionBatch, Position, othello_v0\n"
        "from othello_env.perft import perft\n"
        "from agents import make_agent\n"
        "from training.evaluation.match import play_match\n"
        "games = PositionBatch.start(10); rng = np.random.default_rng(0)\n"
        "while not games.is_over.all(): games.step(games.sample_moves(rng))\n"
        "assert perft(Position.start(), 4) == 244\n"
        "print(play_match(make_agent('greedy'), make_agent('random'), [Position.start()] * 5).games)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert run.stdout.strip() == "10", run.stderr
