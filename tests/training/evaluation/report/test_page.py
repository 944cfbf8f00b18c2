from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.evaluation.report.journals import NASTY, Page, lost_by, page_of, reported, round_robin
from training.evaluation.report import page, section

SIMILAR = [f"factory:my_package.my_agents:make_{which}_agent" for which in ("first", "second", "third")]


def test_the_page_fetches_nothing(tmp_path: Path) -> None:
    shown = page_of(reported(tmp_path, round_robin(["one", "two"], 3)))
    for tag, key, value in shown.attributes:
        if key in ("src", "href", "action", "data", "srcset", "poster"):
            assert value.startswith("#") or (tag, value) == ("link", "data:,"), (tag, key, value)
    assert ("meta", "content", page._POLICY) in shown.attributes
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", (tmp_path / "out" / "report.html").read_text(encoding="utf-8"))


def test_all_links_and_labels_of_the_page_lead_somewhere(tmp_path: Path) -> None:
    shown = page_of(reported(tmp_path, [lost_by(one, "error", "no") for one in round_robin(["one", "two"], 3)]))
    names = [value for _, key, value in shown.attributes if key == "id"]
    assert len(names) == len(set(names))
    for _, key, value in shown.attributes:
        if key == "href" and value.startswith("#") and not value.startswith("#game="):
            assert value[1:] in names
        if key == "aria-labelledby":
            assert value in names
    assert all(value in ("col", "row") for tag, key, value in shown.attributes if (tag, key) == ("th", "scope"))
    assert shown.tags["th"] == sum((tag, key) == ("th", "scope") for tag, key, _ in shown.attributes)


def test_texts_from_the_journal_are_shown_as_they_are(tmp_path: Path) -> None:
    games = [lost_by(one, "error", NASTY) for one in round_robin([NASTY, "\ud800<b>"], 3)]
    settings = {"players": [NASTY, "\ud800<b>"], "schedule": NASTY, NASTY: NASTY}
    out = reported(tmp_path, games, settings)
    html = (out / "report.html").read_text(encoding="utf-8")
    shown = Page(html)
    assert shown.tags["img"] == shown.tags["b"] == 0
    assert shown.tags["script"] == 3
    assert html.count("</script>") == 3
    assert "<!--" not in html
    assert not any(key.startswith("on") for _, key, _ in shown.attributes)
    assert shown.data["players"][0] == NASTY
    assert shown.data["games"][0]["detail"] == NASTY
    assert NASTY in shown.text
    markdown = (out / "report.md").read_text(encoding="utf-8")
    assert "<" not in "".join(line for line in markdown.splitlines() if not line.startswith("    "))  # but for the command
    tables = re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE)
    assert len(tables) == 11
    assert all(len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1 for table in tables)
    with (out / "games.csv").open(newline="", encoding="utf-8") as file:
        assert {row["black"] for row in csv.DictReader(file)} == {NASTY, "\\ud800<b>"}


def test_every_table_and_paragraph_is_in_both_documents(tmp_path: Path) -> None:
    games = [lost_by(one, "error", "no") if one.game % 7 == 3 else one for one in round_robin(["one", "two", "three"], 5)]
    out = reported(tmp_path, games, {"players": ["one", "two", "three"], "games": 10}, accuracy_games=6)
    shown, markdown = page_of(out), (out / "report.md").read_text(encoding="utf-8")
    plain = markdown.replace("\\", "").replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
    sections = re.findall("^## (.*)$", markdown, re.MULTILINE)
    assert sections == [title for key, title, _ in section._SECTIONS if key != "replay"]
    captions = [value for tag, key, value in shown.attributes if key == "aria-label" and ("div", "class", "scroll") in shown.attributes]
    tables = [caption for caption in captions if f"{caption.rstrip('.')}." in plain]
    assert len(tables) == len(re.findall(r"(?:^\|.*\n)+", markdown, re.MULTILINE)) == shown.tags["table"]
    numbers = set(re.findall(r"\d+\.\d%", plain))
    assert numbers
    assert numbers <= set(re.findall(r"\d+\.\d%", shown.text))


def heads(html: str, section_key: str) -> list[str]:
    part = html.split(f'<section id="{section_key}"')[1].split("</section>")[0]
    return re.findall(r'<th scope="(?:col|row)"[^>]*>(?:<span[^>]*>)?([^<]*)', part)


def plot_names(html: str, section_key: str) -> list[str]:
    part = html.split(f'<section id="{section_key}"')[1].split("</section>")[0]
    return re.findall(r"<text[^>]*>([^<]*)<title>", part)


def test_different_players_never_look_the_same(tmp_path: Path) -> None:
    out = reported(tmp_path, round_robin(SIMILAR, 3))
    html = (out / "report.html").read_text(encoding="utf-8")
    for key in ("ratings", "colors", "time"):
        assert len(set(plot_names(html, key))) == 3, key
    for key in ("superiority", "cross-table"):
        names = heads(html, key)
        assert len(set(names[1:4])) == len(set(names[4:])) == 3, key
    assert all(name in heads(html, "ratings") for name in SIMILAR)  # the table of ratings has the whole names
    css = (Path(page.__file__).parent / "assets" / "page.css").read_text(encoding="utf-8")
    assert "ellipsis" not in css  # what a style cuts, nobody checks for being different


@pytest.mark.parametrize(
    "names", [["alpha_beta:depth=3", "positional:table=bench"], ["policy_value:a.safetensors", "mcts:simulations=200"]]
)
def test_names_that_fit_are_not_cut(tmp_path: Path, names: Sequence[str]) -> None:
    html = (reported(tmp_path, round_robin(names, 2)) / "report.html").read_text(encoding="utf-8")
    assert "…" not in html.split("<main>")[1].split("</main>")[0]


def test_many_players_are_cut_to_a_table_that_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(section, "_MATRIX_PLAYERS", 3)
    monkeypatch.setattr(section, "_PLOT_PLAYERS", 2)
    html = (reported(tmp_path, round_robin(["a", "b", "c", "d", "e"], 1)) / "report.html").read_text(encoding="utf-8")
    assert "The first 3 of 5 players" in html
    assert len(heads(html, "cross-table")) == 1 + 3 + 3
    assert len(plot_names(html, "ratings")) == 2


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
    shown = page_of(reported(tmp_path, round_robin(["gtp:a b", "two"], 3, board_size=6), settings))
    command = shown.text[shown.text.index("python -m training.evaluation.tournament") :].partition("DIR")[0]
    assert shlex.split(command)[3:] == [
        *("gtp:a b", "two", "--ladder", "--games", "6", "--openings", "random:4", "--seed", "7"),
        *("--epsilon", "0.1", "--board-size", "6", "--out"),
    ]  # fmt: skip


def test_faults_are_listed_with_their_moves(tmp_path: Path) -> None:
    games = round_robin(["one", "two"], 40)
    games = [lost_by(one, "illegal move", f"f1 in game {one.game}") if one.game % 2 else one for one in games]
    out = reported(tmp_path, games)
    shown = page_of(out)
    assert "10 of 40 such games" in shown.text
    assert ("a", "href", "#game=1&ply=10") in shown.attributes
    assert "f1 in game 1" in (out / "report.md").read_text()


def test_differences_name_both_scores_where_they_differ(tmp_path: Path) -> None:
    games = round_robin(["one", "two"], 1)
    assert "Mean with empties" not in page_of(reported(tmp_path, games)).text
    wiped_out = {"opening": "---------------------------OX------XO--------------------------- X", "moves": "f5f4c3c6c5d6f3c4c7"}
    games = [replace(one, **wiped_out, black_score=1.0, disc_difference=13, prefix="") for one in games]  # type: ignore[arg-type]
    out = reported(tmp_path, games)
    for document in (page_of(out).text, (out / "report.md").read_text()):
        assert "Mean with empties" in document
    assert page_of(out).data["games"][0]["result"] == "Black wins (13-0 by discs, 64-0 with the empties to the winner)"


def test_the_games_on_the_page_are_those_of_the_journal(tmp_path: Path) -> None:
    games = round_robin(["one", "two", "three"], 4)
    games[7] = lost_by(games[7], "timeout", "slow")
    shown = page_of(reported(tmp_path, games))
    assert [one["game"] for one in shown.data["games"]] == list(range(len(games)))
    for one, record in zip(shown.data["games"], games, strict=True):
        assert shown.data["openings"][one["opening"]] == record.opening
        assert [shown.data["players"][one[color]] for color in ("black", "white")] == [record.black, record.white]
        assert (one["score"], one["fault"]) == (record.black_score, record.reason == "timeout")
        assert one["plies"].count(" ") == len(record.moves) // 2
