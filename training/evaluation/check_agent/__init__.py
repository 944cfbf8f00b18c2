"""Checks that an agent follows the protocol of `othello_env.agent.Agent`.

`python -m training.evaluation.check_agent SPEC`
`python -m training.evaluation.check_agent factory:my_package.my_agent:make`

The agent is constructed and asked in a separate process, which is killed if a call takes too long:
an agent that hangs or ends its process is reported like any other finding. Errors are faults that
lose games or make results wrong, warnings are facts to know before a tournament, notes are for
information.
"""

from training.evaluation.check_agent.checks import Limits, check_agent
from training.evaluation.check_agent.finding import Finding, Severity, format_findings
from training.evaluation.check_agent.process import check_in_process

__all__ = ["Finding", "Limits", "Severity", "check_agent", "check_in_process", "format_findings"]
