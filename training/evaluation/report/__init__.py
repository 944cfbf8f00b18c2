"""Report of a tournament: a self-contained page, and the same numbers as Markdown and CSV.

`python -m training.evaluation.report DIR` reads DIR/games.jsonl and writes report.html, report.md,
games.csv, crosstable.csv and ratings.csv beside it. `section` builds the contents once; `page`,
`markdown` and `spreadsheet` render them.
"""

from training.evaluation.report.files import write_report

__all__ = ["write_report"]
