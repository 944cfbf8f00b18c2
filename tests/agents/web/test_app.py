from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from agents.play.levels import LEVELS
from agents.web.games import GameStore
from agents.web.roster import Roster
from othello_env import Game, Position
from othello_env.records import FORMATS, GameRecord
from othello_env.squares import format_square
from tests.agents.web.stubs import FAILING, WAITING, WaitingAgent

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from agents.web.app import create_app
from agents.web.body import MAX_BODY_BYTES

ADDRESS = "http://127.0.0.1:8064"
JSON = dict[str, Any]


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(create_app(prepare=False), base_url=ADDRESS) as client:
        yield client


def new_game(client: TestClient, black: str = "person", white: str = "person", **options: Any) -> JSON:
    answer = client.post("/api/games", json={"board_size": 8, "black": black, "white": white, **options})
    assert answer.status_code == 201, answer.text
    game: JSON = answer.json()
    return game


def post(client: TestClient, game: JSON, action: str, **fields: Any) -> JSON:
    answer = client.post(f"/api/games/{game['id']}/{action}", json={"revision": game["revision"], **fields})
    assert answer.status_code == 200, answer.text
    result: JSON = answer.json()
    return result


def play_all(client: TestClient, game: JSON, moves: Game) -> JSON:
    for move in moves.moves:
        game = post(client, game, "play", square=format_square(move, moves.start.board_size))
    return game


def game_with_pass(board_size: int = 4) -> Game:
    """A complete game in which a side must pass before the end."""
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        position, moves = Position.start(board_size), list[int]()
        while not position.is_over:
            moves.append(int(rng.choice(position.legal_squares())))
            position = position.play(moves[-1])
        game = Game(tuple(moves), Position.start(board_size))
        sides = [position.side_to_move for position in game.positions()[:-1]]
        if any(before == after for before, after in zip(sides, sides[1:], strict=False)):
            return game
    raise AssertionError("no game with a pass")


@pytest.mark.parametrize("board_size", [4, 6, 8])
def test_the_page_gets_board_legal_squares_and_turns_from_the_server(board_size: int, client: TestClient) -> None:
    game = new_game(client, board_size=board_size)
    position = Position.start(board_size)
    while not game["result"]:
        assert game["squares"] == str(position)[:-2]
        assert game["legal"] == [format_square(square, board_size) for square in position.legal_squares()]
        assert game["discs"] == {"black": position.discs[0], "white": position.discs[1]}
        after = position.play(game["legal"][-1])
        game = post(client, game, "play", square=game["legal"][-1])
        flipped = (position.opp.bit_count()) - (after.black, after.white)[1 - position.side_to_move].bit_count()
        assert len(game["turns"][-1]["flipped"]) == flipped
        position = after
    assert position.is_over
    assert game["legal"] == []
    assert game["side_to_move"] is None


def test_a_person_plays_a_whole_game_against_a_level(client: TestClient) -> None:
    game = new_game(client, white="easy")
    while not game["result"]:
        game = post(client, game, "agent-move") if game["agent_to_move"] else post(client, game, "play", square=game["legal"][0])
    assert Game.parse(game["transcript"]).final.is_over


def test_both_scores_are_told_when_they_differ(client: TestClient) -> None:
    game = new_game(client, board_size=4, position="XXXXXXXXXXXX-OX- X")  # white has one disc left
    game = post(client, game, "play", square="a4")
    assert "by discs" in game["result"]["text"]
    assert "with the empties to the winner" in game["result"]["text"]


def test_a_forced_pass_is_told_and_taken_back(client: TestClient) -> None:
    game, recorded = new_game(client, board_size=4), game_with_pass()
    for move in recorded.moves:
        before = game
        game = post(client, game, "play", square=format_square(move, 4))
        if game["turns"][-1]["passes"]:
            break
    assert game["message"].endswith("must pass")
    assert game["side_to_move"] == before["side_to_move"]
    undone = post(client, game, "undo")
    assert undone["squares"] == before["squares"]
    assert undone["side_to_move"] == before["side_to_move"]
    assert post(client, undone, "redo")["squares"] == game["squares"]


def test_an_old_revision_changes_nothing_and_gets_the_current_game(client: TestClient) -> None:
    game = new_game(client)
    current = post(client, game, "play", square="d3")
    for action, fields in (("play", {"square": "c3"}), ("undo", {}), ("agent-move", {}), ("hint", {})):
        answer = client.post(f"/api/games/{game['id']}/{action}", json={"revision": game["revision"], **fields})
        assert answer.status_code == 409
        assert answer.json() == current


def test_a_person_resigns_while_the_agent_is_to_move(client: TestClient) -> None:
    game = new_game(client, black="easy")
    assert post(client, game, "resign")["result"] == {
        "winner": "black",
        "reason": "resignation",
        "text": "Black wins: white resigned",
    }


@pytest.mark.parametrize("form", ["transcript", "ggf", "sgf"])
@pytest.mark.parametrize("board_size", [4, 8])
def test_a_saved_game_can_be_loaded(form: str, board_size: int, client: TestClient) -> None:
    game = new_game(client, board_size=board_size, black="easy")
    for _ in range(5):
        game = post(
            client,
            game,
            "agent-move" if game["agent_to_move"] else "play",
            **({} if game["agent_to_move"] else {"square": game["legal"][0]}),
        )
    answer = client.get(f"/api/games/{game['id']}/record?format={form}")
    assert answer.headers["content-disposition"].startswith("attachment")
    loaded = new_game(client, board_size=board_size, text=answer.text)
    assert loaded["transcript"] == game["transcript"]
    assert loaded["squares"] == game["squares"]


@pytest.mark.parametrize("text", ["F5 D6 C3", "1. f5 d6 2. c3", "f5d6c3\n"])
def test_transcripts_are_read_in_all_spellings(text: str, client: TestClient) -> None:
    assert new_game(client, text=text)["transcript"] == "f5d6c3"


def test_the_first_of_several_games_is_loaded(client: TestClient) -> None:
    write = FORMATS["ggf"].format_record
    assert write is not None
    text = "".join(write(GameRecord(Game.parse(moves))) for moves in ("f5d6", "c4c3"))
    game = new_game(client, text=text)
    assert game["transcript"] == "f5d6"
    assert game["more_games"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "f5f5"}, "move 2: f5 is illegal"),
        ({"text": "hello"}, "text, line 1"),
        ({"text": ""}, "no game"),
        ({"text": "(;GM[Othello]"}, "text, line 1"),
        ({"position": "X X"}, "expected 16, 36, 64 squares"),
        ({"position": "-" * 64 + " X"}, "the game is over"),
        ({"position": "f5d6"}, "not a transcript"),
        ({"position": str(Position.start()), "text": "f5"}, "at most one"),
        ({"black": "alpha_beta:depth=60"}, "expected one of person, easy"),
        ({"black": "factory:os:getcwd"}, "expected one of person, easy"),
        ({"board_size": 10}, "the board sizes are 4, 6, 8"),
    ],
)
def test_what_cannot_be_played_is_refused_in_one_line(options: JSON, message: str, client: TestClient) -> None:
    answer = client.post("/api/games", json={"board_size": 8, "black": "person", "white": "person", **options})
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_agents_of_the_command_line_are_offered_on_the_boards_that_they_play() -> None:
    with TestClient(create_app(Roster(["greedy", "ntuple"]), prepare=False), base_url=ADDRESS) as client:
        players = {player["key"]: player["board_sizes"] for player in client.get("/api/status").json()["players"]}
        assert list(players) == ["person", *LEVELS, "greedy", "ntuple"]
        assert players["greedy"] == [4, 6, 8]
        assert players["ntuple"] == [8]
        game = new_game(client, black="greedy")
        assert post(client, game, "agent-move")["message"].startswith("black (greedy) plays")


def test_a_failing_agent_is_an_error_and_the_game_goes_on() -> None:
    with TestClient(create_app(Roster([FAILING]), prepare=False), base_url=ADDRESS) as client:
        game = new_game(client, white=FAILING)
        game = post(client, game, "play", square="d3")
        answer = client.post(f"/api/games/{game['id']}/agent-move", json={"revision": game["revision"]})
        assert answer.status_code == 502
        assert "RuntimeError: out of ideas" in answer.json()["error"]
        assert post(client, game, "undo")["transcript"] == ""


def test_a_thinking_agent_blocks_nobody_and_its_late_answer_is_dropped() -> None:
    WaitingAgent.started.clear()
    WaitingAgent.released.clear()
    with TestClient(create_app(Roster([WAITING]), prepare=False), base_url=ADDRESS) as client:
        game = post(client, new_game(client, white=WAITING), "play", square="d3")
        answers: list[JSON] = []
        thread = threading.Thread(target=lambda: answers.append(post(client, game, "agent-move")))
        thread.start()
        assert WaitingAgent.started.wait(5)
        other = new_game(client, black="easy")
        assert post(client, other, "agent-move")["turns"]
        undone = post(client, game, "undo")
        assert undone["transcript"] == ""
        WaitingAgent.released.set()
        thread.join(5)
        assert answers == [undone]
        assert client.get(f"/api/games/{game['id']}").json() == undone


@pytest.mark.slow  # compiles the search
def test_the_hint_rates_every_legal_move(client: TestClient) -> None:
    pytest.importorskip("numba")
    game = new_game(client, board_size=4)
    values = post(client, game, "hint")["values"]
    assert sorted(value["square"] for value in values) == sorted(game["legal"])
    assert all(value["exact"] for value in values)  # 12 empties are solved
    assert {value["value"] for value in values} == {"-10"}  # White wins the 4x4 board by 8, 10 with the empties: Black's 3-11


def test_a_missing_library_is_an_error_of_the_agent_and_of_the_hint(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("numba", "safetensors", "agents.search.alpha_beta"):
        monkeypatch.setitem(sys.modules, library, None)
    game = new_game(client, black="expert")
    for action in ("agent-move", "hint"):
        answer = client.post(f"/api/games/{game['id']}/{action}", json={"revision": game["revision"]})
        assert answer.status_code == 502
        assert "alpha_beta" in answer.json()["error"]


def test_preparation_asks_every_agent_and_reports_failures() -> None:
    roster = Roster([FAILING])
    roster._hints.clear()
    roster._agents = {key: agent for key, agent in roster._agents.items() if key[0] in ("easy", FAILING)}
    roster.preparation.total = len(roster._agents) + 3
    roster.prepare()
    assert roster.preparation.is_done
    assert any("out of ideas" in failure for failure in roster.preparation.failures)
    assert not any("Easy" in failure for failure in roster.preparation.failures)


def test_idle_games_are_forgotten_and_used_ones_are_not() -> None:
    now = [0.0]
    store = GameStore(max_games=10, idle_seconds=60, now=lambda: now[0])
    with TestClient(create_app(store=store, prepare=False), base_url=ADDRESS) as client:
        used, idle = new_game(client), new_game(client)
        for _ in range(3):
            now[0] += 30
            assert client.get(f"/api/games/{used['id']}").status_code == 200
        answer = client.get(f"/api/games/{idle['id']}")
        assert answer.status_code == 404
        assert "no such game" in answer.json()["error"]
        assert len(store) == 1


def test_a_full_server_refuses_new_games_until_one_has_been_idle() -> None:
    now = [0.0]
    store = GameStore(max_games=2, idle_seconds=86_400, now=lambda: now[0])
    with TestClient(create_app(store=store, prepare=False), base_url=ADDRESS) as client:
        first, second = new_game(client), new_game(client)
        body = {"board_size": 8, "black": "person", "white": "person"}
        assert client.post("/api/games", json=body).status_code == 503
        now[0] += 1000
        assert client.get(f"/api/games/{first['id']}").status_code == 200
        new_game(client)
        assert client.get(f"/api/games/{first['id']}").status_code == 200
        assert client.get(f"/api/games/{second['id']}").status_code == 404


def malformed_requests(game: JSON, rng: np.random.Generator) -> Iterator[tuple[str, str, dict[str, str], bytes]]:
    """Method, path, headers and body of requests that are all invalid in some way."""
    headers = {"content-type": "application/json"}
    valid: JSON = {"revision": game["revision"]}
    path = f"/api/games/{game['id']}"
    junk: list[Any] = [None, True, -1, 1.5, 1 << 70, "", "x" * 300, "\x00", "\ud800", [], {}, [[]], {"revision": 0}, "☃" * 10, "d3"]
    actions = ("play", "undo", "redo", "resign", "agent-move", "hint")
    while True:
        value = junk[rng.integers(len(junk))]
        action = actions[rng.integers(len(actions))]
        noise = rng.bytes(int(rng.integers(1, 200)))
        kind = rng.integers(12)
        if kind == 0:
            yield "POST", f"{path}/{action}", headers, b"\xff" + noise
        elif kind == 1:
            yield "POST", f"{path}/{action}", headers, json.dumps({"revision": value}).encode()
        elif kind == 2:
            yield "POST", f"{path}/{action}", headers, json.dumps({**valid, f"x{rng.integers(9)}": 1}).encode()
        elif kind == 3:
            yield "POST", f"{path}/play", headers, json.dumps({**valid, "square": value if value != "d3" else "d33"}).encode()
        elif kind == 4:
            yield "POST", f"{path}/{noise.hex()}", headers, json.dumps(valid).encode()
        elif kind == 5:
            yield "POST", f"/api/games/{noise.hex()}/{action}", headers, json.dumps(valid).encode()
        elif kind == 6:
            yield "POST", "/api/games", headers, json.dumps({"board_size": value, "black": "person", "white": value}).encode()
        elif kind == 7:
            text = "".join(chr(32 + byte % 95) for byte in noise)
            body = {"board_size": 8, "black": "person", "white": "person", ("text", "position")[rng.integers(2)]: f"({text}"}
            yield "POST", "/api/games", headers, json.dumps(body).encode()
        elif kind == 8:
            yield str(rng.choice(["PUT", "DELETE", "PATCH"])), f"{path}/{action}", headers, noise
        elif kind == 9:
            yield "POST", f"{path}/{action}", {"content-type": str(rng.choice(["text/plain", "", "x" * 100]))}, json.dumps(valid).encode()
        elif kind == 10:
            yield "POST", f"{path}/{action}", headers, b"[" * int(rng.integers(1, MAX_BODY_BYTES))
        else:
            yield "GET", f"{path}/record?format={noise.hex()}", {}, b""


def test_a_thousand_malformed_requests_are_refused_and_harm_no_game(client: TestClient, rng: np.random.Generator) -> None:
    game = post(client, new_game(client, white="easy"), "play", square="d3")
    game = post(client, game, "agent-move")
    for _, (method, path, headers, body) in zip(range(1000), malformed_requests(game, rng), strict=False):
        answer = client.request(method, path, headers=headers, content=body)
        assert 400 <= answer.status_code < 500, (method, path, body[:100], answer.text)
        assert set(answer.json()) == {"error"}
    assert client.get(f"/api/games/{game['id']}").json() == game


def test_a_long_body_is_refused_before_it_is_read_to_the_end(client: TestClient) -> None:
    answer = client.post("/api/games", content=b" " * (MAX_BODY_BYTES + 1), headers={"content-type": "application/json"})
    assert answer.status_code == 413


def test_the_page_is_small_and_asks_no_other_host(client: TestClient) -> None:
    size = 0
    for path in ("/", "/board.css", "/board.js"):
        answer = client.get(path)
        assert answer.status_code == 200
        size += len(answer.content)
        text = answer.text.replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "'none'" in answer.headers["content-security-policy"]
    assert size < 200_000


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    from agents.web.__main__ import main

    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert capsys.readouterr().err == 'web: this needs uvicorn; in a clone: pip install -e ".[web]"\n'
