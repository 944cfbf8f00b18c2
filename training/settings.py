"""Settings of training runs: one frozen dataclass per trainer.

The fields of the dataclass are the options of the trainer's command line.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, Protocol, get_args, get_origin, get_type_hints


class RunSettings(Protocol):
    """Fields that the settings of all trainers have."""

    @property
    def games(self) -> int:
        """Number of self-play games."""
        ...

    @property
    def board_size(self) -> int:
        """Width and height of the board, in squares."""
        ...

    @property
    def evaluate_every(self) -> int:
        """Number of games between two evaluations."""
        ...

    @property
    def keep_every(self) -> int:
        """Number of games between two networks that are kept; 0 keeps none."""
        ...

    def check(self) -> None:
        """Raise `ValueError`, with the name of the setting, for an invalid value."""
        ...


def check_settings(
    settings: Any,
    *,
    at_least_one: Sequence[str],
    not_negative: Sequence[str] = (),
    positive: Sequence[str] = (),
    fractions: Sequence[str] = (),
    max_random_plies: int,
) -> None:
    """Raise `ValueError`, with the name of the setting, for an invalid type or value.

    The fields of `RunSettings`, seed and random_plies are always checked; the other arguments name
    further fields.
    """
    for name, kind in get_type_hints(type(settings)).items():
        _check_type(name, getattr(settings, name), kind)
    for name in ("games", "evaluate_every", *at_least_one):
        if getattr(settings, name) < 1:
            raise ValueError(f"{name} {getattr(settings, name)}: must be at least 1")
    for name in ("seed", "random_plies", "keep_every", *not_negative):
        if not 0 <= getattr(settings, name) < math.inf:
            raise ValueError(f"{name} {getattr(settings, name)}: must not be negative")
    for name in positive:
        if not 0 < getattr(settings, name) < math.inf:
            raise ValueError(f"{name} {getattr(settings, name)}: must be a number above 0")
    for name in fractions:
        if not 0 <= getattr(settings, name) <= 1:
            raise ValueError(f"{name} {getattr(settings, name)}: must be between 0 and 1")
    if settings.seed >= 1 << 63:
        raise ValueError(f"seed {settings.seed}: must be below 2**63")
    if settings.random_plies > max_random_plies:
        raise ValueError(f"random_plies {settings.random_plies}: at most {max_random_plies} on this board")


def _check_type(name: str, value: Any, kind: Any) -> None:
    """Raise `ValueError` unless the value has the annotated type.

    kind: int, float or a Literal.
    """
    if get_origin(kind) is Literal:
        if not any(value == choice and type(value) is type(choice) for choice in get_args(kind)):
            raise ValueError(f"{name} {value!r}: expected one of {', '.join(map(str, get_args(kind)))}")
    elif isinstance(value, bool) or not isinstance(value, (int, float) if kind is float else kind):
        raise ValueError(f"{name} {value!r}: expected {'an integer' if kind is int else 'a number'}")


def add_settings(parser: argparse.ArgumentParser, defaults: Any, *, title: str) -> None:
    """Add one option per field of a settings dataclass; its help is the docstring below the field.

    defaults: the settings that the help shows. An option that is not given is absent from the
    parsed namespace.
    """
    group = parser.add_argument_group(title)
    kinds, texts = get_type_hints(type(defaults)), _field_docstrings(type(defaults))
    for field in fields(defaults):
        kind = kinds[field.name]
        choices = get_args(kind)
        text = f"{texts[field.name].removesuffix('.')} (default: {getattr(defaults, field.name)})"
        group.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=type(choices[0]) if choices else kind,
            choices=choices or None,
            metavar=None if choices else kind.__name__.upper(),
            default=argparse.SUPPRESS,
            help=text.replace("%", "%%"),
        )


def given_settings(arguments: argparse.Namespace, kind: type) -> dict[str, Any]:
    """Return the settings given on the command line by field name. kind: the settings dataclass."""
    return {field.name: getattr(arguments, field.name) for field in fields(kind) if hasattr(arguments, field.name)}


def _field_docstrings(kind: type) -> dict[str, str]:
    """Return the docstrings below the fields of a class, by field name, each as one line."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for statement, following in itertools.pairwise(definition.body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts
