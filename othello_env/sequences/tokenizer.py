"""Tokenizers: the numbers that published data sets and models use for squares, passes and padding.

| name | vocabulary | squares | padding | pass | context | used by |
|---|---|---|---|---|---|---|
| `othello_gpt` | 61 | 1-60, the four center squares left out | 0 | left out | 59 | Li et al. 2023, Nanda et al. 2023, most later work |
| `inductive_bias` | 61 | 0-59, the four center squares left out | 60 | left out | 59 | Vafa et al. 2025 |
| `squares` | 66 | 0-63 | 65 | 64, written | any | OpenSpiel and pgx (which have no padding), this package |
| `othello_gpt_6x6` | 33 | 0-31, the four center squares left out | 32 | left out | 31 | Wong 2025 (without padding) |
| `wthor` | 89 | column + 10 * row, a1 = 11, h8 = 88 | 0 | left out | 59 | WTHOR files |

Squares are numbered in ascending order: a1, b1, ... The first three exist for all board sizes; the
table gives 8x8.

| orientation | squares | used by |
|---|---|---|
| `standard` | row by row from a1: d3 = 19 | OpenSpiel, pgx, WTHOR, this package |
| `transposed` | column by column: d3 = 26 | `OthelloBoardState` of likenneth/othello_world and everything built on its data |
| `mirrored` | row by row from the right end of the row: the first player starts on c3 and d4 of 6x6 | alfredclwong/othello-gpt |

The rules allow the reflected games as well, so the wrong orientation shows only in square names, in
openings, and where two data sets are mixed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from othello_env.bitboard import squares_of, start_discs
from othello_env.errors import RecordFormatError
from othello_env.sequences.move_array import PADDING, Moves, as_moves
from othello_env.sequences.passes import omit_passes, write_passes
from othello_env.squares import check_board_size, format_square, pass_square
from othello_env.symmetry import transform_square

TokenizerName = Literal["othello_gpt", "inductive_bias", "squares", "othello_gpt_6x6", "wthor"]
Orientation = Literal["standard", "transposed", "mirrored"]

IGNORE_INDEX: Final = -100
"""Padding in lists that `CharDataset` has read, and the target that cross entropy ignores.

`decode` reads it as padding.
"""

_SYMMETRIES: Final = {"standard": 0, "transposed": 4, "mirrored": 1}
_CHUNK: Final = 1 << 16  # games decoded at a time: no temporary array is as large as a data set
_NONE: Final = 254  # in the look-up tables: a square without a token, a token without a square


class _Numbering(NamedTuple):
    """Tokens of the squares in ascending order, of the padding, and of the pass.

    The pass is None if passes are left out.
    """

    squares: dict[int, int]
    pad_id: int
    pass_id: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Tokenizer:
    """Mapping between moves and tokens; `make_tokenizer` returns one.

    vocab_size: V, number of tokens, padding included. pad_id: token of `PADDING`. pass_id: token of
    the pass, or None if passes are left out. squares: [V] uint8, the entry of a move array for each
    token: a square, the pass, `PADDING`, or 254 for a token that is not used.
    """

    name: TokenizerName
    board_size: int
    orientation: Orientation
    vocab_size: int
    pad_id: int
    pass_id: int | None
    squares: npt.NDArray[np.uint8] = field(repr=False)
    _tokens: npt.NDArray[np.uint8] = field(repr=False)

    @property
    def context_length(self) -> int | None:
        """Number of tokens that a model reads: the longest game less one, 59 on 8x8.

        None if passes are written.
        """
        return self.board_size**2 - 5 if self.pass_id is None else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tokens, such as "d3", "pass" and "padding"; "" for unused tokens."""
        special = {PADDING: "padding", _NONE: ""}
        squares = self.squares.tolist()
        return tuple(special[square] if square in special else format_square(square, self.board_size) for square in squares)

    def encode(self, moves: npt.ArrayLike, *, length: int | None = None, dtype: npt.DTypeLike = np.uint8) -> npt.NDArray[Any]:
        """Encode games as tokens.

        moves: [N, T] integers, passes left out or written. length: number of columns L; by default
        `n*n - 4` if passes are left out, and that of the longest game if they are written. Returns
        a new array [N, L] of `dtype`; `moves` does not change. If passes are written, they are
        inserted where the rules force them; this raises `IllegalMoveError` for the first illegal
        game. Otherwise the only check is that each square has a token. Raises `ValueError` for a
        square without a token, and for longer games.
        """
        moves = as_moves(moves)
        arranged = (omit_passes if self.pass_id is None else write_passes)(moves, self.board_size, length=length)
        tokens = self._tokens[arranged]
        if (tokens == _NONE).any():
            row, column = np.argwhere(tokens == _NONE)[0]
            square = int(arranged[row, column])
            name = format_square(square, self.board_size) if square < self.board_size**2 else str(square)
            raise ValueError(f"game {row}, move {column + 1}: {name} has no token in {self.name}")
        return tokens.astype(dtype, copy=False)

    def decode(self, tokens: npt.ArrayLike) -> Moves:
        """Decode tokens as games.

        tokens: [N, T] integers. Returns a new array [N, T] uint8; written passes stay, as `n*n`.
        Only the numbers are checked: `find_illegal_moves` tells which games are legal. Raises
        `RecordFormatError` with game and column for a number that is not a token.
        """
        array = np.asarray(tokens)
        if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
            raise RecordFormatError(f"tokens: {array.dtype} of shape {array.shape}; expected integers of shape [N, T]")
        moves = np.empty(array.shape, dtype=np.uint8)
        for first in range(0, len(array), _CHUNK):
            rows = slice(first, first + _CHUNK)
            is_token = (array[rows] >= 0) & (array[rows] < self.vocab_size)
            moves[rows] = self.squares[np.where(is_token, array[rows], self.pad_id)]
            wrong = ~(is_token | (array[rows] == IGNORE_INDEX)) | (moves[rows] == _NONE)
            if wrong.any():
                row, column = np.argwhere(wrong)[0]
                token = array[first + row, column]
                raise RecordFormatError(f"game {first + row}, column {column + 1}: {token} is no token of {self.name}")
        return moves

    def token_mask(self, legal_mask: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        """Convert masks over squares to masks over tokens.

        legal_mask: [..., n*n + 1], such as `Labels.legal_mask()`. Returns [..., V] int8 in the
        order of the tokens; 0 for the padding and for tokens that are not used.
        """
        mask = np.zeros((*legal_mask.shape[:-1], self.vocab_size), dtype=np.int8)
        used = np.flatnonzero(self.squares <= pass_square(self.board_size))
        mask[..., used] = legal_mask[..., self.squares[used]]
        return mask


def make_tokenizer(name: TokenizerName, board_size: int | None = None, *, orientation: Orientation = "standard") -> Tokenizer:
    """Return one of the tokenizers of the table.

    board_size: by default 8, or 6 for "othello_gpt_6x6". orientation: of the squares in the tokens;
    moves are always in the standard orientation. Raises `ValueError` for an unknown name or
    orientation, and for a board size that the tokenizer does not have.
    """
    if name not in get_args(TokenizerName):
        raise ValueError(f"tokenizer {name!r}: expected one of {', '.join(get_args(TokenizerName))}")
    if orientation not in _SYMMETRIES:
        raise ValueError(f"orientation {orientation!r}: expected one of {', '.join(_SYMMETRIES)}")
    only_size = {"othello_gpt_6x6": 6, "wthor": 8}.get(name)
    size = check_board_size(only_size or 8 if board_size is None else board_size)
    if only_size not in (None, size):
        raise ValueError(f"tokenizer {name!r} with board_size {size}: it has board_size {only_size} only")
    numbering = _number(name, size)
    vocab_size = max(numbering.pad_id, *numbering.squares.values()) + 1
    squares, tokens = np.full(vocab_size, _NONE, dtype=np.uint8), np.full(256, _NONE, dtype=np.uint8)
    entries = {transform_square(square, _SYMMETRIES[orientation], size): token for square, token in numbering.squares.items()}
    entries[PADDING] = numbering.pad_id
    if numbering.pass_id is not None:
        entries[pass_square(size)] = numbering.pass_id
    for entry, token in entries.items():
        squares[token], tokens[entry] = entry, token
    for table in (squares, tokens):
        table.flags.writeable = False
    return Tokenizer(name, size, orientation, vocab_size, numbering.pad_id, numbering.pass_id, squares, tokens)


def _number(name: TokenizerName, n: int) -> _Numbering:
    everywhere = range(n * n)
    if name == "squares":
        return _Numbering({square: square for square in everywhere}, n * n + 1, n * n)
    if name == "wthor":
        return _Numbering({square: 11 + square % n + square // n * 10 for square in everywhere}, 0, None)
    black, white = start_discs(n)
    center = squares_of(black | white)
    playable = [square for square in everywhere if square not in center]
    first = 1 if name == "othello_gpt" else 0
    pad_id = 0 if name == "othello_gpt" else len(playable)
    return _Numbering({square: first + place for place, square in enumerate(playable)}, pad_id, None)
