from __future__ import annotations

import io
import pickle
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from othello_env import RecordFormatError
from othello_env.sequences import (
    PADDING,
    find_illegal_moves,
    label_games,
    make_tokenizer,
    random_games,
    read_games,
    stream_random_games,
    write_games,
    write_passes,
)
from othello_env.sequences.move_array import Moves

SUFFIXES = [".npy", ".npz", ".parquet"]
MOVES = random_games(200, 8, 5)


def needs_pyarrow(suffix: str) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.mark.parametrize("board_size", [4, 6, 8])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_games_that_are_written_are_read_again(suffix: str, board_size: int, tmp_path: Path) -> None:
    needs_pyarrow(suffix)
    moves = random_games(300, board_size, 5)
    assert write_games(tmp_path / f"games{suffix}", moves, board_size) == 300
    again = read_games(tmp_path / f"games{suffix}", board_size)
    assert again.dtype == np.uint8
    assert np.array_equal(again, moves)
    assert [path.name for path in tmp_path.iterdir()] == [f"games{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_chunks_are_written_as_one_file(suffix: str, tmp_path: Path) -> None:
    needs_pyarrow(suffix)
    path = tmp_path / f"games{suffix}"
    assert write_games(path, stream_random_games(1_000, 6, 5, chunk_size=300), 6) == 1_000
    assert np.array_equal(read_games(path, 6), random_games(1_000, 6, 5))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_written_passes_short_games_and_no_games_are_kept(suffix: str, tmp_path: Path) -> None:
    needs_pyarrow(suffix)
    path = tmp_path / f"games{suffix}"
    for moves in (write_passes(MOVES), np.array([[19, PADDING], [PADDING, PADDING]], dtype=np.uint8), MOVES[:0]):
        write_games(path, moves)
        again = read_games(path)
        width = min(moves.shape[1], again.shape[1])
        assert len(again) == len(moves)
        assert np.array_equal(again[:, :width], moves[:, :width])
        assert (again[:, width:] == PADDING).all()
        assert (moves[:, width:] == PADDING).all()
    write_games(path, iter([]))
    assert read_games(path).shape == (0, 60)


def test_numpy_reads_the_npy_file_by_itself(tmp_path: Path) -> None:
    write_games(tmp_path / "games.npy", iter([MOVES[:70], MOVES[70:]]))
    assert np.array_equal(np.load(tmp_path / "games.npy"), MOVES)
    assert np.array_equal(np.load(tmp_path / "games.npy", mmap_mode="r"), MOVES)


def test_what_is_read_cannot_be_changed(tmp_path: Path) -> None:
    write_games(tmp_path / "games.npy", MOVES)
    (tmp_path / "games.pickle").write_bytes(pickle.dumps(MOVES[:, :50].tolist()))
    np.save(tmp_path / "tokens.npy", make_tokenizer("othello_gpt").encode(MOVES))
    for moves in (
        read_games(tmp_path / "games.npy"),
        read_games(tmp_path / "games.pickle"),
        read_games(tmp_path / "tokens.npy", tokenizer=make_tokenizer("othello_gpt")),
    ):
        with pytest.raises(ValueError, match="read-only"):
            moves[0, 0] = 0


def interrupted(moves: Moves) -> Iterator[Moves]:
    yield moves
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupted_writer_leaves_the_old_file(suffix: str, tmp_path: Path) -> None:
    needs_pyarrow(suffix)
    path = tmp_path / f"games{suffix}"
    write_games(path, MOVES[:5])
    with pytest.raises(KeyboardInterrupt):
        write_games(path, interrupted(MOVES))
    assert np.array_equal(read_games(path), MOVES[:5])
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_what_is_no_game_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="game 0, column 2: d4 is no move on 8x8"):
        write_games(tmp_path / "games.npy", np.array([[19, 27]], dtype=np.uint8))
    with pytest.raises(ValueError, match="game 1, column 3: a move after padding"):
        write_games(tmp_path / "games.npy", np.array([[19, 34, 42], [19, PADDING, 42]], dtype=np.uint8))
    with pytest.raises(ValueError, match="games of 60 and of 50 columns"):
        write_games(tmp_path / "games.npy", iter([MOVES, MOVES[:, :50]]))
    with pytest.raises(ValueError, match=r"games\.txt: games are written to \.npy, \.npz, \.parquet"):
        write_games(tmp_path / "games.txt", MOVES)
    assert list(tmp_path.iterdir()) == []


def test_the_pickled_lists_of_li_are_read(tmp_path: Path) -> None:
    tokenizer = make_tokenizer("squares", orientation="transposed")
    games = [[move % 8 * 8 + move // 8 for move in game if move != PADDING] for game in MOVES.tolist()]
    (tmp_path / "gen10e5__20220324_154043.pickle").write_bytes(pickle.dumps(games, protocol=pickle.HIGHEST_PROTOCOL))
    assert np.array_equal(read_games(tmp_path / "gen10e5__20220324_154043.pickle", tokenizer=tokenizer), MOVES)
    # As `CharDataset` leaves them behind once it has read them.
    padded = [game + [-100] * (60 - len(game)) for game in games]
    (tmp_path / "padded.pkl").write_bytes(pickle.dumps(padded))
    assert np.array_equal(read_games(tmp_path / "padded.pkl", tokenizer=tokenizer), MOVES)


def test_the_arrays_of_nanda_and_vafa_are_read(tmp_path: Path) -> None:
    ids = make_tokenizer("othello_gpt", orientation="transposed")
    full = MOVES[(MOVES != PADDING).all(axis=1)]
    np.save(tmp_path / "board_seqs_int_small.npy", ids.encode(full, dtype=np.int64))
    assert np.array_equal(read_games(tmp_path / "board_seqs_int_small.npy", tokenizer=ids), full)
    squares = make_tokenizer("squares", orientation="transposed")
    np.save(tmp_path / "board_seqs_string_small.npy", full % 8 * 8 + full // 8)
    assert np.array_equal(read_games(tmp_path / "board_seqs_string_small.npy", tokenizer=squares), full)
    bias = make_tokenizer("inductive_bias", orientation="transposed")
    np.save(tmp_path / "obs_train.npy", bias.encode(MOVES, dtype=np.int8)[:, :, None])
    assert np.array_equal(read_games(tmp_path / "obs_train.npy", tokenizer=bias), MOVES)


@pytest.mark.parametrize("column", ["tokens", "input_ids", "games"])
def test_parquet_files_of_published_data_sets_are_read(column: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    tokenizer = make_tokenizer("othello_gpt", orientation="transposed")
    tokens = tokenizer.encode(MOVES).tolist()
    for kind in (arrow.int64(), arrow.int16()):
        table = arrow.table({column: arrow.array(tokens, type=arrow.list_(kind)), "length": [len(game) for game in tokens]})
        parquet.write_table(table, tmp_path / "train.parquet", row_group_size=64)
        name = None if column != "games" else column
        assert np.array_equal(read_games(tmp_path / "train.parquet", tokenizer=tokenizer, column=name), MOVES)
    if column == "games":
        with pytest.raises(RecordFormatError, match=r"train\.parquet: columns games, length; expected moves or tokens or input_ids"):
            read_games(tmp_path / "train.parquet", tokenizer=tokenizer)


def test_parquet_columns_of_other_types_are_refused(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    for column, message in (
        ([[1.5]], "float64; expected integers"),
        ([["d3"]], "expected integers"),
        ([1, 2], "no parquet file with lists of integers"),
        ([[1], None], r"missing \(null\)"),
        ([[1, None]], r"missing \(null\)"),
        ([[100_000]], "numbers from 100000 to 100000 are no moves"),
    ):
        parquet.write_table(arrow.table({"moves": column}), tmp_path / "train.parquet")
        with pytest.raises(RecordFormatError, match=message):
            read_games(tmp_path / "train.parquet")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for work in (lambda: write_games(tmp_path / "g.parquet", MOVES), lambda: read_games(tmp_path / "g.parquet")):
        with pytest.raises(ModuleNotFoundError, match=r'a parquet file needs pyarrow; in a clone: pip install -e "\.\[data\]"'):
            work()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_squares_of_any_integer_type_are_read(dtype: type[np.integer], tmp_path: Path) -> None:
    full = MOVES[(MOVES != PADDING).all(axis=1)].astype(dtype)
    if np.issubdtype(dtype, np.signedinteger):
        full[:, 50:] = -100
    np.save(tmp_path / "squares.npy", full)
    assert np.array_equal(read_games(tmp_path / "squares.npy")[:, :50], full[:, :50])
    assert find_illegal_moves(read_games(tmp_path / "squares.npy")).is_legal.all()


def test_tokens_without_their_tokenizer_are_noticed(tmp_path: Path) -> None:
    for name in ("othello_gpt", "inductive_bias", "wthor"):
        np.save(tmp_path / "tokens.npy", make_tokenizer(name).encode(MOVES))
        with pytest.raises(RecordFormatError, match=r"tokens\.npy: game \d+, column \d+: \w+ is no move on 8x8; are these tokens"):
            read_games(tmp_path / "tokens.npy")


def saved(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("g.npy", b"", "no .npy file of integers"),
        ("g.npy", b"version https://git-lfs.github.com/spec/v1\n", "no .npy file of integers"),
        ("g.npy", saved(np.zeros((2, 3))), "float64 of shape"),
        ("g.npy", saved(np.zeros(3, dtype=np.int64)), r"shape \(3,\)"),
        ("g.npy", saved(np.array([[1], [2]], dtype=object)), "no .npy file of integers"),
        ("g.npy", saved(np.full((2, 3), 300)), "game 0, move 1: 300"),
        ("g.npy", saved(MOVES)[:-1], "no .npy file of integers"),
        ("g.npz", saved(MOVES), "no .npz file of integers"),
        ("g.npz", b"PK", "no .npz file of integers"),
        ("g.parquet", b"PAR1", "no parquet file"),
        ("g.pickle", b"", "refused: from byte 0"),
        ("g.pickle", b"I12\n.", "refused: from byte 0"),
    ],
)
def test_files_that_do_not_follow_their_format_are_refused_in_one_line(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    needs_pyarrow(Path(name).suffix)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RecordFormatError, match=message) as caught:
        read_games(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / name))
    assert (tmp_path / name).read_bytes() == data


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files_give_games_or_one_line(suffix: str, tmp_path: Path) -> None:
    needs_pyarrow(suffix)
    path, rng = tmp_path / f"games{suffix}", np.random.default_rng(2)
    write_games(path, MOVES[:30])
    original, messages = path.read_bytes(), []
    for trial in range(300):
        data = bytearray(original)
        if trial % 3 == 0:
            del data[rng.integers(len(data)) :]
        for place in rng.integers(len(data) if trial % 2 else min(128, len(data) + 1), size=2):
            data[place : place + 1] = rng.bytes(1)
        path.write_bytes(data)
        try:
            moves = read_games(path)
        except RecordFormatError as error:
            messages.append(str(error))
        else:
            assert moves.dtype == np.uint8
            assert moves.size <= 100 * len(data)
    assert len(messages) > 30
    assert not [message for message in messages if "\n" in message]


def test_an_archive_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    header = saved(MOVES[:1]).replace(b"(1, 60), }    ", b"(1" + b"0" * 12 + b", 6), }")[:128]
    with zipfile.ZipFile(tmp_path / "g.npz", "w") as archive:
        archive.writestr("moves.npy", header.ljust(127) + b"\n")
    with pytest.raises(RecordFormatError, match="no .npz file of integers"):
        read_games(tmp_path / "g.npz")


def test_missing_files_and_unknown_suffixes(tmp_path: Path) -> None:
    for suffix in (".npy", ".npz", ".pickle"):
        with pytest.raises(FileNotFoundError):
            read_games(tmp_path / f"g{suffix}")
    with pytest.raises(ValueError, match=r"g\.csv: games are read from \.npy, \.npz, \.parquet, \.pickle, \.pkl"):
        read_games(tmp_path / "g.csv")


@pytest.mark.parametrize("name", ["WTH_1986.wtb", "WTH_2001.wtb", "WTH_2016.wtb"])
def test_wthor_files_become_arrays(name: str, shared_data: Path) -> None:
    data = (shared_data / name).read_bytes()
    records = np.frombuffer(data, dtype=np.uint8, offset=16).reshape(-1, 68)
    assert len(records) == int.from_bytes(data[4:8], "little")
    moves = make_tokenizer("wthor").decode(records[:, 8:])
    assert find_illegal_moves(moves).is_legal.all()
    assert np.array_equal(make_tokenizer("wthor").encode(moves), records[:, 8:])
    # Black's recorded discs, the empty squares given to the winner, of the games that are over.
    labels = label_games(moves)
    last = np.arange(len(moves)), labels.lengths
    over = labels.legal_moves[last] == 0
    boards = labels.boards("color")[last]
    black, white = (boards == 1).sum(axis=1), (boards == -1).sum(axis=1)
    score = black + np.where(black > white, 64 - black - white, np.where(black == white, (64 - black - white) // 2, 0))
    assert over.mean() > 0.8
    assert np.array_equal(score[over], records[over, 6])
