from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from agents import AgentSpecError, make_agent
from agents.league import load_league_player, parse_league_player
from othello_env import Position, PositionBatch, RecordFormatError

# One group of two 2-tuples, a1-b1 and h8-g8. Index 3 * first + second, digits 0 white, 1 empty, 2
# black.
PLAYER = """1
  2 2
    0 1
    63 62
    0 1 2 3 4 5 6 7 8
"""
# The same player in the form of most published files.
BRACED = """{ 1
  { 2 2
    { 0 1 }
    { 63 62 }

    { 0 1 2 3 4 5 6 7 8 }
  }
}
"""


def test_the_first_square_of_a_tuple_is_the_most_significant() -> None:
    network = parse_league_player(PLAYER)
    assert network.layout.groups == (((0, 1), (63, 62)),)
    position = Position.parse("XO" + "-" * 61 + "X" + "X")
    value = network.values(np.array([position.black], dtype=np.uint64), np.array([position.white], dtype=np.uint64))
    assert value.tolist() == [(3 * 2 + 0) + (3 * 2 + 1)]


def test_white_plays_for_the_lowest_value_where_the_player_sees_colors(tmp_path: Path) -> None:
    (tmp_path / "player.txt").write_text("1\n1 1\n19\n0 0 5\n")  # likes black discs on d3
    positions = PositionBatch.from_positions([Position.start(), Position.start().play("f5").play("d6")])
    assert positions.side_to_move.tolist() == [0, 0]
    white_to_move = Position.parse(str(Position.start())[:-1] + "O")  # e3 f4 c5 d6; nothing on d3
    for view, first in (("mover", 19), ("black", 19)):
        agent = make_agent(f"league:{tmp_path / 'player.txt'},view={view}")
        assert agent.select_moves(positions.take(np.array([0])), np.random.default_rng(0)).tolist() == [first]
    (tmp_path / "e3.txt").write_text("1\n1 1\n20\n0 0 5\n")  # likes own (mover) or black (black) discs on e3
    batch = PositionBatch.from_positions([white_to_move] * 200)
    own_view = make_agent(f"league:{tmp_path / 'e3.txt'}").select_moves(batch, np.random.default_rng(0))
    assert set(own_view.tolist()) == {20}
    black_view = make_agent(f"league:{tmp_path / 'e3.txt'},view=black").select_moves(batch, np.random.default_rng(0))
    assert set(black_view.tolist()) == {20, 29, 34, 43}  # a white disc on e3 is worth as much as an empty square


@pytest.mark.parametrize(
    "text",
    [
        BRACED,
        BRACED.replace(" }", "}").replace("{ ", "{"),
        "".join(BRACED.splitlines()),
        f"{{{PLAYER}}}",
        PLAYER.replace("0 1\n", "{ 0 1 }\n"),
        PLAYER.replace("0 1\n", "{ { 0 1 }\n").replace("63 62", "{ 63 62 } }"),
        BRACED.replace("\n", "\r\n"),
        PLAYER.replace("\n", "\r\n"),
        "\ufeff" + BRACED,
        PLAYER.replace("7 8", "7. 8.0E+0"),
    ],
)
def test_braces_around_groups_and_lists_make_no_difference(text: str, tmp_path: Path) -> None:
    (tmp_path / "player.txt").write_bytes(text.encode())
    network = load_league_player(tmp_path / "player.txt")
    assert network.layout.groups == (((0, 1), (63, 62)),)
    assert network.weights.tolist() == list(range(9))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the text ends where the number of tuple groups belongs"),
        ("x", "line 1, column 1: 'x' where the number of tuple groups"),
        ("1\n2", "line 2, column 1: the text ends where the number of tuples"),
        (PLAYER.replace("63", "64"), "line 4, column 5: '64' where a square belongs, an integer from 0 to 63"),
        (PLAYER.replace("7 8", "7"), "line 5, column 19: the text ends where a weight"),
        (PLAYER.replace("7 8", "7 eight"), "line 5, column 21: 'eight' where a weight"),
        (PLAYER.replace("7 8", "7 nan"), "line 5, column 21: 'nan' where a weight"),
        (PLAYER + "9", "line 6, column 1: '9' where the end belongs, after the last group"),
        ("1\n99 1\n", "line 2, column 1: '99' where the number of squares"),
        (PLAYER.replace("63 62", "63 63"), "line 4, column 5: the tuple 63 63 has a square twice"),
        (PLAYER.replace("7 8", "7 1_0"), "line 5, column 21: '1_0' where a weight"),
        (PLAYER.replace("7 8", "7 1e200"), "line 5, column 21: '1e200' where a weight"),
        ("1" * 5000, r"'1{40}\.\.\.' where the number of tuple groups"),
        ("\x0b\u2028\x85x", "line 1, column 4: 'x' where"),
        (BRACED[:-2], r"line 7, column 3: the text ends without the '\}' for the '\{' in line 1, column 1$"),
        (BRACED + "}", r"line 9, column 1: '\}' without a '\{' before it"),
        (BRACED.replace("{ 63 62 }", "{ 63 } 62"), r"line 4, column 10: '\}' where a square belongs"),
        (BRACED.replace("7 8 }", "7 }"), r"line 6, column 23: '\}' where a weight belongs"),
        (BRACED.replace("{ 63", "( 63"), r"line 4, column 5: '\(' where a square belongs"),
        ("}" + PLAYER, r"line 1, column 1: '\}' without"),
    ],
)
def test_a_damaged_player_is_refused_with_the_place(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RecordFormatError, match=message):
        parse_league_player(text)
    (tmp_path / "player.txt").write_text(text, encoding="utf-8")
    for spec in (f"league:{tmp_path / 'player.txt'}", f"alpha_beta:{tmp_path / 'player.txt'}"):
        with pytest.raises(AgentSpecError, match=message) as caught:
            make_agent(spec)
        assert "\n" not in str(caught.value)


def test_every_cut_of_a_player_is_refused() -> None:
    for length in range(len(BRACED.rstrip())):
        with pytest.raises(RecordFormatError, match="player, line "):
            parse_league_player(BRACED[:length])


def test_the_published_players_are_read(shared_data: Path) -> None:
    all_2_tuples = load_league_player(shared_data / "players" / "all-2-tuples.txt")
    assert len(all_2_tuples.weights) == 288
    best = load_league_player(shared_data / "players" / "cocmaes-4+2x2.txt")
    assert len(best.weights) == 2511


def test_a_player_refuses_other_boards(tmp_path: Path) -> None:
    (tmp_path / "player.txt").write_text(PLAYER)
    with pytest.raises(ValueError, match="plays on board_size 8, not 6"):
        make_agent(f"league:{tmp_path / 'player.txt'}").select_moves(PositionBatch.start(1, 6), np.random.default_rng(0))
