from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import Agent, make_agent
from agents.base import Moves
from othello_env import Game, Position, PositionBatch
from othello_env.agent import AgentError
from othello_env.command import Progress
from tests.conftest import REPOSITORY
from tests.training.evaluation import faulty_agents
from tests.training.evaluation.commands import stopped_line
from training.evaluation import match
from training.evaluation.journal import JOURNAL, GameRecord, read_journal
from training.evaluation.match import Match, format_results, main, play_match
from training.evaluation.openings import SOURCES, OpeningBook, random_openings
from training.evaluation.results import MatchResult


@dataclass
class Scripted:
    """Plays what a function says, and remembers which sides it played."""

    name: str
    choose: Callable[[PositionBatch, np.random.Generator], Any] | None = None

    def __post_init__(self) -> None:
        self.sides: set[int] = set()

    def select_moves(self, positions: PositionBatch, rng: np.random.Generator) -> Moves:
        assert not positions.is_over.any()
        self.sides |= set(positions.side_to_move.tolist())
        moves: Moves = positions.sample_moves(rng) if self.choose is None else self.choose(positions, rng)
        return moves


def test_every_opening_is_played_with_both_colors() -> None:
    # From here Black, to move, wins at once with a1: whoever has Black wins, so both agents score
    # one half.
    opening = Position.parse("-OX" + "-" * 61 + "X")
    first, second = Scripted("first"), Scripted("second")
    result = play_match(first, second, [opening] * 10)
    assert result.scores.tolist() == [[1.0, 0.0]] * 10
    assert result.disc_differences.tolist() == [[3, -3]] * 10
    assert (result.games, result.wins, result.draws, result.losses, result.score) == (20, 10, 0, 10, 0.5)
    assert first.sides == second.sides == {0}


def test_scores_and_disc_differences_are_the_first_agents() -> None:
    result = play_match(make_agent("positional"), make_agent("random"), random_openings(200, 4, rng=np.random.default_rng(0)), seed=1)
    assert result.score > 0.7
    swapped = play_match(make_agent("random"), make_agent("positional"), random_openings(200, 4, rng=np.random.default_rng(0)), seed=1)
    assert swapped.score < 0.3
    np.testing.assert_array_equal((np.sign(result.disc_differences) + 1) / 2, result.scores)
    assert result.wins + result.draws + result.losses == result.games == 400


def test_a_match_repeats_with_its_seed() -> None:
    openings = random_openings(50, 6, rng=np.random.default_rng(0))
    results = [play_match(make_agent("random"), make_agent("greedy"), openings, seed=seed) for seed in (1, 1, 2)]
    assert results[0].disc_differences.tolist() == results[1].disc_differences.tolist() != results[2].disc_differences.tolist()


def first_legal(positions: PositionBatch, rng: np.random.Generator) -> Moves:
    lowest: Moves = positions.legal_action_mask().argmax(axis=1)
    return lowest


def test_pairs_are_split_over_batches_in_their_order() -> None:
    openings = random_openings(23, 6, rng=np.random.default_rng(0))
    last_legal = Scripted("last", lambda positions, rng: 64 - positions.legal_action_mask()[:, ::-1].argmax(axis=1))
    whole = play_match(Scripted("first", first_legal), last_legal, openings)
    sizes: list[int] = []

    def watch(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        sizes.append(len(positions))
        return first_legal(positions, rng)

    parts = play_match(Scripted("first", watch), last_legal, openings, batch_size=10)
    assert parts.disc_differences.tolist() == whole.disc_differences.tolist()
    assert sizes[0] == 5  # five pairs in a batch; the other agent is to move in their other games


def test_batches_grow_from_the_first_to_the_largest_size() -> None:
    sizes: list[int] = []

    def note(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        if positions.empties.max() == 60:
            sizes.append(len(positions))  # one of the two games of each pair
        return first_legal(positions, rng)

    play_out(Match(Scripted("one", note), Scripted("two"), [Position.start()] * 30, batch_size=16, first_batch_size=4))
    assert sizes == [2, 4, 8, 8, 8]


def play_out(match: Match) -> None:
    while match.step():
        pass


def test_a_match_in_progress_has_the_result_of_its_complete_pairs() -> None:
    openings = random_openings(20, 6, rng=np.random.default_rng(0))
    agents = make_agent("positional"), make_agent("greedy")
    match = Match(*agents, openings, seed=2, batch_size=20)
    whole = play_match(*agents, openings, seed=2, batch_size=20)
    assert match.result.games == match.num_moves == 0
    seen, moves = [0], [0]
    while match.step():
        result = match.result
        assert result.games >= seen[-1]
        assert result.games <= match.num_games == 40
        seen.append(result.games)
        moves.append(match.num_moves)
        if result.games == 20:  # all of the first batch
            assert result.disc_differences.tolist() == whole.disc_differences[:10].tolist()
    assert set(seen) >= {0, 20, 40}
    assert moves == sorted(moves)
    assert match.num_moves == match.total_moves == 40 * 54
    assert match.result.disc_differences.tolist() == whole.disc_differences.tolist()
    assert match.result.distinct_pairs == whole.distinct_pairs
    assert not match.step()


def test_a_batch_counts_once_wherever_a_match_is_interrupted() -> None:
    class Interrupting(list[Any]):
        def append(self, item: Any) -> None:
            super().append(item)
            raise KeyboardInterrupt

    openings = [Position.start()] * 4
    match = Match(make_agent("random"), make_agent("random"), openings, batch_size=4)
    match._boards = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        play_out(match)
    assert match.result.games == 4
    assert match.result.disc_differences.tolist() == play_match(*match._agents, openings, batch_size=4).disc_differences[:2].tolist()


def test_games_are_told_when_they_end() -> None:
    openings: list[Position | Game] = [Game.random(6, np.random.default_rng(number)) for number in range(5)]
    openings.append(Position.parse("-OX" + "-" * 61 + "X"))
    match = Match(make_agent("positional"), make_agent("random"), openings, seed=7, batch_size=8)
    records: dict[int, GameRecord] = {}
    match.finished = lambda record: records.__setitem__(record.game, record)
    while match.step():
        assert len(records) >= match.result.games
    assert sorted(records) == list(range(12))
    for game, record in records.items():
        names = ("positional:table=swh", "random")
        assert (record.black, record.white) == (names if game % 2 == 0 else names[::-1])
        opening = openings[game // 2]
        assert record.opening == str(opening.final if isinstance(opening, Game) else opening)
        assert record.prefix == (str(opening) if isinstance(opening, Game) else "")
        assert record.seed == (7, game // 8)
        final = record.replayed().final
        assert final.is_over
        assert record.disc_difference == final.score("discs")
        assert match.result.disc_differences[game // 2, game % 2] == record.disc_difference * (1 - 2 * (game % 2))


def test_random_moves_of_both_sides_make_the_games_differ() -> None:
    agents = Scripted("one", first_legal), Scripted("two", first_legal)
    openings = [Position.start()] * 100
    assert len({tuple(row) for row in play_match(*agents, openings).disc_differences.tolist()}) == 1
    assert len({tuple(row) for row in play_match(*agents, openings, epsilon=0.1).disc_differences.tolist()}) > 50


def test_a_match_without_openings_or_with_an_impossible_chance_is_refused() -> None:
    agents = make_agent("random"), make_agent("random")
    with pytest.raises(ValueError, match="at least one opening"):
        play_match(*agents, [])
    with pytest.raises(ValueError, match="epsilon 1.5"):
        play_match(*agents, [Position.start()], epsilon=1.5)


@pytest.mark.parametrize(("move", "shown"), [(0, "a1"), (64, "pass"), (-1, "-1"), (100, "100")])
def test_an_agent_that_breaks_the_rules_is_named(move: int, shown: str) -> None:
    cheat = Scripted("cheat", lambda positions, rng: np.full(len(positions), move))
    pairs: list[tuple[Agent, Agent]] = [(cheat, make_agent("random")), (make_agent("random"), cheat)]
    for agents in pairs:
        with pytest.raises(AgentError, match=f"^cheat: illegal move: {shown} in -"):
            play_match(*agents, [Position.start()])


@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        (faulty_agents.raising, "^raising: error: RuntimeError: cannot think any more$"),
        (faulty_agents.speechless, "^speechless: error: _NoWordsError$"),
        (faulty_agents.leaving, "^leaving: error: SystemExit: 3$"),
        (faulty_agents.invalid_output, "^invalid_output: invalid output: object of shape"),
        (faulty_agents.wrong_shape, "^wrong_shape: invalid output: int64 of shape"),
        (faulty_agents.floating, "^floating: invalid output: float64 of shape"),
        (faulty_agents.huge, "^huge: illegal move: 18446744073709551615 in "),
        (faulty_agents.no_agent, "^str: error: AttributeError"),
    ],
)
def test_the_first_fault_ends_a_match_with_the_agent_and_the_reason(faulty: Callable[[], Any], message: str) -> None:
    with pytest.raises(AgentError, match=message):
        play_match(make_agent("random"), faulty(), [Position.start()] * 10)


def test_an_agent_without_a_name_has_that_of_its_type() -> None:
    assert play_match(faulty_agents.nameless(), make_agent("random"), [Position.start()]).agents == ("_FirstCall", "random")


@pytest.mark.parametrize("board_size", [4, 6])
def test_an_agent_that_cannot_play_on_the_board_is_refused_before_the_first_game(board_size: int) -> None:
    other = Scripted("other")
    pairs: list[tuple[Agent, Agent]] = [(make_agent("ntuple"), other), (other, make_agent("ntuple"))]
    for agents in pairs:
        with pytest.raises(ValueError, match=f"^ntuple plays on board_size 8, not {board_size}$"):
            Match(*agents, [Position.start(board_size)])
    assert other.sides == set()


def test_the_table_shows_wins_draws_and_losses_in_this_order() -> None:
    result = MatchResult(("one", "two"), np.array([[4, 0], [2, -2]]), 2)
    header, row = format_results([result]).splitlines()
    assert header.split() == ["agent", "opponent", "games", "wins", "draws", "losses", "score", "95%", "interval"]
    assert row.split()[:7] == ["one", "two", "4", "2", "1", "1", "0.625"]


def test_pairs_that_are_copies_of_each_other_count_once() -> None:
    agents = Scripted("one", first_legal), Scripted("two", first_legal)
    start = play_match(*agents, [Position.start()] * 500)
    assert start.distinct_pairs == 1
    assert start.interval[1] - start.interval[0] > 0.6
    assert "  only 1 of 500 game pairs are distinct: use more varied openings, or --epsilon" in format_results([start])
    varied = play_match(*agents, random_openings(300, 8, rng=np.random.default_rng(0)))
    assert varied.distinct_pairs > 280
    repeated = play_match(*agents, random_openings(300, 8, rng=np.random.default_rng(0)) * 4)
    assert repeated.distinct_pairs == varied.distinct_pairs
    np.testing.assert_allclose(repeated.interval, varied.interval, atol=1e-9)
    assert "only" not in format_results([varied])


def test_an_agent_cannot_change_the_games() -> None:
    def meddle(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        moves = positions.sample_moves(rng)
        positions.reset(np.arange(len(positions)))
        return moves

    assert play_match(Scripted("meddler", meddle), make_agent("random"), [Position.start()] * 5).games == 10


def test_random_moves_are_made_for_both_agents() -> None:
    seen: dict[int, set[str]] = {0: set(), 1: set()}

    def watch(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        for position in positions:
            if sum(position.discs) == (6 if position.side_to_move == 0 else 5):
                seen[position.side_to_move].add(str(position))
        return first_legal(positions, rng)

    play_match(Scripted("one", watch), Scripted("two", first_legal), [Position.start()] * 300, epsilon=0.3)
    assert len(seen[1]) == 4  # White sees each of the other's first moves, so Black's moves were random
    assert len(seen[0]) > 3  # Black sees several replies, so White's were


def test_openings_with_white_to_move_or_a_forced_pass_are_played() -> None:
    white_first = Position.parse(str(Position.start())[:-1] + "O")
    blocked = Position.parse("XO" + "-" * 62 + " O")
    first, second = Scripted("first"), Scripted("second")
    result = play_match(first, second, [white_first, blocked])
    assert result.games == 4
    assert result.disc_differences[1].tolist() == [3, -3]  # Black alone can move, and wins whoever it is


def test_the_command_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    main(["positional", "random", "--games", "40"])
    output = capsys.readouterr()
    assert output.out.splitlines()[1].split()[:3] == ["positional:table=swh", "random", "40"]
    assert output.err == ""
    main(["positional", "random", "--games", "40"])
    assert capsys.readouterr().out.splitlines()[:2] == output.out.splitlines()[:2]


@pytest.mark.parametrize(("out", "path"), [("folder", f"folder/{JOURNAL}"), ("a/b/games.jsonl", "a/b/games.jsonl"), ("m.jsonl", "m.jsonl")])
def test_the_command_keeps_the_games(tmp_path: Path, out: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["random", "random", "--games", "30", "--openings", "random:4", "--seed", "5", "--out", str(tmp_path / out)]
    main(arguments)
    shown = capsys.readouterr().out
    assert str(tmp_path / path) in shown
    session, *records = read_journal(tmp_path / path)
    assert isinstance(session, dict)
    assert session["kind"] == "match"
    assert session["settings"]["players"] == ["random", "random (2)"]
    games = {record.game: record for record in records if isinstance(record, GameRecord)}
    assert sorted(games) == list(range(30))
    book = OpeningBook("random:4", seed=5)
    assert [games[game].prefix for game in range(0, 30, 2)] == [str(book[number]) for number in range(15)]
    wins = sum(record.black_score == (1 if record.black == "random" else 0) for record in games.values())
    assert shown.splitlines()[1].split()[3] == str(wins)
    assert "has games: choose another" in stopped_line(main, arguments, capsys)


def test_ctrl_c_shows_the_score_so_far_and_keeps_the_games(tmp_path: Path) -> None:
    """The agent interrupts the process in the third batch, as Ctrl-C does."""
    code = "import sys; from training.evaluation.match import main; main(sys.argv[1:])"
    spec = "factory:tests.training.evaluation.test_match:interrupting"
    command = [sys.executable, "-c", code, "greedy", spec, "--games", "400", "--out", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    assert run.returncode == 130
    assert run.stderr == "match: interrupted\n"
    games = int(run.stdout.splitlines()[1].split()[2])
    assert games == 12  # the batches of 4 and of 8
    assert sum(isinstance(entry, GameRecord) for entry in read_journal(tmp_path / JOURNAL)) >= games


def interrupting() -> Agent:
    batches: list[int] = []

    def choose(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        if positions.empties.max() == 52:
            batches.append(len(positions))
        elif batches == [2, 4, 8] and positions.empties.max() < 45:
            raise KeyboardInterrupt
        return first_legal(positions, rng)

    return Scripted("interrupting", choose)


def test_the_score_so_far_is_shown_where_an_agent_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """The agent fails in the third batch."""
    with pytest.raises(SystemExit) as stopped:
        main(["greedy", "factory:tests.training.evaluation.test_match:failing", "--games", "400"])
    output = capsys.readouterr()
    assert stopped.value.code == 2
    assert output.err == "match: failing: error: ZeroDivisionError: in a large batch\n"
    assert output.out.splitlines()[1].split()[:3] == ["greedy", "failing", "12"]


def failing() -> Agent:
    def choose(positions: PositionBatch, rng: np.random.Generator) -> Moves:
        if positions.empties.max() == 52 and len(positions) > 4:
            raise ZeroDivisionError("in a large batch")
        return first_legal(positions, rng)

    return Scripted("failing", choose)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nobody", "random"), "no agent 'nobody'"),
        (("random", "random", "--openings", "no.txt"), f"openings 'no.txt': expected {SOURCES}"),
        (("random", "random", "--epsilon", "2"), "epsilon 2.0: expected a probability"),
        (("random", "random", "--epsilon", "nan"), "epsilon nan"),
        (("random", "random", "--games", "3"), "games 3"),
        (("random", "random", "--games", "0"), "need a number of games"),
        (("random", "random", "--seed", "-1"), "argument --seed: '-1': expected an integer from 0"),
        (("ntuple", "random", "--board-size", "6"), "ntuple plays on board_size 8, not 6"),
        (("random", "ntuple", "--board-size", "4", "--openings", "start"), "ntuple plays on board_size 8, not 4"),
        (("random",), "the following arguments are required: second"),
        (("random", "random", "--out", __file__ + "/x"), "Not a directory"),
    ],
)
def test_the_command_refuses_a_wrong_argument_in_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = stopped_line(main, arguments, capsys)
    assert line.startswith("match: ")
    assert message in line


def test_the_command_shows_the_moves_and_the_score_so_far(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[tuple[float, str]] = []

    class Recorder(Progress):
        def update(self, amount: float = 1) -> None:
            super().update(amount)
            shown.append((self.done, self._note))

    monkeypatch.setattr(match, "Progress", Recorder)
    monkeypatch.setattr(match, "_SHOW_SECONDS", 0.0)
    monkeypatch.setattr(match, "_SCORE_SECONDS", 0.0)
    main(["positional", "random", "--games", "80", "--openings", "start"])
    moves = [done for done, _ in shown]
    assert len(set(moves)) > 200
    assert moves == sorted(moves)
    assert (moves[0], moves[-1]) == (4, 80 * 60)
    notes = list(dict.fromkeys(note for _, note in shown))
    assert notes[0] == ""
    assert all(re.fullmatch(r"score [01]\.\d{3} after \d+ games", note) for note in notes[1:])
    assert {"4", "12", "28"} <= {note.split()[-2] for note in notes[1:]}
    score = capsys.readouterr().out.splitlines()[1].split()[6]
    assert 0.5 < float(score) <= 1


def test_a_refused_match_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stopped_line(main, ["ntuple", "random", "--board-size", "6", "--out", str(tmp_path / "out")], capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("player", "expected", "tolerance"), [("all-2-tuples", 0.958, 0.015), ("cocmaes-4+2x2", 0.730, 0.02)])
def test_league_mode_reproduces_the_published_scores(shared_data: Path, player: str, expected: float, tolerance: float) -> None:
    # Jaskowski (2014), "nearly 96 %" against the standard heuristic, and Jaskowski and Szubert
    # (2016), measured again.
    agent = make_agent(f"league:{shared_data / 'players' / player}.txt,view=mover")
    result = play_match(agent, make_agent("positional:table=swh"), [Position.start()] * 2000, epsilon=0.1)
    assert result.games == 4000
    assert abs(result.score - expected) <= tolerance
