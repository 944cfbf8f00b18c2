"""Check that an agent follows the protocol: `python -m training.evaluation.check_agent`."""

from __future__ import annotations

from collections.abc import Sequence

from agents.registry import agents_help
from othello_env.command import EXIT_FAILURE, Parser, Progress, command, seed
from othello_env.squares import BOARD_SIZES
from training.evaluation.check_agent import Finding, check_in_process, format_findings


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; exit with status 1 if the agent has errors.

    argv: its arguments, by default those of the process.
    """
    parser = Parser(
        prog="python -m training.evaluation.check_agent",
        description="Check whether an agent follows the protocol, and report faults.",
        epilog=agents_help(),
    )
    parser.add_argument("spec", metavar="SPEC", help="agent to check; factory:MODULE:FUNCTION for one of your own")
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="squares per side (default: 8)")
    parser.add_argument("--call-seconds", metavar="S", type=float, default=60.0, help="time limit per call, in seconds (default: 60)")
    parser.add_argument("--seconds", metavar="S", type=float, default=600.0, help="time limit of all checks, in seconds (default: 600)")
    parser.add_argument("--seed", metavar="N", type=seed, default=0, help="seed of the positions (default: 0)")
    arguments = parser.parse_args(argv)
    findings: list[Finding] = []
    with command("check_agent"):
        try:
            with Progress(None, unit="checks", description=arguments.spec) as progress:
                check_in_process(
                    arguments.spec,
                    board_size=arguments.board_size,
                    seed=arguments.seed,
                    call_seconds=arguments.call_seconds,
                    seconds=arguments.seconds,
                    report=findings.append,
                    progress=progress.advance,
                )
        except KeyboardInterrupt:
            print(format_findings(findings))
            raise
        print(format_findings(findings))
        if any(finding.severity == "error" for finding in findings):
            raise SystemExit(EXIT_FAILURE)


if __name__ == "__main__":
    main()
