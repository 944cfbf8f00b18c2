"""README.md is true: its Python runs, its commands are the ones that work, its links lead somewhere."""

from __future__ import annotations

import re

import pytest

from agents import agent_specs
from tests.conftest import REPOSITORY

TEXT = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("code", [code for language, code in BLOCKS if language == "python"])
def test_python_blocks_run(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


def test_the_two_commands_are_one_line_each() -> None:
    commands = [code.strip() for language, code in BLOCKS if language == "bash"]
    prefix = 'python3 -m venv .venv && .venv/bin/pip install -e ".[{extra}]" && .venv/bin/'
    assert commands[0] == prefix.format(extra="train") + "python -m training.td_ntuple"
    assert commands[1] == prefix.format(extra="dev") + "pytest"


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", TEXT))))
def test_links_lead_somewhere(target: str) -> None:
    assert target.startswith("https://") or (REPOSITORY / target).is_file()


def test_every_agent_is_in_the_table() -> None:
    listed = [spec.replace("\\|", "|") for spec in re.findall(r"^\| `([^`]+)` \|", TEXT, flags=re.MULTILINE)]
    assert listed == agent_specs()


def test_the_drawn_board_is_what_render_gives() -> None:
    from othello_env import othello_v0

    env = othello_v0.env(render_mode="ansi")
    env.reset()
    env.step(19)
    assert env.render() == next(code for language, code in BLOCKS if not language).rstrip("\n")
