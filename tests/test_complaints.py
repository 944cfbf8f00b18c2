"""tests/complaints.md names tests that exist."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY


def test_every_complaint_is_ruled_out_by_tests_that_exist() -> None:
    rows = re.findall(r"^\| (C\d+) \|.*\| (`test_.*`) \|$", (REPOSITORY / "tests" / "complaints.md").read_text("utf-8"), flags=re.MULTILINE)
    assert [name for name, _ in rows] == [f"C{number}" for number in range(1, 47)]
    sources = "\n".join(path.read_text("utf-8") for path in (REPOSITORY / "tests").rglob("test_*.py"))
    existing = set(re.findall(r"^def (test_\w+)", sources, flags=re.MULTILINE))
    named = {test for _, tests in rows for test in re.findall(r"`(test_\w+)`", tests)}
    assert len(named) > 30
    assert named <= existing, named - existing
