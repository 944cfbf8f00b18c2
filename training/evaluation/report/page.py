"""Report as a page: one self-contained HTML file that loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from othello_env.position import COLOR_NAMES
from training.evaluation.report.document import (
    Code,
    Column,
    Document,
    Facts,
    Figure,
    Figures,
    Paragraph,
    Part,
    Replay,
    Table,
)
from training.evaluation.report.label import short_labels
from training.evaluation.report.plot import thumbnail
from training.evaluation.report.replay import format_replay_data

_ASSETS: Final = Path(__file__).parent / "assets"

# Widths as multiples of the font size: of players' names in tables, the smallest one of names above
# a column of a matrix, and that of all names above a matrix together.
_LABEL_WIDTH: Final = 20.0
_LEAST_HEAD_WIDTH: Final = 12.0
_HEADS_WIDTH: Final = 48.0

# Buttons below the board: key, label, and icon.
_BUTTONS: Final = {
    "first": ("First position", "M2 2h2v12H2zM14 2v12L5 8z"),
    "previous": ("Previous move", "M13 2v12L3 8z"),
    "next": ("Next move", "M3 2v12l10-6z"),
    "last": ("Last position", "M12 2h2v12h-2zM2 2v12l9-6z"),
}

# Nothing is loaded, whatever the names in a journal contain.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def format_page(document: Document) -> str:
    """Return the document as an HTML page."""
    return _Page(document).format()


class _Page:
    """Renderer of a document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._labels = short_labels(document.players, width=_LABEL_WIDTH, font_size=1)
        width = min(_LABEL_WIDTH, max(_LEAST_HEAD_WIDTH, _HEADS_WIDTH / max(1, len(document.players))))
        self._narrow_labels = short_labels(document.players, width=width, font_size=1)

    def format(self) -> str:
        document = self._document
        links = "".join(f'<li><a href="#{section.key}">{escape(section.title)}</a></li>' for section in document.sections)
        body = "".join(
            f'<section id="{section.key}" aria-labelledby="{section.key}-title"><h2 id="{section.key}-title">{escape(section.title)}</h2>'
            f"{self._render(section.parts)}</section>"
            for section in document.sections
        )
        replay = document.replay()
        script = ""
        if replay is not None:
            data = format_replay_data(replay.games)
            script = f'<script type="application/json" id="data">{data}</script><script>{_asset("positions.js")}</script>'
            script += f"<script>{_asset('page.js')}</script>"
        title = escape(document.title)
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><link rel="icon" href="data:,"><title>{title}</title>'
            f"<style>{_asset('page.css')}</style></head><body><header><h1>{title}</h1>{self._render(document.head)}"
            f'<nav aria-label="Contents"><ul>{links}</ul></nav></header><main>{body}</main>'
            f"<footer><p>{escape(document.origin)}</p></footer>{script}</body></html>\n"
        )

    def _render(self, parts: Sequence[Part]) -> str:
        """Return parts as HTML; figures share a row with the table that follows if it fits."""
        html: list[str] = []
        figures: list[str] = []
        for part in parts:
            if isinstance(part, Figure):
                figures.append(_figure(part))
            elif figures and isinstance(part, Table):
                html.append(f'<div class="beside"><div>{"".join(figures)}</div>{self._table(part)}</div>')
                figures = []
            else:
                html += [*figures, self._part(part)]
                figures = []
        return "".join([*html, *figures])

    def _part(self, part: Part) -> str:
        if isinstance(part, Paragraph):
            return _paragraph(part.text, "" if part.style == "plain" else part.style)
        if isinstance(part, Code):
            return f"<pre>{escape(part.text)}</pre>"
        if isinstance(part, Facts):
            facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(fact)}</dd></div>" for name, fact in part.facts)
            return f'<dl class="facts">{facts}</dl>'
        if isinstance(part, Table):
            return self._table(part)
        if isinstance(part, Figure):
            return _figure(part)
        if isinstance(part, Figures):
            return f'<div class="plots{" wide" if part.is_wide else ""}">{"".join(map(_figure, part.figures))}</div>'
        return _replay(part)

    def _table(self, table: Table) -> str:
        if not table.rows:
            return ""
        heads = "".join(map(self._head, table.columns))
        lines = []
        for row in table.rows:
            cells = (
                self._cell(column, value, is_head=place == 0) for place, (column, value) in enumerate(zip(table.columns, row, strict=True))
            )
            lines.append(f"<tr>{''.join(cells)}</tr>")
        caption = escape(table.caption)
        return (
            f'<div class="scroll" role="region" aria-label="{caption}" tabindex="0"><table{_class("matrix" if table.is_matrix else "")}>'
            f"<caption><span>{caption}</span></caption><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
        )

    def _head(self, column: Column) -> str:
        look = column.kind.look
        title = _label(column.title, self._narrow_labels) if look == "shaded" else escape(column.title)
        return f'<th scope="col"{_class("" if look in ("number", "shaded") else "left")}>{title}</th>'

    def _cell(self, column: Column, value: Any, *, is_head: bool) -> str:
        look, text = column.kind.look, escape(column.text(value))
        if look == "label":
            text = _label(value, self._labels)
        elif look == "name":
            text = f"<span>{text}</span>"
        if is_head:
            return f'<th scope="row"{_class("name" if look in ("name", "label") else "")}>{text}</th>'
        if value is None:
            return f'<td class="none">{text}</td>'
        if look == "shaded":
            details = f"<small>{'<br>'.join(map(escape, value.details))}</small>" if value.details else ""
            return f'<td class="s{round(10 * value.share)}">{escape(value.text)}{details}</td>'
        if look == "board":
            return f'<td class="left">{thumbnail(value)}</td>'
        if look == "game":
            return f'<td class="left"><a href="#game={value.game}&amp;ply={value.ply}">{text}</a></td>'
        kind = {"number": "", "text": "left", "long text": "long", "name": "name", "label": "name"}[look]
        return f"<td{_class(kind)}>{text}</td>"


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _label(name: str, labels: dict[str, str]) -> str:
    """Return the label of a name as HTML; the whole name is shown as its tooltip."""
    label = labels.get(name, name)
    title = "" if label == name else f' title="{escape(name)}"'
    return f"<span{title}>{escape(label)}</span>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _paragraph(text: str, style: str = "") -> str:
    return f"<p{_class(style)}>{escape(text)}</p>"


def _figure(figure: Figure) -> str:
    items = "".join(f'<li><span class="{name}"></span>{escape(meaning)}</li>' for name, meaning in figure.legend)
    legend = f'<ul class="legend">{items}</ul>' if items else ""
    return f"<figure>{legend}{figure.svg}<figcaption>{escape(figure.caption)}</figcaption></figure>"


def _replay(replay: Replay) -> str:
    filters = [
        ("player", "Player", '<option value="">any</option>', ""),
        ("opponent", "Opponent", '<option value="">any</option>', ""),
        ("result", "Result", _result_options(), ""),
        ("game", "Game", "", "wide"),
    ]
    labels = "".join(f'<label{_class(kind)}>{name}<select id="{key}">{options}</select></label>' for key, name, options, kind in filters)
    players = "".join(
        f'<div id="{color}-player"><span class="disc {color}-disc"></span><span class="who" id="{color}-name"></span>'
        f'<strong id="{color}-discs"></strong></div>'
        for color in COLOR_NAMES
    )
    buttons = [_button("first"), _button("previous"), '<button type="button" id="play">Play</button>', _button("next"), _button("last")]
    return (
        f"{_paragraph(replay.text)}<noscript>{_paragraph('The board needs JavaScript; games.csv has the moves.', 'note')}</noscript>"
        f'<div class="filters">{labels}</div><p id="found" class="remark" role="status"></p><p id="facts" class="remark"></p>'
        f'<div class="replay"><div><div class="players">{players}</div><svg id="board" role="img" aria-label="Board"></svg>'
        f'<div class="buttons">{"".join(buttons)}</div><p id="status" role="status"></p>'
        f"{_paragraph('Keys: ← → one move, Home and End to the ends, while the focus is in this part.', 'remark')}</div>"
        '<ol id="moves" aria-label="Moves"></ol></div>'
    )


def _button(key: str) -> str:
    label, path = _BUTTONS[key]
    icon = f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="{path}"/></svg>'
    return f'<button type="button" id="{key}" aria-label="{label}">{icon}</button>'


def _result_options() -> str:
    options = '<option value="">any</option>'
    for value, any_player, chosen_player in (("win", "Black won", "won"), ("draw", "a draw", "drew"), ("loss", "White won", "lost")):
        options += f'<option value="{value}" data-any="{any_player}" data-chosen="{chosen_player}">{any_player}</option>'
    return options + '<option value="fault">lost by a fault</option>'
