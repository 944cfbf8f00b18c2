"""Findings about an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding about an agent.

    sentence: the fact. reproducer: Python for one call that shows it, or where it was seen; may be
    empty.
    """

    severity: Severity
    sentence: str
    reproducer: str = ""

    def __str__(self) -> str:
        """Return one line, or two with the reproducer."""
        return f"{self.severity}: {self.sentence}" + (f"\n    {self.reproducer}" if self.reproducer else "")


ReportFinding = Callable[[Finding], object]
"""Called with each finding when it is made."""


def format_findings(findings: Sequence[Finding]) -> str:
    """Return the findings, errors first, and a line with the number of each severity."""
    severities: tuple[Severity, ...] = get_args(Severity)
    ordered = sorted(findings, key=lambda finding: severities.index(finding.severity))
    counts = ((severity, sum(finding.severity == severity for finding in findings)) for severity in severities)
    summary = ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts)
    return "\n".join([*map(str, ordered), summary])
