from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents import AgentSpecError, make_agent
from tests.training.evaluation import faulty_agents
from training.evaluation.players import PlayerError, build_player


def no_select_moves() -> Any:
    class Odd:
        @property
        def select_moves(self) -> Any:
            raise ZeroDivisionError

    return Odd()


def odd_board_size() -> Any:
    class Odd:
        name = "odd"

        def select_moves(self, *_: Any) -> Any: ...

        @property
        def board_size(self) -> Any:
            raise ZeroDivisionError("by zero")

    return Odd()


@pytest.mark.parametrize(
    "error", [KeyError("x"), TypeError("two\nlines"), AssertionError(), SystemExit(3), MemoryError(), RuntimeError("no")]
)
def test_errors_of_any_type_are_one_line(error: BaseException) -> None:
    def fail() -> Any:
        raise error

    with pytest.raises(PlayerError, match=f"^mine: {type(error).__name__}") as caught:
        build_player("mine", fail, 8)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (faulty_agents.no_agent, "^mine: str is no agent: it has no method select_moves$"),
        (lambda: None, "^mine: NoneType is no agent"),
        (no_select_moves, "^mine: ZeroDivisionError"),
        (odd_board_size, "^mine: by zero$"),
        (lambda: make_agent("ntuple"), "^mine: ntuple plays on board_size 8, not 6$"),
        (faulty_agents.nameless, "^mine: _FirstCall plays on board_size 8, not 6$"),
    ],
)
def test_what_cannot_play_is_refused_by_its_name(function: Callable[[], Any], message: str) -> None:
    with pytest.raises(PlayerError, match=message):
        build_player("mine", function, 6)


def test_specs_are_agents_and_say_themselves_what_is_wrong() -> None:
    assert build_player("anything", "random", 6).name == "random"
    with pytest.raises(AgentSpecError, match="^'randam': no agent"):
        build_player("anything", "randam", 6)
    with pytest.raises(PlayerError, match="^ntuple: ntuple plays on board_size 8, not 4"):
        build_player("ntuple", "ntuple", 4)


def test_ctrl_c_is_not_the_agents() -> None:
    def interrupted() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_player("mine", interrupted, 8)
