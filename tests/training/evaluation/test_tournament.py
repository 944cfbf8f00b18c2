from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import REPOSITORY
from tests.training.evaluation import faulty_agents
from training.evaluation.journal import GameRecord, read_journal
from training.evaluation.ratings import fit_ratings
from training.evaluation.standings import Standings, pair_shares
from training.evaluation.tournament import JOURNAL, SequentialTest, Settings, format_cross_table, main, run_tournament, settings_of

PLAYERS = ("random", "greedy", "positional")


def moves_of(out: Path) -> dict[int, str]:
    records = [entry for entry in read_journal(out / JOURNAL) if isinstance(entry, GameRecord)]
    moves = {record.game: record.moves for record in records}
    assert len(moves) == len(records)
    return moves


def test_every_two_players_meet_as_often_as_the_schedule_says(tmp_path: Path) -> None:
    for schedule, meetings in (
        ("round_robin", {("random", "greedy"), ("random", "positional"), ("greedy", "positional")}),
        ("gauntlet", {("random", "greedy"), ("random", "positional")}),
        ("ladder", {("random", "greedy"), ("greedy", "positional")}),
    ):
        standings = run_tournament(Settings(PLAYERS, schedule, games=6), tmp_path / schedule)  # type: ignore[arg-type]
        assert set(standings.pairs) == meetings
        assert all(counts.sum() == 3 for counts in standings.pairs.values())
        assert not standings.incomplete
        assert standings.games == 6 * len(meetings)


def test_both_games_of_a_pair_begin_alike_and_all_pairings_get_the_same_openings(tmp_path: Path) -> None:
    run_tournament(Settings(PLAYERS, games=40), tmp_path)
    records = {entry.game: entry for entry in read_journal(tmp_path / JOURNAL) if isinstance(entry, GameRecord)}
    for game in range(0, 120, 2):
        first, second = records[game], records[game + 1]
        assert (first.black, first.white) == (second.white, second.black)
        assert first.opening == second.opening == records[game % 40].opening
    assert len({record.opening for record in records.values()}) == 20
    assert all(record.replayed().final.is_over for record in records.values())


def test_a_finished_tournament_is_not_played_again_and_another_one_is_refused(tmp_path: Path) -> None:
    settings = Settings(PLAYERS, games=4)
    one = run_tournament(settings, tmp_path)
    before = (tmp_path / JOURNAL).read_bytes()
    again = run_tournament(settings, tmp_path)
    assert (tmp_path / JOURNAL).read_bytes() == before
    assert format_cross_table(again) == format_cross_table(one)
    assert settings_of(tmp_path) == settings
    for other in (Settings(PLAYERS, games=6), Settings(PLAYERS[:2], games=4), Settings(PLAYERS, games=4, seed=1)):
        with pytest.raises(ValueError, match="choose another folder"):
            run_tournament(other, tmp_path)


def test_an_interrupted_tournament_ends_with_the_same_games(tmp_path: Path) -> None:
    settings = Settings(PLAYERS, games=30)
    whole = run_tournament(settings, tmp_path / "whole")

    class StopError(Exception):
        pass

    def stop_after(number: int, standings: Standings) -> None:
        if standings.games == number:
            raise StopError

    for number in (1, 2, 17, 50, 71, 89):
        with pytest.raises(StopError):
            run_tournament(settings, tmp_path / "parts", progress=lambda standings, number=number: stop_after(number, standings))  # type: ignore[misc]
    parts = run_tournament(settings, tmp_path / "parts")
    assert moves_of(tmp_path / "parts") == moves_of(tmp_path / "whole")
    assert fit_ratings(parts.pairs, players=parts.players).players == fit_ratings(whole.pairs, players=whole.players).players


def test_faulty_agents_lose_their_games_in_this_process(tmp_path: Path) -> None:
    makers = {"raising": faulty_agents.raising, "illegal": faulty_agents.illegal, "rubbish": faulty_agents.rubbish}
    settings = Settings((*makers, "greedy"), games=8)
    standings = run_tournament(settings, tmp_path, players=makers)
    assert standings.games == settings.total_games
    assert standings.totals["greedy"].faults == {}
    assert {name: set(standings.totals[name].faults) for name in makers} == {
        "raising": {"error"},
        "illegal": {"illegal move"},
        "rubbish": {"rubbish"},
    }
    assert "faults" in format_cross_table(standings)


@pytest.mark.slow
def test_agents_that_do_each_lose_and_the_rest_goes_on(tmp_path: Path) -> None:
    names = ("raising", "illegal", "rubbish", "hanging", "dying")
    makers = {name: getattr(faulty_agents, name) for name in names}
    settings = Settings((*names, "greedy"), games=4, move_seconds=1.0)
    standings = run_tournament(settings, tmp_path, players=makers, workers=2)
    assert standings.games == settings.total_games
    assert {name: set(standings.totals[name].faults) for name in settings.players} == {
        "raising": {"error"},
        "illegal": {"illegal move"},
        "rubbish": {"rubbish"},
        "hanging": {"timeout"},
        "dying": {"died"},
        "greedy": set(),
    }


def test_the_cross_table_is_what_was_played(tmp_path: Path) -> None:
    standings = run_tournament(Settings(("greedy", "random"), games=40), tmp_path)
    points = standings.totals["greedy"].points
    lines = format_cross_table(standings).splitlines()
    assert lines[1].split() == ["1", "greedy", "-", f"{points / 40:.3f}", f"{points / 40:.3f}", "40", "0"]
    assert lines[2].split() == ["2", "random", f"{1 - points / 40:.3f}", "-", f"{1 - points / 40:.3f}", "40", "0"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"players": ("random",)}, "at least 2"),
        ({"players": ("random", "greedy", "random")}, "'random' comes twice"),
        ({"games": 3}, "games 3"),
        ({"games": 0}, "games 0"),
        ({"epsilon": 1.5}, "epsilon 1.5"),
        ({"seed": -1}, "seed -1"),
        ({"schedule": "swiss"}, "round_robin, gauntlet, ladder"),
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**{"players": PLAYERS, **changes})  # type: ignore[arg-type]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "training.evaluation.tournament", *arguments]


def test_the_command_plays_resumes_and_prints_ratings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    arguments = ["random", "greedy", "positional", "--games", "20", "--out", out, "--workers", "0", "--anchor", "random=0"]
    main(arguments)
    first = capsys.readouterr()
    assert "60/60 games" in first.err
    assert "report" in first.out
    lines = (tmp_path / "out" / JOURNAL).read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "out" / JOURNAL).write_text("".join(lines[:20]) + lines[20][:30], encoding="utf-8")
    main(["--out", out, "--resume", "--workers", "0", "--anchor", "random=0"])
    assert capsys.readouterr().out == first.out
    main([*arguments, "--resume"])
    assert capsys.readouterr().out == first.out
    with pytest.raises(SystemExit, match="has a tournament: --resume goes on with it"):
        main(arguments)
    with pytest.raises(SystemExit, match="with games 20, not 22; choose another folder"):
        main([*arguments, "--resume", "--games", "22"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random", "--out", "x"], "at least 2"),
        (["random", "nobody", "--out", "x"], "no agent 'nobody'"),
        (["random", "greedy", "--out", "x", "--games", "7"], "games 7"),
        (["random", "greedy", "--out", "x", "--openings", "random:x"], "number of plies"),
        (["random", "greedy", "--out", "x", "--openings", "/does/not/exist"], "/does/not/exist"),
        (["random", "greedy", "--out", "x", "--anchor", "random"], "anchor 'random'"),
        (["random", "greedy", "--out", "x", "--anchor", "nobody=3"], "not among the agents"),
        (["random", "greedy", "--out", "x", "--workers", "-1"], "workers -1"),
        (["random", "greedy", "--out", "x", "--move-seconds", "0"], "move_seconds 0"),
        (["--resume", "--out", "/does/not/exist"], "/does/not/exist"),
        (["random", "--resume", "--out", "x"], "at least 2"),
    ],
)
def test_bad_arguments_are_named_in_one_line(arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=re.escape(message)) as caught:
        main(arguments)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "x" / JOURNAL).exists()


def test_a_sequential_test_ends_the_match_at_the_same_pair_however_the_games_arrive(tmp_path: Path) -> None:
    settings = Settings(("greedy", "random"), games=400, sprt=(0, 50))
    for workers in (0, 2):
        standings = run_tournament(settings, tmp_path / str(workers), workers=workers)
        assert 0 < standings.games < 400
    assert moves_of(tmp_path / "0") == moves_of(tmp_path / "2")
    texts = []
    for workers in (0, 2):
        test = SequentialTest(settings)
        for entry in read_journal(tmp_path / str(workers) / JOURNAL):
            if isinstance(entry, GameRecord):
                test.add(entry)
        assert test.is_decided
        texts.append(test.text)
    assert texts[0] == texts[1]
    assert "H1 accepted" in texts[0]
    before = standings.games
    lines = (tmp_path / "2" / JOURNAL).read_bytes()
    assert run_tournament(settings, tmp_path / "2").games == before  # there is nothing left to play
    assert (tmp_path / "2" / JOURNAL).read_bytes() == lines
    with pytest.raises(ValueError, match="it is for two"):
        Settings(PLAYERS, sprt=(0, 50))
    with pytest.raises(ValueError, match="elo"):
        Settings(PLAYERS[:2], sprt=(50, 0))


@pytest.mark.slow
def test_killed_twenty_times_a_tournament_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """SIGKILL at random moments, with two workers; the games and ratings are those of a run in one go."""
    players = ["random", "greedy", "positional", "heuristics", "mcts:simulations=10"]
    settings = Settings(tuple(players), games=600, seed=4)
    whole = run_tournament(settings, tmp_path / "whole", workers=2)
    out = tmp_path / "killed"
    begin = [*players, "--games", "600", "--seed", "4", "--out", str(out)]
    randomness = random.Random(1)
    for _ in range(20):
        before = lines_of(out / JOURNAL)
        rest = ["--out", str(out), "--resume"] if before else begin
        process = subprocess.Popen(command(*rest, "--workers", "2"), cwd=REPOSITORY, stderr=subprocess.DEVNULL)
        try:
            # Some are killed while they start, the others after some games; blocks end in bursts of up to 76 games a worker.
            deadline = time.monotonic() + randomness.choice([0.5, 1.5, 60, 60])
            enough = before + randomness.randint(1, 120)
            while time.monotonic() < deadline and lines_of(out / JOURNAL) < enough:
                time.sleep(0.003)
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()
    assert len(moves_of(out)) < settings.total_games
    parts = run_tournament(settings, out, workers=2)
    assert moves_of(out) == moves_of(tmp_path / "whole")
    assert fit_ratings(parts.pairs, players=parts.players).players == fit_ratings(whole.pairs, players=whole.players).players


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.is_file() else 0


@pytest.mark.slow
def test_league_mode_reproduces_the_published_scores(shared_data: Path, tmp_path: Path) -> None:
    """4,000 games each against SWH with 10% random moves: .958 +- .015 and .730 +- .02 in the literature."""
    players = tuple(f"league:{shared_data / 'players' / name}.txt" for name in ("all-2-tuples", "cocmaes-4+2x2"))
    settings = Settings(("positional:table=swh", *players), "gauntlet", games=4000, openings="start", epsilon=0.1)
    standings = run_tournament(settings, tmp_path, workers=2)
    scores = [standings.totals[player].points / 4000 for player in players]
    assert scores == [pytest.approx(0.958, abs=0.015), pytest.approx(0.730, abs=0.02)]


@pytest.mark.slow
def test_the_published_cross_table_comes_out_again(shared_data: Path, tmp_path: Path) -> None:
    """500 openings of 11 discs, both colours, without randomness; the literature's scores have intervals of 0.03."""
    all_2, cocmaes = (f"league:{shared_data / 'players' / name}.txt" for name in ("all-2-tuples", "cocmaes-4+2x2"))
    swh, bench, heur = (f"positional:table={table}" for table in ("swh", "bench", "heur"))
    settings = Settings((cocmaes, all_2, heur, bench, swh), games=1000, openings=str(shared_data / "openings-11-discs.txt"))
    standings = run_tournament(settings, tmp_path, workers=2)
    expected = {
        (cocmaes, swh): 0.805,
        (all_2, swh): 0.977,
        (heur, swh): 0.492,
        (bench, swh): 0.543,
        (all_2, cocmaes): 0.059,
        (heur, cocmaes): 0.175,
        (bench, cocmaes): 0.043,
    }
    for (one, other), score in expected.items():
        counts = standings.pair_counts(one, other)
        assert (counts * pair_shares()).sum() / 500 == pytest.approx(score, abs=0.03), (one, other)


def test_sessions_say_with_what_the_games_were_played(tmp_path: Path) -> None:
    run_tournament(Settings(("random", "greedy"), games=2), tmp_path)
    first = json.loads((tmp_path / JOURNAL).read_text(encoding="utf-8").splitlines()[0])["session"]
    assert first["settings"]["players"] == ["random", "greedy"]
    assert first["versions"]["numpy"] == np.__version__
    assert first["started"].endswith("Z")


def test_openings_that_have_changed_are_noticed(tmp_path: Path) -> None:
    openings = tmp_path / "openings.txt"
    openings.write_text("f5d6\nf5f6\n", encoding="utf-8")
    settings = Settings(("random", "greedy"), games=4, openings=str(openings))
    run_tournament(settings, tmp_path / "out")
    openings.write_text("f5d6\nf5f4\n", encoding="utf-8")
    with pytest.raises(ValueError, match="are not those that it was begun with"):
        run_tournament(settings, tmp_path / "out")


@pytest.mark.parametrize("rest", [b"", b'{"session":{"form'])
def test_a_journal_without_a_whole_line_is_begun_again(tmp_path: Path, rest: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / JOURNAL).write_bytes(rest)
    with pytest.raises(SystemExit, match="nothing in it to go on with"):
        main(["--out", str(tmp_path), "--resume", "--workers", "0"])
    main(["random", "greedy", "--games", "2", "--out", str(tmp_path), "--workers", "0"])
    assert len(moves_of(tmp_path)) == 2


def test_a_resumed_tournament_keeps_its_limit_of_time(tmp_path: Path) -> None:
    run_tournament(Settings(("random", "greedy"), games=2, move_seconds=7.0), tmp_path)
    assert settings_of(tmp_path).move_seconds == 7


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("terminal", "redraws"), [("xterm", True), ("dumb", False)])
def test_the_table_is_drawn_again_only_on_terminals_that_understand_it(
    terminal: str, redraws: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setattr("training.evaluation.tournament._DRAW_SECONDS", 0.0)
    main(["random", "greedy", "--games", "20", "--workers", "0", "--out", str(tmp_path / "out")])
    assert ("\x1b[" in shown.getvalue()) == redraws
    assert "20/20 games" in shown.getvalue()
