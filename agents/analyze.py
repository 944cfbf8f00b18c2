"""Analyze a game move by move: `python -m agents.analyze game.ggf`, or a transcript."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any, Final

from agents.analysis import Searcher, format_pv, format_score
from agents.play.levels import analyst
from agents.play.source import read_source
from agents.registry import make_agent
from agents.review import GameReview, MoveReview, review_game
from othello_env.command import Parser, Progress, command
from othello_env.position import BLACK, COLOR_NAMES, WHITE
from othello_env.rendering.svg import board_svg
from othello_env.rendering.text import format_result
from othello_env.squares import BOARD_SIZES, format_square

_GRAPH_WIDTH: Final = 640
_GRAPH_HEIGHT: Final = 200
_STYLE: Final = """\
:root { color-scheme: light dark; --line: #0a7d6c; --grid: #8886; --bad: #d33; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 1rem auto; padding: 0 1rem; }
svg { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td, th { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--grid); }
td:last-child, th:last-child { text-align: left; font-family: ui-monospace, monospace; }
tr.turning td { color: var(--bad); font-weight: 600; }"""


_HEADINGS: Final = ("move", "side", "played", "score", "best", "score", "loss", "line of the best move")
_WIDTHS: Final = (">4", "5", "6", ">6", "4", ">6", ">5", "")
_SHOWN_PLIES: Final = 6


def format_review(review: GameReview) -> str:
    """Return a review as a table for a terminal, with the totals and the turning points."""
    rows = [_HEADINGS, *(_cells(move, review.game.start.board_size) for move in review.moves)]
    marks = ["", *(" !" if move.is_turning_point else "" for move in review.moves)]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, _WIDTHS, strict=True)) for row in rows]
    return "\n".join([*map(str.__add__, lines, marks), "", *_summary(review)])


def _cells(move: MoveReview, board_size: int) -> tuple[str, ...]:
    """Return the row of a move in the tables, see `_HEADINGS`."""
    played, best = (format_square(line.pv[0], board_size) for line in (move.played, move.best))
    line = format_pv(move.best.pv[:_SHOWN_PLIES], board_size)
    scores = format_score(move.played), format_score(move.best)
    return str(move.number), COLOR_NAMES[move.color], played, scores[0], best, scores[1], _format_loss(move), line


def review_as_dict(review: GameReview) -> dict[str, Any]:
    """Return a review as plain values, for JSON.

    Scores are in discs, from the mover's perspective.
    """
    n = review.game.start.board_size
    moves = [
        {
            "number": move.number,
            "color": COLOR_NAMES[move.color],
            "move": format_square(move.square, n),
            "score": move.played.score,
            "best_move": format_square(move.best.pv[0], n),
            "best_score": move.best.score,
            "loss": move.loss,
            "exact": move.exact,
            "turning_point": move.is_turning_point,
            "line": format_pv(move.best.pv, n),
        }
        for move in review.moves
    ]
    totals = {COLOR_NAMES[color]: review.total_loss(color) for color in (BLACK, WHITE)}
    return {"game": str(review.game), "agent": review.agent, "moves": moves, "loss": totals}


def review_as_html(review: GameReview) -> str:
    """Return a review as one HTML page without external files: graph, table and final position."""
    rows = []
    for move in review.moves:
        mark = ' class="turning"' if move.is_turning_point else ""
        cells = (f"<td>{html.escape(cell)}</td>" for cell in _cells(move, review.game.start.board_size))
        rows.append(f"<tr{mark}>{''.join(cells)}</tr>")
    summary = "".join(f"<p>{html.escape(line)}</p>" for line in _summary(review))
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Analysis of an Othello game</title><style>
{_STYLE}
</style></head>
<body>
<h1>Analysis of a game</h1>
{summary}
<figure>{_graph(review)}<figcaption>Score after each move in discs, positive if Black is ahead.</figcaption></figure>
<div class="scroll"><table><thead><tr>{"".join(f"<th>{heading}</th>" for heading in _HEADINGS)}</tr></thead>
<tbody>{"".join(rows)}</tbody></table></div>
<p>{board_svg(review.game.final, size=280)}</p>
<p>Transcript: <code>{review.game}</code></p>
</body></html>
"""


def _format_loss(move: MoveReview) -> str:
    return "" if move.loss == 0 else f"{move.loss:.0f}" if move.exact else f"{move.loss:.1f}"


def _summary(review: GameReview) -> list[str]:
    n, final = review.game.start.board_size, review.game.final
    lines = []
    if final.is_over:
        lines.append(f"Result: {format_result(final)}, {final.discs[0]}-{final.discs[1]}.")
    losses = (f"{COLOR_NAMES[color].capitalize()} lost {review.total_loss(color):.1f} discs" for color in (BLACK, WHITE))
    lines.append(f"{', '.join(losses)} against the moves of {review.agent}.")
    turning = [
        f"{move.number}. {format_square(move.square, n)} ({COLOR_NAMES[move.color]})" for move in review.moves if move.is_turning_point
    ]
    lines.append(f"Turning points: {', '.join(turning)}." if turning else "No move changed who was ahead.")
    lines.append("Scores are discs from the mover's perspective: whole numbers are proven, others are estimates.")
    return lines


def _graph(review: GameReview) -> str:
    """Return the scores after each move, from Black's perspective, as a line in SVG."""
    limit = max(8.0, *(abs(move.black_score) for move in review.moves)) if review.moves else 8.0
    step = _GRAPH_WIDTH / max(1, len(review.moves))
    middle = _GRAPH_HEIGHT / 2
    places = [(move.number * step, middle * (1 - 0.95 * move.black_score / limit)) for move in review.moves]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    marks = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="var(--bad)"/>'
        for (x, y), move in zip(places, review.moves, strict=True)
        if move.is_turning_point
    )
    label = f'aria-label="Score after each move, between {-limit:.0f} and {limit:.0f} discs for Black"'
    return (
        f'<svg role="img" {label} viewBox="0 0 {_GRAPH_WIDTH} {_GRAPH_HEIGHT}" width="{_GRAPH_WIDTH}">'
        f'<line x1="0" y1="{middle}" x2="{_GRAPH_WIDTH}" y2="{middle}" stroke="var(--grid)"/>'
        f'<polyline points="{points}" fill="none" stroke="var(--line)" stroke-width="2"/>{marks}</svg>'
    )


def _parser() -> Parser:
    parser = Parser(
        prog="python -m agents.analyze",
        description="Analyze a game: the score of each move, what it cost in discs, and the turning points.",
    )
    parser.add_argument("game", metavar="FILE|MOVES", help="file (its first game is analyzed) or transcript such as f5d6c3")
    agent_help = "agent that searches, of the kind alpha_beta (default: alpha_beta:evaluation=ntuple,depth=8,solver=16)"
    parser.add_argument("--agent", metavar="SPEC", help=agent_help)
    parser.add_argument("--format", choices=("text", "json", "html"), default="text", help="form of the result (default: text)")
    parser.add_argument("--board-size", type=int, choices=BOARD_SIZES, default=8, help="squares along one side of the board (default: 8)")
    return parser


def _searcher(spec: str | None, board_size: int) -> Searcher:
    agent = analyst(board_size) if spec is None else make_agent(spec)
    if not isinstance(agent, Searcher):
        raise ValueError(f"{agent.name} gives no scores: expected an agent of the kind alpha_beta")
    return agent


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command. argv: command-line arguments (default: those of the process)."""
    parser = _parser()
    with command("analyze"):
        arguments = parser.parse_args(argv)
        agent = _searcher(arguments.agent, arguments.board_size)
        game = read_source(arguments.game, board_size=arguments.board_size)
        with Progress(len(game.moves), unit="moves") as progress:
            review = review_game(game, agent, progress=progress.advance)
        if arguments.format == "json":
            print(json.dumps(review_as_dict(review), indent=1))
        else:
            print(format_review(review) if arguments.format == "text" else review_as_html(review))


if __name__ == "__main__":
    main()
