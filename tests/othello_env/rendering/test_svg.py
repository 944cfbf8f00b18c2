from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from othello_env import Game, Position
from othello_env.rendering.gif import save_gif
from othello_env.rendering.svg import board_svg, game_svg

SVG = "{http://www.w3.org/2000/svg}"


def circles(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(f"{SVG}circle"))


def test_a_board_shows_every_disc_and_legal_move() -> None:
    position = Position.start().play("d3")
    drawn = circles(board_svg(position, last_move=19))
    fills = [circle.get("fill") for circle in drawn]
    assert fills.count("#161618") == 4
    assert fills.count("#f4f3ee") == 1 + 3  # one disc, three dots
    assert fills.count("#d63a2e") == 1
    assert len(circles(board_svg(position, show_legal=False))) == 5
    title = ElementTree.fromstring(board_svg(position, last_move=19)).find(f"{SVG}title")
    assert title is not None
    assert title.text == "X 4  O 1  White to move, after d3"
    texts = [text.text or "" for text in ElementTree.fromstring(board_svg(position)).iter(f"{SVG}text")]
    assert sorted(set(texts)) == sorted("abcdefgh12345678")


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_notebooks_get_pictures(board_size: int) -> None:
    start = Position.start(board_size)
    assert len(circles(start._repr_svg_())) == 8
    assert ElementTree.fromstring(Game.random(4, np.random.default_rng(0), start)._repr_svg_()).tag == f"{SVG}svg"


def test_a_picture_in_a_page_changes_nothing_else_there() -> None:
    # Styles, classes and ids are those of the whole page once a notebook has put the picture into
    # it.
    for svg in (board_svg(Position.start(), last_move=19), game_svg(Game.parse("f5d6c3"))):
        for element in ElementTree.fromstring(svg).iter():
            assert element.tag != f"{SVG}style"
            assert not {"class", "id", "style"} & set(element.attrib)


def test_an_animation_steps_through_the_game() -> None:
    game = Game.parse("f5d6c3")
    drawn = circles(game_svg(game, seconds_per_move=0.5))
    assert len(drawn) == 4 + 3 + 1  # every square that ever has a disc, and the mark of the last move
    for circle in drawn:
        for animation in circle.iter(f"{SVG}animate"):
            times = [float(time) for time in (animation.get("keyTimes") or "").split(";")]
            assert times[0] == 0
            assert times == sorted(set(times))
            assert times[-1] < 1
            assert len(times) == len((animation.get("values") or "").split(";"))
            assert animation.get("dur") == "3.5s"
    with pytest.raises(ValueError, match="seconds_per_move 0"):
        game_svg(game, seconds_per_move=0)


def test_a_gif_has_a_frame_for_every_position(tmp_path: Path) -> None:
    game = Game.parse("f5d6c3d3")
    save_gif(tmp_path / "game.gif", game, size=128)
    with Image.open(tmp_path / "game.gif") as image:
        assert (image.size, image.n_frames) == ((128, 128), 5)


def test_times_and_sizes_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="size -1"):
        board_svg(Position.start(), size=-1)
    with pytest.raises(ValueError, match="seconds_per_move inf"):
        game_svg(Game(), seconds_per_move=float("inf"))
    for seconds in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="seconds_per_move"):
            save_gif(tmp_path / "game.gif", Game(), seconds_per_move=seconds)
