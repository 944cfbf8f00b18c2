from __future__ import annotations

import pytest

from othello_env import RecordFormatError
from othello_env.records import property_list
from othello_env.records.property_list import GameText, parse_nodes, split_games


def split(text: str, *, escapes: bool = False, errors: list[str] | None = None) -> list[tuple[str, int]]:
    """The texts of the games with their lines."""
    lines = enumerate(text.split("\n"), 1)
    handler = None if errors is None else lambda error: errors.append(str(error))
    return [(game.text, game.line) for game in split_games(lines, "games", escapes=escapes, on_error=handler)]


def test_games_may_stand_in_one_line_or_in_many() -> None:
    assert split("(;A[1];)(;B[2];)\n\n  (;A[\n3];\n)\n") == [("(;A[1];)", 1), ("(;B[2];)", 1), ("(;A[\n3];\n)", 3)]


def test_the_number_of_games_may_stand_in_front() -> None:
    assert len(split("1 (;A[1];)\n2 (;B[2];)(;C[3];)\n2\n(;D[4];)\n(;E[5];)")) == 5


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("2 (;A[1];)", "games, line 1: announces 1 more games than follow up to line 1"),
        ("2 (;A[1];)\n1 (;B[2];)", "games, line 1: announces 1 more games than follow up to line 2"),
        ("(;A[1];", "games, line 1: the file ends inside the game that begins here"),
        ("(;A[1", "games, line 1: the file ends inside the game that begins here"),
        ("hello (;A[1];)", "games, line 1: expected a game in parentheses, not 'hello (;A[1];)'"),
        ("(;GM[x]A[1;\n(;GM[y];)", "games, line 2: a value has no closing bracket"),
        ("(;GM[x]A[1];\n(;GM[y];)", "games, line 1: the game has no closing parenthesis"),
    ],
)
def test_damage_is_named_with_its_line(text: str, error: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        split(text)
    assert str(caught.value) == error
    errors: list[str] = []
    split(text, errors=errors)
    assert errors == [error]


@pytest.mark.parametrize("damage", ["(;GM[x]A[1;", "(;GM[x]A[1];", "hello", "(;GM[x", ")", "(;GM[x]B[2];) hello"])
def test_reading_goes_on_with_the_next_game(damage: str) -> None:
    errors: list[str] = []
    games = split(f"(;GM[a];)\n{damage}\n(;GM[b];)(;GM[c];)", errors=errors)
    assert [text for text, _ in games if "x" not in text] == ["(;GM[a];)", "(;GM[b];)", "(;GM[c];)"]
    assert len(errors) == 1


def test_a_game_may_not_be_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(property_list, "MAX_GAME_CHARACTERS", 1000)
    errors: list[str] = []
    assert split("(;GM[x]C[" + "c" * 2000 + "\n];)\n(;GM[a];)", errors=errors) == [("(;GM[a];)", 3)]
    assert len(errors) == 1


def test_escapes_keep_brackets_in_values() -> None:
    text = r"(;C[a\]b\\];B[f5])"
    assert split(text, escapes=True) == [(text, 1)]
    ((comment,), (move,)) = parse_nodes(GameText(text, 1), "games", escapes=True)
    assert (comment.values, move.values) == ([r"a\]b\\"], ["f5"])


def test_the_first_variation_is_the_game() -> None:
    text = "(;A[1];B[2](;C[3];D[4](;E[5])(;F[6]))(;G[7];H[8]))"
    assert split(text, escapes=True) == [(text, 1)]
    nodes = parse_nodes(GameText(text, 1), "games", escapes=True)
    assert [item.name for node in nodes for item in node] == ["A", "B", "C", "D", "E"]


def test_deep_nesting_is_no_problem() -> None:
    text = "(;A[1]" * 10_000 + ")" * 10_000
    assert len(parse_nodes(GameText(text, 1), "games", escapes=True)) == 10_000
    assert split(text, escapes=True) == [(text, 1)]


def test_more_values_than_one_expression_takes_are_read() -> None:
    text = "(;" + "A[1]" * 5000 + ";)"
    assert split(text) == [(text, 1)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("(;A[1]B)", "games, line 7: expected a property like B[f5], not 'B)'"),
        ("(;A[1]\n\n5;)", "games, line 7: expected a property like B[f5], not '5;)'"),
        ("(;[1];)", "games, line 7: the value '1' belongs to no property"),
        ("(A[1])", "games, line 7: the value '1' belongs to no property"),
    ],
)
def test_a_game_that_is_no_list_of_properties_is_refused(text: str, error: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        parse_nodes(GameText(text, 7), "games", escapes=False)
    assert str(caught.value) == error
