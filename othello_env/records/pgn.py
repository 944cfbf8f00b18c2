"""PGN, chess's format of tags and numbered moves, as Othello programs and servers write it.

```
[Black "Name"]
[White "Name"]
[Result "1-0"]

1. f5 d6 2. c3 d3 3. c4 pass
{Name wins 41-23} 1-0
```

Numbers count pairs of moves or single moves; passes are written (`pass`, `--`, `pa`, `@@@@`) or
left out; the result at the end is optional. Black comes first in results: "0-1" and "23-41" are
wins for White. Cassio fills the lines of a game that stops early with `--`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn

from othello_env.errors import RecordFormatError
from othello_env.game import check_move_number
from othello_env.position import Position
from othello_env.records.record import ErrorHandler, GameRecord, Place, known, parse_date, parse_komi, report
from othello_env.records.replay import WrittenMove, parse_move, replay, with_passes
from othello_env.records.result import TERMINATIONS, RecordedResult, discs_of, parse_result
from othello_env.squares import BOARD_SIZES, format_square, pass_square

_TAG: Final = re.compile(r'\s*\[\s*([A-Za-z0-9_]+)\s*"((?:[^"\\]|\\.)*)"\s*\]')
_TAG_WITH_QUOTES: Final = re.compile(r'\s*\[\s*([A-Za-z0-9_]+)\s*"(.*)"\s*\]\s*$')
_TAG_LINE: Final = re.compile(r"\s*\[")
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<result>(?:1/2-1/2|[0-9]{1,3}-[0-9]{1,3}|\*|[+-][0-9]{1,3})(?!\S))|(?P<number>[0-9]{1,3})\s*\.+"
    r"|(?P<move>[A-Za-z][0-9](?![A-Za-z0-9])|(?ai:pass|pa|ps|pp)(?![A-Za-z0-9])|--|@@@@|@@|-(?!\S))[!?]*"
    r"|(?P<open>[{(])|(?P<glyph>\$[0-9]+)|(?P<rest>;.*))"
)
_BLANK: Final = re.compile(r"\s*")
_COMMENT_SIGN: Final = {"{": re.compile(r"\}"), "(": re.compile(r"[()]")}
_RESULT_COMMENT: Final = re.compile(r"(?:.* wins|Draw) (-?[0-9]{1,3})-([0-9]{1,3})")
_FILLER: Final = "--"
_FROM_FEN: Final = str.maketrans("pP", "XO")
_TO_FEN: Final = str.maketrans("XO", "pP")

# Tags that have fields of their own.
_THEORETICAL: Final = ("TheoreticalScore", "TheoricalScore")
_OWN_TAGS: Final = ("Event", "Site", "Round", "Black", "White", "Date", "Result", "FEN", "SetUp", *_THEORETICAL, "Komi", "ResultToken")

# More than any game has; a longer one is damaged.
_MAX_TAGS: Final = 200
_MAX_MOVES: Final = 500
_MAX_COMMENT_CHARACTERS: Final = 1 << 16

# Where Edax breaks the lines of moves.
_LINE_CHARACTERS: Final = 78


@dataclass(slots=True)
class _RawGame:
    """A game as far as it has been read.

    Tags and moves have their line numbers; the result is the one after the moves.
    """

    line: int
    tags: dict[str, tuple[str, int]] = field(default_factory=dict)
    has_all_tags: bool = False
    moves: list[tuple[str, int]] = field(default_factory=list)
    num_placed: int = 0
    open_number: int = 0  # of a move that must follow
    notes: dict[int, str] = field(default_factory=dict)
    result: str | None = None
    result_comment: str = ""


def read_pgn(lines: Iterable[tuple[int, str]], file: str, *, on_error: ErrorHandler | None = None) -> Iterator[GameRecord]:
    """Yield the games of a file, one by one.

    lines: pairs (line number, text). on_error: called with the error of each game that cannot be
    read, after which reading continues with the next game; without it the first such error, a
    `RecordFormatError`, is raised.
    """
    reader = _Reader(file)
    for number, line in lines:
        yield from reader.feed(number, line, on_error)
    yield from reader.finish(on_error)


class _Reader:
    """Parser state between two lines."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.game: _RawGame | None = None
        self.is_lost = False  # after an error: nothing counts until the tags of the next game
        self.lost_in_tags = False
        self.comment: list[str] = []  # the lines of one that has not ended yet, with the sign that opened it in front
        self.comment_line, self.comment_size, self.depth = 0, 0, 0

    def feed(self, number: int, line: str, on_error: ErrorHandler | None) -> Iterator[GameRecord]:
        """Yield the game that ends before a line, if any."""
        is_tag = not self.comment and _TAG_LINE.match(line) is not None
        if is_tag and not self.lost_in_tags and (self.game is None or self.game.has_all_tags):
            yield from self.finish(on_error)
            self.game, self.is_lost = _RawGame(number), False
        if not is_tag:
            self.lost_in_tags = False
        if self.is_lost:
            return
        try:
            if is_tag:
                self.read_tags(number, line)
            else:
                self.read_moves(number, line)
        except RecordFormatError as error:
            self.lose()
            self.lost_in_tags = is_tag
            report(error, on_error)

    def finish(self, on_error: ErrorHandler | None) -> Iterator[GameRecord]:
        """Yield the game that has been read."""
        game, comment = self.game, self.comment
        self.lose()
        if game is None:
            return
        try:
            if comment:
                self.fail(self.comment_line, f"the comment that begins here with {comment[0]} has no end")
            if game.open_number:
                self.fail(game.moves[-1][1] if game.moves else game.line, f"no move after the number {game.open_number}")
            record = _read_game(game, self.file)
        except RecordFormatError as error:
            report(error, on_error)
        else:
            yield record

    def lose(self) -> None:
        self.game, self.is_lost, self.comment, self.depth = None, True, [], 0

    def fail(self, line: int, problem: str) -> NoReturn:
        raise RecordFormatError(f"{self.file}, line {line}: {problem}")

    def read_tags(self, number: int, line: str) -> None:
        assert self.game
        position = 0
        while not _BLANK.fullmatch(line, position):
            match = _TAG.match(line, position) or _TAG_WITH_QUOTES.match(line, position)
            if not match:
                self.fail(number, f'expected a tag like [Black "name"], not {line[position : position + 40].strip()!r}')
            name, value = match[1], re.sub(r'\\(["\\])', r"\1", match[2])
            before = self.game.tags.get(name)
            if before is None:
                self.game.tags[name] = value, number
            elif name == "Date":  # Edax writes two, the second one without sense where it does not know the date
                self.game.tags[name] = before if parse_date(before[0]) else (value, number)
            elif before[0] != value:
                self.fail(number, f"the tag {name} appears twice, as {before[0][:40]!r} and as {value[:40]!r}")
            if len(self.game.tags) > _MAX_TAGS:
                self.fail(number, f"more than {_MAX_TAGS} tags")
            position = match.end()

    def read_moves(self, number: int, line: str) -> None:
        if self.game is None:
            if line.strip():
                self.fail(number, f"expected the tags of a game, not {line.strip()[:40]!r}")
            return
        self.game.has_all_tags = True
        position = 0
        while position < len(line) or self.comment:
            if self.comment:
                position = self.read_comment(line, position)
                if position == len(line):
                    return
                continue
            token = _TOKEN.match(line, position)
            if not token:
                if _BLANK.fullmatch(line, position):
                    return
                self.fail(number, f"expected a move, a number or a result, not {line[position : position + 20].strip()!r}")
            position = token.end()
            if token["open"]:
                self.comment, self.comment_line, self.comment_size, self.depth = [token["open"]], number, 0, 1
            elif token["glyph"] is None and token["rest"] is None:
                self.read_token(number, token)

    def read_token(self, number: int, token: re.Match[str]) -> None:
        """Read a move, a move number, or the result."""
        assert self.game
        if self.game.result is not None:
            self.fail(number, f"{token[0].strip()!r} after the result {self.game.result!r}")
        if self.game.open_number and not token["move"]:
            self.fail(number, f"no move after the number {self.game.open_number}")
        if token["result"]:
            self.game.result = token["result"]
        elif token["number"]:
            try:
                check_move_number(int(token["number"]), len(self.game.moves), self.game.num_placed)
            except RecordFormatError as error:
                self.fail(number, str(error))
            self.game.open_number = int(token["number"])
        else:
            self.game.open_number = 0
            self.game.moves.append((token["move"], number))
            self.game.num_placed += token["move"][1:].isdecimal()
            if len(self.game.moves) > _MAX_MOVES:
                self.fail(number, f"more than {_MAX_MOVES} moves")

    def read_comment(self, line: str, position: int) -> int:
        """Continue in a comment or variation; return its end, or the end of the line."""
        assert self.game
        opened, begin = self.comment[0], position
        while self.depth:
            sign = _COMMENT_SIGN[opened].search(line, position)
            if not sign:
                self.comment.append(line[begin:])
                self.comment_size += len(line) - begin + 1
                if self.comment_size > _MAX_COMMENT_CHARACTERS:
                    self.fail(self.comment_line, f"a comment of more than {_MAX_COMMENT_CHARACTERS} characters begins here")
                return len(line)
            self.depth += 1 if sign[0] == "(" else -1
            position = sign.end()
        text = " ".join("\n".join([*self.comment[1:], line[begin : position - 1]]).split())
        self.comment = []
        if opened == "{":
            if _RESULT_COMMENT.fullmatch(text):
                self.game.result_comment = text
            elif self.game.num_placed and text:
                self.game.notes[self.game.num_placed] = text
        return position


def _read_game(raw: _RawGame, file: str) -> GameRecord:
    tags = {name: value for name, (value, _) in raw.tags.items()}
    start = Position.start()
    if "FEN" in tags:
        start = _parse_fen(tags["FEN"], file, raw.tags["FEN"][1])
    names = list(raw.moves)
    while names and names[-1][0] == _FILLER:
        names.pop()
    moves = []
    for name, line in names:
        try:
            moves.append(WrittenMove(parse_move(name, start.board_size), line))
        except RecordFormatError as error:
            raise RecordFormatError(f"{file}, line {line}: {error}") from None
    date = parse_date(tags.get("Date", ""))
    kept = {name: value for name, value in tags.items() if name not in _OWN_TAGS}
    result, differs = _read_result(raw, start.board_size)
    if result is not None and tags.get("Termination", "") in TERMINATIONS:
        result = replace(result, reason=kept.pop("Termination"))
    if differs:
        kept["ResultToken"] = differs
    if tags.get("Date", "") != _format_date(date):
        kept["Date"] = tags.get("Date", "")
    theoretical = next((parse_result(tags[name], start.board_size).score for name in _THEORETICAL if name in tags), None)
    return GameRecord(
        replay(moves, start, file),
        event=known(tags.get("Event", "")),
        site=known(tags.get("Site", "")),
        round=known(tags.get("Round", "")),
        black=known(tags.get("Black", "")),
        white=known(tags.get("White", "")),
        date=date,
        result=result,
        theoretical_score=theoretical,
        komi=parse_komi(tags.get("Komi", ""), Place(file, raw.line)),
        tags={name: value for name, value in kept.items() if value},
        notes=raw.notes,
        place=Place(file, raw.line),
    )


def _read_result(raw: _RawGame, board_size: int) -> tuple[RecordedResult | None, str]:
    """Return the most detailed result from the tag, the end of the moves and Edax's comment.

    Also returns what contradicts the tag.
    """
    texts = [text for text in (raw.tags.get("Result", ("", 0))[0].strip(), raw.result, raw.result_comment) if text]
    best: RecordedResult | None = None
    for text in texts:
        comment = _RESULT_COMMENT.fullmatch(text)
        other = parse_result(f"{comment[1]}-{comment[2]}" if comment else text, board_size)
        if comment and other.is_unclear:
            continue  # Edax's "X wins -31-95" for a game that is not over
        if best is None:
            best = other
        elif _differ(best, other):
            return best, text
        elif best.score is None:
            best = replace(other, text=best.text)
    return best, ""


def _differ(one: RecordedResult, other: RecordedResult) -> bool:
    if None not in (one.score, other.score) and one.score != other.score:
        return True
    return (one.outcome, one.is_unfinished) != (other.outcome, other.is_unfinished)


def _parse_fen(text: str, file: str, line: int) -> Position:
    """Read Edax's FEN: the rows from the last to the first, then b or w for the side to move.

    p is black, P is white, digits count empty squares.
    """
    rows, _, side = text.strip().partition(" ")
    cells = "".join("-" * int(sign) if sign in "123456789" else sign for sign in "/".join(reversed(rows[:200].split("/"))))
    n = rows.count("/") + 1
    board, side = cells.replace("/", ""), side[:1]
    if n not in BOARD_SIZES or [len(row) for row in cells.split("/")] != [n] * n or set(board) - set("pP-") or side not in ("b", "w"):
        raise RecordFormatError(f"{file}, line {line}: FEN {text[:80]!r}: expected rows of p, P and digits, and b or w")
    return Position.parse(board.translate(_FROM_FEN) + ("X" if side == "b" else "O"))


def _format_fen(position: Position) -> str:
    n = position.board_size
    board = str(position)[: n * n].translate(_TO_FEN)
    rows = [board[row * n : row * n + n] for row in reversed(range(n))]
    return f"{re.sub('-+', lambda run: str(len(run[0])), '/'.join(rows))} {'bw'[position.side_to_move]} - - 0 1"


def format_pgn(record: GameRecord) -> str:
    """Return the game as Edax writes it, with an empty line at the end.

    It has everything that `read_pgn` keeps. The result is "1-0", "0-1", "1/2-1/2" or "*", with the
    discs in a comment after the moves.
    """
    start, n = record.game.start, record.game.start.board_size
    result = record.result_or_computed or RecordedResult(is_unfinished=True)
    discs = discs_of(result, n)
    spelled = str(replace(result, score=None, discs=None)) if discs or result.score is None else str(result)
    tags = {
        "Event": record.event or "?",
        "Site": record.site or "?",
        "Date": record.tags.get("Date") or _format_date(record.date),
        "Round": record.round or "?",
        "Black": record.black or "?",
        "White": record.white or "?",
        "Result": spelled,
        "FEN": "" if start == Position.start() else _format_fen(start),
        "TheoreticalScore": "" if record.theoretical_score is None else _format_score(record.theoretical_score, n),
        "Komi": f"{record.komi:.10g}" if record.komi else "",
        "Termination": result.reason,
    }
    tags |= {name: value for name, value in record.tags.items() if name not in _OWN_TAGS and re.fullmatch("[A-Za-z0-9_]+", name)}
    lines = [f'[{name} "{_escape(value)}"]' for name, value in tags.items() if value]
    lines += ["", *_format_moves(record)]
    comment = ""
    if discs:
        names = {1: record.black or "Black", -1: record.white or "White"}
        text = f"{names[result.outcome]} wins" if result.outcome else "Draw"
        comment = f"{{{_comment_text(text)} {discs[0]}-{discs[1]}}} "
    return "\n".join([*lines, f"{comment}{spelled}", "", ""])


def _format_moves(record: GameRecord) -> Iterator[str]:
    """Yield the lines of moves, with passes; the numbers count both."""
    n = record.game.start.board_size
    words: list[str] = []
    for index, (number, square, _) in enumerate(with_passes(record.game)):
        words.append((f"{index // 2 + 1}. " if index % 2 == 0 else "") + format_square(square, n))
        if square != pass_square(n) and record.notes.get(number):
            words.append(f"{{{_comment_text(record.notes[number])}}}")
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > _LINE_CHARACTERS:
            yield line
            line = ""
        line += f" {word}" if line else word
    if line:
        yield line


def _format_date(date: str) -> str:
    return ".".join([*date.split("-"), "??", "??"][:3]) if date else "????.??.??"


def _format_score(score: int, n: int) -> str:
    return f"{score:+d}" if score % 2 else f"{(n * n + score) // 2}-{(n * n - score) // 2}"


def _escape(text: str) -> str:
    return re.sub(r'(["\\])', r"\\\1", " ".join(text.split()))


def _comment_text(text: str) -> str:
    return " ".join(text.replace("}", ")").replace("{", "(").split())
