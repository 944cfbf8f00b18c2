from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from othello_env import Game, Position
from othello_env.symmetry import NUM_SYMMETRIES, transform_position
from tests.training.evaluation.commands import stopped_line
from training.evaluation.balanced_openings import canonical, distinct_openings, leeway, main
from training.evaluation.openings import BALANCED_FILE, load_openings

# By the number of plies: positions up to symmetry, transpositions merged, none of them over.
NUM_POSITIONS = {1: 1, 2: 3, 3: 14, 4: 60, 5: 322, 6: 1773}

ARGUMENTS = ["--plies", "4", "--evaluation", "heuristics", "--depth", "2", "--limit", "4", "--game-depth", "1"]


def shipped_lines() -> list[str]:
    return [line for line in BALANCED_FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def test_all_symmetric_images_have_one_representative_and_colors_are_kept_apart() -> None:
    position = Game.parse("f5d6c3d3c4").final
    assert {canonical(transform_position(position, symmetry)) for symmetry in range(NUM_SYMMETRIES)} == {canonical(position)}
    assert canonical(Position(position.own, position.opp, 1 - position.side_to_move)) != canonical(position)
    assert canonical(Position(position.opp, position.own, position.side_to_move)) != canonical(position)


@pytest.mark.parametrize("num_plies", NUM_POSITIONS)
def test_each_position_has_one_line(num_plies: int) -> None:
    openings = distinct_openings(num_plies)
    assert len(openings) == len({canonical(opening.final) for opening in openings}) == NUM_POSITIONS[num_plies]
    assert {str(opening)[:2] for opening in openings} == {"f5"}
    assert {len(opening.moves) for opening in openings} == {num_plies}


def test_all_positions_are_found() -> None:
    positions = {Position.start()}
    for _ in range(4):
        positions = {position.play(square) for position in positions for square in position.legal_squares()}
    assert {canonical(position) for position in positions} == {canonical(opening.final) for opening in distinct_openings(4)}


@pytest.mark.parametrize("num_plies", [0, 10])
def test_numbers_of_plies_out_of_range_are_refused(num_plies: int) -> None:
    with pytest.raises(ValueError, match=f"plies {num_plies}: expected 1 to 9"):
        distinct_openings(num_plies)


def test_a_search_of_the_full_depth_has_no_leeway() -> None:
    assert [leeway(depth, full_depth=8) for depth in (8, 6, 2)] == [1, 2, 4]


def test_the_shipped_openings_are_8_plies_and_running_and_distinct() -> None:
    lines = shipped_lines()
    openings = [Game.parse(line) for line in lines]
    assert len(lines) > 4000
    assert lines == sorted(map(str, openings))
    assert {line[:2] for line in lines} == {"f5"}
    assert {len(opening.moves) for opening in openings} == {8}
    assert not any(opening.final.is_over for opening in openings)
    assert len({canonical(opening.final) for opening in openings}) == len(lines)
    assert BALANCED_FILE.stat().st_size < 150_000
    assert load_openings(BALANCED_FILE) == openings


def test_the_head_of_the_shipped_file_says_how_it_was_made() -> None:
    head = [line.removeprefix("# ") for line in BALANCED_FILE.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert head[0].startswith(f"Balanced openings: {len(shipped_lines())} lines of 8 plies.")
    assert head[1].startswith("python -m training.evaluation.balanced_openings --plies 8 --evaluation ")
    assert re.match("with othello-env [0-9]", head[2])
    assert sum("python -m training.td_ntuple --games " in line and " --seed " in line for line in head) == 2
    assert sum("Black scores" in line for line in head) == 2


@pytest.mark.slow
def test_a_search_of_another_evaluation_finds_the_shipped_openings_more_even_than_others() -> None:
    pytest.importorskip("numba")
    from agents.search.alpha_beta import alpha_beta_agent

    agent = alpha_beta_agent(evaluation="heuristics", depth=4, hash_mb=1)
    rng = np.random.default_rng(0)
    shipped = [Game.parse(line).final for line in rng.permutation(shipped_lines())[:300]]
    others = [Game.random(8, rng).final for _ in range(300)]
    # The side to move has an advantage with this evaluation in all of them; what counts is how far
    # they are from each other.
    spreads = [np.percentile([agent.search(position).score for position in positions], [10, 90]) for positions in (shipped, others)]
    assert np.ptp(spreads[0]) < 0.5 * np.ptp(spreads[1])


def test_the_command_writes_openings_that_can_be_read_and_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numba")
    first, second = tmp_path / "new" / "first.txt", tmp_path / "second.txt"
    main([*ARGUMENTS, "--out", str(first)])
    main([*ARGUMENTS, "--out", str(second)])
    texts = [path.read_text().replace(str(path), "FILE") for path in (first, second)]
    assert texts[0] == texts[1]
    openings = [opening.final for opening in load_openings(first)]
    assert 5 < len(openings) < 60
    assert len(set(map(canonical, openings))) == len(openings)
    head = [line for line in texts[0].splitlines() if line.startswith("# ")]
    assert head[1] == f"# python -m training.evaluation.balanced_openings {' '.join(ARGUMENTS)} --out FILE"
    assert "heuristics: agents.heuristics" in texts[0]
    assert f"of these {len(openings)} score within 4.0 of zero in a search of depth 2" in texts[0]
    assert re.search("# heuristics: alpha_beta:.*depth=1,solver=12 against itself, one game per opening: Black scores", texts[0])
    assert f"{len(openings)} openings in {second}" in capsys.readouterr().out


def test_the_seed_chooses_the_lines_where_there_are_too_many(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    texts = []
    for seed in ("1", "1", "2"):
        main([*ARGUMENTS, "--lines", "5", "--seed", seed, "--out", str(tmp_path / "out.txt")])
        texts.append([line for line in (tmp_path / "out.txt").read_text().splitlines() if line[0] != "#"])
    assert texts[0] == texts[1] != texts[2]
    assert all(len(text) == 5 for text in texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plies", "12"], "plies 12: expected 1 to 9"),
        (["--limit", "0"], "limit 0.0: expected a number above 0"),
        (["--limit", "1e-9"], "limit 1e-09: no opening is that balanced"),
        (["--depth", "0"], "depth 0: expected at least 1"),
        (["--lines", "0"], "lines 0: expected at least 1"),
        (["--game-depth", "0"], "game-depth 0: expected at least 1"),
        (["--seed", "-1"], "--seed: '-1': expected an integer from 0"),
        (["--evaluation", "nothing"], "'nothing': no such file"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("numba")
    out = tmp_path / "out.txt"
    line = stopped_line(main, [*ARGUMENTS, *arguments, "--out", str(out)], capsys)
    assert line.startswith("balanced_openings: ")
    assert message in line
    assert not out.exists()
