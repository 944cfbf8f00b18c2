from __future__ import annotations

import html.parser
import json
from typing import Any

import numpy as np
import pytest

from agents import make_agent
from agents.analysis import Searcher
from agents.analyze import format_review, main, review_as_dict, review_as_html
from agents.play.levels import analyst
from agents.review import review_game
from othello_env import BLACK, WHITE, Game, Position

# A whole 6x6 game, of which the solver judges the second half.
GAME = Game.random(24, np.random.default_rng(3), Position.start(6))


@pytest.fixture(scope="module")
def searcher() -> Searcher:
    pytest.importorskip("numba")
    return analyst(6)


def test_losses_are_differences_to_the_best_move_and_exact_near_the_end(searcher: Searcher) -> None:
    from agents.search.endgame import Solver

    review = review_game(GAME, searcher)
    assert [move.square for move in review.moves] == list(GAME.moves)
    assert [move.number for move in review.moves] == list(range(1, 25))
    exact = [move for move in review.moves if move.exact]
    assert len(exact) >= 8
    solver = Solver()
    for move in exact:
        position = GAME.positions()[move.number - 1]
        scores = solver.move_scores(position)
        assert move.best.score == max(scores.values())
        assert move.loss == max(scores.values()) - scores[move.square]
        assert move.color == position.side_to_move
    for color in (BLACK, WHITE):
        assert review.total_loss(color) == pytest.approx(sum(move.loss for move in review.moves if move.color == color))
    assert min(move.loss for move in review.moves) == 0


def test_equal_moves_cost_nothing_at_any_depth() -> None:
    """The four first moves are the same by symmetry."""
    pytest.importorskip("numba")
    for depth in (1, 2, 3):
        agent = make_agent(f"alpha_beta:evaluation=heuristics,depth={depth}")
        assert isinstance(agent, Searcher)
        for move in ("d3", "c4", "f5", "e6"):
            (reviewed,) = review_game(Game.parse(move), agent).moves
            assert reviewed.loss == pytest.approx(0, abs=1e-3)
            assert not reviewed.is_turning_point


def test_a_turning_point_changes_who_is_ahead(searcher: Searcher) -> None:
    review = review_game(GAME, searcher)
    turning = [move for move in review.moves if move.is_turning_point]
    assert turning
    for move in turning:
        assert (move.best.score > 0) != (move.played.score > 0) or 0 in (move.best.score, move.played.score)
        assert move.loss > 0


def test_a_review_is_written_in_every_form(searcher: Searcher) -> None:
    review = review_game(GAME, searcher)
    text = format_review(review)
    assert len(text.splitlines()) >= 24 + 4
    assert "Turning points: " in text
    values = json.loads(json.dumps(review_as_dict(review)))
    assert len(values["moves"]) == 24
    assert values["loss"]["black"] == pytest.approx(review.total_loss(BLACK))
    page = review_as_html(review)
    seen: list[str] = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag: str, attributes: Any) -> None:
            seen.append(tag)
            assert not any(name in ("src", "href") for name, _ in attributes)

    Reader().feed(page)
    assert seen.count("tr") == 25
    assert seen.count("svg") == 2


def test_the_command_reviews_a_transcript(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numba")
    main(["f5d6c3d3c4", "--agent", "alpha_beta:evaluation=heuristics,depth=2", "--format", "json"])
    output, messages = capsys.readouterr()
    assert [move["move"] for move in json.loads(output)["moves"]] == ["f5", "d6", "c3", "d3", "c4"]
    assert messages == ""
    main(["f5", "--agent", "alpha_beta:evaluation=heuristics,depth=2"])
    assert "against the moves of alpha_beta" in capsys.readouterr().out
    main(["X" * 32 + "O" * 32 + " X", "--agent", "alpha_beta:evaluation=heuristics,depth=2", "--format", "html"])
    assert "<!doctype html>" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "analyze: "),
        (["no/such.ggf"], "No such file"),
        (["f5", "--agent", "greedy"], "analyze: greedy gives no scores: expected an agent of the kind alpha_beta"),
        (["f5", "--agent", "nobody"], "no agent 'nobody'"),
        (["f5", "--format", "pdf"], "invalid choice: 'pdf'"),
    ],
)
def test_bad_arguments_give_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numba")
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    output, messages = capsys.readouterr()
    assert (stopped.value.code, output, messages.count("\n")) == (2, "", 1)
    assert message in messages
