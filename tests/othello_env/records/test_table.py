from __future__ import annotations

import pytest
from hypothesis import given

from othello_env import Game, Position, RecordFormatError
from othello_env.records import GameRecord, RecordedResult
from tests.othello_env.records.samples import FULL, GAMES, PASS_AT_THE_END, RUNNING, SMALL, WHITE_FIRST, WIPEOUT, read, read_one, write_one
from tests.strategies import positions


def test_eothello_names_the_winner() -> None:
    records = read("csv", f"eOthello_game_id,winner,game_moves\n1056798,1,{WIPEOUT}\n1056799,-1,{FULL}\n")
    assert [(record.game, record.result) for record in records] == [(WIPEOUT, RecordedResult(1)), (FULL, RecordedResult(-1))]
    assert records[0].tags == {"eOthello_game_id": "1056798"}
    assert [record.place.line for record in records] == [2, 3]


def test_liveothello_has_events_and_discs() -> None:
    record = read_one("csv", f"event,date,round,black,white,result,moves\nOpen,2005.11.12,F1,one,two,28-36,{str(FULL).upper()}\n")
    assert record == GameRecord(
        FULL, event="Open", date="2005-11-12", round="F1", black="one", white="two", result=RecordedResult.from_discs(28, 36)
    )


def test_columns_without_known_names_become_tags() -> None:
    record = read_one("csv", f"1,2,3\none,two,{FULL}\n")
    assert (record.game, record.tags) == (FULL, {"1": "one", "2": "two"})


def test_tables_without_names_are_read() -> None:
    records = read("csv", f"# id, score and moves, separated by tabs\n1980/129\t28\t{FULL}\n1980/130\t64\t{WIPEOUT}\n")
    assert [(record.game, record.tags) for record in records] == [
        (FULL, {"column_1": "1980/129", "column_2": "28"}),
        (WIPEOUT, {"column_1": "1980/130", "column_2": "64"}),
    ]


def test_cells_may_be_quoted_and_end_anyhow() -> None:
    text = f'black;moves\r\n"one; ""the first""";"{RUNNING}"\r\n'
    record = read_one("csv", text)
    assert (record.black, record.game) == ('one; "the first"', RUNNING)
    assert read_one("csv", "\ufeff" + text.replace("\r\n", "\r")).game == RUNNING


def test_written_passes_are_read() -> None:
    assert read_one("csv", f"moves\n{PASS_AT_THE_END}PAc5\n").game == Game.parse("f5f6d3g5h5h4f7h6c5")


def test_unknown_dates_are_kept_as_they_are() -> None:
    record = read_one("csv", "moves,date\nf5,in spring\n")
    assert (record.date, record.tags) == ("", {"Date": "in spring"})


@pytest.mark.parametrize("game", [*GAMES, WHITE_FIRST, SMALL, Game()])
def test_what_is_written_is_read_again(game: Game) -> None:
    record = GameRecord(
        game,
        black='Jérôme, "J"',
        white="村上",
        date="2006-05",
        event="#1",
        site="Paris",
        round="3/4",
        result=RecordedResult.from_discs(3, 11),
        theoretical_score=-8,
        komi=-0.5,
    )
    assert read_one("csv", write_one("csv", record)) == record
    assert read_one("csv", write_one("csv", GameRecord(game))) == GameRecord(game)


@given(positions)
def test_positions_are_written_and_read(position: Position) -> None:
    record = GameRecord(Game((), position))
    assert read_one("csv", write_one("csv", record)) == record


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("moves,black\nf5\n", 2, "1 columns, expected 2"),
        ("moves,black\nf5,a,b\n", 2, "3 columns, expected 2"),
        ("moves\nf5f5\n", 2, "move 2: f5 is illegal for white"),
        ("moves\nf5x\n", 2, "transcript, character 3: 'x' names no square"),
        ("black,white\none,two\n", 2, "no column has a transcript such as f5d6c3d3"),
        ("moves,game\nf5,f5\n", 1, "two columns are called 'moves'"),
        ('moves\n"f5\n', 2, "unexpected end of data"),
        ("moves,theoretical_score\nf5,many\n", 2, "theoretical_score 'many': expected an integer"),
        ("moves,komi\nf5,many\n", 2, "komi 'many': expected a number"),
        ("moves,start\nf5,XO\n", 2, "position 'XO': 2 signs"),
        ("moves" + ",a" * 300, 1, "more than 200 columns"),
    ],
)
def test_rows_that_do_not_follow_the_format_are_refused(text: str, line: int, error: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        read("csv", text)
    assert str(caught.value).startswith(f"games, line {line}: {error}")


def test_reading_goes_on_with_the_next_row() -> None:
    errors: list[RecordFormatError] = []
    records = read("csv", 'moves,black\nf5,a\nf5\nf5f5,b\n"f5,c\nf5d6,d\n', on_error=errors.append)
    assert [(str(record.game), record.black) for record in records] == [("f5", "a"), ("f5d6", "d")]
    assert [str(error)[:13] for error in errors] == ["games, line 3", "games, line 4", "games, line 5"]
