from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import make_agent
from agents.ntuple.network import NTupleNetwork
from tests.agents.ntuple.test_network import staged_network
from training.release import MAX_BYTES, main

ORIGIN = ["--command", "python -m x", "--code-version", "abc", "--training-time", "1 minute", "--machine", "2 cores"]


def test_weights_are_written_in_16_bits_with_a_card_of_their_results(tmp_path: Path) -> None:
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
    pytest.importorskip("torch")
    from agents.networks import PolicyValueNetwork, to_arrays
    from tests.agents.test_networks import network_of as policy_value_network

    network = policy_value_network(8)
    network.save(tmp_path / "run.safetensors")
    main([str(tmp_path / "run.safetensors"), str(tmp_path / "out.safetensors"), *ORIGIN])
    read = to_arrays(PolicyValueNetwork.load(tmp_path / "out.safetensors"))
    for name, array in to_arrays(network).items():
        np.testing.assert_array_equal(read[name], array.astype(np.float16).astype(np.float32))
    assert make_agent(f"policy_value:{tmp_path / 'out.safetensors'},simulations=0").name.startswith("policy_value:out")


def test_a_network_that_cannot_be_released_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(name: str, *more: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            main([str(tmp_path / name), str(tmp_path / "out"), *ORIGIN, *more])
        assert stopped.value.code == 2
        printed = capsys.readouterr().err
        assert printed.startswith("release: ")
        assert printed.count("\n") == 1
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "out.json").exists()
        return printed

    staged_network(8, 7).save(tmp_path / "large")
    assert refused("large").endswith(f"bytes; expected at most {MAX_BYTES}\n")
    staged_network(8, 1).save(tmp_path / "small")
    for match, message in (
        (["ntuple:{}", "nobody", "random:8", "20"], "'nobody': no agent"),
        (["nobody:{}", "random", "random:8", "20"], "no agent 'nobody'"),
        (["ntuple:{}", "random", "random:8", "21"], "games 21"),
        (["ntuple:{}", "random", "random:8", "x"], "invalid literal for int() with base 10: 'x'"),
        (["ntuple:{}", "random"], "expected 4 arguments"),
    ):
        assert message in refused("small", "--match", *match)
    network = staged_network(8, 1)
    network.weights[5] = 1e30
    network.save(tmp_path / "huge")
    assert refused("huge").endswith("too large for 16 bits\n")
    (tmp_path / "noise").write_bytes(b"noise")
    for name in ("noise", "nothing"):
        assert name in refused(name)


def test_ctrl_c_in_a_match_writes_neither_weights_nor_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    staged_network(8, 1).save(tmp_path / "run")
    (tmp_path / "out").write_bytes(b"the old weights")

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("training.release.play_match", interrupt)
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path / "run"), str(tmp_path / "out"), *ORIGIN, "--match", "ntuple:{}", "random", "random:8", "20"])
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "release: interrupted; nothing was written\n"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "out"}
    assert (tmp_path / "out").read_bytes() == b"the old weights"
