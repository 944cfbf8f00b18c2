"""Games as animated GIFs. Needs Pillow, from the extra `[render]`."""

from __future__ import annotations

from pathlib import Path

from othello_env.command import missing_extra
from othello_env.game import Game
from othello_env.rendering.pixels import draw_board


def save_gif(path: Path, game: Game, *, size: int = 320, seconds_per_move: float = 0.6) -> None:
    """Write a game as a looping GIF, one frame per position; the last frame is shown longer.

    Raises `ImportError`, naming the extra, without Pillow, and `ValueError` for `seconds_per_move`
    outside 0.02 to 60.
    """
    if not 0.02 <= seconds_per_move <= 60:
        raise ValueError(f"seconds_per_move {seconds_per_move}: expected 0.02 to 60")
    try:
        from PIL import Image
    except ImportError:
        raise missing_extra("PIL", "a GIF") from None
    last_moves = [None, *game.moves]
    frames = [
        Image.fromarray(draw_board(position, size=size, last_move=move)).quantize(64)
        for position, move in zip(game.positions(), last_moves, strict=True)
    ]
    milliseconds = round(1000 * seconds_per_move)
    durations = [milliseconds] * (len(frames) - 1) + [4 * milliseconds]
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
