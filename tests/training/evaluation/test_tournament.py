from __future__ import annotations

import hashlib
import io
import json
import random
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import Agent
from othello_env import PositionBatch
from tests.conftest import REPOSITORY
from tests.training.evaluation import faulty_agents
from tests.training.evaluation.commands import stopped_line
from training.evaluation import tournament
from training.evaluation.journal import GameRecord, read_journal
from training.evaluation.match import main as match_main
from training.evaluation.openings import SOURCES
from training.evaluation.ratings import fit_ratings
from training.evaluation.standings import Standings
from training.evaluation.tournament import JOURNAL, Settings, format_cross_table, main, run_tournament, settings_of

PLAYERS = ("random", "greedy", "positional")
FAULTY = faulty_agents.__name__


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
        result = run_tournament(Settings(PLAYERS, schedule, games=6), tmp_path / schedule)  # type: ignore[arg-type]
        standings = result.standings
        assert result.sprt is None
        assert set(standings.pairs) == meetings
        assert all(counts.num_pairs == 3 for counts in standings.pairs.values())
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
    one = run_tournament(settings, tmp_path).standings
    before = (tmp_path / JOURNAL).read_bytes()
    again = run_tournament(settings, tmp_path).standings
    assert (tmp_path / JOURNAL).read_bytes() == before
    assert format_cross_table(again) == format_cross_table(one)
    assert settings_of(tmp_path) == settings
    for other in (Settings(PLAYERS, games=6), Settings(PLAYERS[:2], games=4), Settings(PLAYERS, games=4, seed=1)):
        with pytest.raises(ValueError, match="choose another folder"):
            run_tournament(other, tmp_path)


def test_an_interrupted_tournament_ends_with_the_same_games(tmp_path: Path) -> None:
    settings = Settings(PLAYERS, games=30)
    whole = run_tournament(settings, tmp_path / "whole").standings

    class StopError(Exception):
        pass

    def stop_after(number: int, standings: Standings) -> None:
        if standings.games >= number:
            raise StopError

    for number in (1, 2, 17, 50, 71, 89):
        with pytest.raises(StopError):
            run_tournament(settings, tmp_path / "parts", progress=lambda standings, _, number=number: stop_after(number, standings))  # type: ignore[misc]
    parts = run_tournament(settings, tmp_path / "parts").standings
    assert moves_of(tmp_path / "parts") == moves_of(tmp_path / "whole")
    assert fit_ratings(parts.pairs, players=parts.players).players == fit_ratings(whole.pairs, players=whole.players).players


def test_faulty_agents_lose_their_games_in_this_process(tmp_path: Path) -> None:
    makers = {"raising": faulty_agents.raising, "illegal": faulty_agents.illegal, "invalid_output": faulty_agents.invalid_output}
    settings = Settings((*makers, "greedy"), games=8)
    standings = run_tournament(settings, tmp_path, players=makers).standings
    assert standings.games == settings.total_games
    assert standings.totals["greedy"].faults == {}
    assert {name: set(standings.totals[name].faults) for name in makers} == {
        "raising": {"error"},
        "illegal": {"illegal move"},
        "invalid_output": {"invalid output"},
    }
    assert "faults" in format_cross_table(standings)


@pytest.mark.slow
def test_agents_that_do_each_lose_and_the_rest_goes_on(tmp_path: Path) -> None:
    names = ("raising", "illegal", "invalid_output", "hanging", "dying")
    makers = {name: getattr(faulty_agents, name) for name in names}
    settings = Settings((*names, "greedy"), games=4, move_seconds=1.0)
    standings = run_tournament(settings, tmp_path, players=makers, workers=2).standings
    assert standings.games == settings.total_games
    assert {name: set(standings.totals[name].faults) for name in settings.players} == {
        "raising": {"error"},
        "illegal": {"illegal move"},
        "invalid_output": {"invalid output"},
        "hanging": {"timeout"},
        "dying": {"died"},
        "greedy": set(),
    }


def test_the_cross_table_is_what_was_played(tmp_path: Path) -> None:
    standings = run_tournament(Settings(("greedy", "random"), games=40), tmp_path).standings
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
    assert "has a tournament: --resume goes on with it" in stopped_line(main, arguments, capsys)
    assert "with games 20, not 22; choose another folder" in stopped_line(main, [*arguments, "--resume", "--games", "22"], capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random", "--out", "x"], "at least 2"),
        (["random", "nobody", "--out", "x"], "no agent 'nobody'"),
        (["random", "greedy", "--out", "x", "--games", "7"], "games 7"),
        (["random", "greedy", "--out", "x", "--openings", "random:x"], f"openings 'random:x': expected {SOURCES}"),
        (["random", "greedy", "--out", "x", "--openings", "/does/not/exist"], f"openings '/does/not/exist': expected {SOURCES}"),
        (["random", "ntuple", "--out", "x", "--board-size", "6"], "ntuple plays on board_size 8, not 6"),
        (["random", "ntuple", "--out", "x", "--board-size", "4", "--workers", "0", "--openings", "start"], "ntuple plays on board_size 8"),
        (["random", f"factory:{FAULTY}:impossible", "--out", "x"], "RuntimeError: cannot be constructed"),
        (["random", f"factory:{FAULTY}:no_agent", "--out", "x", "--workers", "0"], "expected an agent"),
        (["random", f"factory:{FAULTY}:nameless", "--out", "x"], "expected an agent, with a name"),
        (["random", "greedy", "--out", "x", "--seed", "-1"], "argument --seed: '-1'"),
        (["random", "greedy", "--out", "x", "--build-seconds", "0"], "build_seconds 0.0: must be positive"),
        (["random", "greedy", "--out", "x", "--anchor", "random"], "anchor 'random'"),
        (["random", "greedy", "--out", "x", "--anchor", "nobody=3"], "not among the agents"),
        (["random", "greedy", "--out", "x", "--workers", "-1"], "workers -1"),
        (["random", "greedy", "--out", "x", "--move-seconds", "0"], "move_seconds 0"),
        (["--resume", "--out", "/does/not/exist"], "/does/not/exist"),
        (["random", "--resume", "--out", "x"], "at least 2"),
    ],
)
def test_bad_arguments_are_named_in_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    line = stopped_line(main, arguments, capsys)
    assert line.startswith("tournament: ")
    assert message in line
    assert not (tmp_path / "x").exists()


def test_a_sequential_test_ends_the_match_at_the_same_pair_however_the_games_arrive(tmp_path: Path) -> None:
    settings = Settings(("greedy", "random"), games=400, sprt=(0, 50))
    results = [run_tournament(settings, tmp_path / str(workers), workers=workers) for workers in (0, 2)]
    assert moves_of(tmp_path / "0") == moves_of(tmp_path / "2")
    for result in results:
        assert 0 < result.standings.games < 400
        assert result.sprt is not None
        assert result.sprt.decision == "H1"
        assert result.sprt == results[0].sprt
    lines = (tmp_path / "2" / JOURNAL).read_bytes()
    again = run_tournament(settings, tmp_path / "2")  # there is nothing left to play
    assert again.sprt == results[0].sprt
    assert again.standings.games == results[1].standings.games
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
    whole = run_tournament(settings, tmp_path / "whole", workers=2).standings
    out = tmp_path / "killed"
    begin = [*players, "--games", "600", "--seed", "4", "--out", str(out)]
    randomness = random.Random(1)
    for _ in range(20):
        before = lines_of(out / JOURNAL)
        rest = ["--out", str(out), "--resume"] if before else begin
        process = subprocess.Popen(command(*rest, "--workers", "2"), cwd=REPOSITORY, stderr=subprocess.DEVNULL)
        try:
            # Some are killed while they start, the others after some games; blocks end in bursts of
            # up to 76 games a worker.
            deadline = time.monotonic() + randomness.choice([0.5, 1.5, 60, 60])
            enough = before + randomness.randint(1, 120)
            while time.monotonic() < deadline and lines_of(out / JOURNAL) < enough:
                time.sleep(0.003)
            assert process.poll() is None
        finally:
            process.kill()
            process.wait()
    assert len(moves_of(out)) < settings.total_games
    parts = run_tournament(settings, out, workers=2).standings
    assert moves_of(out) == moves_of(tmp_path / "whole")
    assert fit_ratings(parts.pairs, players=parts.players).players == fit_ratings(whole.pairs, players=whole.players).players


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.is_file() else 0


@pytest.mark.slow
def test_league_mode_reproduces_the_published_scores(shared_data: Path, tmp_path: Path) -> None:
    """4,000 games each against SWH with 10% random moves: .958 +- .015 and .730 +- .02 in the literature."""
    players = tuple(f"league:{shared_data / 'players' / name}.txt" for name in ("all-2-tuples", "cocmaes-4+2x2"))
    settings = Settings(("positional:table=swh", *players), "gauntlet", games=4000, openings="start", epsilon=0.1)
    standings = run_tournament(settings, tmp_path, workers=2).standings
    scores = [standings.totals[player].points / 4000 for player in players]
    assert scores == [pytest.approx(0.958, abs=0.015), pytest.approx(0.730, abs=0.02)]


@pytest.mark.slow
def test_the_published_cross_table_comes_out_again(shared_data: Path, tmp_path: Path) -> None:
    """500 openings of 11 discs, both colours, without randomness; the literature's scores have intervals of 0.03."""
    all_2, cocmaes = (f"league:{shared_data / 'players' / name}.txt" for name in ("all-2-tuples", "cocmaes-4+2x2"))
    swh, bench, heur = (f"positional:table={table}" for table in ("swh", "bench", "heur"))
    settings = Settings((cocmaes, all_2, heur, bench, swh), games=1000, openings=str(shared_data / "openings-11-discs.txt"))
    standings = run_tournament(settings, tmp_path, workers=2).standings
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
        assert standings.pair_counts(one, other).score == pytest.approx(score, abs=0.03), (one, other)


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
    with pytest.raises(ValueError, match="have changed since the tournament began"):
        run_tournament(settings, tmp_path / "out")


@pytest.mark.parametrize("rest", [b"", b'{"session":{"form'])
def test_a_journal_without_a_whole_line_is_begun_again(tmp_path: Path, rest: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / JOURNAL).write_bytes(rest)
    assert "nothing in it to go on with" in stopped_line(main, ["--out", str(tmp_path), "--resume", "--workers", "0"], capsys)
    main(["random", "greedy", "--games", "2", "--out", str(tmp_path), "--workers", "0"])
    assert len(moves_of(tmp_path)) == 2


def test_a_resumed_tournament_keeps_its_limit_of_time(tmp_path: Path) -> None:
    run_tournament(Settings(("random", "greedy"), games=2, move_seconds=7.0), tmp_path)
    assert settings_of(tmp_path).move_seconds == 7


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(PLAYERS, games=20, openings="random:6", epsilon=0.1, seed=3), "79b49e26bcea0aa7"),
        (Settings(("beginner", "random"), games=40, openings="random:3", board_size=6, seed=1), "68c6759ef854c469"),
        (Settings(("random", "illegal", "raising"), games=10, openings="random:3", epsilon=0.2, seed=1), "2aa5e1c78a62a40b"),
    ],
)
def test_the_games_are_those_of_format_1_so_that_earlier_tournaments_can_go_on(settings: Settings, expected: str, tmp_path: Path) -> None:
    """The hashes are those of the version before format 2."""
    makers = {"illegal": faulty_agents.illegal, "raising": faulty_agents.raising}
    run_tournament(settings, tmp_path, players=makers)
    records = [entry for entry in read_journal(tmp_path / JOURNAL) if isinstance(entry, GameRecord)]
    games = sorted((one.game, one.black, one.opening, one.moves, one.black_score, one.disc_difference) for one in records)
    assert hashlib.sha256(json.dumps(games).encode()).hexdigest()[:16] == expected


def test_a_tournament_of_format_1_goes_on_with_its_games(tmp_path: Path) -> None:
    settings = Settings(("random", "invalid_output"), games=12, seed=5)
    makers = {"invalid_output": faulty_agents.invalid_output}
    whole = run_tournament(settings, tmp_path / "whole", players=makers).standings
    assert whole.totals["invalid_output"].faults == {"invalid output": whole.reasons["invalid output"]}
    session, *games = (tmp_path / "whole" / JOURNAL).read_text(encoding="utf-8").splitlines(keepends=True)
    earlier = [session.replace('"format":2', '"format":1'), *(game.replace("invalid output", "rubbish") for game in games[:7])]
    assert "rubbish" in earlier[-1] + earlier[-2] + earlier[-3]
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / JOURNAL).write_text("".join(earlier), encoding="utf-8")
    resumed = run_tournament(settings, tmp_path / "old", players=makers).standings
    assert moves_of(tmp_path / "old") == moves_of(tmp_path / "whole")
    assert resumed.reasons == whole.reasons


def test_a_journal_of_a_later_format_or_of_a_match_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_tournament(Settings(("random", "greedy"), games=2), tmp_path / "later")
    path = tmp_path / "later" / JOURNAL
    path.write_text(path.read_text(encoding="utf-8").replace('"format":2', '"format":3'), encoding="utf-8")
    match_main(["random", "greedy", "--games", "2", "--out", str(tmp_path / "match")])
    capsys.readouterr()
    for folder, message in (
        ("later", "a session of format 3; this version reads formats 1 and 2"),
        ("match", "games of a match, not of a"),
    ):
        for arguments in (["--resume"], ["random", "greedy", "--games", "2", "--resume"]):
            assert message in stopped_line(main, [*arguments, "--out", str(tmp_path / folder), "--workers", "0"], capsys)


def test_agents_that_die_before_their_first_game_forfeit_and_the_others_play(tmp_path: Path) -> None:
    names = ("dying_construction", "dying_first_call")
    makers = {name: getattr(faulty_agents, name) for name in names}
    settings = Settings((*names, "random", "greedy"), games=2)
    standings = run_tournament(settings, tmp_path, players=makers, workers=2).standings
    assert standings.games == settings.total_games == 12
    assert standings.reasons == {"died": 10, "played out": 2}
    assert {name: set(standings.totals[name].faults) for name in ("random", "greedy")} == {"random": set(), "greedy": set()}
    for name in names:
        assert standings.totals[name].games == 6
        for other in ("random", "greedy"):
            assert standings.pair_counts(name, other).losses == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_progress_is_told_of_the_moves_between_games(tmp_path: Path, workers: int) -> None:
    seen: list[tuple[int, float]] = []
    settings = Settings(("random", "greedy"), games=16)
    run_tournament(settings, tmp_path, workers=workers, progress=lambda standings, in_play: seen.append((standings.games, in_play)))
    assert seen[0][0] == 0
    assert seen[0][1] < 1
    assert seen[-1] == (16, 0.0)
    assert any(in_play > 0.5 for _, in_play in seen)
    assert all(0 <= games + in_play <= 16 + 1e-9 for games, in_play in seen)
    if not workers:
        assert [games + in_play for games, in_play in seen] == sorted(games + in_play for games, in_play in seen)


def test_the_time_left_does_not_count_the_start(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten of 60 games are done before; processes start for 100 seconds, and the first moves of each of two workers take 10 more."""
    clock = [0.0]
    monkeypatch.setattr("training.evaluation.tournament.time.monotonic", lambda: clock[0])
    standings = Standings(games=10)
    with tournament._Display(Settings(("random", "greedy"), games=60), workers=2) as display:
        for call in range(10):
            clock[0] = 100.0 + call * 10 / 9
            display(standings, 0.025 * call)
        capsys.readouterr()
        clock[0] = 111.0
        display(standings, 0.5)  # too soon for another line
        assert capsys.readouterr().err == ""
        clock[0] = 150.0
        standings.games = 15
        display(standings, 5.225)
    assert capsys.readouterr().err == "15/60 games, 0.3 games/s, time left 0:02:39\n"


def test_a_short_tournament_has_its_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    with tournament._Display(Settings(("random", "greedy"), games=2), workers=8) as display:
        display(Standings(games=2), 0.0)
    assert capsys.readouterr().err == "2/2 games, 0.0 games/s, time left unknown\n"


def test_ctrl_c_keeps_the_games_and_says_how_to_go_on(tmp_path: Path) -> None:
    spec = "factory:tests.training.evaluation.test_tournament:interrupting"
    arguments = ["random", spec, "--games", "20", "--workers", "0", "--out", str(tmp_path / "a folder")]
    code = "import sys; from training.evaluation.tournament import main; main(sys.argv[1:])"
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert run.returncode == 130
    assert run.stderr.count("\n") == 1
    message, _, resume = run.stderr.strip().partition("To go on: ")
    assert message == "tournament: interrupted; all finished games are kept. "
    assert shlex.split(resume)[1:] == ["-m", "training.evaluation.tournament", "--out", str(tmp_path / "a folder"), "--resume"]
    assert 0 < len(moves_of(tmp_path / "a folder")) < 20


def interrupting() -> Agent:
    """Interrupts the process in its third block, as Ctrl-C does."""
    blocks: list[int] = []

    def fail(positions: PositionBatch, moves: Any) -> Any:
        if positions.empties.max() == 52:
            blocks.append(len(positions))
        if len(blocks) == 3:
            raise KeyboardInterrupt
        return moves

    return faulty_agents.Faulty("interrupting", fail, empties=64)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
def test_the_bar_needs_no_escape_sequences(terminal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setattr("training.evaluation.tournament._SHOW_SECONDS", 0.0)
    main(["random", "greedy", "--games", "20", "--workers", "0", "--out", str(tmp_path / "out")])
    assert "\x1b" not in shown.getvalue()
    assert "20/20 [" in shown.getvalue()
    assert re.search(r"games/s, (greedy|random) [01]\.\d{3}, (greedy|random) [01]\.\d{3}", shown.getvalue())
