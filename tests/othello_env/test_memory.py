"""Importing the package does not change how the C library of the process gives memory back."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

# Prints before and after a statement whether the C library maps a block of 20 MB by itself, as it
# does until its threshold has risen.
CODE = """
import ctypes, sys

class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype, libc.malloc.restype, libc.free.argtypes = Info, ctypes.c_void_p, [ctypes.c_void_p]

def is_mapped():
    before = libc.mallinfo2().hblks
    block = libc.malloc(ctypes.c_size_t(20 << 20))
    mapped = libc.mallinfo2().hblks > before
    return block, mapped

block, mapped = is_mapped()  # kept: freeing it would raise the threshold
exec(sys.argv[1])
print(mapped, is_mapped()[1])
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2") if sys.platform == "linux" else True, reason="needs glibc 2.33")
@pytest.mark.parametrize(
    ("statement", "unchanged"),
    [
        ("import othello_env; othello_env.othello_v0.env().reset(); othello_env.PositionBatch.start(255)", True),
        ("import othello_env; othello_env.PositionBatch.start(256)", False),
        ("import othello_env; othello_env.PositionBatch([1] * 256, [2] * 256, [0] * 256)", False),
    ],
)
def test_only_large_batches_have_freed_memory_kept(statement: str, unchanged: bool) -> None:
    run = subprocess.run([sys.executable, "-c", CODE, statement], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert run.stdout.split() == ["True", str(unchanged)]
