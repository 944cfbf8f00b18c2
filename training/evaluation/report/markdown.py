"""Report as Markdown. Figures, boards and games to step through are left out."""

from __future__ import annotations

from collections.abc import Iterator

from training.evaluation.report.document import Code, Document, Facts, Paragraph, Part, Table


def format_markdown(document: Document) -> str:
    """Return the document as Markdown."""
    lines = [f"# {_escape(document.title)}", ""]
    for part in document.head:
        lines += _render(part)
    for section in document.sections:
        content = [line for part in section.parts for line in _render(part)]
        if content:
            lines += [f"## {_escape(section.title)}", "", *content]
    return "\n".join([*lines, _escape(document.origin), ""])


def _render(part: Part) -> Iterator[str]:
    """Yield the lines of a part, followed by an empty line."""
    if isinstance(part, Paragraph):
        yield from (_escape(part.text), "")
    elif isinstance(part, Code):
        yield from ("    " + _literal(part.text), "")
    elif isinstance(part, Facts):
        yield from (*(f"- {_escape(name)}: {_escape(number)}" for name, number in part.facts), "")
    elif isinstance(part, Table) and part.rows:
        yield from (f"{_escape(part.caption.rstrip('.'))}.", "", *_rows(part), "")


def _rows(table: Table) -> Iterator[str]:
    shown = [place for place, column in enumerate(table.columns) if column.kind.look != "board"]
    columns = [table.columns[place] for place in shown]
    yield _row([column.title for column in columns])
    yield f"|{'|'.join('---:' if column.kind.look in ('number', 'shaded') else '---' for column in columns)}|"
    for row in table.rows:
        yield _row([column.text(row[place]) for column, place in zip(columns, shown, strict=True)])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(map(_escape, cells))} |"


def _literal(text: str) -> str:
    """Return a text for code, where nothing can be escaped."""
    return " ".join(text.replace("`", "'").split())


def _escape(text: str) -> str:
    """Return a text without Markdown or HTML markup."""
    escaped = "".join(f"\\{sign}" if sign in "\\`*_{}[]#|~!" else sign for sign in " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
