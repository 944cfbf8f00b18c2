from __future__ import annotations

import pytest
from hypothesis import given

from othello_env import Game, Position, RecordFormatError
from othello_env.records import GameRecord, RecordedResult, pgn
from othello_env.records.pgn import format_pgn
from tests.othello_env.records.samples import (
    DRAW,
    FULL,
    GAMES,
    PASS_AT_THE_END,
    PASSES,
    RUNNING,
    SMALL,
    WHITE_FIRST,
    WIPEOUT,
    read,
    read_one,
)
from tests.strategies import positions


def numbered(game: Game, *, step: int = 1, token: str = "pass") -> str:
    """The moves as a server writes them, a pair in each line. step: 1 numbers pairs, 2 single moves. token: for passes, or nothing."""
    words: list[str] = []
    for number, move in enumerate(game.moves):
        if token and game.positions()[number].side_to_move != (number + len([w for w in words if w == token])) % 2:
            words.append(token)
        words.append(str(Game((move,), game.positions()[number])))
    pairs = [words[place : place + 2] for place in range(0, len(words), 2)]
    return "\n".join(f"{number * step + 1}. {' '.join(pair)}" for number, pair in enumerate(pairs))


PLAYOK = f"""\
[Event "?"]
[Site "PlayOK"]
[Date "2021.03.11"]
[Round "-"]
[Black "one"]
[White "two"]
[Result "0-59"]
[Time "20:13:30"]
[Variant "xot"]
[TimeControl "120"]
[BlackElo "1224"]
[WhiteElo "1314"]

{numbered(PASSES, token="--")} 0-59
"""
FLYORDIE = f"""\
[Event "Online game"]
[Site "www.flyordie.com"]
[Date "2025.01.30"]
[Round "2"]
[White "two"]
[Black "one"]
[Result "0-1"]
[WhiteRating "?144"]
[WhiteTime "R0:07:43"]
[Termination "normal"]
[UTCDate "2025.01.30"]

{numbered(FULL)} 0-1
"""
LIVE = f"""\
[Event "EGP Stockholm"]
[Date ".."]
[Round "F1"]
[Black " "]
[White "two"]
[Result "0-59"]
{numbered(PASSES, step=2, token="").upper()}
0-59
"""
WTHOR_CONVERSION = f'[Event "Open"]\n[Black "one"]\n[White "two"]\n[Result "64-0"]\n\n{numbered(WIPEOUT).upper()}\n'
CASSIO = (
    '[Event "Open"]\n[Database "Wthor"]\n[Black "one"]\n[White "two"]\n[TheoreticalScore "36-28"]\n[Result "33-31"]\n'
    + numbered(RUNNING)
    + " --\n"
    + "\n".join(f"{number}. -- --" for number in range(5, 31))
    + "\n"
)
EDAX = """\
[Event "?"]
[Site "edax"]
[Date "2026.??.??"]
[Date "0.0.0"]
[Time "255.0.0"]
[Round "?"]
[Black "one"]
[White "Yorick"]
[Result "0-1"]

 1. f5 d6 2. c5 f4 3. e3 f6 4. g5 e6 5. e7
{Yorick wins 0-64} 0-1


"""
EDAX_UNFINISHED = EDAX.replace("0-1", "*").replace(" 5. e7", "").replace("wins 0-64", "wins -31-95")


def test_playok_writes_passes_and_discs() -> None:
    record = read_one("pgn", PLAYOK)
    assert (record.game, record.black, record.white, record.site, record.round, record.date) == (
        PASSES,
        "one",
        "two",
        "PlayOK",
        "",
        "2021-03-11",
    )
    assert record.result == RecordedResult.from_discs(0, 59)
    assert record.tags == {"Time": "20:13:30", "Variant": "xot", "TimeControl": "120", "BlackElo": "1224", "WhiteElo": "1314"}
    assert record.contradictions() == ()


def test_flyordie_puts_white_first_in_tags_and_black_first_in_results() -> None:
    record = read_one("pgn", FLYORDIE)
    assert (record.game, record.black, record.white, record.result) == (FULL, "one", "two", RecordedResult(-1))
    assert (record.tags["WhiteRating"], record.tags["Termination"]) == ("?144", "normal")
    assert record.contradictions() == ()


def test_liveothello_numbers_moves_and_leaves_passes_out() -> None:
    record = read_one("pgn", LIVE)
    assert (record.game, record.event, record.round, record.black, record.date) == (PASSES, "EGP Stockholm", "F1", "", "")
    assert record.result == RecordedResult.from_discs(0, 59)
    assert record.tags == {"Date": ".."}


def test_conversions_of_wthor_have_no_result_behind_the_moves() -> None:
    record = read_one("pgn", WTHOR_CONVERSION)
    assert (record.game, record.result) == (WIPEOUT, RecordedResult.from_discs(64, 0))
    assert record.contradictions() == ()
    assert read_one("pgn", WTHOR_CONVERSION.replace("1. ", "1.")).game == WIPEOUT


def test_cassio_fills_up_games_that_stop_early() -> None:
    record = read_one("pgn", CASSIO)
    assert (record.game, record.is_complete, record.theoretical_score) == (RUNNING, False, 8)
    assert record.result == RecordedResult.from_discs(33, 31)
    assert record.tags == {"Database": "Wthor"}
    assert read_one("pgn", CASSIO.replace("TheoreticalScore", "TheoricalScore")).theoretical_score == 8


def test_edax_writes_two_dates_and_the_opposite_result() -> None:
    record = read_one("pgn", EDAX)
    assert (record.game, record.date, record.tags["Time"]) == (WIPEOUT, "2026", "255.0.0")
    assert record.result == RecordedResult(-1, -64, (0, 64))
    assert "as Edax 4.6 writes it after an odd number of moves" in record.contradictions()[0]
    record = read_one("pgn", EDAX_UNFINISHED)
    assert (record.is_complete, record.result, record.contradictions()) == (False, RecordedResult(is_unfinished=True), ())


@pytest.mark.parametrize(("tag", "result"), [("", None), ('[Result "-2"]', -2), ('[Result "1/2-1/2"]', 0), ('[Result "*"]', None)])
def test_othello_quest_writes_all_kinds_of_results(tag: str, result: int | None) -> None:
    record = read_one("pgn", f'[Site "questgames"]\n{tag}\n\n1. e6 f4 2. e3 d6')
    assert (record.result.score if record.result else None) == (result if result != 0 else None)
    assert (record.result is None) == (not tag)


@pytest.mark.parametrize("token", ["--", "pass", "pa", "PA", "PASS", "PP", "@@@@", "-"])
def test_passes_are_read_in_all_spellings(token: str) -> None:
    text = '[Event "x"]\n\n' + numbered(PASSES, token="pass").replace("pass", token)
    assert read_one("pgn", text).game == PASSES


def test_many_games_stand_in_a_file() -> None:
    text = PLAYOK + "\n" + FLYORDIE + LIVE + WTHOR_CONVERSION + CASSIO + EDAX + EDAX_UNFINISHED
    for end in ("\n", "\r\n", "\r"):
        records = read("pgn", text.replace("\n", end))
        assert [record.game for record in records] == [PASSES, FULL, PASSES, WIPEOUT, RUNNING, WIPEOUT, Game.parse("f5d6c5f4e3f6g5e6")]
    assert [record.place.line for record in records] == [
        text[: text.index(head)].count("\n") + 1 for head in (PLAYOK, FLYORDIE, LIVE, WTHOR_CONVERSION, CASSIO, EDAX, EDAX_UNFINISHED)
    ]


def test_games_without_moves_are_read() -> None:
    text = '[Black "one"]\n[Result "64-0"]\n\n[Black "two"]\n\n64-0\n[Black "three"]\n'
    assert [(record.black, len(record.game.moves)) for record in read("pgn", text)] == [("one", 0), ("two", 0), ("three", 0)]


def test_comments_variations_and_glyphs_are_read_over() -> None:
    text = '[Event "x"]\n\n1. f5! {a comment [with] (signs)} d6 $14 (1... f4 2. (c3) e3) 2. c3?! ; the rest\n{over\ntwo lines} d3'
    record = read_one("pgn", text)
    assert record.game == Game.parse("f5d6c3d3")
    assert record.notes == {1: "a comment [with] (signs)", 3: "over two lines"}


def test_a_tag_and_an_end_that_differ_are_both_kept() -> None:
    record = read_one("pgn", '[Event "x"]\n[Result "*"]\n\n1. f5 d6 31-33\n')
    assert record.result == RecordedResult(is_unfinished=True)
    assert record.contradictions() == ("the tag says '*', the end of the moves '31-33'",)
    record = read_one("pgn", '[Event "x"]\n[Result "0-1"]\n\n1. f5 d6 31-33\n')
    assert (record.result, record.contradictions()) == (RecordedResult.from_discs(31, 33), ())


def test_quotes_in_tags_are_read_with_and_without_escapes() -> None:
    assert read_one("pgn", r'[Black "the \"one\" \\ a"]').black == r'the "one" \ a'
    assert read_one("pgn", '[Black "the "one""]').black == 'the "one"'


@pytest.mark.parametrize("game", [*GAMES, WHITE_FIRST, SMALL, Game()])
def test_what_is_written_is_read_again(game: Game) -> None:
    record = GameRecord(
        game,
        black=r'Jérôme "J" \a',
        white="村上 {w}",
        date="2006-05-28",
        event="Open",
        site="Paris",
        round="3/4",
        result=RecordedResult.from_discs(28, 36) if game is not SMALL else RecordedResult.from_discs(3, 11),
        theoretical_score=-8,
        komi=-0.5,
        tags={"BlackElo": "1224", "DT": "2006.05.28_10:00:00.GMT"},
        notes={1: "/1.5/2"} if game.moves else {},
    )
    assert read_one("pgn", format_pgn(record)) == record


@pytest.mark.parametrize(
    "result",
    [
        RecordedResult(is_unfinished=True),
        RecordedResult(1),
        RecordedResult(0),
        RecordedResult.from_score(17),
        RecordedResult(-1, reason="time"),
        RecordedResult.from_discs(12, 12),
    ],
)
def test_all_results_are_written_and_read(result: RecordedResult) -> None:
    assert read_one("pgn", format_pgn(GameRecord(RUNNING, result=result))).result == result


@given(positions)
def test_positions_are_written_and_read(position: Position) -> None:
    record = GameRecord(Game((), position), result=RecordedResult(is_unfinished=True))
    assert read_one("pgn", format_pgn(record)) == record


def test_the_text_is_edaxs() -> None:
    text = format_pgn(GameRecord(PASSES, black="one", white="two"))
    assert text.startswith(
        '[Event "?"]\n[Site "?"]\n[Date "????.??.??"]\n[Round "?"]\n[Black "one"]\n[White "two"]\n[Result "0-1"]\n\n1. f5 d6 2. c4 g5'
    )
    assert text.endswith("\n{two wins 0-64} 0-1\n\n")
    assert text.count("pass") == 23
    assert max(map(len, text.splitlines())) <= 78
    assert "{Draw 32-32} 1/2-1/2" in format_pgn(GameRecord(DRAW))
    assert format_pgn(GameRecord(PASS_AT_THE_END)).endswith("4. f7 h6 5. pass\n*\n\n")
    # Edax writes the last row first: black d4 e5, white e4 d5, White to move.
    assert '[FEN "8/8/8/3Pp3/3pP3/8/8/8 w - - 0 1"]' in format_pgn(GameRecord(WHITE_FIRST))


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("1. f5 d6", 1, "expected the tags of a game, not '1. f5 d6'"),
        ('[Event "x"\n\n1. f5', 1, 'expected a tag like [Black "name"], not \'[Event "x"\''),
        ('[Black "x"]\n[Black "y"]\n', 2, "the tag Black appears twice, as 'x' and as 'y'"),
        ('[Event "x"]\n\n1. f5 d6 4. c3', 3, "move number 4 after 2 moves: expected 2 or 3"),
        ('[Event "x"]\n\n1. f5 d6 2.', 3, "no move after the number 2"),
        ('[Event "x"]\n\n1. f5 2. 1-0', 3, "no move after the number 2"),
        ('[Event "x"]\n\n1. f5\nf5', 4, "move 2: f5 is illegal for white"),
        ('[Event "x"]\n\n1. f5 pass 2. d6', 3, "a pass, but white can move before move 2"),
        ('[Event "x"]\n\n1. P@d3 P@c3', 3, "expected a move, a number or a result, not 'P@d3 P@c3'"),
        ('[Event "x"]\n\n1. f5 i9', 3, "'i9' names no square"),
        ('[Event "x"]\n\n1. f5 1-0 d6', 3, "'d6' after the result '1-0'"),
        ('[Event "x"]\n\n1. f5 {d6', 3, "the comment that begins here with { has no end"),
        ('[Event "x"]\n[FEN "8/8 b"]\n', 2, "FEN '8/8 b': expected rows of p, P and digits, and b or w"),
        ('[Event "x"]\n[Komi "x"]\n', 1, "komi 'x': expected a number"),
    ],
)
def test_games_that_do_not_follow_the_format_are_refused(text: str, line: int, error: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        read("pgn", text)
    assert str(caught.value).startswith(f"games, line {line}: {error}")
    errors: list[RecordFormatError] = []
    read("pgn", text, on_error=errors.append)
    assert len(errors) == 1


def test_reading_goes_on_with_the_next_game() -> None:
    errors: list[RecordFormatError] = []
    records = read(
        "pgn",
        LIVE + '\n[Event "x"]\n[Black "one]\n[White "two"]\n\n1. f5 d6\n\n' + EDAX + '[Event "x"]\n\n1. f5 f5\n2. c3\n\n' + LIVE,
        on_error=errors.append,
    )
    assert [record.game for record in records] == [PASSES, WIPEOUT, PASSES]
    assert len(errors) == 2


@pytest.mark.parametrize(
    ("limit", "text", "error"),
    [
        ("_MAX_TAGS", "\n".join(f'[T{number} "x"]' for number in range(9)), "more than 5 tags"),
        ("_MAX_MOVES", '[Event "x"]\n\n' + "-- " * 9, "more than 5 moves"),
        ("_MAX_COMMENT_CHARACTERS", '[Event "x"]\n\n{' + "\n" * 9, "a comment of more than 5 characters begins here"),
    ],
)
def test_no_game_takes_more_than_its_share_of_memory(limit: str, text: str, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pgn, limit, 5)
    with pytest.raises(RecordFormatError, match=error):
        read("pgn", text)
