"""Serving: a socket, a token that stays the same for a folder, and uvicorn until somebody ends it."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket as sockets
import threading
import webbrowser
from pathlib import Path

import uvicorn

from recoseg.builders.data import cache_folder
from recoseg.errors import UserError
from recoseg.files import real
from recoseg.label.guard import Guard
from recoseg.label.label_folder import LabelFolder
from recoseg.label.labelling import Labelling
from recoseg.label.server import application

_PORTS_TO_TRY = 20
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
    name = hashlib.sha256(str(real(folder)).encode()).hexdigest()[:32]
    path = cache_folder() / "label_tokens" / name
    try:
        token = path.read_text(encoding="utf-8").strip()
        if _TOKEN.fullmatch(token):
            return token
    except (OSError, UnicodeDecodeError):
        pass
    token = secrets.token_urlsafe(24)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        path.chmod(0o600)
        path.write_text(token, encoding="utf-8")
    except OSError:
        pass  # a new one at each start, then
    return token


def serve(
    folder: LabelFolder, socket: sockets.socket, *, host: str, token: str, open_page: str | None
) -> None:
    """Until it is interrupted; `open_page` is the address to show in a browser."""
    labelling = Labelling(folder)
    port = socket.getsockname()[1]
    named = f"[{host}]" if ":" in host else host
    app = Guard(application(labelling), token=token, port=port, hosts=(named,))  # type: ignore[arg-type]
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
        server_header=False,
    )
    if open_page is not None:
        threading.Timer(0.5, webbrowser.open, [open_page]).start()
    try:
        uvicorn.Server(config).run(sockets=[socket])
    finally:
        labelling.close()
