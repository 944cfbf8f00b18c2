"""Option values of the environments: checks, and the start position that reset options give."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import index
from typing import Any, Final, Literal

import numpy as np

from othello_env.errors import IllegalMoveError
from othello_env.game import Game, parse_transcript
from othello_env.opening import final_position
from othello_env.position import Position
from othello_env.squares import parse_square, pass_square, read_action

Illegal = Literal["terminate", "raise", "random"]
Color = Literal["random", "black", "white"]

START_OPTIONS: Final = ("position", "moves", "random_plies")
"""The reset options that `start_position` reads."""


def check_choice(name: str, value: object, choices: tuple[str | None, ...]) -> None:
    """Raise `ValueError` for a value that is not one of the choices."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise ValueError(f"{name} {value!r}: expected one of {', '.join(map(str, choices))}")


def check_switch(name: str, value: object) -> bool:
    """Return a bool, or raise `ValueError` for anything else."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} {value!r}: expected True or False")
    return value


def check_count(name: str, value: Any, least: int) -> int:
    """Return an integer of at least `least` as an int; raise `ValueError` for anything else."""
    try:
        count = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        count = least - 1
    if count < least:
        raise ValueError(f"{name} {value!r}: expected an integer from {least}")
    return count


def check_arguments(name: str, function: Callable[..., Any], given: Mapping[str, Any], accepted: Any) -> None:
    """Raise `TypeError` for an unknown keyword argument, with the most similar known one.

    name: name of the callable, for the message. function: the callable with the named parameters.
    given: the keyword arguments that its `**` parameter caught. accepted: the `TypedDict` of that
    parameter.
    """
    caught = accepted.__required_keys__ | accepted.__optional_keys__
    unknown = [argument for argument in given if argument not in caught]
    if unknown:
        named = [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD and p.name != "self"]
        raise TypeError(f"{name}: unexpected argument {unknown[0]!r}{_nearest(unknown[0], [*named, *sorted(caught)])}")


def check_reset_options(name: str, options: object, known: tuple[str, ...]) -> Mapping[str, Any]:
    """Return reset options as a mapping, empty for None; `ValueError` for anything else.

    Warns about keys that are not in `known`: they have no effect. name: name of the environment,
    for the warning.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options {options!r}: expected a dict")
    for key in options:
        if key not in known:
            warnings.warn(f"{name}: unknown reset option {key!r} is ignored{_nearest(str(key), known)}", UserWarning, stacklevel=3)
    return options


def _nearest(name: str, names: Sequence[str]) -> str:
    """Format the end of a message about an unknown name: the most similar name, and all names."""
    similar = difflib.get_close_matches(name, names, 1)
    question = f"; did you mean {similar[0]!r}?" if similar else ";"
    return f"{question} expected one of {', '.join(names)}"


def start_position(options: Mapping[str, Any], rng: np.random.Generator, *, board_size: int, auto_pass: bool) -> Position:
    """Return the position that reset options give: "position", "moves", then "random_plies".

    position: a `Position` or its text. moves: a transcript, or squares as numbers or names; forced
    passes may be written or left out. random_plies: number of random moves, drawn from `rng` until
    the game is not over after them. auto_pass: True to play a pass that is forced at the end, too.
    Raises `ValueError` for an invalid value.
    """
    position = _read_position(options.get("position"), board_size)
    for number, move in enumerate(_read_moves(options.get("moves"), board_size), 1):
        if move != pass_square(board_size):
            position = position.resolve_pass()  # a pass that was left out
        elif position.is_over:
            continue  # some transcripts write the passes at the end
        try:
            position = position.play(move, auto_pass=False)
        except IllegalMoveError as error:
            raise IllegalMoveError(f"option moves, number {number}: {error}") from None
    num_plies = check_count("option random_plies:", options.get("random_plies", 0), 0)
    if num_plies:
        position = final_position(Game.random(num_plies, rng, position), auto_pass=False)
    return position.resolve_pass() if auto_pass else position


def _read_position(position: Any, board_size: int) -> Position:
    """Read the option "position"; None gives the start position."""
    if position is None:
        return Position.start(board_size)
    if isinstance(position, str):
        position = Position.parse(position)
    if not isinstance(position, Position):
        raise ValueError(f"option position: {position!r}; expected a Position or its text")
    if position.board_size != board_size:
        raise ValueError(f"option position: a {position.board_size}x{position.board_size} board, but board_size is {board_size}")
    return position


def _read_moves(moves: Any, board_size: int) -> list[int]:
    """Return the squares and passes of the option "moves"."""
    if moves is None:
        return []
    if isinstance(moves, str):
        return [square for _, square in parse_transcript(moves, board_size)]
    # Bytes would be read as numbers, and sets and mappings have no order of moves.
    if not isinstance(moves, Iterable) or isinstance(moves, (bytes, bytearray, memoryview, Set, Mapping)):
        raise ValueError(f"option moves: {moves!r}; expected a transcript, or a sequence of squares")
    squares = []
    for number, move in enumerate(moves, 1):
        try:
            squares.append(parse_square(move, board_size) if isinstance(move, str) else read_action(move))
        except TypeError:
            raise ValueError(f"option moves, number {number}: {move!r} is neither the number of a square nor its name") from None
    return squares
