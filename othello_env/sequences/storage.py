"""Files of games: `.npy`, `.npz` and `.parquet`, read and written; pickled lists, read.

| suffix | contents | as `write_games` writes it |
|---|---|---|
| `.npy` | array [N, T] or [N, T, 1] of integers | [N, T] uint8, `PADDING` after the last move; read as a memory map |
| `.npz` | such an array under a name | `moves`, compressed |
| `.parquet` | column of lists of integers, one list per game | `moves`, without padding; needs pyarrow (extra `[data]`) |
| `.pickle`, `.pkl` | list of lists of integers; nothing in the pickle is executed | not written |

A file that was not written by `write_games` holds tokens: pass its tokenizer. Reading changes
neither files nor folders, and the arrays that it returns are read-only.
"""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from othello_env.atomic_file import open_atomically
from othello_env.bitboard import squares_of, start_discs
from othello_env.command import missing_extra
from othello_env.errors import RecordFormatError
from othello_env.sequences.move_array import PADDING, Moves, as_moves, max_moves, pad_values
from othello_env.sequences.pickled import load_games
from othello_env.sequences.tokenizer import IGNORE_INDEX, Tokenizer
from othello_env.squares import check_board_size, format_square, pass_square

Numbers = npt.NDArray[Any]

_COLUMN: Final = "moves"
# Names of the games in published data sets.
_COLUMNS: Final = (_COLUMN, "tokens", "input_ids")

_NPY_MAGIC: Final = b"\x93NUMPY\x01\x00"
_NPY_HEADER_SIZE: Final = 128

# Errors that NumPy raises for damaged files, besides `OSError`.
_DAMAGE: Final = (
    ValueError,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    MemoryError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    OverflowError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)

# Games checked at a time.
_CHUNK: Final = 1 << 16


def write_games(path: str | Path, games: Moves | Iterable[Moves], board_size: int = 8) -> int:
    """Write games to a file, which keeps its old content until all are written.

    Returns the number of games. path: the suffix selects the format. games: moves [N, T], or an
    iterable of such arrays with the same T, as `stream_random_games` yields them; `.npy` and
    `.parquet` are written as they come, `.npz` is collected first. Raises `ValueError` for another
    suffix and for numbers that are not moves, and `ModuleNotFoundError` if a parquet file needs
    pyarrow.
    """
    path, board_size = Path(path), check_board_size(board_size)
    write = _WRITERS.get(path.suffix)
    if write is None:
        raise ValueError(f"{path}: games are written to {', '.join(_WRITERS)}")
    return write(path, _checked([games] if isinstance(games, np.ndarray) else games, board_size), board_size)


def read_games(path: str | Path, board_size: int = 8, *, tokenizer: Tokenizer | None = None, column: str | None = None) -> Moves:
    """Read the games of a file.

    path: the suffix selects the format. tokenizer: of the numbers in the file, with its own board
    size; by default the numbers are moves as `write_games` writes them. column: name of the array
    or column; by default "moves", "tokens" or "input_ids". Returns [N, T] uint8, read-only;
    `find_illegal_moves` tells which games are legal. Raises `RecordFormatError` for a file that
    violates its format and for numbers that are not moves, `ValueError` for an unknown suffix,
    `OSError` for a file that cannot be opened, and `ModuleNotFoundError` if a parquet file needs
    pyarrow.
    """
    path = Path(path)
    board_size = check_board_size(board_size if tokenizer is None else tokenizer.board_size)
    read = _READERS.get(path.suffix)
    if read is None:
        raise ValueError(f"{path}: games are read from {', '.join(_READERS)}")
    try:
        numbers = read(path, column, max_moves(board_size))
        if numbers.ndim == 3 and numbers.shape[2] == 1:
            numbers = numbers[:, :, 0]
        moves = _as_moves(numbers, board_size) if tokenizer is None else tokenizer.decode(numbers)
    except RecordFormatError as error:
        raise RecordFormatError(f"{path}: {' '.join(str(error).split())}") from None
    moves.flags.writeable = False
    return moves


def _as_moves(numbers: Numbers, board_size: int) -> Moves:
    """Convert numbers to moves. Raises `RecordFormatError` if they are not moves."""
    if numbers.dtype != np.uint8 and np.issubdtype(numbers.dtype, np.signedinteger):
        numbers = np.where(numbers == IGNORE_INDEX, np.int16(PADDING), numbers)
    try:
        moves = as_moves(numbers)
    except ValueError as error:
        raise RecordFormatError(str(error)) from None
    is_entry = np.zeros(256, dtype=np.bool_)
    is_entry[[*range(pass_square(board_size) + 1), PADDING]] = True
    black, white = start_discs(board_size)
    is_entry[list(squares_of(black | white))] = False
    for first in range(0, len(moves), _CHUNK):
        part = moves[first : first + _CHUNK]
        wrong = ~is_entry[part]
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            entry = int(part[row, column])
            name = format_square(entry, board_size) if entry < board_size**2 else str(entry)
            raise RecordFormatError(
                f"game {first + row}, column {column + 1}: {name} is no move on {board_size}x{board_size}; are these tokens of a tokenizer?"
            )
    return moves


def _checked(chunks: Iterable[Moves], board_size: int) -> Iterator[Moves]:
    width: int | None = None
    for chunk in chunks:
        moves = _as_moves(np.asarray(chunk), board_size)
        if width not in (None, moves.shape[1]):
            raise ValueError(f"games of {width} and of {moves.shape[1]} columns; expected one number of columns")
        width = moves.shape[1]
        gaps = (moves[:, :-1] == PADDING) & (moves[:, 1:] != PADDING)
        if gaps.any():
            row, column = np.argwhere(gaps)[0]
            raise ValueError(f"game {row}, column {column + 2}: a move after padding")
        yield moves


def _write_npy(path: Path, chunks: Iterator[Moves], board_size: int) -> int:
    num_games, num_columns = 0, max_moves(board_size)
    with open_atomically(path) as file:
        file.write(bytes(_NPY_HEADER_SIZE))  # which has the number of games, known at the end
        for moves in chunks:
            file.write(moves.data)
            num_games, num_columns = num_games + len(moves), moves.shape[1]
        text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({num_games}, {num_columns}), }}".encode()
        size = _NPY_HEADER_SIZE - len(_NPY_MAGIC) - 2
        file.seek(0)
        file.write(_NPY_MAGIC + size.to_bytes(2, "little") + text.ljust(size - 1) + b"\n")
    return num_games


def _write_npz(path: Path, chunks: Iterator[Moves], board_size: int) -> int:
    parts = list(chunks)
    moves = np.concatenate(parts) if parts else np.empty((0, max_moves(board_size)), dtype=np.uint8)
    with open_atomically(path) as file:
        np.savez_compressed(file, moves=moves)
    return len(moves)


def _write_parquet(path: Path, chunks: Iterator[Moves], board_size: int) -> int:
    del board_size
    arrow, parquet = _import_pyarrow()
    schema = arrow.schema([(_COLUMN, arrow.list_(arrow.uint8()))])
    num_games = 0
    with open_atomically(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for moves in chunks:
            is_entry = moves != PADDING
            offsets = np.zeros(len(moves) + 1, dtype=np.int32)
            np.cumsum(is_entry.sum(axis=1), out=offsets[1:])
            column = arrow.ListArray.from_arrays(offsets, moves[is_entry])
            writer.write_table(arrow.Table.from_arrays([column], schema=schema))
            num_games += len(moves)
    return num_games


def _read_npy(path: Path, column: str | None, width: int) -> Numbers:
    del column, width
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            shape, _, dtype = (np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0)(file)
            if 0 in shape:
                return np.empty(shape, dtype=dtype)
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        except _DAMAGE as error:
            raise RecordFormatError(f"no .npy file of integers: {error}") from None


def _read_npz(path: Path, column: str | None, width: int) -> Numbers:
    del width
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as arrays:
                return np.asarray(arrays[_choose(column, list(arrays))])
        except RecordFormatError:
            raise
        except (*_DAMAGE, OSError) as error:
            raise RecordFormatError(f"no .npz file of integers: {error}") from None


def _read_parquet(path: Path, column: str | None, width: int) -> Numbers:
    arrow, parquet = _import_pyarrow()
    with path.open("rb") as file:
        try:
            reader = parquet.ParquetFile(file)
            name = _choose(column, reader.schema_arrow.names)
            batches = reader.iter_batches(columns=[name]) if reader.num_row_groups else ()  # older versions of pyarrow fail there
            parts = [_list_column(batch.column(0)) for batch in batches]
        except RecordFormatError:
            raise
        except (arrow.ArrowException, *_DAMAGE, OSError) as error:
            raise RecordFormatError(f"no parquet file with lists of integers: {error}") from None
    values = np.concatenate([np.empty(0, dtype=np.int16), *(values for values, _ in parts)])
    return _pad_numbers(values, np.concatenate([np.empty(0, dtype=np.int64), *(lengths for _, lengths in parts)]), width)


def _list_column(lists: Any) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]:
    """Return the integers of a part of a column, concatenated, and the length of each list."""
    values = lists.flatten()
    if lists.null_count or values.null_count:
        raise RecordFormatError("a game or a move is missing (null)")
    numbers = values.to_numpy(zero_copy_only=False)
    lengths = lists.value_lengths().to_numpy().astype(np.int64)
    return _as_int16(numbers), lengths


def _read_pickle(path: Path, column: str | None, width: int) -> Numbers:
    del column
    values, lengths = load_games(path.read_bytes())
    return _pad_numbers(_as_int16(values), lengths, width)


def _as_int16(numbers: Numbers) -> npt.NDArray[np.int16]:
    if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
        raise RecordFormatError(f"{numbers.dtype}; expected integers")
    if numbers.size and not -(1 << 15) <= numbers.min() <= numbers.max() < 1 << 15:
        raise RecordFormatError(f"numbers from {numbers.min()} to {numbers.max()} are no moves")
    return numbers.astype(np.int16)


def _pad_numbers(values: npt.NDArray[np.int16], lengths: npt.NDArray[np.int64], width: int) -> Numbers:
    return pad_values(values, lengths, width=width, padding=IGNORE_INDEX)


def _choose(column: str | None, names: list[str]) -> str:
    """Return the name of the array or column that holds the games."""
    wanted = _COLUMNS if column is None else (column,)
    found = [name for name in wanted if name in names] or (names if column is None and len(names) == 1 else [])
    if not found:
        raise RecordFormatError(f"columns {', '.join(names) or 'none'}; expected {' or '.join(wanted)}")
    return found[0]


def _import_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as arrow  # type: ignore[import-not-found, import-untyped, unused-ignore]
        from pyarrow import parquet  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError:
        raise missing_extra("pyarrow", "a parquet file") from None
    return arrow, parquet


_WRITERS: Final[dict[str, Callable[[Path, Iterator[Moves], int], int]]] = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".parquet": _write_parquet,
}
_READERS: Final[dict[str, Callable[[Path, str | None, int], Numbers]]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".parquet": _read_parquet,
    ".pickle": _read_pickle,
    ".pkl": _read_pickle,
}
