from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from agents import AgentSpecError, make_agent
from agents.networks import Architecture, PolicyValueNetwork, planes_of
from agents.policy_value import fastest_dtype, load_policy_value_agent, network_evaluator, policy_value_agent
from othello_env import PositionBatch
from tests.agents.ntuple.test_network import network_of as ntuple_network
from tests.agents.test_networks import batch_of, network_of

CPU = torch.device("cpu")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    network_of(6).save(tmp_path / "net.safetensors")
    return tmp_path / "net.safetensors"


def test_the_evaluator_gives_the_networks_answers(rng: np.random.Generator) -> None:
    network, batch = network_of(6), batch_of(6, rng)
    evaluator = network_evaluator(network, dtype=torch.float32)
    logits, values = evaluator.evaluate(batch, rng)
    outputs = network(planes_of(batch.own, batch.opp, legal_moves=batch.legal_moves, board_size=6).float())
    assert logits is not None
    np.testing.assert_allclose(logits, outputs.policy_logits.detach(), atol=1e-3)
    np.testing.assert_allclose(values, np.tanh(outputs.value_logits.detach().numpy() / 2), atol=1e-3)
    assert logits.dtype == values.dtype == np.float32


def test_large_batches_are_answered_in_equal_parts(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator, batch = network_evaluator(network_of(6), dtype=torch.float32), batch_of(6, rng)
    whole = evaluator.evaluate(batch, rng)
    sizes: list[int] = []
    evaluator.network.register_forward_pre_hook(lambda _, planes: sizes.append(len(planes[0])))
    monkeypatch.setattr("agents.policy_value._CPU_BATCH", 7)
    parts = evaluator.evaluate(batch, rng)
    assert sum(sizes) == len(batch)
    assert max(sizes) - 1 <= min(sizes) <= max(sizes) <= 7
    assert len(evaluator.evaluate(batch.take(np.array([], dtype=np.int64)), rng).values) == 0
    np.testing.assert_allclose(whole.values, parts.values, atol=1e-4)
    assert whole.policy_logits is not None
    assert parts.policy_logits is not None
    np.testing.assert_allclose(whole.policy_logits, parts.policy_logits, atol=1e-4)


def test_values_in_bfloat16_are_near_those_in_float32(rng: np.random.Generator) -> None:
    batch = batch_of(6, rng)
    exact, rounded = (
        network_evaluator(network_of(6), dtype=dtype).evaluate(batch, rng).values for dtype in (torch.float32, torch.bfloat16)
    )
    assert np.abs(exact - rounded).max() < 0.1
    assert np.abs(exact - rounded).max() > 0


def test_the_trial_of_types_chooses_one_and_leaves_the_generator_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    assert network_evaluator(network_of(4, blocks=1, channels=3)).dtype in (torch.float32, torch.bfloat16)
    assert torch.equal(torch.rand(1), expected)
    assert fastest_dtype(Architecture(4, 1, 3), CPU) in (torch.float32, torch.bfloat16)


@pytest.mark.parametrize("simulations", [0, 1, 12])
def test_agents_play_legal_moves_on_their_board_alone(simulations: int, rng: np.random.Generator) -> None:
    agent = policy_value_agent(network_evaluator(network_of(6)), simulations=simulations)
    batch = batch_of(6, rng)
    moves = agent.select_moves(batch, rng)
    assert batch.is_legal(moves).all()
    over = PositionBatch([1], [0], [0], board_size=6)
    assert agent.select_moves(over, rng).tolist() == [36]
    with pytest.raises(ValueError, match="plays on board_size 6, not 8"):
        agent.select_moves(PositionBatch.start(2), rng)


def test_the_policy_alone_is_the_highest_logit_of_a_legal_move(rng: np.random.Generator) -> None:
    evaluator, batch = network_evaluator(network_of(6), dtype=torch.float32), batch_of(6, rng)
    logits = evaluator.evaluate(batch, rng).policy_logits
    assert logits is not None
    moves = policy_value_agent(evaluator, simulations=0).select_moves(batch, rng)
    for row, position in enumerate(batch):
        squares = position.legal_squares()
        assert moves[row] == squares[int(np.argmax(logits[row, squares]))]


def test_searching_agents_are_deterministic(rng: np.random.Generator) -> None:
    agent, batch = policy_value_agent(network_evaluator(network_of(6)), simulations=16), batch_of(6, rng)
    first, second = (agent.select_moves(batch, np.random.default_rng(seed)) for seed in (1, 2))
    np.testing.assert_array_equal(first, second)


def test_a_spec_with_a_file_makes_the_agent(file: Path) -> None:
    agent = make_agent(f"policy_value:{file},simulations=4")
    assert agent.name == "policy_value:net.safetensors,simulations=4"
    assert load_policy_value_agent(file, simulations=0).name == "policy_value:net.safetensors,simulations=0"


@pytest.mark.parametrize(
    ("suffix", "message"),
    [
        (",simulations=-1", "simulations -1: must not be negative"),
        (",simulations=x", "simulations=x; expected an integer"),
        (",device=tpu", "device=tpu; expected one of cpu, cuda, auto"),
        (".missing", "no such file"),
        *([] if torch.cuda.is_available() else [(",device=cuda", "PyTorch finds no CUDA device here")]),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line(file: Path, suffix: str, message: str) -> None:
    with pytest.raises(AgentSpecError, match=r"^[^\n]*$") as caught:
        make_agent(f"policy_value:{file}{suffix}")
    assert message in str(caught.value)


def test_an_n_tuple_file_is_no_policy_value_network(tmp_path: Path) -> None:
    ntuple_network(6).save(tmp_path / "net")
    with pytest.raises(AgentSpecError, match="holds 'ntuple'"):
        make_agent(f"policy_value:{tmp_path / 'net'}")
    PolicyValueNetwork(Architecture(6, 1, 4)).save(tmp_path / "other")
    with pytest.raises(AgentSpecError, match="holds 'policy_value'"):
        make_agent(f"ntuple:{tmp_path / 'other'}")
