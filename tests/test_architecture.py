"""The import law: training -> agents -> othello_env, heavy libraries only where they are named here."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PACKAGES = ("othello_env", "agents", "training")
# For each tree, the packages of the project that it may import. The longest tree that contains a
# file counts.
MAY_IMPORT = {
    "othello_env": {"othello_env"},
    "agents": {"othello_env", "agents"},
    "training/evaluation": {"othello_env", "agents", "training.evaluation"},
    "training": {"othello_env", "agents", "training"},
}
# The files (or trees) in which a heavy library may be imported at all.
MAY_USE = {
    "torch": (
        "agents/networks.py",
        "agents/policy_value.py",
        "training/alphazero.py",
        "training/losses.py",
        "training/optimizer.py",
        "training/ppo.py",
    ),
    "numba": ("othello_env/compiled.py", "agents/", "training/"),
    "pygame": ("othello_env/rendering/window.py",),
    "ray": ("training/distributed.py",),
    "matplotlib": ("training/",),
    "PIL": ("othello_env/rendering/gif.py",),
    "pyarrow": ("othello_env/sequences/storage.py",),
    "stable_baselines3": ("othello_env/adapters/sb3.py",),
    "safetensors": ("agents/", "training/"),
    "starlette": ("agents/web/",),
    "tensorboard": ("training/",),
    "tqdm": ("othello_env/command.py", "training/", "agents/"),
    "uvicorn": ("agents/web/",),
}
# Loaded where they are used, not with the module.
LATE = {"pygame", "PIL", "safetensors", "pyarrow"}
NOT_IN_EVALUATION = {"torch", "tensorboard"}
MAX_PROSE = 100
NO_NAMES = {"utils", "common", "helpers", "core"}


def sources() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((REPOSITORY / package).rglob("*.py"))]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module


def tree_of(name: str) -> str:
    return max((tree for tree in MAY_IMPORT if name.startswith(tree + "/")), key=len)


def name_of(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")


def law_breaks(path: Path) -> Iterator[str]:
    name = name_of(path)
    for module in imported_modules(path):
        top = module.split(".")[0]
        if top in PACKAGES and not any(module == allowed or module.startswith(allowed + ".") for allowed in MAY_IMPORT[tree_of(name)]):
            yield f"{name} imports {module}"
        if top in MAY_USE and not name.startswith(MAY_USE[top]):
            yield f"{name} uses {module}"
        if tree_of(name) == "training/evaluation" and top in NOT_IN_EVALUATION:
            yield f"{name} uses {module}"
        if top == "tests":
            yield f"{name} imports {module}"


def test_imports_go_one_way() -> None:
    assert [fault for path in sources() for fault in law_breaks(path)] == []


def late_import_breaks(path: Path) -> Iterator[str]:
    tree = parsed(path)
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for name in sorted(names & {"import_module", "__import__"}):
        yield f"{name_of(path)} calls {name}"
    at_import = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    loaded = {alias.name for node in at_import if isinstance(node, ast.Import) for alias in node.names}
    loaded |= {node.module or "" for node in at_import if isinstance(node, ast.ImportFrom)}
    for name in sorted({name.split(".")[0] for name in loaded} & LATE):
        yield f"{name_of(path)} imports {name} at once"


def test_no_import_by_a_string_and_optional_libraries_late() -> None:
    assert [fault for path in sources() for fault in late_import_breaks(path)] == []


def import_graph() -> dict[str, set[str]]:
    """Modules of the project to the modules of the project that they import, at once or late; type-checking imports count too."""
    modules = {module_of(path): path for path in sources()}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        found: set[str] = set()
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                # `from package import module` imports the module, `from module import name` the
                # module it names.
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {name for name in inner if name in modules} or {node.module or ""}
        graph[module] = (found & set(modules)) - {module}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def test_no_import_circles() -> None:
    assert circles(import_graph()) == []


def test_import_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert "othello_env.position" in import_graph()["othello_env.batch"]
    assert "othello_env.compiled" in import_graph()["othello_env.backend"], "late imports count"


def package_graph() -> dict[str, set[str]]:
    """Packages to the packages that their modules import."""
    graph: dict[str, set[str]] = {}
    packages = {module_of(path) for path in sources() if path.name == "__init__.py"}

    def package_of(module: str) -> str:
        return module if module in packages else module.rpartition(".")[0]

    for module, targets in import_graph().items():
        graph.setdefault(package_of(module), set()).update(package_of(target) for target in targets)
    return {package: targets - {package} for package, targets in graph.items()}


@pytest.mark.parametrize("packages", [("agents.ntuple", "agents.search"), ("training.evaluation", "training")])
def test_packages_do_not_import_each_other(packages: tuple[str, str]) -> None:
    lower, upper = packages
    assert upper not in package_graph()[lower]


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
    assert not loaded & {"torch", "numba", "pygame", "ray", "matplotlib", "safetensors", "agents", "training"}


def test_agents_and_matches_load_no_torch() -> None:
    statement = "import agents, training.evaluation.match; agents.make_agent('positional')"
    assert not loaded_modules(statement) & {"torch", "numba", "pygame", "ray", "matplotlib"}


def test_the_ntuple_trainer_and_the_evaluation_load_no_torch() -> None:
    folder = REPOSITORY / "training"
    modules = [f"training.evaluation.{path.stem}" for path in sorted((folder / "evaluation").glob("[a-z]*.py"))]
    modules += ["training.td_ntuple", "training.release", "training.learning_curve"]
    assert len(modules) > 10
    assert not loaded_modules(f"import {', '.join(modules)}") & {"torch", "tensorflow", "ray"}


def test_the_core_works_where_the_optional_libraries_do_not_exist() -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'numba', 'pygame', 'matplotlib', 'safetensors', 'tqdm', 'tensorboard'): sys.modules[name] = None\n"
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


def wide_prose(path: Path) -> Iterator[str]:
    """Lines of docstrings and full-line comments of more than 100 columns, tables left out."""
    text = path.read_text(encoding="utf-8")
    numbers: set[int] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            numbers.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_PROSE and (number in numbers or line.lstrip().startswith("# ")) and "|" not in line:
            yield f"{name_of(path)}:{number}"


def test_prose_is_at_most_100_columns_wide() -> None:
    assert [place for path in sources() for place in wide_prose(path)] == []
