from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from agents import make_agent
from agents.networks import PolicyValueNetwork, to_arrays
from agents.ntuple.network import NTupleNetwork
from tests.agents.ntuple.test_network import staged_network
from tests.agents.test_networks import network_of as policy_value_network
from training.release import LARGEST, main

ORIGIN = ["--command", "python -m x", "--code-version", "abc", "--training-time", "1 minute", "--machine", "2 cores"]


def test_weights_are_written_in_16_bits_with_a_card_of_what_they_come_to(tmp_path: Path) -> None:
    network = staged_network(8, 2)
    network.save(tmp_path / "run.safetensors", {"settings": {"seed": 3}, "games": 7})
    target = tmp_path / "weights" / "best.safetensors"
    matches = ["--match", "ntuple:{}", "random", "random:8", "20", "--match", "alpha_beta:{},depth=2", "greedy", "random:8", "10"]
    main([str(tmp_path / "run.safetensors"), str(target), *ORIGIN, *matches])
    read = NTupleNetwork.load(target)
    np.testing.assert_array_equal(read.weights, network.weights.astype(np.float16).astype(np.float32))
    assert (read.layout.num_stages, read.layout.counts) == (2, True)
    card = json.loads(target.with_suffix(".json").read_text())
    assert card["command"] == "python -m x"
    assert card["settings"] == {"seed": 3}
    assert card["games"] == 7
    assert card["bytes"] == target.stat().st_size < 2.1 * 2 * network.weights.size
    assert card["sha256"] == hashlib.sha256(target.read_bytes()).hexdigest()
    first, second = card["results"]
    assert (first["agent"], first["opponent"], first["openings"], first["games"]) == ("ntuple:best.safetensors", "random", "random:8", 20)
    assert first["wins"] + first["draws"] + first["losses"] == 20
    assert first["interval"][0] <= first["score"] <= first["interval"][1]
    assert second["agent"] == "alpha_beta:best.safetensors,depth=2"
    assert str(tmp_path) not in json.dumps(card)


def test_a_policy_value_network_is_released_too(tmp_path: Path) -> None:
    network = policy_value_network(8)
    network.save(tmp_path / "run.safetensors")
    main([str(tmp_path / "run.safetensors"), str(tmp_path / "out.safetensors"), *ORIGIN])
    read = to_arrays(PolicyValueNetwork.load(tmp_path / "out.safetensors"))
    for name, array in to_arrays(network).items():
        np.testing.assert_array_equal(read[name], array.astype(np.float16).astype(np.float32))
    assert make_agent(f"policy_value:{tmp_path / 'out.safetensors'},simulations=0").name.startswith("policy_value:out")


def test_what_is_too_large_or_no_network_is_refused_in_one_line(tmp_path: Path) -> None:
    staged_network(8, 7).save(tmp_path / "large")
    with pytest.raises(SystemExit, match=rf"^release: [^\n]*bytes; expected at most {LARGEST}$"):
        main([str(tmp_path / "large"), str(tmp_path / "out"), *ORIGIN])
    assert not (tmp_path / "out").exists()
    network = policy_value_network(6)
    network.save(tmp_path / "small")
    wrong = ["--match", "policy_value:{}", "nobody", "random:8", "20"]
    with pytest.raises(SystemExit, match="^release: 'nobody': no agent"):
        main([str(tmp_path / "small"), str(tmp_path / "out"), *ORIGIN, *wrong])
    with torch.no_grad():
        network.stem.bias[0] = 1e30  # type: ignore[index]
    network.save(tmp_path / "huge")
    with pytest.raises(SystemExit, match="^release: [^\n]*too large for 16 bits"):
        main([str(tmp_path / "huge"), str(tmp_path / "out"), *ORIGIN])
    assert not (tmp_path / "out").exists()
    (tmp_path / "noise").write_bytes(b"noise")
    for name in ("noise", "nothing"):
        with pytest.raises(SystemExit, match=rf"^release: [^\n]*{name}"):
            main([str(tmp_path / name), str(tmp_path / "out"), *ORIGIN])
