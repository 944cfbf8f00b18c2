"""Ids of the environments in the registries of Gymnasium and PettingZoo (from version 1.27 on)."""

from __future__ import annotations

import gymnasium
import pettingzoo


def register() -> None:
    """Register the ids that are not registered yet; `import othello_env` calls this.

    Gymnasium: "othello_env/Othello-v0", one learner against an opponent, as a single and as a
    vector environment; "othello_env/OthelloSelfPlay-v0", a vector environment only. A process that
    has not imported the package, such as a spawned worker, needs the module in front of the id:
    "othello_env:othello_env/Othello-v0". PettingZoo: "othello_env/othello-v0"; its ids cannot name
    a module, so import the package before `pettingzoo.make`.
    """
    if "othello_env/Othello-v0" not in gymnasium.registry:
        gymnasium.register(
            "othello_env/Othello-v0",
            entry_point="othello_env.gym_env:OthelloEnv",
            vector_entry_point="othello_env.vector_env:OthelloVectorEnv",
        )
        gymnasium.register("othello_env/OthelloSelfPlay-v0", vector_entry_point="othello_env.vector_env:OthelloSelfPlayVectorEnv")
    if hasattr(pettingzoo, "register") and "othello_env/othello-v0" not in pettingzoo.aec_registry:
        pettingzoo.register("aec", "othello_env/othello-v0", "othello_env.othello_v0:env")
