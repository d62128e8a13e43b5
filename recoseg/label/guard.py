"""Who may ask the server: the right host, no other origin, the token, and bodies of a sensible size."""

from __future__ import annotations

import hmac
import ipaddress
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

Scope = dict[str, Any]
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 4 * 2**20
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_OPEN = "/page/"
_TOO_LARGE = f"a body of more than {MOST_BYTES // 2**20} MB"

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
}
"""On every answer: nothing from elsewhere is loaded, and no page elsewhere shows ours in a frame."""


class _TooLargeError(Exception):
    """The body has more bytes than it may."""


class Guard:
    """An ASGI application around another. `hosts` are further names, without port, of the server."""

    def __init__(self, app: App, *, token: str, port: int, hosts: Iterable[str] = ()) -> None:
        self.app, self.token, self.port = app, token, port
        self.hosts = {host.lower() for host in (*_LOOPBACK, *hosts)}
        self.any_address = bool({"0.0.0.0", "[::]"} & self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        body, answered = _Body(receive), False

        async def dressed(message: Message) -> None:
            nonlocal answered
            if body.is_too_large:  # whatever the application makes of that
                if not answered:
                    answered = True
                    await _answer(send, 413, _TOO_LARGE)
                return
            if message["type"] == "http.response.start":
                answered = True
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        try:
            await self.app(scope, body.receive, dressed)
        except _TooLargeError:
            await dressed({"type": "http.response.start"})

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        host = b",".join(headers.get(b"host", [])).decode("latin-1").lower()
        if not self._is_ours(host):
            return 403, "this server goes by another name: use the address that recoseg label printed"
        origins = [origin.decode("latin-1").lower() for origin in headers.get(b"origin", [])]
        if any(origin != f"http://{host}" for origin in origins):
            return 403, "pages of other origins may not ask"
        if not scope["path"].startswith(_OPEN) and not self._has_token(scope, headers):
            return 403, "open the address that recoseg label printed: its token is missing or wrong here"
        length = b"".join(headers.get(b"content-length", [b"0"]))
        if not length.isdigit() or len(length) > 18 or int(length) > MOST_BYTES:
            return 413, _TOO_LARGE
        return None

    def _is_ours(self, host: str) -> bool:
        """At any address, numbers are ours; a name could be made to lead to us by whoever owns it."""
        name, _, port = host.rpartition(":")
        if port != str(self.port):
            return False
        if name in self.hosts:
            return True
        if not self.any_address:
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def _has_token(self, scope: Scope, headers: dict[bytes, list[bytes]]) -> bool:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        given += [
            value.decode("latin-1")[7:]
            for value in headers.get(b"authorization", [])
            if value[:7].lower() == b"bearer "
        ]
        return any(hmac.compare_digest(one.encode(), self.token.encode()) for one in given)


class _Body:
    """A body, which may come without saying how long it is."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._count = receive, 0

    @property
    def is_too_large(self) -> bool:
        return self._count > MOST_BYTES

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._count += len(message.get("body", b""))
            if self.is_too_large:
                raise _TooLargeError
        return message


async def _answer(send: Send, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **HEADERS,
    }
    plain = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": plain})
    await send({"type": "http.response.body", "body": body})
