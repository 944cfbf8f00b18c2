from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents import AgentSpecError, make_agent
from agents.ntuple.layout import Layout, straight_and_corner_groups
from agents.ntuple.network import NTupleEvaluator, NTupleNetwork, ntuple_agent
from agents.weight_file import CheckpointError, read_weights, write_weights
from othello_env import Game, Position, PositionBatch
from othello_env.batch import Afterstates
from othello_env.bitboard import legal_moves
from othello_env.squares import parse_square
from othello_env.symmetry import NUM_SYMMETRIES, transform_position
from tests.strategies import scattered_positions

DIGITS = {"O": 0, "-": 1, "X": 2}


def value_by_hand(network: NTupleNetwork, position: Position) -> float:
    """The sum over tuples, one square at a time; black is own."""
    signs, total, start = str(position), 0.0, 0
    for tuples in network.layout.groups:
        for squares in tuples:
            index = 0
            for square in squares:
                index = 3 * index + DIGITS[signs[square]]
            total += float(network.weights[start + index])
        start += 3 ** len(tuples[0])
    return total


def network_of(board_size: int, seed: int = 0) -> NTupleNetwork:
    layout = Layout(straight_and_corner_groups(board_size), board_size)
    return NTupleNetwork(layout, np.random.default_rng(seed).normal(size=layout.num_weights).astype(np.float32))


def num_frontier_discs(discs: int, occupied: int, n: int) -> int:
    """How many of the discs touch an empty square, looked at one by one."""

    def empty_beside(square: int) -> bool:
        near = itertools.product(range(square // n - 1, square // n + 2), range(square % n - 1, square % n + 2))
        return any(0 <= row < n and 0 <= column < n and not occupied >> (row * n + column) & 1 for row, column in near)

    return sum(bool(discs >> square & 1) and empty_beside(square) for square in range(n * n))


def symmetric_network(board_size: int) -> NTupleNetwork:
    network = network_of(board_size)
    return NTupleNetwork(network.layout, (network.weights + network.weights[network.layout.mirrored_indices()]) / 2)


def staged_network(board_size: int, num_stages: int, dtype: type = np.float32) -> NTupleNetwork:
    """A network with stages and count tables."""
    groups = straight_and_corner_groups(board_size) if board_size > 4 else (tuple((4 * row, 4 * row + 1) for row in range(4)),)
    layout = Layout(groups, board_size, num_stages=num_stages, counts=True)
    weights: npt.NDArray[np.floating] = np.random.default_rng(5).normal(size=layout.num_weights).astype(dtype)
    return NTupleNetwork(layout, weights)


def values_of(network: NTupleNetwork, positions: list[Position]) -> list[float]:
    own, opp = (np.array([getattr(p, name) for p in positions], dtype=np.uint64) for name in ("black", "white"))
    return [float(value) for value in network.values(own, opp)]


@settings(deadline=None)
@given(st.sampled_from([6, 8]).flatmap(lambda n: st.lists(scattered_positions(n), min_size=1, max_size=5)))
def test_values_are_the_sums_counted_by_hand(positions: list[Position]) -> None:
    network = network_of(positions[0].board_size)
    np.testing.assert_allclose(values_of(network, positions), [value_by_hand(network, p) for p in positions], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("board_size", "num_stages"), [(4, 1), (4, 12), (6, 5), (8, 1), (8, 6), (8, 60)])
def test_stages_and_counts_have_weights_of_their_own(board_size: int, num_stages: int, rng: np.random.Generator) -> None:
    """Against counting by hand, on afterstates of random games."""
    network = staged_network(board_size, num_stages)
    size, most_discs = network.layout.stage_size, board_size**2
    position, stages = Position.start(board_size), set()
    for _ in range(3 * most_discs):
        square = int(rng.choice(position.legal_squares()))
        mover, position = position, position.play(square)
        own, opp = (position.black, position.white) if mover.side_to_move == 0 else (position.white, position.black)
        discs = (own | opp).bit_count()
        stage = (discs - 5) * num_stages // (most_discs - 4)
        stages.add(stage)
        replies, moves = (legal_moves(*sides, board_size).bit_count() for sides in ((opp, own), (own, opp)))
        table = network.weights[stage * size : (stage + 1) * size]
        patterns = NTupleNetwork(Layout(network.layout.groups, board_size), table[: size - 9 * 1024])
        expected = value_by_hand(patterns, Position(own, opp, 0, board_size))
        num_own = own.bit_count()
        disc_class = next(number for number, most in enumerate([3, 4, 5, 6, 8, 11, 15, 64]) if num_own <= most)
        expected += table[size - 9 * 1024 + 1024 * disc_class + 32 * replies + moves]
        own_frontier, opp_frontier = (num_frontier_discs(discs, own | opp, board_size) for discs in (own, opp))
        expected += table[size - 1024 + 32 * own_frontier + opp_frontier]
        found = network.values(np.array([own], dtype=np.uint64), np.array([opp], dtype=np.uint64))
        assert found[0] == pytest.approx(expected, abs=1e-3)
        if position.is_over:
            position = Position.start(board_size)
    assert stages == set(range(num_stages))


@settings(deadline=None)
@given(st.sampled_from([6, 8]).flatmap(scattered_positions))
def test_mirrored_weights_make_the_value_symmetric(position: Position) -> None:
    network = symmetric_network(position.board_size)
    images = [transform_position(position, symmetry) for symmetry in range(NUM_SYMMETRIES)]
    values = values_of(network, images)
    np.testing.assert_allclose(values, values[0], rtol=1e-4, atol=1e-4)


def test_weights_must_fit_the_tuples() -> None:
    with pytest.raises(ValueError, match=r"weights float32 of shape \(8,\): these tuples need 9 floating ones"):
        NTupleNetwork(Layout((((0, 1),),)), np.zeros(8, dtype=np.float32))
    with pytest.raises(ValueError, match="weights int64"):
        NTupleNetwork(Layout((((0, 1),),)), np.zeros(9, dtype=np.int64))
    with pytest.raises(ValueError, match="2 of the weights are not finite"):
        NTupleNetwork(Layout((((0,),),)), np.array([np.nan, 0, np.inf]))


def test_a_move_that_wins_the_game_beats_any_sum_of_weights() -> None:
    position = Game.parse("f5f4c3c6c5d6f3c4").final  # c7 takes the last white disc
    winning = parse_square("c7")
    others = tuple((square,) for square in position.legal_squares() if square != winning)
    assert others
    assert [move for move in position.legal_squares() if position.play(move).is_over] == [winning]
    network = NTupleNetwork(Layout((others,)), np.array([0, 0, 100], dtype=np.float32))  # likes an own disc on any other legal square
    agent = ntuple_agent(network)
    assert agent.select_moves(PositionBatch.from_positions([position]), np.random.default_rng(0)).tolist() == [winning]
    lost = Position(position.own, position.opp, 1, 8)  # colours exchanged: the same for the side to move
    assert agent.select_moves(PositionBatch.from_positions([lost]), np.random.default_rng(0)).tolist() == [winning]


def test_an_agent_refuses_a_board_that_it_was_not_trained_for() -> None:
    agent = ntuple_agent(network_of(6))
    with pytest.raises(ValueError, match="plays on board_size 6, not 8"):
        agent.select_moves(PositionBatch.start(1), np.random.default_rng(0))


def test_a_saved_network_is_read_back(tmp_path: Path) -> None:
    network = network_of(6)
    network.save(tmp_path / "net.safetensors", {"games": 3})
    read = NTupleNetwork.load(tmp_path / "net.safetensors")
    assert read.layout == network.layout
    np.testing.assert_array_equal(read.weights, network.weights)
    assert read_weights(tmp_path / "net.safetensors", "ntuple")[1]["games"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["net.safetensors"]
    staged = staged_network(6, 4)
    by_stage = staged.weights.reshape(4, -1)
    symmetric = NTupleNetwork(staged.layout, (by_stage + by_stage[:, staged.layout.mirrored_indices()]).ravel())
    symmetric.save(tmp_path / "symmetric")
    staged.save(tmp_path / "whole")
    assert (tmp_path / "symmetric").stat().st_size < 0.9 * (tmp_path / "whole").stat().st_size
    np.testing.assert_array_equal(NTupleNetwork.load(tmp_path / "symmetric").weights, symmetric.weights)
    np.testing.assert_array_equal(NTupleNetwork.load(tmp_path / "whole").weights, staged.weights)
    half = NTupleNetwork(staged.layout, staged.weights.astype(np.float16))
    half.save(tmp_path / "half")
    read = NTupleNetwork.load(tmp_path / "half")
    assert (read.layout, str(read.weights.dtype)) == (staged.layout, "float32")
    np.testing.assert_array_equal(read.weights, half.weights)


def test_a_damaged_missing_or_foreign_file_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    network_of(6).save(path)
    whole = path.read_bytes()
    other = tmp_path / "other.safetensors"
    write_weights(other, "something else", tensors={"weights": np.zeros(3)}, about={})
    cases = {"empty": b"", "cut": whole[: len(whole) // 2], "noise": bytes(range(256)) * 20, "text": b"{}", "header": whole[:100]}
    for name, content in cases.items():
        broken = tmp_path / name
        broken.write_bytes(content)
        with pytest.raises(CheckpointError, match=name) as caught:
            NTupleNetwork.load(broken)
        assert "\n" not in str(caught.value)
    for missing, message in ((tmp_path / "nothing", "no such file"), (tmp_path, "is a folder")):
        with pytest.raises(CheckpointError, match=message):
            NTupleNetwork.load(missing)
    with pytest.raises(CheckpointError, match="holds 'something else'"):
        NTupleNetwork.load(other)


def test_a_later_format_version_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    about = {"kind": "ntuple", "format_version": 99, "board_size": 8, "groups": []}
    save_file({"weights": np.zeros(1, dtype=np.float32)}, tmp_path / "new", {"about": json.dumps(about)})
    with pytest.raises(CheckpointError, match="format version 99"):
        NTupleNetwork.load(tmp_path / "new")


GOOD: dict[str, Any] = {"board_size": 8, "groups": [[[0, 1]]]}


@pytest.mark.parametrize(
    ("about", "weights"),
    [
        ([1, 2], np.zeros(9, dtype=np.float32)),
        ("text", np.zeros(9, dtype=np.float32)),
        (None, np.zeros(9, dtype=np.float32)),
        ({"board_size": 8}, np.zeros(9, dtype=np.float32)),
        ({"groups": [[[0, 1]]]}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "groups": 1}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "groups": []}, np.zeros(0, dtype=np.float32)),
        ({**GOOD, "groups": [[]]}, np.zeros(1, dtype=np.float32)),
        ({**GOOD, "groups": [[[0, 64]]]}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "groups": [[[0, -1]]]}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "groups": [[[0, 0]]]}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "groups": [[[0, 1.0]]]}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "board_size": "8"}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "board_size": 5}, np.zeros(9, dtype=np.float32)),
        (GOOD, np.zeros(9, dtype=np.int64)),
        (GOOD, np.full(9, np.nan, dtype=np.float32)),
        (GOOD, np.zeros((3, 3), dtype=np.float32)),
        (GOOD, np.zeros(8, dtype=np.float32)),
        ({**GOOD, "num_stages": 2}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "num_stages": 0}, np.zeros(0, dtype=np.float32)),
        ({**GOOD, "num_stages": 1.0}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "counts": True}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "counts": "yes"}, np.zeros(9, dtype=np.float32)),
        ({**GOOD, "mirrored": True}, np.zeros(6, dtype=np.float32)),
        ({**GOOD, "mirrored": True, "board_size": 3}, np.zeros(6, dtype=np.float32)),
    ],
)
def test_a_file_with_other_things_in_it_is_refused_in_one_line(tmp_path: Path, about: Any, weights: Any) -> None:
    from safetensors.numpy import save_file

    header = {"kind": "ntuple", "format_version": 1, **about} if isinstance(about, dict) else about
    save_file({"weights": weights}, tmp_path / "net", {"about": json.dumps(header)})
    with pytest.raises(CheckpointError, match="net") as caught:
        NTupleNetwork.load(tmp_path / "net")
    assert "\n" not in str(caught.value)
    with pytest.raises(AgentSpecError, match="net"):
        make_agent(f"ntuple:{tmp_path / 'net'}")


def test_endings_are_worth_their_result_and_more_the_higher_they_are_won() -> None:
    positions = [Position.parse(board.ljust(64, "-") + "X") for board in ("XXX", "XXXX", "OOO", "XX--OO")]
    assert all(position.is_over for position in positions)
    own, opp = (np.array([getattr(p, name) for p in positions], dtype=np.uint64) for name in ("own", "opp"))
    after = Afterstates(np.arange(4), np.zeros(4, dtype=np.int64), own, opp, np.zeros(4, dtype=np.uint8), 8)
    weights = np.array([9, 9, 9], dtype=np.float32)
    won, won_higher, lost, drawn = NTupleEvaluator(NTupleNetwork(Layout((((0,),),)), weights))(after).tolist()
    assert won_higher > won > 1000
    assert lost == -won
    assert drawn == 0


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net"
    network_of(6, seed=1).save(path)
    before = path.read_bytes()

    def fail(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        network_of(6, seed=2).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
