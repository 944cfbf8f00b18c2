"""The id of the environment in PettingZoo's registry, which exists since PettingZoo 1.27."""

from __future__ import annotations

import pettingzoo


def register() -> None:
    """Register `pettingzoo.make("aec", "othello_env/othello-v0")`, where PettingZoo has a registry."""
    if hasattr(pettingzoo, "register"):
        pettingzoo.register("aec", "othello_env/othello-v0", "othello_env.othello_v0:env")
