from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import render_test

from othello_env import OthelloEnv, Position, othello_v0
from othello_env.rendering.modes import RENDER_MODES, Renderer


@pytest.fixture(autouse=True)
def quick_windows_without_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("othello_env.rendering.modes.FRAMES_PER_SECOND", 1000)


@pytest.mark.filterwarnings("ignore")
def test_pettingzoo_accepts_every_render_mode() -> None:
    render_test(othello_v0.env)


@pytest.mark.parametrize("make", [othello_v0.env, othello_v0.raw_env, OthelloEnv])
def test_environments_render_in_every_mode(make: Any) -> None:
    for mode in RENDER_MODES:
        env = make(render_mode=mode)
        env.reset(seed=0)
        shown = env.render()
        assert type(shown) is {"human": type(None), "ansi": str, "rgb_array": np.ndarray}[mode]
        if mode == "rgb_array":
            assert (shown.shape, shown.dtype) == ((512, 512, 3), np.uint8)
        env.close()
        env.close()


def test_pictures_need_no_display_and_no_pygame() -> None:
    code = (
        "import sys; sys.modules['pygame'] = None\n"
        "from othello_env import othello_v0\n"
        "env = othello_v0.env(render_mode='rgb_array'); env.reset(); print(env.render().mean() > 0)\n"
        "env = othello_v0.env(render_mode='human')\n"
        "try: env.reset()\n"
        "except ImportError as error: print(error)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "SDL_VIDEODRIVER")}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert run.stdout.splitlines() == ["True", 'render_mode="human" needs pygame; in a clone: pip install -e ".[render]"']


def test_gifs_without_pillow_name_the_extra() -> None:
    code = (
        "import sys; sys.modules['PIL'] = None\n"
        "from pathlib import Path\n"
        "from othello_env import Game\n"
        "from othello_env.rendering.gif import save_gif\n"
        "try: save_gif(Path('x.gif'), Game())\n"
        "except ImportError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == 'a GIF needs PIL; in a clone: pip install -e ".[render]"'


def test_a_window_is_left_behind_by_copies_and_pickles() -> None:
    renderer = Renderer("human")
    renderer.render(Position.start(), None)
    for copied in (copy.copy(renderer), copy.deepcopy(renderer), pickle.loads(pickle.dumps(renderer))):
        assert copied.mode == "human"
        assert copied._window is None
    renderer.close()
    renderer.render(Position.start(), None)  # opens a new one
    renderer.close()


def test_two_windows_do_not_get_in_each_others_way() -> None:
    first, second = OthelloEnv(render_mode="human"), othello_v0.env(render_mode="human")
    first.reset(seed=0)
    second.reset()
    first.close()
    second.render()
    first.render()
    second.close()
    first.render()
    first.close()


def test_a_window_that_a_person_closes_stays_closed_until_the_environment_does() -> None:
    import pygame

    env = othello_v0.env(render_mode="human")
    env.reset()
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.render()
    assert not pygame.display.get_init()
    env.step(19)
    assert not pygame.display.get_init()
    env.close()
    env.render()
    assert pygame.display.get_init()
    env.close()
