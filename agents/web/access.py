"""Who may talk to the server: checks of the Host and Origin headers, and of the token.

A page of another site can send requests to a server on this machine, also under a host name that
resolves to 127.0.0.1 (DNS rebinding). The Host header must therefore name this machine, and an
Origin header must name this server.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import secrets
import socket
from collections.abc import Collection
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?")
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_TOKEN: Final = "token"

_HEADERS: Final = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
)


def is_loopback(host: str) -> bool:
    """Return True if a server bound to this host can be reached from this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class AccessCheck:
    """ASGI middleware that answers 4xx to requests that must not reach the application.

    host: the address that the server is bound to. On loopback only the names of loopback are
    accepted; otherwise all IP addresses, which cannot be rebound, and the names of this machine.
    names: other host names to accept, such as that of a reverse proxy.
    token: secret that requests must know; None for no check. `?token=` in the page's address sets a
    cookie.
    """

    def __init__(self, app: ASGIApp, *, host: str, names: Collection[str] = (), token: str | None) -> None:
        self._app, self._token = app, token
        self._any_address = not is_loopback(host)
        name = socket.gethostname().lower()
        self._names = (
            _LOOPBACK_NAMES | {other.lower() for other in names} | ({host.lower(), name, f"{name}.local"} if self._any_address else set())
        )
        # Cookies are shared by all ports of a host: two servers must not overwrite each other's.
        self._cookie = f"othello_{hashlib.sha256((token or '').encode()).hexdigest()[:8]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on and add the security headers to the response."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(key.lower().encode("ascii"), value.encode("ascii")) for key, value in _HEADERS]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        refusal = self._refusal(Request(scope))
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        """Return the response to a request that is refused or redirected; None to let it pass."""
        hosts = request.headers.getlist("host")
        host = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._is_this_machine(host[1].lower()):
            return _refuse(request, 400, "the Host header does not name this server; open the address that the server printed")
        origin = request.headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host[0].lower()}", f"https://{host[0].lower()}"}:
            return _refuse(request, 403, "requests of other sites are refused (Origin header)")
        if self._token is None:
            return None
        given = request.query_params.get(_TOKEN)
        if given is not None and request.url.path == "/" and request.method == "GET" and self._is_token(given):
            rest = [(key, value) for key, value in request.query_params.multi_items() if key != _TOKEN]
            response = RedirectResponse("/" + (f"?{urlencode(rest)}" if rest else ""), status_code=303)
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
            return response
        if self._is_token(request.cookies.get(self._cookie, "")):
            return None
        return _refuse(request, 401, "a token is needed: open the whole address that the server printed, with ?token=")

    def _is_token(self, given: str) -> bool:
        return self._token is not None and secrets.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def _is_this_machine(self, name: str) -> bool:
        if name in self._names:
            return True
        try:
            return self._any_address and bool(ipaddress.ip_address(name.strip("[]")))
        except ValueError:
            return False


def _refuse(request: Request, status: int, reason: str) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": reason}, status)
    return PlainTextResponse(f"{reason}\n", status)
