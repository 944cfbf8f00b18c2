"""Every game and position of the published data that lie beside the checkout."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from othello_env import Game, Position, PositionBatch


def read_rows(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def test_tournament_games_replay_with_their_passes_and_scores(shared_data: Path) -> None:
    rows = read_rows(shared_data / "games.tsv")
    assert len(rows) == 1909
    for _, score, _, _, num_moves, discs, complete, passes, transcript in rows:
        game = Game.parse(transcript)
        positions = game.positions()
        assert len(game.moves) == int(num_moves)
        assert "-".join(map(str, game.final.discs)) == discs
        assert game.final.is_over == (complete == "1")
        if complete == "1":
            black = (64 + game.final.score("empties_to_winner")) // 2
            assert black == int(score)
        movers = [position.side_to_move for position in positions[:-1]]
        forced = [f"{ply}:{'WB'[movers[ply]]}" for ply in range(1, len(movers)) if movers[ply] == movers[ply - 1]]
        # A row that stops early may note a pass after its last move; ours shows with the next move.
        assert [entry for entry in ([] if passes == "-" else passes.split(",")) if int(entry[: entry.index(":")]) < len(movers)] == forced


@pytest.mark.parametrize(("name", "num_games"), [("WTH_1986.wtb", 1440), ("WTH_2001.wtb", 5575), ("WTH_2016.wtb", 2013)])
def test_wthor_games_are_legal_and_end_with_their_scores(shared_data: Path, name: str, num_games: int) -> None:
    # 16 bytes of header with the number of games at offset 4; a game is 68 bytes: black's final
    # discs at offset 6 (empties to the winner), then 60 moves as column + 10 * row from 1, and 0
    # after the last one (FFO, "Format WTHOR").
    data = (shared_data / name).read_bytes()
    assert struct.unpack_from("<I", data, 4) == (num_games,)
    records = [data[16 + 68 * number :][:68] for number in range(num_games)]
    moves = [[move // 10 * 8 - 8 + move % 10 - 1 for move in record[8:] if move] for record in records]

    games = PositionBatch.start(num_games)
    for ply in range(60):
        playing = [row for row in range(num_games) if ply < len(moves[row])]
        assert not games.is_over[playing].any()
        legal = games.legal_action_mask()
        assert all(legal[row, moves[row][ply]] for row in playing)
        games_left = games.take(playing)  # type: ignore[arg-type]
        games_left.step([moves[row][ply] for row in playing])
        games.reset(playing, games_left)  # type: ignore[arg-type]
    black = (64 + games.score("empties_to_winner")) // 2
    over = games.is_over
    assert over.sum() > 0.9 * num_games
    assert [int(value) for value in black[over]] == [record[6] for record, ended in zip(records, over, strict=True) if ended]


def test_the_legal_moves_of_the_endgame_suites_are_those_listed(shared_data: Path) -> None:
    suites = [
        (f"{board} {side}", [entry.split(":")[0] for entry in scores.split()])
        for _, board, side, _, _, _, scores in read_rows(shared_data / "ffo.tsv")
    ]
    for line in (shared_data / "hard-20.obf").read_text().splitlines():
        text, *entries = [part.strip() for part in line.split(";") if part.strip()]
        suites.append((text, [entry.split(":")[0] for entry in entries if not entry.startswith("--")]))
    assert len(suites) == 79 + 276
    for board, names in suites:
        position = Position.parse(board)
        assert {position.play(name) for name in names} == {position.play(square) for square in position.legal_squares()}


def test_published_openings_are_legal_and_distinct(shared_data: Path) -> None:
    lines = (shared_data / "xot.txt").read_text().split()
    assert len({Game.parse(line).final for line in lines if not line.startswith("#")}) == 10_784
    boards = [line for line in (shared_data / "openings-11-discs.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert len(boards) == 500
    assert all(sum(Position.parse(board).discs) == 11 for board in boards)
