"""Learning curves as pictures: `python -m training.learning_curve RUN [RUN ...] --out PICTURE`.

For a single run, the picture shows its score against each baseline; for several runs, one curve per
run.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from othello_env.atomic_file import write_atomically
from othello_env.command import Parser, command
from training.metrics import FILE_NAME as METRICS_FILE
from training.metrics import read_metrics

FILE_NAME: Final = "curve.png"

_MEAN: Final = "score"
_PREFIX: Final = "score "
# The colors of Okabe and Ito, which color-blind readers can tell apart; then the same ones dashed.
_COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
_LINE_STYLES: Final = ("-", "--", ":")
# A curve with fewer points has a marker at each point.
_FEW_POINTS: Final = 3


def draw_learning_curve(metrics: Path, path: Path, *, title: str) -> None:
    """Draw the scores of one run by games played: one line per baseline, a bold one for the mean.

    metrics: the `metrics.csv` of the run. path: the picture; its suffix selects the format, such as
    .png or .svg. Raises `ValueError` for another file or format.
    """
    games, scores = read_scores(metrics)
    figure, axes = _new_picture(title)
    baselines = [name for name in scores if name != _MEAN]
    for number, name in enumerate(baselines):
        _draw_curve(axes, games, scores[name], label=name.removeprefix(_PREFIX), number=number, width=1.2)
    axes.plot(games, scores[_MEAN], linewidth=2.5, color="black", label="mean", marker=_mark(games))
    lowest = min([1.0, *(score for values in scores.values() for score in values)])
    _finish(figure, axes, path, ylabel="score", lowest=lowest, legend="opponent")


def draw_comparison(runs: Mapping[str, Path], path: Path, *, opponent: str | None = None, log: bool = False) -> None:
    """Draw the scores of several runs by games played, one line per run.

    runs: the `metrics.csv` of each run by its label. path: as in `draw_learning_curve`. opponent:
    the baseline whose score is drawn; by default the mean over all baselines, which must then be
    the same for all runs. log: logarithmic axis of games. Raises `ValueError` for runs that cannot
    be compared.
    """
    found = {label: read_scores(metrics) for label, metrics in runs.items()}
    shared = [name for name in next(iter(found.values()))[1] if all(name in scores for _, scores in found.values())]
    names = ", ".join(name.removeprefix(_PREFIX) for name in shared if name != _MEAN)
    column = _MEAN if opponent is None else f"{_PREFIX}{opponent}"
    if column not in shared:
        raise ValueError(f"opponent {opponent!r}: expected one that all runs were evaluated against: {names}")
    if opponent is None and any(list(scores) != shared for _, scores in found.values()):
        raise ValueError(f"the runs were evaluated against different baselines, so their means differ; choose --opponent from {names}")
    figure, axes = _new_picture("")
    for number, (label, (games, scores)) in enumerate(found.items()):
        last = f"{scores[column][-1]:.3f}" if games else "no evaluation yet"
        _draw_curve(axes, games, scores[column], label=f"{label} ({last})", number=number, width=2)
    if log and any(games for games, _ in found.values()):
        axes.set_xscale("log")
    ylabel = f"mean score over {len(shared) - 1} baselines" if opponent is None else f"score against {opponent}"
    lowest = min([1.0, *(score for _, scores in found.values() for score in scores[column])])
    _finish(figure, axes, path, ylabel=ylabel, lowest=lowest, legend="run (last score)")


def read_scores(file: Path) -> tuple[list[int], dict[str, list[float]]]:
    """Read the evaluations of a run: numbers of games, and scores by column.

    The columns are "score", the mean, and "score SPEC" for each baseline. file: a `metrics.csv`.
    Raises `ValueError` for another file.
    """
    header, rows = read_metrics(file)
    if header[:1] != ["games"] or _MEAN not in header:
        raise ValueError(f"{file}: no metrics of a training run; expected the columns games and score")
    columns = {name: number for number, name in enumerate(header) if name == _MEAN or name.startswith(_PREFIX)}
    return [int(row[0]) for row in rows], {name: [float(row[number]) for row in rows] for name, number in columns.items()}


def _new_picture(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize="medium")
    return figure, axes


def _draw_curve(axes: Axes, games: Sequence[int], scores: Sequence[float], *, label: str, number: int, width: float) -> None:
    color, style = _COLORS[number % len(_COLORS)], _LINE_STYLES[number // len(_COLORS) % len(_LINE_STYLES)]
    axes.plot(games, scores, linewidth=width, color=color, linestyle=style, label=label, marker=_mark(games))


def _mark(games: Sequence[int]) -> str:
    return "." if len(games) < _FEW_POINTS else ""


def _finish(figure: Figure, axes: Axes, path: Path, *, ylabel: str, lowest: float, legend: str) -> None:
    """Draw axes and legend, and write the picture.

    lowest: the lowest score in it. legend: the title of the legend.
    """
    axes.axhline(0.5, color="gray", linewidth=0.8, linestyle=":")
    axes.set(xlabel="self-play games", ylabel=ylabel, ylim=(min(0.45, lowest - 0.03), 1.02))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", fontsize="small", framealpha=0.9, title=legend, title_fontsize="small")
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:] or "png")
    write_atomically(path, picture.getvalue())


def _labels(runs: Sequence[Path]) -> list[str]:
    """Return the names of the runs.

    These are the names of their folders or files if they differ, otherwise the paths.
    """
    named = [run.resolve().parent if run.name == METRICS_FILE else run.resolve() for run in runs]
    names = [path.name.removesuffix(".csv") for path in named]
    return names if len(set(names)) == len(names) else [str(run) for run in runs]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line. argv: its arguments, by default those of the process."""
    parser = Parser(
        prog="python -m training.learning_curve",
        description="Draw learning curves: of one run against each baseline, or of several runs in one picture.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a training run, or its metrics file (CSV)")
    parser.add_argument("--out", type=Path, required=True, metavar="PICTURE", help="picture to write: .png, .svg or .pdf")
    parser.add_argument("--labels", nargs="+", metavar="LABEL", help="names of the runs in the picture (default: those of their folders)")
    parser.add_argument("--opponent", metavar="SPEC", help="draw the score against this baseline (default: the mean over all baselines)")
    parser.add_argument("--log", action="store_true", help="logarithmic axis of games, for runs of different lengths")
    arguments = parser.parse_args(argv)
    with command("learning_curve"):
        labels = arguments.labels or _labels(arguments.runs)
        if len(set(labels)) != len(arguments.runs):
            raise ValueError(f"{len(set(labels))} different labels for {len(arguments.runs)} runs: expected one for each run")
        metrics = [run / METRICS_FILE if run.is_dir() else run for run in arguments.runs]
        if len(metrics) == 1 and arguments.opponent is None and not arguments.log:
            draw_learning_curve(metrics[0], arguments.out, title=labels[0])
        else:
            draw_comparison(dict(zip(labels, metrics, strict=True)), arguments.out, opponent=arguments.opponent, log=arguments.log)
        print(arguments.out)


if __name__ == "__main__":
    main()
