"""Checks of the option values that several environments take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Illegal = Literal["terminate", "raise", "random"]
Color = Literal["random", "black", "white"]


def check_choice(name: str, value: object, choices: tuple[str | None, ...]) -> None:
    """Raise `ValueError` for a value that is none of the choices."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise ValueError(f"{name} {value!r}: expected one of {', '.join(map(str, choices))}")


def check_switch(name: str, value: object) -> bool:
    """Return a bool, or raise `ValueError` for anything else."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} {value!r}: expected True or False")
    return value


def check_options(options: object) -> Mapping[str, Any]:
    """The options of a reset as a mapping; none for None. Raises `ValueError` for anything else."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options {options!r}: expected a dict")
    return options
