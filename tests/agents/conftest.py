from __future__ import annotations

import importlib.util


def lacks(library: str) -> bool:
    return importlib.util.find_spec(library) is None


# Agents but for these need no PyTorch, and are tested without it too.
collect_ignore = ["test_networks.py", "test_policy_value.py", "test_weights.py"] if lacks("torch") else []
# Engines in tournaments need what the extra [train] brings.
collect_ignore += ["external/test_engine.py", "external/test_match.py"] if lacks("filelock") or lacks("scipy") else []
