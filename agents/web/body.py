"""Bodies of requests: JSON objects with the expected fields, of bounded size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

MAX_BODY_BYTES: Final = 64 << 10
_READ_SECONDS: Final = 10.0


class RequestError(Exception):
    """A request that the server does not carry out. status: HTTP status, 4xx or 5xx."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_object(request: Request, limits: Mapping[str, int], *, optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the JSON object in the body of a request.

    limits: the fields. A positive number is the maximum length of a text, 0 stands for an integer
    from 0. optional: fields that may be missing or null; they are missing in the answer. Raises
    `RequestError` for anything else.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "expected a body of type application/json")
    try:
        found = json.loads(await asyncio.wait_for(_read_bytes(request), _READ_SECONDS))
    except (asyncio.TimeoutError, ClientDisconnect):
        raise RequestError(408, f"the body did not arrive within {_READ_SECONDS:g} seconds") from None
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is not JSON") from None
    if not isinstance(found, dict):
        raise RequestError(400, "expected a JSON object")
    values = {key: value for key, value in found.items() if not (value is None and key in optional)}
    if unknown := sorted(set(values) - set(limits)):
        raise RequestError(400, f"field {_shown(unknown[0])}: expected {', '.join(limits)}")
    if missing := sorted(set(limits) - set(values) - optional):
        raise RequestError(400, f"the field {missing[0]} is missing")
    for key, value in values.items():
        _check(key, value, limits[key])
    return values


async def _read_bytes(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise RequestError(413, f"the body is longer than {MAX_BODY_BYTES >> 10} KiB")
    return body


def _check(key: str, value: Any, limit: int) -> None:
    if not limit:
        if type(value) is not int or not 0 <= value < 1 << 53:
            raise RequestError(400, f"{key}: expected an integer from 0")
        return
    if not isinstance(value, str):
        raise RequestError(400, f"{key}: expected a text")
    if len(value) > limit:
        raise RequestError(400, f"{key}: a text of {len(value)} characters; expected at most {limit}")
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        raise RequestError(400, f"{key}: not a valid text") from None


def _shown(text: str) -> str:
    return ascii(text[:40])
