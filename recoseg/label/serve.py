"""Serving: a socket, a token that stays the same for a folder, and uvicorn until it is interrupted."""

from __future__ import annotations

import hashlib
import html
import os
import re
import secrets
import socket as sockets
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path

import uvicorn

from recoseg.errors import UserError
from recoseg.files import real
from recoseg.label.label_folder import LabelFolder
from recoseg.label.labelling import Labelling
from recoseg.label.server import application
from recoseg.splits.class_index import cache_folder

_PORTS_TO_TRY = 20
_SECONDS_TO_END = 5
"""For requests that the server still answers after Ctrl-C."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")


def bound_socket(host: str, port: int | None, *, usual: int) -> sockets.socket:
    """At the port that was asked for, or else at the usual one or the first free one after it."""
    if port is not None and not 0 <= port <= 65535:
        raise UserError(f"--port: got {port}, needs a number from 0 to 65535")
    family = sockets.AF_INET6 if ":" in host else sockets.AF_INET
    tried = range(usual, usual + _PORTS_TO_TRY) if port is None else [port]
    for number in tried:
        found = sockets.socket(family)
        found.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
        try:
            found.bind((host, number))
            found.listen(128)
            return found
        except (OSError, OverflowError) as error:
            found.close()
            trouble = error
    reason = trouble.strerror if isinstance(trouble, OSError) and trouble.strerror else str(trouble)
    raise UserError(f"cannot listen at {host}, port {tried[0]} ({reason}); choose another --port or --host")


def kept_token(folder: Path) -> str:
    """The folder's token on this machine, for this user alone: the same again, so that a page lives on."""
    path = _token_file(folder)
    try:
        token = path.read_text(encoding="utf-8").strip()
        if _TOKEN.fullmatch(token):
            return token
    except (OSError, UnicodeDecodeError):
        pass
    token = secrets.token_urlsafe(24)
    with suppress(OSError):  # then each start has a new one
        _write_private(path, token)
    return token


def _token_file(folder: Path) -> Path:
    return cache_folder() / "label_tokens" / hashlib.sha256(str(real(folder)).encode()).hexdigest()[:32]


def _write_private(path: Path, text: str) -> None:
    """Only this user can read the file."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _open_page(address: str, file: Path) -> None:
    """Through a private file: everybody on this machine can read the words that a browser is started with."""
    page = f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(address)}">'
    with suppress(OSError):  # the printed address remains
        _write_private(file, page)
        webbrowser.open(real(file).as_uri())


class LabelServer(uvicorn.Server):
    """Ends the streams of open pages itself: uvicorn waits for them, then cancels them with a traceback."""

    def __init__(self, config: uvicorn.Config, labelling: Labelling) -> None:
        super().__init__(config)
        self._labelling = labelling

    async def shutdown(self, sockets: list[sockets.socket] | None = None) -> None:
        self._labelling.end_requests()
        await super().shutdown(sockets)


def serve(
    folder: LabelFolder, socket: sockets.socket, *, host: str, token: str, open_page: str | None
) -> None:
    """Until it is interrupted; `open_page` is the address to show in a browser."""
    labelling = Labelling(folder)
    app = application(labelling, token=token, host=host)
    redirect = _token_file(folder.root).with_suffix(".html")
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=_SECONDS_TO_END,
        server_header=False,
    )
    if open_page is not None:
        threading.Timer(0.5, _open_page, [open_page, redirect]).start()
    try:
        LabelServer(config, labelling).run(sockets=[socket])
    finally:
        redirect.unlink(missing_ok=True)
        labelling.close()
