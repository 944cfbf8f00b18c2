from __future__ import annotations

import csv
import json
import random
import re
import shlex
import shutil
import subprocess
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from othello_env import Game, Position
from othello_env.squares import BOARD_SIZES
from training.evaluation import report, report_page
from training.evaluation.journal import FORMAT, GameRecord, Reason
from training.evaluation.report import main, write_report
from training.evaluation.report_summary import (
    DistinctCount,
    GameSample,
    Summary,
    lopsided_openings,
    quantile,
    score_between,
)
from training.evaluation.standings import Standings

ASSETS = Path(report_page.__file__).parent / "report_assets"
NASTY = "</script><img src=x onerror=alert(1)>&\"'`|*_\n<!--"
VOID = {"meta", "link", "br", "img"}


def played(number: int, black: str, white: str, *, board_size: int = 8, plies: int = 4) -> GameRecord:
    """A game of random moves; those of a pair begin in the same opening."""
    opening = Game.random(plies, np.random.default_rng([number // 2, board_size]), Position.start(board_size))
    rng = np.random.default_rng([number, board_size, 1])
    position, moves = opening.final, []
    while not position.is_over:
        moves.append(int(rng.choice(position.legal_squares())))
        position = position.play(moves[-1])
    game = Game(tuple(moves), opening.final)
    return GameRecord(
        number,
        black,
        white,
        str(opening.final),
        str(game),
        (position.outcome + 1) / 2,
        position.score("discs"),
        "played out",
        "",
        (0, number),
        (0.25, 0.5),
        f"2024-05-01T00:00:{number % 60:02}Z",
        str(opening),
    )


def round_robin(names: Sequence[str], pairs: int, **options: Any) -> list[GameRecord]:
    """Every two players meet in so many pairs of games."""
    pairings = [(first, second) for place, first in enumerate(names) for second in names[place + 1 :]]
    games = []
    for pair, (first, second) in enumerate(pairing for pairing in pairings for _ in range(pairs)):
        games += [played(2 * pair, first, second, **options), played(2 * pair + 1, second, first, **options)]
    return games


def lost_by(record: GameRecord, reason: Reason, detail: str, *, plies: int = 10) -> GameRecord:
    """The game, ended after some plies by a fault of the side to move."""
    game = Game.parse(record.moves[: 2 * plies], Position.parse(record.opening))
    black_score = float(game.final.side_to_move)
    return replace(
        record, moves=str(game), black_score=black_score, disc_difference=game.final.score("discs"), reason=reason, detail=detail
    )


def write_journal(path: Path, games: Sequence[GameRecord], settings: dict[str, Any] | None = None) -> Path:
    session = {"format": FORMAT, "started": "2024-05-01T00:00:00Z", "versions": {"python": "3.12"}}
    lines: list[dict[str, Any]] = [{"session": session | ({"settings": settings} if settings else {})}, *map(asdict, games)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def reported(tmp_path: Path, games: Sequence[GameRecord], settings: dict[str, Any] | None = None, **options: Any) -> Path:
    """The folder of the report of these games."""
    out = tmp_path / "out"
    write_report(write_journal(tmp_path / "games.jsonl", games, settings), out, **{"accuracy_games": 0, **options})
    return out


class Page(HTMLParser):
    """What is in a page: its tags, its text, its data. Checks that all elements are closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.data: dict[str, Any] = {}
        self._open: list[str] = []
        self._is_data = False
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag not in VOID:
            self._open.append(tag)
        self._is_data = ("id", "data") in attrs

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, key, value or "") for key, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            if self._is_data:
                self.data = json.loads(data)
        elif not self._open or self._open[-1] != "style":
            self.text += data


def page_of(out: Path) -> Page:
    return Page((out / "report.html").read_text(encoding="utf-8"))


def test_a_report_has_a_page_markdown_and_tables_with_the_same_numbers(tmp_path: Path) -> None:
    games = round_robin(["one", "two", "three"], 5)
    out = reported(tmp_path, games, anchor=("two", 1000))
    assert sorted(path.name for path in out.iterdir()) == ["crosstable.csv", "games.csv", "ratings.csv", "report.html", "report.md"]
    with (out / "games.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(int(row["game"]), row["black"], row["moves"]) for row in rows] == [(one.game, one.black, one.moves) for one in games]
    assert (rows[0]["black_seconds"], rows[0]["white_seconds"], rows[3]["seed"]) == ("0.25", "0.5", "0 3")
    with (out / "ratings.csv").open(newline="") as file:
        ratings = {row["player"]: row for row in csv.DictReader(file)}
    assert float(ratings["two"]["elo"]) == 1000
    with (out / "crosstable.csv").open(newline="") as file:
        cells = {(row["player"], row["opponent"]): row for row in csv.DictReader(file)}
    assert len(cells) == 6
    assert float(cells["one", "two"]["score"]) + float(cells["two", "one"]["score"]) == pytest.approx(1)
    wins = sum(
        (one.black_score if one.black == "one" else 1 - one.black_score) == 1 for one in games if {one.black, one.white} == {"one", "two"}
    )
    assert int(cells["one", "two"]["wins"]) == wins
    text, markdown = page_of(out).text, (out / "report.md").read_text(encoding="utf-8")
    for name in ("one", "two", "three"):
        for document in (text, markdown):
            assert name in document
            assert f"{float(ratings[name]['elo']):.0f}".replace("-", "−") in document
    assert f"{float(cells['one', 'two']['score']):.1%}" in text
    assert f"{float(cells['one', 'two']['score']):.1%}" in markdown


def test_the_page_fetches_nothing(tmp_path: Path) -> None:
    page = page_of(reported(tmp_path, round_robin(["one", "two"], 3)))
    for tag, key, value in page.attributes:
        if key in ("src", "href", "action", "data", "srcset", "poster"):
            assert value.startswith("#") or (tag, value) == ("link", "data:,"), (tag, key, value)
    assert ("meta", "content", report_page._POLICY) in page.attributes
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", (tmp_path / "out" / "report.html").read_text(encoding="utf-8"))


def test_all_links_and_labels_of_the_page_lead_somewhere(tmp_path: Path) -> None:
    page = page_of(reported(tmp_path, [lost_by(one, "error", "no") for one in round_robin(["one", "two"], 3)]))
    names = [value for _, key, value in page.attributes if key == "id"]
    assert len(names) == len(set(names))
    for _, key, value in page.attributes:
        if key == "href" and value.startswith("#") and not value.startswith("#game="):
            assert value[1:] in names
        if key == "aria-labelledby":
            assert value in names
    assert all(value in ("col", "row") for tag, key, value in page.attributes if (tag, key) == ("th", "scope"))
    assert page.tags["th"] == sum((tag, key) == ("th", "scope") for tag, key, _ in page.attributes)


def test_texts_from_the_journal_are_shown_as_they_are(tmp_path: Path) -> None:
    games = [lost_by(one, "error", NASTY) for one in round_robin([NASTY, "\ud800<b>"], 3)]
    settings = {"players": [NASTY, "\ud800<b>"], "schedule": NASTY, NASTY: NASTY}
    out = reported(tmp_path, games, settings)
    html = (out / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    assert page.tags["img"] == page.tags["b"] == 0
    assert page.tags["script"] == 3
    assert html.count("</script>") == 3
    assert "<!--" not in html
    assert not any(key.startswith("on") for _, key, _ in page.attributes)
    assert page.data["players"][0] == NASTY
    assert page.data["games"][0]["detail"] == NASTY
    assert NASTY in page.text
    markdown = (out / "report.md").read_text(encoding="utf-8")
    assert "<" not in "".join(line for line in markdown.splitlines() if not line.startswith("    "))  # but for the command
    tables = re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE)
    assert len(tables) == 9
    assert all(len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1 for table in tables)
    with (out / "games.csv").open(newline="", encoding="utf-8") as file:
        assert {row["black"] for row in csv.DictReader(file)} == {NASTY, "\\ud800<b>"}


def test_the_games_on_the_page_replay_to_their_results(tmp_path: Path) -> None:
    games = round_robin(["one", "two", "three"], 4)
    games[7] = lost_by(games[7], "timeout", "slow")
    page = page_of(reported(tmp_path, games))
    assert [one["game"] for one in page.data["games"]] == list(range(len(games)))
    for shown, record in zip(page.data["games"], games, strict=True):
        final = Game.parse(shown["moves"], Position.parse(page.data["openings"][shown["opening"]])).final
        assert final.score("discs") == shown["difference"] == record.disc_difference
        assert page.data["players"][shown["black"]] == record.black
        assert (shown["score"], shown["fault"]) == (record.black_score, record.reason == "timeout")


def test_the_page_has_a_bounded_sample_and_the_games_lost_by_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_REPLAYS", 8)
    games = round_robin(["one", "two", "three"], 10)
    for number in (33, 41):
        games[number] = lost_by(games[number], "illegal move", f"square {number}")
    page = page_of(reported(tmp_path, games))
    numbers = [one["game"] for one in page.data["games"]]
    assert {33, 41} <= set(numbers)
    assert 8 <= len(numbers) <= 10
    assert "square 41" in page.text
    assert "2 of" not in page.text.split("Games lost by faults")[-1].split("Time")[0]


@pytest.mark.parametrize("limit", [4, 12, 60])
def test_a_sample_is_even_over_pairings_and_does_not_depend_on_the_order(limit: int) -> None:
    game = played(0, "a", "b")
    pairings = [("a", "b")] * 30 + [("a", "c")] * 10 + [("b", "c")] * 2
    games = []
    for pair, (first, second) in enumerate(pairings):
        games += [replace(game, game=2 * pair, black=first, white=second), replace(game, game=2 * pair + 1, black=second, white=first)]
    chosen = []
    for seed in (None, 1, 2):
        order = list(games)
        if seed is not None:
            random.Random(seed).shuffle(order)
        sample = GameSample(limit)
        for record in order:
            sample.add(record)
        chosen.append(sample.games(limit))
    counts = Counter("".join(sorted(record.black + record.white)) for record in chosen[0])
    assert len(chosen[0]) == limit
    assert counts == {4: {"ab": 2, "ac": 2}, 12: {"ab": 4, "ac": 4, "bc": 4}, 60: {"ab": 36, "ac": 20, "bc": 4}}[limit]
    assert all({record.game, record.game ^ 1} <= {other.game for other in chosen[0]} for record in chosen[0])
    if limit > 4:
        assert chosen[0] == chosen[1] == chosen[2]


def test_different_games_are_counted_exactly_while_they_are_few() -> None:
    count = DistinctCount(100)
    for number in range(500):
        count.add(str(number % 90))
    assert (count.estimate, count.is_exact) == (90, True)


def test_many_different_games_are_estimated() -> None:
    count = DistinctCount(1000)
    for number in range(40_000):
        count.add(str(number % 20_000))
    assert not count.is_exact
    assert count.estimate == pytest.approx(20_000, rel=0.1)


def test_copies_of_games_are_pointed_out(tmp_path: Path) -> None:
    first, second = round_robin(["one", "two"], 1)
    games = [replace((first, second)[number % 2], game=number) for number in range(40)]
    assert "Only 2 of the 40 games are no copies of another" in page_of(reported(tmp_path, games)).text


def test_a_score_is_that_of_the_complete_pairs() -> None:
    game = played(0, "a", "b")
    standings = Standings()
    # a: 1.5 points of a pair, 2 of another; a game without its other one does not count.
    for number, (black, white, black_score) in enumerate(
        [("a", "b", 1.0), ("b", "a", 0.5), ("a", "b", 1.0), ("b", "a", 0.0), ("a", "b", 0.0)]
    ):
        standings.add(replace(game, game=number, black=black, white=white, black_score=black_score))
    for score, share in ((score_between(standings, "a", "b"), 3.5 / 4), (score_between(standings, "b", "a"), 0.5 / 4)):
        assert score is not None
        assert score.games == 4
        assert score.share == pytest.approx(share)
        assert score.low < share < score.high
    assert score_between(standings, "a", "c") is None


def test_lopsided_openings_are_those_that_are_clearly_so() -> None:
    standings = Standings(
        openings={"even": np.array([5, 2, 5]), "few": np.array([0, 0, 1]), "black": np.array([1, 0, 20]), "white": np.array([9, 1, 0])}
    )
    scores = lopsided_openings(standings, 3)
    assert [(score.opening, score.games, score.share) for score in scores] == [("black", 21, 20 / 21), ("white", 10, 0.05), ("few", 1, 1.0)]
    assert all(score.low <= score.share <= score.high for score in scores)


def test_a_quantile_is_the_smallest_value_that_covers_its_share() -> None:
    counts = {-4: 1, 0: 2, 10: 1}
    assert [quantile(counts, share) for share in (0.0, 0.25, 0.26, 0.75, 0.76, 1.0)] == [-4, -4, 0, 0, 10, 10]


def test_sessions_are_bounded_and_players_without_games_are_named() -> None:
    summary = Summary(10)
    for number in range(100):
        summary.add_session({"started": str(number), "settings": {"players": ["one", "two"]}})
    assert (summary.num_sessions, len(summary.sessions)) == (100, 20)
    assert (summary.sessions[0]["started"], summary.sessions[-1]["started"]) == ("0", "99")
    assert summary.standings.players == ["one", "two"]


def test_the_page_tells_the_command_that_plays_the_tournament_again(tmp_path: Path) -> None:
    settings = {
        "players": ["gtp:a b", "two"],
        "schedule": "ladder",
        "games": 6,
        "openings": "random:4",
        "epsilon": 0.1,
        "board_size": 6,
        "seed": 7,
    }
    page = page_of(reported(tmp_path, round_robin(["gtp:a b", "two"], 3, board_size=6), settings))
    command = page.text[page.text.index("python -m training.evaluation.tournament") :].partition("DIR")[0]
    assert shlex.split(command)[3:] == [
        *("gtp:a b", "two", "--ladder", "--games", "6", "--openings", "random:4", "--seed", "7"),
        *("--epsilon", "0.1", "--board-size", "6", "--out"),
    ]  # fmt: skip


def test_an_empty_journal_makes_a_page_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "games.jsonl"
    path.touch()
    write_report(path, tmp_path)
    assert "No game has been played yet." in page_of(tmp_path).text
    assert "No game has been played yet." in (tmp_path / "report.md").read_text()
    assert "No game" in page_of(reported(tmp_path, [], {"players": ["one", "two"]})).text


def test_one_game_makes_a_page_that_says_what_is_missing(tmp_path: Path) -> None:
    page = page_of(reported(tmp_path, [played(0, "one", "two")], accuracy_games=5))
    assert "The only game." in page.text
    assert "Not in this table, nor in the ratings: 1 game without" in page.text
    assert len(page.data["games"]) == 1


def test_only_draws_make_a_page_that_says_so(tmp_path: Path) -> None:
    games = [replace(one, black_score=0.5, disc_difference=0) for one in round_robin(["one", "two"], 4)]
    assert "All games are draws." in page_of(reported(tmp_path, games)).text


def test_players_that_never_met_are_in_groups_of_their_own(tmp_path: Path) -> None:
    games = round_robin(["one", "two"], 3) + [replace(one, game=one.game + 6) for one in round_robin(["three", "four"], 3)]
    out = reported(tmp_path, games)
    page = page_of(out)
    assert page.tags["svg"] > 5
    assert "Group" in page.text
    with (out / "ratings.csv").open(newline="") as file:
        assert {row["group"] for row in csv.DictReader(file)} == {"1", "2"}


@pytest.mark.parametrize("board_size", BOARD_SIZES)
def test_reports_are_made_for_every_board_size(tmp_path: Path, board_size: int) -> None:
    page = page_of(reported(tmp_path, round_robin(["one", "two"], 4, board_size=board_size), accuracy_games=8))
    assert "no moves" not in page.text
    assert all(len(opening) == board_size**2 + 2 for opening in page.data["openings"])


def test_many_players_are_cut_to_a_table_that_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_page, "_MATRIX_PLAYERS", 3)
    monkeypatch.setattr(report_page, "_PLOT_PLAYERS", 2)
    page = page_of(reported(tmp_path, round_robin(["a", "b", "c", "d", "e"], 1)))
    assert "The first 3 of 5 players" in page.text


def test_endgames_are_judged_where_the_solver_is(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    text = page_of(reported(tmp_path, round_robin(["one", "two"], 3), accuracy_games=4)).text
    assert "The endgame moves of 4 games" in text
    assert "discs lost a move" in text


def test_endgames_are_left_out_where_the_solver_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError("exact endgames need numba")

    monkeypatch.setattr(report, "exact_solvers", missing)
    page = page_of(reported(tmp_path, round_robin(["one", "two"], 3), accuracy_games=4))
    assert "not compared with perfect play: exact endgames need numba." in page.text


def test_faults_are_listed_with_their_moves(tmp_path: Path) -> None:
    games = round_robin(["one", "two"], 40)
    games = [lost_by(one, "illegal move", f"square {one.game}") if one.game % 2 else one for one in games]
    out = reported(tmp_path, games)
    page = page_of(out)
    assert "10 of 40 such games" in page.text
    assert ("a", "href", "#game=1&ply=10") in page.attributes
    assert "square 1" in (out / "report.md").read_text()


def test_the_command_takes_a_folder_and_writes_beside_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_journal(tmp_path / "games.jsonl", round_robin(["one", "two"], 2))
    main([str(tmp_path), "--accuracy-games", "0", "--anchor", "one=500"])
    assert (tmp_path / "report.html").exists()
    assert "report.html" in capsys.readouterr().out
    assert "one is set to 500" in page_of(tmp_path).text


@pytest.mark.parametrize(
    ("lines", "arguments", "message"),
    [
        (None, [], "games.jsonl"),
        ("nonsense\n", [], "line 1"),
        ("", ["--anchor", "nobody=5"], "nobody"),
        ("", ["--anchor", "nonsense"], "nonsense"),
        ("", ["--accuracy-games", "-1"], "-1"),
    ],
)
def test_bad_input_ends_with_one_clear_line(tmp_path: Path, lines: str | None, arguments: list[str], message: str) -> None:
    if lines is not None:
        (tmp_path / "games.jsonl").write_text(lines)
    with pytest.raises(SystemExit) as caught:
        main([str(tmp_path), "--out", str(tmp_path / "out"), *arguments])
    assert re.fullmatch(f"report: .*{re.escape(message)}.*", str(caught.value.code))
    assert not list((tmp_path / "out").glob("*")) if lines == "nonsense\n" else True


def test_a_game_that_does_not_fit_its_opening_is_named(tmp_path: Path) -> None:
    one = played(0, "one", "two")
    with pytest.raises(ValueError, match="game 0: move 1"):
        reported(tmp_path, [replace(one, moves="a1" + one.moves[2:])])


def test_the_rules_of_the_page_are_those_of_the_package(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not there: it runs the page's rules outside a browser")
    records = [played(number, "one", "two", board_size=size, plies=number % 3) for size in BOARD_SIZES for number in range(25)]
    games = [record.replayed() for record in records]
    games.append(Game((2,), Position.parse("XO-- ---- ---- ---- O")))  # White must pass before the first move
    assert any(
        one.side_to_move == other.side_to_move for game in games for one, other in zip(game.positions(), game.positions()[1:], strict=False)
    )
    script = (
        (ASSETS / "rules.js").read_text(encoding="utf-8")
        + """
    const text = position => position.squares.map(disc => SIGNS[disc]).join("") + " " + SIGNS[position.side];
    const answer = position => [text(position), legalSquares(position), isOver(position)];
    const games = JSON.parse(require("fs").readFileSync(0, "utf8"));
    console.log(JSON.stringify(games.map(([opening, moves]) => replay(opening, moves).map(answer))));
    """
    )
    asked = json.dumps([[str(game.start), str(game)] for game in games])
    path = tmp_path / "rules.js"
    path.write_text(script, encoding="utf-8")
    run = subprocess.run([node, str(path)], input=asked, capture_output=True, text=True, check=True, timeout=60)
    expected = [[[str(one), [] if one.is_over else list(one.legal_squares()), one.is_over] for one in game.positions()] for game in games]
    assert json.loads(run.stdout) == expected


def test_memory_does_not_grow_with_the_number_of_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_REPLAYS", 20)
    peaks = []
    for pairs in (400, 1600):
        path = tmp_path / f"{pairs}.jsonl"
        write_many(path, pairs)
        tracemalloc.start()
        write_report(path, tmp_path / "out", accuracy_games=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000


def write_many(path: Path, pairs: int, *, openings: int = 50) -> None:
    """A journal of three players with many different games, made from few."""
    games = [one for pair in range(openings) for one in (played(2 * pair, "", ""), played(2 * pair + 1, "", ""))]
    pairings = [("one", "two"), ("one", "three"), ("two", "three")]
    with path.open("w", encoding="utf-8") as file:
        for number in range(2 * pairs):
            first, second = pairings[number // 2 % 3]
            one = games[number % len(games)]
            values = {name: getattr(one, name) for name in GameRecord.__dataclass_fields__} | {
                "game": number,
                "black": (first, second)[number % 2],
                "white": (second, first)[number % 2],
            }
            file.write(json.dumps(values) + "\n")


@pytest.mark.slow
def test_a_hundred_thousand_games_need_little_memory(tmp_path: Path) -> None:
    write_many(tmp_path / "games.jsonl", 50_000)
    tracemalloc.start()
    write_report(tmp_path / "games.jsonl", tmp_path / "out", accuracy_games=0)
    assert tracemalloc.get_traced_memory()[1] < 30_000_000
    tracemalloc.stop()
    assert (tmp_path / "out" / "report.html").stat().st_size < 1_000_000


@pytest.mark.slow
def test_a_browser_replays_every_game_on_the_page(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium")
    games = round_robin(["one", NASTY], 40)
    games[5] = lost_by(games[5], "died", "gone")
    out = reported(tmp_path, games)
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    options += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    command = [browser, *options, f"{(out / 'report.html').as_uri()}#check&game=5&ply=10"]
    dom = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert 'data-check="80 games, 0 wrong"' in dom
    assert re.search(r'id="status"[^>]*>Move 10 of 10: .* (Black|White) wins: died \(gone\)\.<', dom)
