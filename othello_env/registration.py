"""The ids of the environments in the registries of Gymnasium and PettingZoo (which has one since 1.27)."""

from __future__ import annotations

import gymnasium
import pettingzoo


def register() -> None:
    """Register the ids, where they are not registered yet.

    Gymnasium: "othello_env/Othello-v0", one learner against an opponent, alone and as a vector; "othello_env/OthelloSelfPlay-v0",
    a vector only. PettingZoo: "othello_env/othello-v0".
    """
    if "othello_env/Othello-v0" not in gymnasium.registry:
        gymnasium.register(
            "othello_env/Othello-v0",
            entry_point="othello_env.gym_env:OthelloEnv",
            vector_entry_point="othello_env.vector_env:OthelloVectorEnv",
        )
        gymnasium.register("othello_env/OthelloSelfPlay-v0", vector_entry_point="othello_env.vector_env:OthelloSelfPlayVectorEnv")
    if hasattr(pettingzoo, "register"):
        pettingzoo.register("aec", "othello_env/othello-v0", "othello_env.othello_v0:env")
