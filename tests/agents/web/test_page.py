"""The page in a real browser; needs Chromium and its driver."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from othello_env import Game, Position
from othello_env.records import FORMATS, GameRecord, read_records
from othello_env.squares import format_square

pytest.importorskip("starlette")
pytest.importorskip("selenium")
pytest.importorskip("uvicorn")

import uvicorn
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

from agents.web.app import create_app
from tests.agents.web.test_app import game_with_pass

pytestmark = pytest.mark.browser

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server in a thread of this process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(create_app(prepare=False), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


class Page:
    """The page in the current tab, operated as a person does."""

    def __init__(self, browser: webdriver.Chrome, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, fragment: str = "") -> None:
        self.browser.get("about:blank")
        self.browser.get(self.address + fragment)
        self.wait(lambda: self.squares())

    def wait(self, condition: Callable[[], object], *, seconds: float = 10) -> None:
        WebDriverWait(self.browser, seconds, poll_frequency=0.02).until(lambda _: condition())

    def find(self, name: str) -> WebElement:
        return self.browser.find_element(By.ID, name)

    def text(self, name: str) -> str:
        return self.find(name).text

    def squares(self) -> dict[str, str]:
        """The accessible names of the squares, by square: "empty", "empty, legal", "black, last move"."""
        names = self.browser.execute_script(
            "return [...document.querySelectorAll('.square')].map(square => square.getAttribute('aria-label'))"
        )
        return dict(name.split(", ", 1) for name in cast("list[str]", names))

    def board(self) -> str:
        signs = {"black": "X", "white": "O", "empty": "-"}
        return "".join(signs[name.split(",")[0]] for name in self.squares().values())

    def legal(self) -> list[str]:
        return [square for square, name in self.squares().items() if name.endswith("legal")]

    def moves(self) -> list[str]:
        script = "return [...document.querySelectorAll('#moves li:not(.none)')].map(item => item.textContent.split(' ')[1].slice(0, 2))"
        return cast("list[str]", self.browser.execute_script(script))

    def click(self, square: str) -> None:
        self.browser.find_element(By.CSS_SELECTOR, f"[data-square={square}]").click()

    def play(self, square: str) -> None:
        before = len(self.moves())
        self.click(square)
        self.wait(lambda: len(self.moves()) > before)

    def start(self, black: str, white: str, board_size: int) -> None:
        before = self.browser.current_url
        self.find("new").click()
        Select(self.find("new-size")).select_by_value(str(board_size))
        Select(self.find("new-black")).select_by_visible_text(black)
        Select(self.find("new-white")).select_by_visible_text(white)
        self.find("new-start").click()
        self.wait(lambda: self.browser.current_url != before)
        self.wait(lambda: len(self.squares()) == board_size**2)

    def load(self, text: str) -> None:
        before = self.browser.current_url
        panel = self.find("load-panel")
        if not panel.get_attribute("open"):
            panel.find_element(By.TAG_NAME, "summary").click()
        area = self.find("text")
        area.clear()
        area.send_keys(text)
        panel.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
        self.wait(lambda: self.browser.current_url != before or self.text("error"))


@pytest.fixture
def page(browser: webdriver.Chrome, address: str) -> Iterator[Page]:
    page = Page(browser, address)
    page.open()
    yield page
    log: Any = browser.get_log  # has no types
    errors = [entry for entry in log("browser") if "status of 4" not in entry["message"]]
    assert errors == []


def test_a_whole_game_by_clicks(page: Page) -> None:
    page.start("Person", "Easy", 8)
    while page.text("status").endswith(("to move", "thinking…")):
        page.wait(lambda: not page.text("status").endswith("thinking…"))
        if not page.text("status").endswith("to move"):
            break
        before = page.moves()
        page.click(page.legal()[0])
        page.wait(lambda: page.moves() != before)  # noqa: B023 (called at once)
    game = Game.parse("".join(page.moves()))
    assert game.final.is_over
    assert page.board() == str(game.final)[:-2]
    assert "wins" in page.text("status") or "draw" in page.text("status")


def test_white_plays_after_the_agent_and_agents_play_each_other(page: Page) -> None:
    page.start("Easy", "Person", 4)
    page.wait(lambda: len(page.moves()) == 1)
    assert page.text("status").endswith("White to move")
    page.start("Easy", "Easy", 4)
    page.find("pause").click()
    page.wait(lambda: page.text("status").endswith("waits"))
    page.find("pause").click()
    page.wait(lambda: "wins" in page.text("status") or "draw" in page.text("status"))


def play_to_the_pass(page: Page) -> str:
    """Plays a game up to a forced pass; returns the board before the move that forced it."""
    page.start("Person", "Person", 4)
    game = game_with_pass()
    for move, before, after in zip(game.moves, game.positions()[:-1], game.positions()[1:], strict=True):
        board = page.board()
        page.play(format_square(move, 4))
        if before.side_to_move == after.side_to_move:
            return board
    raise AssertionError("no pass")


def test_a_forced_pass_is_shown_and_announced(page: Page) -> None:
    play_to_the_pass(page)
    assert "must pass" in page.text("status")
    live = page.find("live")
    assert live.get_attribute("aria-live") == "polite"
    assert "must pass" in str(live.get_attribute("textContent"))
    assert page.browser.find_element(By.CSS_SELECTOR, "#moves .current").text.endswith("pass")


def test_undo_and_redo_across_a_pass(page: Page) -> None:
    before = play_to_the_pass(page)
    after = page.board()
    page.find("undo").click()
    page.wait(lambda: page.board() == before)
    assert "must pass" not in page.text("status")
    page.find("redo").click()
    page.wait(lambda: page.board() == after)
    assert "must pass" in page.text("status")


def test_a_reload_keeps_the_game(page: Page) -> None:
    page.start("Person", "Person", 6)
    page.play(page.legal()[0])
    page.play(page.legal()[0])
    moves, board, url = page.moves(), page.board(), page.browser.current_url
    page.browser.refresh()
    page.wait(lambda: page.moves() == moves)
    assert page.board() == board
    assert page.browser.current_url == url


def test_a_game_that_the_server_forgot_is_restored_from_the_tab(page: Page) -> None:
    page.start("Person", "Person", 4)
    page.play(page.legal()[0])
    moves = page.moves()
    page.browser.execute_script("sessionStorage.setItem('othello forgotten', sessionStorage.getItem('othello ' + location.hash.slice(1)))")
    page.browser.execute_script("location.hash = 'forgotten'")
    page.wait(lambda: not page.browser.current_url.endswith("forgotten"))
    page.wait(lambda: page.moves() == moves)


def test_two_tabs_hold_two_games(page: Page) -> None:
    page.start("Person", "Person", 8)
    first = page.browser.current_window_handle
    page.play("d3")
    page.browser.switch_to.new_window("tab")
    page.open()
    page.start("Person", "Person", 8)
    page.play("f5")
    second = page.browser.current_window_handle
    page.browser.switch_to.window(first)
    page.play("c3")
    assert page.moves() == ["d3", "c3"]
    page.browser.switch_to.window(second)
    assert page.moves() == ["f5"]
    page.browser.close()
    page.browser.switch_to.window(first)


@pytest.mark.parametrize("width", [320, 360, 768, 1440])
def test_no_width_scrolls_sideways_and_squares_stay_square(width: int, page: Page) -> None:
    metrics = {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": width < 500}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.start("Person", "Person", 8)
        page.play("d3")
        for panel in page.browser.find_elements(By.CSS_SELECTOR, "details"):
            page.browser.execute_script("arguments[0].open = true", panel)
        page.find("edit").click()
        assert page.browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        sizes = cast(
            "list[list[float]]",
            page.browser.execute_script(
                "return [...document.querySelectorAll('.square')].map(square => [square.offsetWidth, square.offsetHeight])"
            ),
        )
        assert all(abs(width - height) <= 1 for width, height in sizes)
        assert min(min(size) for size in sizes) >= (30 if width == 320 else 36)
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def active(page: Page) -> WebElement:
    return page.browser.switch_to.active_element


def test_the_keyboard_alone_plays(page: Page) -> None:
    active(page).send_keys(Keys.TAB)
    assert active(page).get_attribute("data-square") == "a1", "the board is the first stop of the Tab key"
    page.start("Person", "Person", 8)
    assert active(page).get_attribute("data-square") == "a1", "a new game has the focus"
    target = "d3"
    for _ in range(20):
        at = active(page).get_attribute("data-square")
        assert at is not None
        if at == target:
            break
        if at[1] != target[1]:
            active(page).send_keys(Keys.ARROW_DOWN if at[1] < target[1] else Keys.ARROW_UP)
        else:
            active(page).send_keys(Keys.ARROW_RIGHT if at[0] < target[0] else Keys.ARROW_LEFT)
    assert active(page).get_attribute("aria-label") == "d3, empty, legal"
    active(page).send_keys(Keys.ENTER)
    page.wait(lambda: page.moves() == ["d3"])
    assert active(page).get_attribute("aria-label") == "d3, black, last move"
    assert "black plays d3 and flips 1 disc" in str(page.find("live").get_attribute("textContent"))


def test_an_illegal_square_changes_nothing(page: Page) -> None:
    page.start("Person", "Person", 8)
    page.click("a1")
    page.wait(lambda: "a1 is not a legal move" in str(page.find("live").get_attribute("textContent")))
    assert page.moves() == []


def test_a_ggf_game_is_loaded(page: Page) -> None:
    write = FORMATS["ggf"].format_record
    assert write is not None
    game = Game.parse("f5d6c3d3c4f4f6")
    page.load(write(GameRecord(game, black="A", white="B")).strip())
    page.wait(lambda: page.board() == str(game.final)[:-2])
    assert "".join(page.moves()) == str(game)


def test_a_text_that_is_no_game_is_an_error_in_one_line(page: Page) -> None:
    before = page.browser.current_url
    page.load("f5f5")
    assert "move 2: f5 is illegal" in page.text("error")
    assert page.browser.current_url == before


def test_the_game_is_copied_and_saved(page: Page, tmp_path: Path) -> None:
    permissions = {"origin": page.address.rstrip("/"), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.browser.execute_cdp_cmd("Browser.grantPermissions", permissions)
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.start("Person", "Person", 8)
    page.play("d3")
    page.find("copy").click()
    page.wait(lambda: page.text("copy") == "Copied")
    read = "navigator.clipboard.readText().then(arguments[0])"
    assert page.browser.execute_async_script(read) == "d3"
    Select(page.find("format")).select_by_value("sgf")
    page.find("save").click()
    page.wait((tmp_path / "othello.sgf").exists)
    (record,) = read_records(tmp_path / "othello.sgf")
    assert str(record.game) == "d3"


def test_the_hint_writes_values_on_the_legal_squares(page: Page) -> None:
    pytest.importorskip("numba")
    page.start("Person", "Person", 4)
    legal = page.legal()
    page.find("hint").click()
    page.wait(lambda: page.browser.find_elements(By.CSS_SELECTOR, ".rated"), seconds=120)  # compiles the search
    rated = {square: name for square, name in page.squares().items() if "final score -10" in name}
    assert sorted(rated) == sorted(legal)
    page.play(legal[0])
    assert page.browser.find_elements(By.CSS_SELECTOR, ".rated") == []


def test_the_editor_sets_up_a_position(page: Page) -> None:
    page.start("Person", "Person", 4)
    before = page.browser.current_url
    page.find("edit").click()
    page.wait(lambda: page.text("status") == "Editing a position")
    page.find("edit-clear").click()
    for square in ("a1", "b1", "b1"):
        page.click(square)
    page.find("edit-play").click()
    page.wait(lambda: page.browser.current_url != before)
    page.wait(lambda: page.legal() == ["c1"])
    assert page.board() == "XO--" + "----" * 3


def test_legal_moves_can_be_hidden_and_a_game_resigned(page: Page) -> None:
    page.start("Person", "Person", 4)
    style = "return getComputedStyle(document.querySelector('.square.legal'), '::after').content"
    assert page.browser.execute_script(style) == '""'
    page.find("show-legal").click()
    assert page.browser.execute_script(style) == "none"
    page.find("resign").click()
    page.wait(lambda: page.text("status") == "White wins: black resigned")
    page.find("show-legal").click()


def test_flipped_discs_turn_unless_motion_is_reduced(page: Page) -> None:
    name = "return getComputedStyle(document.querySelector('.flip-black')).animationName"
    for value, expected in (("no-preference", "flip-black"), ("reduce", "none")):
        features = [{"name": "prefers-reduced-motion", "value": value}]
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        page.start("Person", "Person", 8)
        page.play("d3")
        assert page.browser.execute_script(name) == expected
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, installed from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder: Path = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if run.returncode:
        pytest.skip(f"npm cannot install axe-core: {run.stderr[-200:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violations(scheme: str, page: Page, axe: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page.start("Person", "Person", 8)
    page.play("d3")
    for panel in page.browser.find_elements(By.CSS_SELECTOR, "details"):
        page.browser.execute_script("arguments[0].open = true", panel)
    time.sleep(0.2)
    page.browser.execute_script(axe)
    for prepare in ("", "document.getElementById('edit').click()", "document.getElementById('new').click()"):
        page.browser.execute_script(prepare)  # the game, the editor, the dialog
        script = "const done = arguments[0]; axe.run().then(result => done(result.violations))"
        found = cast("list[Any]", page.browser.execute_async_script(script))
        assert [(fault["id"], [node["html"] for node in fault["nodes"]][:3]) for fault in found] == []
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_positions_of_the_start_are_the_servers(page: Page) -> None:
    for size in (4, 6, 8):
        page.start("Person", "Person", size)
        assert page.board() == str(Position.start(size))[:-2]
