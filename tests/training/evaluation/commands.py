"""How commands end, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest


def stopped_line(
    main: Callable[[Sequence[str]], None], arguments: Sequence[str], capsys: pytest.CaptureFixture[str], *, code: int = 2
) -> str:
    """Run a command that must stop with an exit code and one line on standard error, and return that line."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == code
    output = capsys.readouterr().err
    assert output.count("\n") == 1, output
    return output.strip()
