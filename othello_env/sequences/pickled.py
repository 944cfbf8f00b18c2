"""Pickled lists of integers, read without executing the pickle.

A pickle is a program that may call any function. This reader accepts only those whose instructions
build lists, tuples and integers, and checks all instructions before it carries out the first. The
size of the file bounds time and memory.
"""

from __future__ import annotations

import io
import pickle
import re
from itertools import chain
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from othello_env.errors import RecordFormatError

# Longer lists are not games.
_LONGEST: Final = 256

# Protocols 2 to 5. The arguments of `r` and `j` are bounded, because the unpickler allocates as
# many entries as they say.
_INSTRUCTIONS: Final = re.compile(
    rb"(?:K.|\x94|[\](ea)t\x85\x86\x87]|M..|J....|q.|h.|[rj]..[\x00-\x7f]\x00|\x95.{8}|\x80[\x02-\x05]){1,10000}", re.DOTALL
)
_STOP: Final = b"."

_DAMAGE: Final = (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, MemoryError)


def load_games(data: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Load a list of lists of integers.

    Returns the integers, concatenated, and the length of each list. Raises `RecordFormatError` for
    any other pickle, and for lists of more than 256 integers.
    """
    games = _load(data)
    if not isinstance(games, list | tuple) or not all(isinstance(game, list | tuple) for game in games):
        raise RecordFormatError("the pickle holds no list of lists of integers")
    lengths = np.fromiter(map(len, games), dtype=np.int64, count=len(games))
    # A pickle of a few bytes can name one list many times.
    if lengths.max(initial=0) > _LONGEST or lengths.sum() > len(data):
        raise RecordFormatError(f"the pickle holds {len(games)} lists of up to {lengths.max()} entries: these are no games")
    try:
        return np.fromiter(chain.from_iterable(games), dtype=np.int64, count=int(lengths.sum())), lengths
    except (TypeError, ValueError, OverflowError):
        raise RecordFormatError("the pickle holds no list of lists of integers") from None


def _load(data: bytes) -> Any:
    """Load the object in a pickle that contains only lists, tuples and integers."""
    place = 0
    while match := _INSTRUCTIONS.match(data, place):
        place = match.end()
    if data[place : place + 1] != _STOP:
        raise RecordFormatError(f"refused: from byte {place} on the pickle holds more than lists of integers, or is damaged")
    try:
        return _ListUnpickler(io.BytesIO(data)).load()
    except _DAMAGE as error:
        raise RecordFormatError(f"the pickle is damaged: {error}") from None


class _ListUnpickler(pickle.Unpickler):
    """Unpickler that finds no functions and no classes."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError(f"it names a persistent object {pid!r}")
