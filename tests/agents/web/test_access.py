from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.conftest import REPOSITORY

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from agents.web.access import is_loopback
from agents.web.app import create_app

TOKEN = "correct-horse"
ADDRESS = "http://127.0.0.1:8064"


def open_client(host: str = "127.0.0.1", token: str | None = None, address: str = ADDRESS) -> TestClient:
    return TestClient(create_app(host=host, token=token, prepare=False), base_url=address)


@pytest.mark.parametrize(
    ("bound_to", "host", "status"),
    [
        ("127.0.0.1", "127.0.0.1:8064", 200),
        ("127.0.0.1", "localhost", 200),
        ("127.0.0.1", "[::1]:8064", 200),
        ("127.0.0.1", "evil.example:8064", 400),
        ("127.0.0.1", "127.0.0.1.evil.example", 400),
        ("127.0.0.1", "192.168.1.5:8064", 400),
        ("127.0.0.1", "localhost@evil.example", 400),
        ("127.0.0.1", "", 400),
        ("0.0.0.0", "192.168.1.5:8064", 200),
        ("0.0.0.0", "[fe80::1]", 200),
        ("0.0.0.0", "evil.example", 400),
        ("board.example", "board.example", 200),
    ],
)
def test_the_host_header_must_name_the_server(bound_to: str, host: str, status: int) -> None:
    assert open_client(bound_to).get("/api/status", headers={"host": host}).status_code == status


def test_the_name_of_a_reverse_proxy_can_be_allowed() -> None:
    client = TestClient(create_app(names=["Board.Example"], prepare=False), base_url="https://board.example")
    assert client.get("/api/status", headers={"origin": "https://board.example"}).status_code == 200
    assert client.get("/api/status", headers={"host": "evil.example"}).status_code == 400


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (ADDRESS, 201),
        ("http://127.0.0.1:9999", 403),
        ("http://localhost:8064", 403),
        ("https://evil.example", 403),
        ("null", 403),
        ("", 403),
    ],
)
def test_requests_of_other_origins_are_refused(origin: str, status: int) -> None:
    body = {"board_size": 8, "black": "person", "white": "person"}
    assert open_client().post("/api/games", json=body, headers={"origin": origin}).status_code == status


def test_without_the_token_nothing_is_served() -> None:
    client = open_client("0.0.0.0", TOKEN)
    for path in ("/", "/board.js", "/api/status", "/?token=wrong", "/api/status?token=" + TOKEN):
        assert client.get(path).status_code == 401
    assert client.post("/api/games", json={}).status_code == 401


def test_the_printed_address_sets_a_cookie_that_opens_everything() -> None:
    client = open_client("0.0.0.0", TOKEN)
    answer = client.get(f"/?token={TOKEN}", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=lax" in answer.headers["set-cookie"]
    assert client.get("/").status_code == 200
    assert client.get("/api/status").status_code == 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.3.2.1", True), ("0.0.0.0", False), ("::", False), ("a.example", False)],
)
def test_only_loopback_needs_no_token(host: str, expected: bool) -> None:
    assert is_loopback(host) == expected


@pytest.mark.slow  # Ctrl-C waits for the function that is being compiled
def test_the_command_prints_an_address_with_a_token_for_other_hosts_and_stops_at_ctrl_c() -> None:
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "agents.web", "--host", "0.0.0.0", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY)
    try:
        assert process.stdout is not None
        found = re.match(r"Open http://(\S+):(\d+)/\?token=(\S+) ", process.stdout.readline())
        assert found is not None
        request = urllib.request.Request(f"http://127.0.0.1:{found[2]}/api/status")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(request, timeout=10)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert errors == "web: stopped\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--token", "short"], "at least 8 ASCII characters"),
        (["--agent", "nobody"], "no agent 'nobody'"),
        (["--port", "70000"], "expected an integer from 0 to 65535"),
        (["--workers", "0"], "expected an integer from 1"),
        (["--idle-hours", "nan"], "expected a positive number of hours"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    from agents.web.__main__ import main

    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
