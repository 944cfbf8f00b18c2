"""A picture of a run's strength while it learned."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

FILE_NAME: Final = "curve.png"
_PREFIX: Final = "score "


def draw_learning_curve(metrics: Path, path: Path, *, title: str) -> None:
    """Draw the scores against the baselines by games played, from the `metrics.csv` of a run, and write a PNG.

    One line an opponent, and a bold one for their mean.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    games, scores = read_scores(metrics)
    for name, values in scores.items():
        if name != "score":
            axes.plot(games, values, linewidth=1, alpha=0.8, label=name.removeprefix(_PREFIX), marker="." if len(games) < 3 else "")
    axes.plot(games, scores["score"], linewidth=2.5, color="black", label="mean")
    axes.axhline(0.5, color="gray", linewidth=0.8, linestyle=":")
    axes.set(xlabel="games of self-play", ylabel="score", ylim=(0, 1), title=title)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right", fontsize="small")
    figure.savefig(path)


def read_scores(file: Path) -> tuple[list[int], dict[str, list[float]]]:
    """The games, and by their names in the file the scores after so many games. Raises `ValueError` or `KeyError` for another file."""
    with file.open(newline="", encoding="utf-8") as lines:
        reader = csv.DictReader(lines)
        names = [name for name in reader.fieldnames or () if name.startswith("score")]
        rows = list(reader)
    return [int(row["games"]) for row in rows], {name: [float(row[name]) for row in rows] for name in names}
