from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import brentq, minimize

from tests.training.evaluation.commands import stopped_line
from training.evaluation.sprt import Model, Sprt, format_state, main, sprt

SCORES = np.linspace(0, 1, 5)


# Results of finished fishtest runs and their ratios, from the tests of fastchess
# (app/tests/sprt_test.cpp), to a hundredth of the value.
@pytest.mark.parametrize(
    ("pairs", "bounds", "model", "llr"),
    [
        ((365, 16618, 36229, 16974, 390), (0, 2), "normalized", 2.25),
        ((127, 4883, 10712, 5150, 104), (-1.75, 0.25), "normalized", 3.01),
        ((223, 9863, 21279, 10037, 246), (0.5, 2.5), "logistic", -3.07),
        ((871, 26175, 55983, 26678, 821), (0, 2), "logistic", -4.98),
        # What fastchess printed for a match that it stopped.
        ((0, 0, 2, 0, 37), (0, 20), "normalized", 2.96),
    ],
)
def test_published_ratios_are_reproduced(pairs: tuple[int, ...], bounds: tuple[float, float], model: Model, llr: float) -> None:
    state = sprt(pairs, *bounds, model=model)
    assert state.llr == pytest.approx(llr, rel=0.005)
    assert (state.lower, state.upper) == pytest.approx((-2.944, 2.944), abs=5e-4)
    assert state.decision == ("H1" if llr > 2.944 else "H0" if llr < -2.944 else None)


@pytest.mark.parametrize("model", ["logistic", "normalized"])
@pytest.mark.parametrize("pairs", [(10, 20, 300, 30, 12), (40, 3, 112, 5, 60), (1, 60, 500, 1200, 600)])
def test_the_ratio_is_that_of_a_general_optimizer(pairs: tuple[int, ...], model: Model) -> None:
    counts = np.array(pairs, dtype=np.float64)

    def best(elo: float) -> float:
        def excess(log_chances: npt.NDArray[np.float64]) -> float:
            chances = np.exp(log_chances - np.logaddexp.reduce(log_chances))
            mean = chances @ SCORES
            if model == "logistic":
                return float(mean - 1 / (1 + 10 ** (-elo / 400)))
            game_deviation = math.sqrt(2 * (chances @ (SCORES - mean) ** 2))
            return float((mean - 0.5) - elo * math.log(10) / 800 * game_deviation)

        found = minimize(
            lambda at: -float(counts @ (at - np.logaddexp.reduce(at))) / counts.sum(),
            np.log(counts / counts.sum()),
            constraints=[{"type": "eq", "fun": excess}],
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-14},
        )
        assert found.success
        return -float(found.fun) * float(counts.sum())

    assert sprt(pairs, 0, 20, model=model).llr == pytest.approx(best(20) - best(0), abs=1e-4)


def test_pairs_of_two_kinds_only_give_walds_ratio() -> None:
    # Every pair is won or lost as a whole: Wald's test of a chance of 0.6 against one of 0.5, by
    # hand.
    elo = 400 * math.log10(0.6 / 0.4)
    wald = 70 * math.log(0.6 / 0.5) + 30 * math.log(0.4 / 0.5)
    assert sprt((30, 0, 0, 0, 70), 0, elo).llr == pytest.approx(wald, abs=1e-2)


def test_small_differences_agree_with_the_normal_approximation() -> None:
    counts = np.array([200, 20, 560, 24, 210])
    mean = counts @ SCORES / counts.sum()
    variance = counts @ (SCORES - mean) ** 2 / counts.sum()
    first, second = (1 / (1 + 10 ** (-elo / 400)) for elo in (0, 5))
    assert sprt(counts, 0, 5).llr == pytest.approx(counts.sum() * (second - first) * (2 * mean - first - second) / (2 * variance), rel=0.01)


def test_the_other_agents_view_changes_the_sign() -> None:
    for model in ("logistic", "normalized"):
        one, other = sprt((10, 20, 300, 30, 12), -2, 7, model=model), sprt((12, 30, 300, 20, 10), -7, 2, model=model)
        assert one.llr == pytest.approx(-other.llr, abs=1e-8)


def test_a_running_test_keeps_its_first_decision() -> None:
    test = Sprt(0, 50)
    decided = []
    for _ in range(40):
        state = test.update(2, 1)
        decided.append(test.decision)
        assert state == test.state() == sprt((0, 0, 0, len(decided), 0), 0, 50)
        if test.decision:
            break
    assert decided == [None] * (len(decided) - 1) + ["H1"]
    for _ in range(60):
        state = test.update(0, 0)
    assert (state.decision, test.decision) == ("H0", "H1")
    assert test.pairs.counts[0, 0] == 60


def test_no_pairs_decide_nothing() -> None:
    state = Sprt(0, 5).state()
    assert (state.llr, state.decision, state.pairs) == (0, None, 0)
    assert "0 pairs" in format_state(state)


def test_lopsided_results_have_a_ratio() -> None:
    for model in ("logistic", "normalized"):
        for pairs in ((0, 0, 0, 0, 1), (0, 0, 0, 0, 10**6), (1, 0, 0, 0, 10**6), (0, 80, 0, 0, 552_781), (0, 0, 10**6, 0, 0)):
            state = sprt(pairs, 0, 50, model=model)
            assert math.isfinite(state.llr)
            assert (state.llr > 0) == (pairs[4] > 0)


MANY = (20, 2, 56, 2, 20)


@pytest.mark.parametrize(
    ("pairs", "elo0", "elo1", "notes"),
    [
        (MANY, 0, 10, ()),
        ((2, 0, 5, 0, 2), 0, 10, ("9 pairs are few",)),
        ((0, 0, 29, 1, 0), 0, 10, ()),  # 30 are enough
        ((0, 0, 28, 1, 0), 0, 10, ("29 pairs are few",)),
        ((0, 0, 50, 0, 0), 0, 10, ("All pairs have the same outcome",)),
        (MANY, 0, 100, ()),
        (MANY, 0, 150, ("elo1 - elo0 is 150: a test this short",)),
        (MANY, -150, 0, ("elo1 - elo0 is 150: a test this short",)),
        (MANY, 20, 170, ("elo1 - elo0 is 150: a test this short",)),
        (MANY, 250, 260, ("elo0 250, elo1 260: the test is meant for differences below 200 Elo",)),
        (MANY, -260, -250, ("elo0 -260, elo1 -250: the test is meant for differences below 200 Elo",)),
        (MANY, 150, 210, ("elo0 150, elo1 210: the test is meant",)),
        (MANY, -210, -150, ("elo0 -210, elo1 -150: the test is meant",)),
        (MANY, -210, 30, ("elo1 - elo0 is 240", "elo0 -210, elo1 30: the test is meant")),
        ((0, 2, 6, 2, 90), 0, 10, ("The score 0.950 is far from 1/2",)),
        ((90, 2, 6, 2, 0), 0, 10, ("The score 0.050 is far from 1/2",)),
    ],
)
def test_warnings_name_their_cause(pairs: tuple[int, ...], elo0: float, elo1: float, notes: tuple[str, ...]) -> None:
    found = sprt(pairs, elo0, elo1).notes
    assert [note.startswith(start) for note, start in zip(found, notes, strict=True)] == [True] * len(notes), found
    assert all(note in format_state(sprt(pairs, elo0, elo1)) for note in found)


def test_a_score_far_from_one_half_is_a_fault_of_the_logistic_model_alone() -> None:
    assert sprt((0, 2, 6, 2, 90), 0, 10, model="normalized").notes == ()


def test_notes_without_games_are_those_of_the_hypotheses() -> None:
    assert [note.partition(" ")[0] for note in Sprt(-210, 30).state().notes] == ["0", "elo1", "elo0"]


def test_impossible_settings_and_counts_are_refused() -> None:
    for bounds in ((5, 0), (0, 0), (0, math.inf)):
        with pytest.raises(ValueError, match="elo0"):
            Sprt(*bounds)
    with pytest.raises(ValueError, match="alpha"):
        Sprt(0, 5, alpha=0)
    with pytest.raises(ValueError, match="alpha"):
        Sprt(0, 5, alpha=0.5, beta=0.5)
    with pytest.raises(ValueError, match="model"):
        Sprt(0, 5, model="bayesian")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="normalized Elo"):
        Sprt(0, 300, model="normalized")
    for counts in ((1, 2, 3), (1, 2, 3, 4, -1), (1, 2, 3, 4, math.nan)):
        with pytest.raises(ValueError, match="five counts"):
            sprt(counts, 0, 5)
    with pytest.raises(ValueError, match="expected 0, 1 or 2"):
        Sprt(0, 5).update(2, 3)


def test_the_command_prints_the_state(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--pentanomial", "10,20,300,30,12", "--elo0", "0", "--elo1", "5"])
    assert capsys.readouterr().out == "LLR 0.67 (-2.94 to 2.94): undecided; 372 pairs, score 0.509\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["1,2,3", "0", "5"], "pentanomial [1, 2, 3]: expected five counts"),
        (["1,2,3,4,-5", "0", "5"], "expected five counts from 0"),
        (["1,2,3,4,x", "0", "5"], "pentanomial '1,2,3,4,x': expected five counts with commas"),
        (["1,2,3,4,5", "5", "0"], "elo0 5.0, elo1 0.0: elo0 must be below elo1"),
        (["1,2,3,4,5", "x", "0"], "argument --elo0: invalid float value: 'x'"),
    ],
)
def test_the_command_refuses_in_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = stopped_line(main, ["--pentanomial", arguments[0], "--elo0", arguments[1], "--elo1", arguments[2]], capsys)
    assert line.startswith("sprt: ")
    assert message in line


def test_a_match_needs_no_scipy() -> None:
    code = "import sys, training.evaluation.match; assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def accepted_h1(shape: npt.NDArray[np.float64], elo0: float, elo1: float, *, truth: float, model: Model, tests: int, seed: int) -> float:
    """The share of simulated tests that accept H1, where the first agent is so much stronger. shape: [5] chances of equal agents."""

    def tilted(slope: float) -> npt.NDArray[np.float64]:
        weights = shape * np.exp(slope * (SCORES - 0.5))
        chances: npt.NDArray[np.float64] = weights / weights.sum()
        return chances

    def excess(slope: float) -> float:
        chances = tilted(slope)
        mean = chances @ SCORES
        if model == "logistic":
            return float(mean - 1 / (1 + 10 ** (-truth / 400)))
        return float((mean - 0.5) / math.sqrt(2 * (chances @ (SCORES - mean) ** 2)) - truth * math.log(10) / 800)

    rng, chances, accepted = np.random.default_rng(seed), tilted(brentq(excess, -20, 20)), 0
    for _ in range(tests):
        counts, decision = np.zeros(5), None
        while decision is None:
            counts += rng.multinomial(2, chances)
            decision = sprt(counts, elo0, elo1, model=model).decision
        accepted += decision == "H1"
    return accepted / tests


# Pairs as two evenly matched Othello agents play them from random openings: few draws, most pairs
# split.
OTHELLO = np.array([0.2, 0.02, 0.56, 0.02, 0.2])


def test_a_clear_difference_is_accepted() -> None:
    assert accepted_h1(OTHELLO, 0, 60, truth=150, model="logistic", tests=20, seed=0) == 1
    assert accepted_h1(OTHELLO, 0, 60, truth=-90, model="logistic", tests=20, seed=0) == 0


@pytest.mark.slow
@pytest.mark.parametrize("model", ["logistic", "normalized"])
def test_wrong_decisions_are_as_rare_as_promised(model: Model) -> None:
    # 400 tests with 5% errors: 20 expected, with a deviation of 4.4; 0.08 is 2.8 of them above.
    assert accepted_h1(OTHELLO, 0, 60, truth=0, model=model, tests=400, seed=1) < 0.08
    assert accepted_h1(OTHELLO, 0, 60, truth=60, model=model, tests=400, seed=2) > 0.92
