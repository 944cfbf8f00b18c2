"""Agents that play by a policy-value network, with tree search or by the policy alone."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import numpy as np
import torch

from agents.base import Agent, Moves, check_board_size
from agents.device import Device
from agents.networks import Architecture, PolicyValueNetwork, find_device, inference_copy, planes_of
from agents.search.leaf import Evaluation
from agents.search.mcts import MCTSAgent, SearchSettings
from othello_env.batch import PositionBatch

# On a GPU, PyTorch rounds the inputs of float32 convolutions to TF32 unless `torch.backends.cudnn`
# is configured otherwise.
Precision = Literal["float32", "bfloat16", "auto"]

_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16}

# Maximum number of positions per call of the network. On a CPU: enough to occupy the cores, and few
# enough for their caches.
_CPU_BATCH: Final = 1024
_CUDA_BATCH: Final = 16384

# Simulations per root move that a search considers, and bounds on the number of these moves.
_SIMULATIONS_PER_CONSIDERED: Final = 8
_FEWEST_CONSIDERED: Final = 4
_MOST_CONSIDERED: Final = 16

# Benchmark of `fastest_dtype`: rounds, calls per round, positions per call, and the minimum speedup
# for bfloat16.
_TRIALS: Final = 8
_CALLS: Final = 3
_CPU_TRIAL: Final = 128
_CUDA_TRIAL: Final = 4096
_WORTHWHILE: Final = 1.15


@lru_cache
def fastest_dtype(architecture: Architecture, device: torch.device) -> torch.dtype:
    """Return bfloat16 if a short benchmark finds it clearly faster on this machine, else float32.

    The benchmark alternates between the two and compares their best times, so that other load on
    the machine rarely changes the result.
    """
    n, size = architecture.board_size, _CPU_TRIAL if device.type == "cpu" else _CUDA_TRIAL
    with torch.random.fork_rng(devices=[]):  # leaves the generator as it was
        network = PolicyValueNetwork(architecture)
    shortest = {torch.float32: math.inf, torch.bfloat16: math.inf}
    with torch.inference_mode():
        for _ in range(_TRIALS):
            for dtype, seconds in shortest.items():
                tried = inference_copy(network, device, dtype=dtype)
                planes = torch.zeros(size, 3, n, n, dtype=dtype, device=device).contiguous(memory_format=torch.channels_last)
                tried(planes).value_logits.sum().item()
                start = time.perf_counter()
                for _ in range(_CALLS):
                    answer = tried(planes).value_logits.sum()
                answer.item()  # waits for the device
                shortest[dtype] = min(seconds, time.perf_counter() - start)
    return torch.bfloat16 if _WORTHWHILE * shortest[torch.bfloat16] < shortest[torch.float32] else torch.float32


def dtype_of(precision: Precision, architecture: Architecture, device: torch.device) -> torch.dtype:
    """Return the dtype of a precision; for "auto" the `fastest_dtype`.

    Raises `KeyError` for an unknown name.
    """
    return fastest_dtype(architecture, device) if precision == "auto" else _DTYPES[precision]


@dataclass(frozen=True, slots=True, eq=False)
class NetworkEvaluator:
    """A policy-value network as an `Evaluator` for tree search.

    network: an `inference_copy` on `device` in `dtype`, as `network_evaluator` creates it.
    """

    network: PolicyValueNetwork
    device: torch.device
    dtype: torch.dtype

    def evaluate(self, positions: PositionBatch, rng: np.random.Generator) -> Evaluation:  # noqa: ARG002 - nothing is random
        """See `Evaluator`."""
        n = positions.board_size
        logits = np.empty((len(positions), n * n + 1), dtype=np.float32)
        values = np.empty(len(positions), dtype=np.float32)
        num_calls = math.ceil(len(positions) / (_CPU_BATCH if self.device.type == "cpu" else _CUDA_BATCH))
        bounds = [call * len(positions) // num_calls for call in range(num_calls)] + [len(positions)]
        with torch.inference_mode():
            for start, stop in itertools.pairwise(bounds):
                part = slice(start, stop)
                planes = planes_of(positions.own[part], positions.opp[part], legal_moves=positions.legal_moves[part], board_size=n)
                outputs = self.network(planes.to(self.device).to(self.dtype))
                logits[part] = outputs.policy_logits.float().cpu().numpy()
                values[part] = torch.tanh(outputs.value_logits.float() / 2).cpu().numpy()
        return Evaluation(logits, values)


def network_evaluator(
    network: PolicyValueNetwork, *, device: torch.device | None = None, dtype: torch.dtype | None = None
) -> NetworkEvaluator:
    """Return an evaluator with a copy of the network.

    device: by default the CPU. dtype: by default the `fastest_dtype` on the device.
    """
    place = torch.device("cpu") if device is None else device
    kind = fastest_dtype(network.architecture, place) if dtype is None else dtype
    return NetworkEvaluator(inference_copy(network, place, dtype=kind), place, kind)


@dataclass(frozen=True, slots=True)
class PolicyAgent:
    """Plays the legal move with the highest policy logit, without search."""

    name: str
    evaluator: NetworkEvaluator

    @property
    def board_size(self) -> int:
        """Board size of the network, the only one that the agent plays."""
        return self.evaluator.network.architecture.board_size

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        check_board_size(self, positions.board_size)
        logits = self.evaluator.evaluate(positions, rng).policy_logits
        assert logits is not None
        moves: Moves = np.where(positions.legal_action_mask() == 1, logits, -np.inf).argmax(axis=1)
        return moves


@dataclass(frozen=True, slots=True)
class PolicyValueAgent:
    """Plays the move found by Gumbel AlphaZero search, without noise."""

    name: str
    evaluator: NetworkEvaluator
    settings: SearchSettings

    @property
    def board_size(self) -> int:
        """Board size of the network, the only one that the agent plays."""
        return self.evaluator.network.architecture.board_size

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        """See `Agent`."""
        check_board_size(self, positions.board_size)
        return MCTSAgent(self.name, self.evaluator, self.settings).select_moves(positions, rng)


def play_settings(simulations: int, *, margin_share: float) -> SearchSettings:
    """Return search settings for play outside training: without noise.

    margin_share: that of the network. The search considers one root move per eight simulations, at
    least 4 and at most 16: with few simulations it searches fewer moves more deeply. Measured with
    32 simulations and a network of the hour preset, 400 games each, +-.045: considering 16, 4 and 2
    moves scored .705, .761 and .609 against CoCMAES-4+2x2, and .828, .853 and .790 against SWH.
    """
    considered = min(max(_FEWEST_CONSIDERED, simulations // _SIMULATIONS_PER_CONSIDERED), _MOST_CONSIDERED)
    return SearchSettings(
        simulations=simulations, method="gumbel", gumbel_scale=0.0, max_num_considered_actions=considered, margin_share=margin_share
    )


def policy_value_agent(evaluator: NetworkEvaluator, *, simulations: int, name: str = "policy_value") -> Agent:
    """Return an agent that searches, or with 0 simulations plays by the policy alone.

    Raises `ValueError` for a negative number of simulations.
    """
    if not simulations >= 0:
        raise ValueError(f"simulations {simulations}: must not be negative")
    if simulations == 0:
        return PolicyAgent(name, evaluator)
    return PolicyValueAgent(name, evaluator, play_settings(simulations, margin_share=evaluator.network.architecture.margin_share))


def load_policy_value_agent(file: Path, *, simulations: int, device: Device = "cpu", precision: Precision = "float32") -> Agent:
    """Return the agent that plays by a network file.

    simulations: simulations per move, or 0 to play by the policy alone. precision: "auto" selects
    the fastest on this machine, so the moves may depend on the machine. Raises `CheckpointError`
    for a damaged or missing file, and `ValueError` for a device that is not available.
    """
    network, place = PolicyValueNetwork.load(file), find_device(device)
    evaluator = network_evaluator(network, device=place, dtype=dtype_of(precision, network.architecture, place))
    return policy_value_agent(evaluator, simulations=simulations, name=f"policy_value:{file.name},simulations={simulations}")
