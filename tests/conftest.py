from __future__ import annotations

import importlib.util
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from othello_env import backend

# A shell that starts the tests in the background has them ignore Ctrl-C, and all processes that
# they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

if importlib.util.find_spec("hypothesis") is not None:
    from hypothesis import settings

    settings.register_profile("no deadline", deadline=None)  # the first example may wait for the compiler
    settings.load_profile("no deadline")

REPOSITORY = Path(__file__).parents[1]
SHARED_DATA = REPOSITORY.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Published test data beside the checkout; tests that need it skip where it is not there."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"{SHARED_DATA} is not there: published data are not copied into the repository")
    return SHARED_DATA


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20_231_030)


BACKENDS = ("numpy", "compiled") if importlib.util.find_spec("numba") is not None else ("numpy",)


@contextmanager
def using_backend(name: str) -> Iterator[None]:
    """Has NumPy or compiled code do the array work, for batches of any size."""
    before = backend._State.module, backend._State.wanted, backend.play_move
    if name == "compiled":
        assert backend.use_compiled()
    else:
        backend.use_numpy()
    try:
        yield
    finally:
        backend._State.module, backend._State.wanted, backend.play_move = before


@pytest.fixture(params=["numpy", "compiled"])
def either_backend(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs a test twice: with NumPy doing the array work, and with compiled code."""
    if request.param not in BACKENDS:
        pytest.skip("numba is not installed")
    with using_backend(request.param):
        yield
