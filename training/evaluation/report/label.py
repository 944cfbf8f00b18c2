"""Short labels of names, for places that are too narrow; different names get different labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

# Letters by their width in a wide sans-serif font such as DejaVu Sans. Widths are multiples of the
# font size.
_WIDE: Final = frozenset("mwMW@%&…—")
_NARROW: Final = frozenset("ijlI.,:;'|!()[] ft\"`")
_LAST_OF_EUROPE: Final = "\u04ff"
_NARROWEST: Final = 0.4
# Number of letters shown before the first one in which a name differs from others.
_CONTEXT: Final = 4


def text_width(text: str, *, font_size: float = 13) -> float:
    """Return the approximate width of a text; it is too large rather than too small.

    font_size: in the unit of the result.
    """
    return font_size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return _NARROWEST
    if letter in _WIDE:
        return 1.0
    if letter > _LAST_OF_EUROPE:
        return 1.05  # letters of East Asia, symbols
    return 0.72 if letter.isupper() else 0.64


def short_labels(names: Sequence[str], *, width: float, font_size: float = 13) -> dict[str, str]:
    """Return a label of at most a given width for each name.

    width, font_size: in the same unit. A name that does not fit loses its middle. If this makes
    labels equal, they keep the part in which the names differ; as a last resort labels are
    numbered.
    """

    def shorten(name: str, cut: Callable[[str, int], str], room: float = width) -> str:
        return _fit(name, cut, room / font_size)

    distinct = list(dict.fromkeys(names))
    labels = {name: shorten(name, _without_middle) for name in distinct}
    equal: dict[str, list[str]] = {}
    for name, label in labels.items():
        equal.setdefault(label, []).append(name)
    for group in equal.values():
        if len(group) > 1:
            ordered = sorted(group)  # the most similar names are neighbors
            common = [0, *map(_common_beginning, ordered, ordered[1:]), 0]
            for place, name in enumerate(ordered):
                labels[name] = shorten(name, partial(_with_difference, shared=max(common[place : place + 2])))
    if len(set(labels.values())) < len(labels):
        for number, name in enumerate(distinct, 1):
            suffix = f"…{number}"
            labels[name] = shorten(name, _beginning, width - text_width(suffix, font_size=font_size)) + suffix
    return labels


def _common_beginning(first: str, second: str) -> int:
    """Return the length of the longest common prefix."""
    length = min(len(first), len(second))
    return next((place for place in range(length) if first[place] != second[place]), length)


def _fit(name: str, cut: Callable[[str, int], str], width: float) -> str:
    """Return the name, or the longest of its cuts that fits.

    cut: shortens the name to a number of letters. width: as a multiple of the font size.
    """
    if text_width(name, font_size=1) <= width:
        return name
    for kept in range(min(len(name) - 1, int(width / _NARROWEST)), 0, -1):
        label = cut(name, kept)
        if text_width(label, font_size=1) <= width:
            return label
    return ""


def _without_middle(name: str, kept: int) -> str:
    return f"{name[: kept - kept // 2]}…{name[len(name) - kept // 2 :]}"


def _beginning(name: str, kept: int) -> str:
    return name[:kept]


def _with_difference(name: str, kept: int, *, shared: int) -> str:
    """Keep a third of the letters at the beginning, and the rest from where the name differs.

    shared: length of the common prefix.
    """
    head = kept // 3
    length = kept - head
    start = max(head, min(shared - _CONTEXT, len(name) - length))
    return f"{name[:head]}…{name[start : start + length]}{'…' if start + length < len(name) else ''}"
