"""The server of the page: its addresses, as docs/labelling.md lists them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, StreamingResponse
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.label.actions import MOST_ACTIONS, NotNowError, checked_client
from recoseg.label.labelling import MOST_MISSED, Event, Labelling, public
from recoseg.label.tiles import Pyramids, file_stamp, label_tile, thumbnail
from recoseg.label.write_masks import write_masks

PAGE = Path(__file__).with_name("page")
_PAGE_FILE = re.compile(r"[a-z0-9_]+\.(js|css|svg|png)")
_SECONDS_OF_SILENCE = 15.0
_MOST_IMAGES = 500
MOST_BYTES = 4 * 2**20
_SECONDS_OF_COOKIE = 30 * 24 * 3600
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Nothing is loaded from other origins, and pages of other origins can neither load nor frame anything."""
_FOR_EVER = _HEADERS | {"cache-control": "private, max-age=31536000, immutable"}
_ASK_AGAIN = _HEADERS | {"cache-control": "no-cache"}
_NEVER = _HEADERS | {"cache-control": "no-store"}


class UnknownError(UserError):
    """Nothing of that name is there."""


def application(labelling: Labelling, *, token: str, host: str = "127.0.0.1") -> FastAPI:
    """The page for everybody at `host`; everything else for those who have the token."""
    app = FastAPI(title="recoseg label", docs_url=None, redoc_url=None, openapi_url=None)
    hosts = ["127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host]
    if host in ("0.0.0.0", "::"):
        hosts = ["*"]  # the token alone protects a server that listens at every address
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    _add_errors(app)
    _add_page(app, token)
    api = APIRouter(dependencies=[Depends(_token_check(token))])
    _add_state(api, labelling, hashlib.sha256(token.encode()).hexdigest()[:16])
    _add_tiles(api, labelling)
    _add_actions(api, labelling)
    _add_events(api, labelling)
    app.include_router(api)
    return app


# The token


def _token_check(token: str) -> Callable[[Request], Awaitable[None]]:
    """A dependency that lets our own page pass, and scripts with the token."""

    async def check(request: Request) -> None:
        headers = request.headers
        origin = headers.get("origin")  # SameSite lets pages of other ports of this host through
        if origin is not None and urlsplit(origin).netloc != headers.get("host"):
            raise HTTPException(403, "pages of other origins cannot use this server")
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            given = request.cookies.get(_cookie(request), "")
        _require_token(given, token)

    return check


def _require_token(given: str, token: str) -> None:
    if not secrets.compare_digest(given.encode(), token.encode()):
        raise HTTPException(403, "the token is missing or wrong; open the address that recoseg label printed")


def _cookie(request: Request) -> str:
    """Browsers keep one set of cookies for all ports of a host."""
    return f"recoseg_label_{request.url.port}"


# Errors


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(UserError)
    async def told(request: Request, error: UserError) -> Response:
        is_missing = isinstance(error, UnknownError | FileError)
        status = 409 if isinstance(error, NotNowError) else 404 if is_missing else 400
        return JSONResponse({"error": str(error)}, status, headers=_NEVER)

    @app.exception_handler(OSError)
    async def disk(request: Request, error: OSError) -> Response:
        return JSONResponse({"error": f"{error.filename}: {error.strerror}"}, 507, headers=_NEVER)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        return JSONResponse({"error": f"{first['loc'][-1]}: {first['msg']}"}, 400, headers=_NEVER)

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code, headers=_NEVER)


# The page


def _add_page(app: FastAPI, token: str) -> None:
    @app.get("/")
    def page(request: Request) -> Response:
        given = request.query_params.get("token")
        if given is None:
            return FileResponse(PAGE / "index.html", headers=_ASK_AGAIN)
        _require_token(given, token)
        answer = RedirectResponse("/", 303, headers=_NEVER)  # the address bar shows no token
        age = _SECONDS_OF_COOKIE
        answer.set_cookie(_cookie(request), token, max_age=age, httponly=True, samesite="strict")
        return answer

    @app.get("/page/{name}")
    def part(name: str) -> Response:
        path = PAGE / name
        if not _PAGE_FILE.fullmatch(name) or not path.is_file():
            raise UnknownError(f"the page has no file {name!r}")
        return FileResponse(path, headers=_ASK_AGAIN)


# What there is


def _add_state(app: APIRouter, labelling: Labelling, server_id: str) -> None:
    keys = list(labelling.folder.images)

    @app.get("/api/state")
    def state() -> Response:
        return JSONResponse(labelling.state() | {"id": server_id}, headers=_NEVER)

    @app.get("/api/images")
    def images(start: int = Query(0, ge=0), count: int = Query(200, ge=1, le=_MOST_IMAGES)) -> Response:
        chosen = [labelling.image(key) for key in keys[start : start + count]]
        return JSONResponse({"total": len(keys), "start": start, "images": chosen}, headers=_NEVER)

    @app.get("/api/image")
    def image(key: str, client: str | None = None) -> Response:
        _path(labelling, key)
        if client is not None:
            labelling.view(key, client)
        return JSONResponse(labelling.image(key), headers=_NEVER)

    @app.get("/api/next")
    def next_spots(client: str = "", count: int = Query(1, ge=1, le=20)) -> Response:
        return JSONResponse({"spots": labelling.spots.next(client, count)}, headers=_NEVER)

    @app.get("/api/history")
    def history(before: int | None = None, count: int = Query(100, ge=1, le=1000)) -> Response:
        folder_state = labelling.folder.state
        last = folder_state.version if before is None else min(before - 1, folder_state.version)
        records = [folder_state.record(number) for number in range(last, max(0, last - count), -1)]
        actions = [
            public(r, folder_state) | {"active": r["number"] not in folder_state.undone} for r in records
        ]
        return JSONResponse({"actions": actions}, headers=_NEVER)


def _path(labelling: Labelling, key: str) -> Path:
    """Of an image, by its key and never by a path that somebody sends."""
    if key not in labelling.folder.images:
        raise UnknownError(f"there is no image with the key {key[:100]!r}")
    return labelling.folder.images[key]


def _add_tiles(app: APIRouter, labelling: Labelling) -> None:
    pyramids = Pyramids()
    folder = labelling.folder

    @app.get("/api/thumbnail")
    def small(request: Request, key: str) -> Response:
        path = _path(labelling, key)
        return _jpeg(request, path, lambda: thumbnail(path, folder.path("thumbnails")))

    @app.get("/api/tile/image")
    def image_tile(request: Request, key: str, level: int, x: int, y: int) -> Response:
        path = _path(labelling, key)
        return _jpeg(request, path, lambda: pyramids.tile(path, folder.size(key), level, x, y))

    @app.get("/api/tile/labels")
    def labels(key: str, level: int, x: int, y: int, v: int | None = None) -> Response:
        _path(labelling, key)
        headers = _FOR_EVER if v == folder.state.last_change(key) else _NEVER  # before they are read
        return Response(label_tile(folder, key, level, x, y), media_type="image/png", headers=headers)

    @app.get("/api/tile/prediction")
    def prediction(key: str, level: int, x: int, y: int, v: int | None = None) -> Response:
        _path(labelling, key)
        found = labelling.predictions.get(key)
        if found is None:
            raise UnknownError(f"there is no prediction of {key!r} yet")
        content = found.tile(folder.size(key), level, x, y)
        headers = _FOR_EVER if v == found.version else _NEVER
        return Response(content, media_type="image/png", headers=headers)


def _jpeg(request: Request, path: Path, content: Callable[[], bytes]) -> Response:
    """The browser keeps it, and asks each time whether the image file was replaced."""
    time, size = file_stamp(path)  # before it is read
    headers = _ASK_AGAIN | {"etag": f'"{time:x}-{size:x}"'}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(content(), media_type="image/jpeg", headers=headers)


# What people do


def _add_actions(app: APIRouter, labelling: Labelling) -> None:
    journal = ThreadPoolExecutor(
        1, thread_name_prefix="journal"
    )  # of its own: tiles never keep an action waiting
    exports = ThreadPoolExecutor(1, thread_name_prefix="export")
    trainings = ThreadPoolExecutor(1, thread_name_prefix="training")

    @app.post("/api/actions")
    async def actions(request: Request) -> Response:
        content = await _object(request)
        client = checked_client(content.get("client"))
        wanted = content.get("actions")
        if not isinstance(wanted, list) or not 1 <= len(wanted) <= MOST_ACTIONS:
            raise UserError(f"actions: needs a list of 1 to {MOST_ACTIONS} actions")
        loop = asyncio.get_running_loop()
        records = await loop.run_in_executor(journal, labelling.do, client, wanted)
        state = labelling.folder.state
        answer = {"version": state.version, "records": [public(one, state) for one in records]}
        return JSONResponse(answer, headers=_NEVER)

    @app.post("/api/training")
    async def training(request: Request) -> Response:
        what = (await _object(request)).get("do")
        calls = {
            "start": labelling.start_training,
            "stop": labelling.stop_training,
            "discard": labelling.discard_training,
        }
        if what not in calls:
            raise UserError(f"do: needs {', '.join(calls)}")
        await asyncio.get_running_loop().run_in_executor(trainings, calls[what])
        return JSONResponse(labelling.training.as_plain(), headers=_NEVER)

    @app.post("/api/export")
    async def export(request: Request) -> Response:
        content = await _object(request)
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(
            exports, write_masks, labelling, content.get("what"), content.get("of", "labels")
        )
        return JSONResponse(answer, headers=_NEVER)


async def _object(request: Request) -> dict[str, Any]:
    too_large = HTTPException(413, f"a body of more than {MOST_BYTES // 2**20} MB")
    if int(request.headers.get("content-length", 0)) > MOST_BYTES:
        raise too_large
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise too_large
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise UserError("the body must be JSON") from None
    if not isinstance(content, dict):
        raise UserError("the body must be a JSON object")
    return content


# Events


def _add_events(app: APIRouter, labelling: Labelling) -> None:
    @app.get("/api/events")
    async def events(request: Request, since: int | None = None) -> Response:
        last = request.headers.get("last-event-id", "")
        since = int(last) if last.isdigit() else since
        return StreamingResponse(_stream(labelling, since), media_type="text/event-stream", headers=_NEVER)


async def _stream(labelling: Labelling, since: int | None) -> AsyncIterator[str]:
    """What was missed, then what happens; nothing twice and nothing left out."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event]()

    def listen(event: Event) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    labelling.listeners.add(listen)
    try:
        state = labelling.folder.state
        shown = version = state.version
        if since is not None and version - since > MOST_MISSED:
            yield _as_text("reload", {"version": version})
        elif since is not None:
            for number in range(max(0, since) + 1, version + 1):
                yield _as_text("action", public(state.record(number), state))
        yield _as_text("learner", labelling.learner_status)
        for message in list(labelling.troubles.values()):
            yield _as_text("trouble", {"message": message})
        while not labelling.is_ending:
            try:
                kind, data = await asyncio.wait_for(queue.get(), _SECONDS_OF_SILENCE)
            except TimeoutError:
                yield ": nothing new\n\n"
                continue
            if kind != "end" and (kind != "action" or data["number"] > shown):
                yield _as_text(kind, data)
    finally:
        labelling.listeners.discard(listen)


def _as_text(kind: str, data: dict[str, Any]) -> str:
    number = f"id: {data['number']}\n" if kind == "action" else ""
    return f"{number}event: {kind}\ndata: {json.dumps(data)}\n\n"
