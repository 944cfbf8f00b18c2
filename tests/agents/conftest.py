from __future__ import annotations

import importlib.util

# Agents but for these need no PyTorch, and are tested without it too.
collect_ignore = [] if importlib.util.find_spec("torch") else ["test_networks.py", "test_policy_value.py", "test_weights.py"]
