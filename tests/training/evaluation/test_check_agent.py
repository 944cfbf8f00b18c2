from __future__ import annotations

import importlib.util
import multiprocessing
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from agents import make_agent
from othello_env import Position, PositionBatch
from tests.training.evaluation.commands import stopped_line
from training.evaluation.check_agent import Finding, Limits, check_agent, check_in_process, format_findings
from training.evaluation.check_agent.__main__ import main
from training.evaluation.check_agent.global_state import resident_bytes

has_numba = importlib.util.find_spec("numba") is not None


@dataclass
class Faulty:
    """Lowest legal square, except where a function makes something else of it: called with the moves, the positions, the rng."""

    spoil: Callable[[Any, PositionBatch, np.random.Generator], Any] = lambda moves, positions, rng: moves
    name: Any = "faulty"

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Any:
        return self.spoil(positions.legal_action_mask().argmax(axis=1), positions, rng)


QUICK = Limits(num_games=15, num_compared=64, batch_seconds=0.5, speed_seconds=0.01, leak_calls=40)


def found(agent: Any, *, board_size: int = 8, limits: Limits = QUICK) -> list[Finding]:
    return check_agent(agent, board_size=board_size, rng=np.random.default_rng(0), limits=limits)


def errors(agent: Any) -> list[Finding]:
    return [finding for finding in found(agent) if finding.severity == "error"]


@pytest.mark.parametrize("spec", ["random", "greedy", "positional:table=bench", "heuristics", "beginner"])
def test_the_shipped_agents_are_clean(spec: str) -> None:
    assert [finding for finding in found(make_agent(spec)) if finding.severity != "note"] == []


@pytest.mark.skipif(not has_numba, reason="searches need numba")
@pytest.mark.parametrize("spec", ["alpha_beta:depth=2,hash_mb=1", "mcts:simulations=4"])
def test_the_searching_agents_are_clean(spec: str) -> None:
    assert [finding for finding in found(make_agent(spec)) if finding.severity != "note"] == []


@pytest.mark.parametrize("board_size", [4, 6])
def test_agents_are_checked_on_small_boards(board_size: int) -> None:
    assert [finding for finding in found(make_agent("greedy"), board_size=board_size) if finding.severity != "note"] == []


def test_a_right_agent_gets_its_speed_noted_and_no_more() -> None:
    (note,) = found(Faulty(name="right"))[:1]
    assert note.severity == "note"
    assert "moves/s in batches of 1, " in note.sentence


def test_missing_members_are_named() -> None:
    class Nothing:
        pass

    class Narrow:
        name = "narrow"

        def select_moves(self, positions: PositionBatch) -> Any:
            return positions

    sentences = [finding.sentence for finding in errors(Nothing())]
    assert sentences == ["name is None; expected a text that is not empty", "has no method select_moves(positions, rng)"]
    (finding,) = errors(Narrow())
    assert "select_moves(positions: " in finding.sentence
    assert "cannot be called with (positions, rng): too many positional arguments" in finding.sentence
    (finding,) = errors(Faulty(name=7))
    assert finding.sentence == "name is 7; expected a text that is not empty"


def illegal_with_33_moves(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
    many_mask = positions.legal_action_mask().sum(axis=1) == 33
    return np.where(many_mask, 64, moves)


def mutates(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
    positions.step(moves)
    return moves


def swaps_own_and_opp(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
    positions.own[:], positions.opp[:] = positions.opp.copy(), positions.own.copy()
    return moves


def raises_in_passes(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
    if ((positions.legal_moves == 0) & ~positions.is_over).any():
        raise KeyError("no move")
    return moves


def zero_when_over(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
    return np.where(positions.is_over, 0, moves)


def global_numpy(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
    return positions.sample_moves(np.random.default_rng(np.random.randint(1 << 30)))  # noqa: NPY002


def global_random(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
    return positions.sample_moves(np.random.default_rng(random.randrange(1 << 30)))


def reseeds(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
    np.random.seed(0)  # noqa: NPY002
    return moves


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            illegal_with_33_moves,
            r"plays pass \(64\) where a legal square is expected, in 1 of 1 positions, asked about a position with 33 moves",
        ),
        (
            zero_when_over,
            r"plays a1 \(0\) where the game is over and the pass \(64\) is expected, in 1 of 1 positions, asked about finished games",
        ),
        (
            lambda moves, positions, rng: moves.astype(float),
            r"invalid output, asked about the start position: float64 of shape \(1,\); expected 1 integers",
        ),
        (
            lambda moves, positions, rng: moves[:, None],
            r"invalid output, asked about the start position: int64 of shape \(1, 1\); expected 1 integers, shape \(1,\)",
        ),
        (
            lambda moves, positions, rng: int(moves[0]),
            r"invalid output, asked about the start position: int64 of shape \(\); expected 1 integers",
        ),
        (lambda moves, positions, rng: None, r"invalid output, asked about the start position: object of shape \(\)"),
        (lambda moves, positions, rng: [[1], [2, 3]], "invalid output, asked about the start position: not an array: ValueError"),
        (mutates, "changes the positions that it is given: own of 1 of 1, asked about the start position"),
        (swaps_own_and_opp, "changes the positions that it is given: own of"),
        (raises_in_passes, "raises an exception, asked about positions in which the side to move must pass .*: KeyError: 'no move'"),
        (global_numpy, "uses the global random numbers"),
        (global_random, "uses the global random numbers"),
        (reseeds, "uses the global random numbers"),
    ],
)
def test_what_breaks_the_protocol_is_an_error(spoil: Callable[..., Any], sentence: str) -> None:
    found_errors = errors(Faulty(spoil))
    assert len(found_errors) == 1, found_errors
    assert re.match(sentence, found_errors[0].sentence), found_errors[0]


@pytest.mark.parametrize(
    ("offset", "instead_of_d3", "instead_of_pass"),
    [(-20, "-1", "e6 (44)"), (1 << 40, str(19 + (1 << 40)), str(64 + (1 << 40))), (45, "pass (64)", "109")],
)
def test_illegal_moves_are_told_apart_by_what_was_expected(offset: int, instead_of_d3: str, instead_of_pass: str) -> None:
    expected = [
        f"plays {instead_of_d3} where a legal square is expected, in 1 of 1 positions, asked about the start position",
        f"plays {instead_of_pass} where the game is over and the pass (64) is expected, in 1 of 1 positions, asked about finished games",
        f"plays {instead_of_pass} where only a pass is legal and the pass (64) is expected, in 1 of 1 positions, asked about positions in"
        " which the side to move must pass (auto_pass=False)",
    ]
    assert [finding.sentence for finding in errors(Faulty(lambda moves, positions, rng: moves + offset))] == expected


@pytest.mark.parametrize("empty", [[], (), np.zeros(0)])
def test_any_empty_answer_to_an_empty_batch_is_accepted(empty: Any) -> None:
    assert errors(Faulty(lambda moves, positions, rng: moves if len(moves) else empty)) == []


def test_a_name_that_raises_is_named() -> None:
    class Nameless(Faulty):
        def __getattribute__(self, key: str) -> Any:
            if key == "name":
                raise RuntimeError("no name yet")
            return super().__getattribute__(key)

    assert [finding.sentence for finding in errors(Nameless())] == ["name raises an exception: RuntimeError: no name yet"]


def test_the_reproducer_is_one_call_that_shows_the_error() -> None:
    agent = Faulty(raises_in_passes)
    (finding,) = errors(agent)
    names = {"agent": agent, "np": np, "Position": Position, "PositionBatch": PositionBatch}
    with pytest.raises(KeyError, match="no move"):
        eval(finding.reproducer, names)
    (finding,) = errors(Faulty(illegal_with_33_moves))
    assert eval(finding.reproducer, {**names, "agent": Faulty(illegal_with_33_moves)}).tolist() == [64]


def test_an_agent_that_fails_on_an_empty_batch_gets_a_warning() -> None:
    def spoil(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        return moves if len(moves) else 1 // 0

    (finding,) = [finding for finding in found(Faulty(spoil)) if finding.severity != "note"]
    assert finding == Finding(
        "warning", "raises an exception, asked about an empty batch: ZeroDivisionError: integer division or modulo by zero"
    )


def test_an_agent_that_fails_with_many_positions_only_is_told_how_many() -> None:
    def spoil(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        if len(moves) > 100:
            raise MemoryError
        return moves

    (finding,) = errors(Faulty(spoil))
    assert "MemoryError" in finding.sentence
    assert "positions together" in finding.reproducer


@pytest.mark.parametrize("answer", [lambda moves: moves.tolist(), lambda moves: moves.astype(np.uint8)])
def test_lists_and_other_integers_are_accepted_with_a_note(answer: Callable[[Any], Any]) -> None:
    findings = found(Faulty(lambda moves, positions, rng: answer(moves)))
    assert {finding.severity for finding in findings} == {"note"}
    assert "which is accepted" in findings[0].sentence


def test_an_agent_with_a_generator_of_its_own_does_not_repeat() -> None:
    own = np.random.default_rng(0)
    findings = found(Faulty(lambda moves, positions, rng: positions.sample_moves(own)))
    (warning,) = [finding for finding in findings if finding.severity != "note"]
    assert warning.severity == "warning"
    assert "does not repeat" in warning.sentence


def test_answers_that_depend_on_the_rest_of_a_batch_are_found() -> None:
    def highest(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        highest_moves = 64 - positions.legal_action_mask()[:, ::-1].argmax(axis=1)
        return highest_moves if len(positions) > 1 else moves

    def by_first_row(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        return highest(moves, positions, rng) if len(moves) and positions.own[0] > positions.own[-1] else moves

    sentences = [finding.sentence for finding in found(Faulty(highest)) if finding.severity == "warning"]
    assert [sentence.partition(":")[0] for sentence in sentences] == ["depends on the other positions of a batch"]
    assert [finding for finding in found(Faulty(by_first_row)) if finding.severity == "warning"] != []


def test_an_agent_that_depends_on_colors_although_it_declares_that_it_does_not() -> None:
    class Declares(Faulty):
        sees_colors = False

    def by_color(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        highest_moves = 64 - positions.legal_action_mask()[:, ::-1].argmax(axis=1)
        return np.where(positions.side_to_move == 0, moves, highest_moves)

    (finding,) = errors(Declares(by_color))
    assert "sees_colors is False" in finding.sentence
    assert errors(Faulty(by_color)) == []


def test_memory_that_is_kept_is_found() -> None:
    kept = []

    def spoil(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        kept.append(np.ones(1 << 17))
        return moves

    if resident_bytes() is None:
        pytest.skip("the system does not say how much memory a process has")
    (finding,) = [finding for finding in found(Faulty(spoil)) if finding.severity == "warning"]
    assert re.match(r"grows with every call: by about (0\.9\d|1|1\.\d) MiB for 256 positions", finding.sentence)


def test_a_slow_agent_gets_a_warning_and_smaller_batches() -> None:
    def spoil(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        time.sleep(0.002 * len(moves))
        return moves

    findings = found(Faulty(spoil), limits=replace(QUICK, slow_move_seconds=0.001, batch_seconds=0.005))
    assert "s per position: the largest batches tried have" in findings[0].sentence
    assert ["slow" in finding.sentence for finding in findings if finding.severity == "warning"] == [True]


def make_right() -> Faulty:
    return Faulty()


def make_hanging() -> Faulty:
    def spoil(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        time.sleep(1000)
        return moves

    return Faulty(spoil)


def make_exiting() -> Faulty:
    def spoil(moves: Any, positions: PositionBatch, rng: np.random.Generator) -> Any:
        if len(moves) == 0:
            os._exit(3)
        return moves

    return Faulty(spoil)


def factory(function: Callable[[], Faulty]) -> str:
    return f"factory:{__name__}:{function.__name__}"


def test_an_agent_that_hangs_is_ended_and_the_position_named() -> None:
    told: list[Finding] = []
    findings = check_in_process(factory(make_hanging), call_seconds=0.5, report=told.append)
    assert findings == told
    (finding,) = findings
    assert (finding.severity, finding.sentence) == ("error", "hangs")
    question = "no answer within 0.5 s to the start position: agent.select_moves(PositionBatch.from_positions([Position.parse("
    assert finding.reproducer.startswith(question)
    assert multiprocessing.active_children() == []


def test_an_agent_that_ends_its_process_is_found() -> None:
    finding = check_in_process(factory(make_exiting), limits=QUICK)[-1]
    assert finding == Finding("error", "ends its process (exit code 3)", "an empty batch")


def test_what_is_not_checked_in_time_is_left_out_with_a_warning() -> None:
    (finding,) = check_in_process("random", seconds=0.05)
    assert (finding.severity, finding.sentence) == ("warning", "is not checked completely: the time is up")


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["nobody"], "error: cannot be constructed: AgentSpecError: 'nobody'"),
        (["factory:nowhere"], "expected a function that makes the agent"),
    ],
)
def test_the_command_fails_where_the_agent_cannot_be_constructed(
    arguments: list[str], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 1
    shown = capsys.readouterr().out
    assert output in shown
    assert "1 error, 0 warnings, 0 notes" in shown


def test_a_process_is_killed_at_once_where_the_one_who_asked_gives_up() -> None:
    def give_up(finding: Finding) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_in_process(factory(make_right), report=give_up)
    assert multiprocessing.active_children() == []


def test_the_command_checks_a_factory(capsys: pytest.CaptureFixture[str]) -> None:
    main([factory(make_right)])
    assert "0 errors, 0 warnings, " in capsys.readouterr().out


@pytest.mark.parametrize(("option", "message"), [("--seed=-1", "--seed: '-1': expected"), ("--seconds=0", "seconds 0.0: expected")])
def test_wrong_arguments_are_refused(option: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = stopped_line(main, ["random", option], capsys)
    assert line.startswith("check_agent: ")
    assert message in line


def test_ctrl_c_prints_the_findings_so_far(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(spec: str, *, report: Callable[[Finding], object], **_: Any) -> None:
        report(Finding("warning", "slow"))
        raise KeyboardInterrupt

    monkeypatch.setattr("training.evaluation.check_agent.__main__.check_in_process", interrupted)
    with pytest.raises(SystemExit) as stopped:
        main(["random"])
    assert stopped.value.code == 130
    output = capsys.readouterr()
    assert output.out == "warning: slow\n0 errors, 1 warning, 0 notes\n"
    assert output.err == "check_agent: interrupted\n"


def test_progress_counts_the_checks() -> None:
    told: list[tuple[int, int]] = []
    check_in_process(factory(make_right), limits=QUICK, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 6) for done in range(1, 7)]


def test_errors_come_first_in_the_table() -> None:
    findings = [Finding("note", "quick"), Finding("error", "hangs", "asked about this"), Finding("warning", "slow")]
    assert format_findings(findings).splitlines() == [
        "error: hangs",
        "    asked about this",
        "warning: slow",
        "note: quick",
        "1 error, 1 warning, 1 note",
    ]
