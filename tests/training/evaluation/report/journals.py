"""Journals of random games for tests of reports, and what is in a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from othello_env import Game, Position
from training.evaluation.journal import FORMAT, GameRecord, Reason
from training.evaluation.report import write_report

NASTY = "</script><img src=x onerror=alert(1)>&\"'`|*_\n<!--"
VOID = {"meta", "link", "br", "img"}
BLOCKS = {"br", "caption", "dd", "dt", "figcaption", "h1", "h2", "li", "option", "p", "small", "td", "th"}


def played(number: int, black: str, white: str, *, board_size: int = 8, plies: int = 4) -> GameRecord:
    """Play a game of random moves; the games of a pair have the same opening."""
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
    """Play `pairs` pairs of games between each two players."""
    pairings = [(first, second) for place, first in enumerate(names) for second in names[place + 1 :]]
    games = []
    for pair, (first, second) in enumerate(pairing for pairing in pairings for _ in range(pairs)):
        games += [played(2 * pair, first, second, **options), played(2 * pair + 1, second, first, **options)]
    return games


def lost_by(record: GameRecord, reason: Reason, detail: str, *, plies: int = 10) -> GameRecord:
    """Return the game, ended after some plies by a fault of the side to move."""
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
    """Make the report of these games and return its folder."""
    out = tmp_path / "out"
    write_report(write_journal(tmp_path / "games.jsonl", games, settings), out, **{"accuracy_games": 0, **options})
    return out


class Page(HTMLParser):
    """Contents of a page: its tags, attributes, text and data. Checks that all elements are closed in order."""

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
        if tag in BLOCKS:
            self.text += " "
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
