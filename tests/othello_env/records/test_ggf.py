from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from othello_env import WHITE, Game, Position, RecordFormatError
from othello_env.records import GameRecord, RecordedResult, read_records
from othello_env.records.ggf import format_ggf
from tests.othello_env.records.samples import GAMES, PASS_AT_THE_END, PASSES, RUNNING, SMALL, WHITE_FIRST, WIPEOUT, read, read_one
from tests.strategies import positions

BOARD = "BO[8 -------- -------- -------- ---O*--- ---*O--- -------- -------- -------- *]"
HEAD = f"(;GM[Othello]PC[GGS/os]DT[2003.12.15_12:33:18.MST]PB[one]PW[two]RB[2196.37]RW[2200.35]TI[05:00//02:00]TY[8]RE[?]{BOARD}"


def test_a_game_of_ggs_is_read_with_all_that_it_says() -> None:
    record = read_one("ggf", f"1 {HEAD}B[f5//0.01]W[d6/2.39/0.01]B[c3];)\n")
    assert record == GameRecord(
        Game.parse("f5d6c3"),
        black="one",
        white="two",
        date="2003-12-15",
        site="GGS/os",
        result=RecordedResult(is_unfinished=True),
        tags={"RB": "2196.37", "RW": "2200.35", "TI": "05:00//02:00", "DT": "2003.12.15_12:33:18.MST"},
        notes={1: "//0.01", 2: "/2.39/0.01"},
    )
    assert str(record.place) == "games, line 1"


@pytest.mark.parametrize(
    "text",
    [
        f"(;GM[othello]PC[Edax]PB[?]PW[?]RE[-127.000]{BOARD}B[f5]W[d6]B[c3];)",  # Edax
        f"(;GM[Reversi]{BOARD}B[F5]W[D6]B[C3];)",
        "(;GM[Othello]PC[NBoard]DT[2014-01-29 23:05:30 GMT]PB[a]PW[b]RE[?]TI[0//0]TY[8]"
        "BO[8 ---------------------------O*------*O--------------------------- *]B[F5]W[D6]B[C3];)",  # NBoard
        "(;GM[Othello]TY[8]B[f5/1.5]W[d6//1.5]B[c3/-2.5/3];)",
        f"(;GM[Othello]\nPB[a]\nPW[b]\n{BOARD}\nB[f5]W[d6]\nB[c3];)",
        "(;GM[Othello]B[f5]W[d6]B[c3];)",
    ],
)
def test_other_writers_are_read(text: str) -> None:
    assert read_one("ggf", text).game == Game.parse("f5d6c3")


@pytest.mark.parametrize("token", ["pass", "PA", "PASS", "--", "pass//4.23", "PA/1.5"])
def test_passes_are_read_in_all_spellings(token: str) -> None:
    moves = "B[f5]W[f6]B[d3]W[g5]B[h5]W[h4]B[f7]W[h6]"
    assert read_one("ggf", f"(;GM[Othello]{moves}B[{token}]W[c5];)").game == Game.parse("f5f6d3g5h5h4f7h6c5")
    # A pass at the end of a running game matters: White is to move after it.
    after = read_one("ggf", f"(;GM[Othello]{moves}B[{token}];)").game
    assert (after, after.final.side_to_move) == (PASS_AT_THE_END, WHITE)
    assert read_one("ggf", f"(;GM[Othello]{moves};)").game == after  # left out


def test_passes_may_follow_the_end_of_the_game() -> None:
    text = format_ggf(GameRecord(WIPEOUT)).replace(";)", "W[PA]B[PA];)")
    assert read_one("ggf", text).game == WIPEOUT


def test_results_count_before_the_komi() -> None:
    text = format_ggf(GameRecord(WIPEOUT)).replace("RE[+64.000]", "RE[+64.500]KM[-0.5]")
    record = read_one("ggf", text)
    assert (record.komi, record.result, record.contradictions()) == (-0.5, RecordedResult.from_score(64), ())


@pytest.mark.parametrize(("letter", "reason"), [("r", "resignation"), ("t", "time"), ("s", "agreement")])
def test_the_reason_of_an_early_end_is_kept(letter: str, reason: str) -> None:
    record = read_one("ggf", f"(;GM[Othello]RE[-64.000:{letter}]B[f5];)")
    assert record.result == RecordedResult.from_score(-64, reason=reason)
    assert not record.is_complete
    assert read_one("ggf", format_ggf(record)).result == record.result


@pytest.mark.parametrize("kind", ["8", "s8r18", "8k", "8kr20", "8a"])
def test_types_of_games_are_kept(kind: str) -> None:
    record = read_one("ggf", f"(;GM[Othello]TY[{kind}]{BOARD}B[f5];)")
    assert record.tags.get("TY", "8") == kind
    assert f"TY[{kind}]" in format_ggf(record)


def test_edax_writes_the_opposite_sign_after_an_odd_number_of_moves() -> None:
    text = format_ggf(GameRecord(WIPEOUT)).replace("RE[+64.000]", "RE[-64.000]")
    assert "the sign is the opposite, as Edax 4.6 writes it" in read_one("ggf", text).contradictions()[0]


@pytest.mark.parametrize("game", [*GAMES, WHITE_FIRST, SMALL, Game()])
def test_what_is_written_is_read_again(game: Game) -> None:
    record = GameRecord(
        game,
        black="Jérôme",
        white="村上",
        date="2006-05-28",
        site="Paris",
        result=RecordedResult.from_score(-8),
        komi=-3.133,
        tags={"RB": "1", "KB": "b3/2.00", "CO": "a comment"},
        notes={1: "/1.5"} if game.moves else {},
    )
    assert read_one("ggf", format_ggf(record)) == record


@given(positions)
def test_positions_are_written_and_read(position: Position) -> None:
    record = GameRecord(Game((), position), result=RecordedResult(is_unfinished=True))
    assert read_one("ggf", format_ggf(record)) == record


def test_passes_are_written_also_behind_the_last_move() -> None:
    assert format_ggf(GameRecord(PASSES)).count("[PA]") == 23
    assert format_ggf(GameRecord(PASS_AT_THE_END)).endswith("W[h6]B[PA];)\n")
    assert "PA" not in format_ggf(GameRecord(RUNNING))


def test_brackets_in_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"'a\]': GGF has no way to write square brackets"):
        format_ggf(GameRecord(RUNNING, black="a]"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("(;GM[Chess]B[f5];)", "GM is 'Chess', expected Othello"),
        ("(;PB[a]B[f5];)", "GM is '', expected Othello"),
        ("(;GM[Othello]B[f5])", "expected one list of properties with ;) at its end"),
        ("(;GM[Othello];B[f5];)", "expected one list of properties with ;) at its end"),
        ("(;GM[Othello]TY[10]B[f5];)", "a 10x10 board: the board sizes are 4, 6, 8"),
        ("(;GM[Othello]TY[big]B[f5];)", "TY is 'big', expected a board size such as 8, or 8r20"),
        ("(;GM[Othello]TY[6]BO[8 - *]B[f5];)", "BO begins with '8', expected the board size 6"),
        ("(;GM[Othello]BO[8 ---- -O*- -*O- ---- *];)", "BO: 16 squares, expected 64"),
        ("(;GM[Othello]BO[8 ---- -OQ- *];)", "position '---- -OQ- *': 'Q' at character 8 is neither a disc nor an empty square"),
        ("(;GM[Othello]KM[x]B[f5];)", "komi 'x': expected a number"),
        ("(;GM[Othello]PB[a]PB[b]B[f5];)", "PB appears twice"),
        ("(;GM[Othello]PB[a][b]B[f5];)", "PB has 2 values, expected one"),
        ("(;GM[Othello]B[f5]C[d6];)", "C is no property of GGF"),
        ("(;GM[Othello]B[f5]W[z9];)", "'z9' names no square"),
        ("(;GM[Othello]B[f5]W[f5];)", "move 2: f5 is illegal for white"),
        ("(;GM[Othello]B[f5]B[d6];)", "move 2 of black, but white is to move"),
        ("(;GM[Othello]B[f5]W[PA];)", "a pass, but white can move before move 2"),
    ],
)
def test_games_that_do_not_follow_the_format_are_refused(text: str, error: str) -> None:
    with pytest.raises(RecordFormatError) as caught:
        read("ggf", f"\n{text}")
    assert str(caught.value).startswith("games, line 2: ")
    assert error in str(caught.value)
    errors: list[RecordFormatError] = []
    assert [record.game for record in read("ggf", f"{text}\n(;GM[Othello]B[f5];)", on_error=errors.append)] == [Game.parse("f5")]
    assert len(errors) == 1


@pytest.mark.parametrize("name", ["games-written-passes.ggf", "games-variants.ggf"])
def test_published_games_are_complete_and_agree_with_their_results(shared_data: Path, name: str, tmp_path: Path) -> None:
    records = list(read_records(shared_data / name))
    text = (shared_data / name).read_text()
    assert len(records) == text.count("(;")
    for record in records:
        assert record.is_complete
        assert record.result is not None
        assert record.result.score in {record.game.final.score("discs"), record.game.final.score("empties_to_winner")}
        assert record.contradictions() == ()
    assert sum(format_ggf(record).count("[PA]") for record in records) == text.lower().count("[pass") + text.count("[PA")
    written = "".join(map(format_ggf, records))
    assert read("ggf", written) == records
