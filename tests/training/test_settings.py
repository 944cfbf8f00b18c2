from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import pytest

from othello_env.command import Parser
from training.settings import add_settings, check_settings, given_settings


@dataclass(frozen=True)
class Example:
    """Settings of a trainer that does not exist."""

    games: int = 10
    """Number of games."""
    seed: int = 0
    """Seed, of which
    the text has two lines and a 5% sign."""
    board_size: Literal[6, 8] = 6
    """Size."""
    random_plies: int = 2
    """Plies."""
    rate: float = 0.5
    """A rate."""
    share: float = 0.25
    """A share."""
    kind: Literal["a", "b"] = "a"
    """A kind."""
    evaluate_every: int = 5
    """Games."""
    keep_every: int = 0
    """Games."""

    def check(self) -> None:
        check_settings(self, at_least_one=("games",), not_negative=("share",), positive=("rate",), fractions=("share",), max_random_plies=4)


def parser() -> Parser:
    made = Parser(prog="python -m training.example", allow_abbrev=False)
    add_settings(made, replace(Example(), games=77, rate=0.125), title="settings")
    return made


def test_every_field_is_an_option_whose_help_is_its_docstring_with_the_default() -> None:
    text = " ".join(parser().format_help().split())
    assert "--games INT Number of games (default: 77)" in text
    assert "--seed INT Seed, of which the text has two lines and a 5% sign (default: 0)" in text
    assert "--board-size {6,8} Size (default: 6)" in text
    assert "--rate FLOAT A rate (default: 0.125)" in text
    assert "--kind {a,b} A kind (default: a)" in text
    assert all(f"--{field.name.replace('_', '-')} " in text for field in fields(Example))


def test_only_given_options_are_settings_even_if_they_equal_the_default() -> None:
    assert given_settings(parser().parse_args([]), Example) == {}
    arguments = parser().parse_args(["--games", "77", "--rate=2", "--board-size", "8", "--kind", "b", "--seed", "-3"])
    assert given_settings(arguments, Example) == {"games": 77, "rate": 2.0, "board_size": 8, "kind": "b", "seed": -3}


@pytest.mark.parametrize(
    "words", [["--games", "x"], ["--games", "1.5"], ["--rate", "x"], ["--board-size", "7"], ["--kind", "c"], ["--game", "3"]]
)
def test_a_word_that_is_no_value_is_refused_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(words)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("games", 0, "must be at least 1"),
        ("games", 1.5, "expected an integer"),
        ("games", True, "expected an integer"),
        ("games", "3", "expected an integer"),
        ("evaluate_every", 0, "must be at least 1"),
        ("seed", -1, "must not be negative"),
        ("seed", 1 << 63, r"must be below 2\*\*63"),
        ("random_plies", -1, "must not be negative"),
        ("random_plies", 5, "at most 4 on this board"),
        ("keep_every", -1, "must not be negative"),
        ("board_size", 7, "expected one of 6, 8"),
        ("board_size", 6.0, "expected one of 6, 8"),
        ("kind", "c", "expected one of a, b"),
        ("rate", 0.0, "must be a number above 0"),
        ("rate", float("nan"), "must be a number above 0"),
        ("rate", float("inf"), "must be a number above 0"),
        ("rate", None, "expected a number"),
        ("rate", True, "expected a number"),
        ("share", 1.5, "must be between 0 and 1"),
        ("share", float("nan"), "must not be negative"),
    ],
)
def test_a_value_that_no_run_can_use_is_refused_with_its_name(name: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} .*{message}"):
        replace(Example(), **{name: value}).check()


def test_values_at_the_limits_are_accepted() -> None:
    for changes in (
        {"seed": (1 << 63) - 1},
        {"random_plies": 4},
        {"share": 0.0},
        {"share": 1},
        {"rate": 3},
        {"games": 1},
        {"board_size": 8},
    ):
        replace(Example(), **changes).check()
