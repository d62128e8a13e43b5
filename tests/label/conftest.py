"""Folders to label, and a server for them in this process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import uvicorn
from PIL import Image

from recoseg.label.label_folder import LabelFolder
from recoseg.label.labelling import Labelling
from recoseg.label.serve import bound_socket
from recoseg.label.server import application

TOKEN = "a-token-of-some-letters"


@pytest.fixture
def image_folder(tmp_path) -> Callable[..., Path]:
    """`image_folder({"a": (width, height)}, ...)`: grey images of those sizes, and nothing else."""

    def make(sizes: dict[str, tuple[int, int]], name: str = "folder") -> Path:
        for key, (width, height) in sizes.items():
            path = tmp_path / name / "images" / f"{key}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (width, height), (90, 120, 60)).save(path)
        return tmp_path / name

    return make


@pytest.fixture
def two_tone(tmp_path) -> Path:
    """Six images, 96x64: noise, green on the left and blue on the right of a line somewhere in the middle."""
    random = np.random.default_rng(0)
    for number in range(6):
        line = 32 + 6 * number
        pixels = random.integers(0, 40, (64, 96, 3))
        pixels[:, :line, 1] += 160
        pixels[:, line:, 2] += 160
        path = tmp_path / "two_tone" / "images" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    return tmp_path / "two_tone"


class Served:
    """A server in a thread, without a learner."""

    def __init__(self, root: Path, *classes: str) -> None:
        folder = LabelFolder(root)
        folder.add_classes(classes)
        self.labelling = Labelling(folder, learns=False)
        socket = bound_socket("127.0.0.1", 0, usual=0)
        self.port = socket.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        app = application(self.labelling, token=TOKEN)
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
        self.server.config.timeout_graceful_shutdown = 1
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [socket]})
        self.thread.start()
        self.client = httpx.Client(base_url=self.address, headers={"Authorization": f"Bearer {TOKEN}"})
        self.numbers = 0

    def do(self, *actions: dict, client: str = "one") -> httpx.Response:
        """Actions without ids get some."""
        named = []
        for action in actions:
            self.numbers += 1
            named.append({"id": f"{client}-{self.numbers}", **action})
        return self.client.post("/api/actions", json={"client": client, "actions": named})

    def get(self, path: str, **parameters: object) -> httpx.Response:
        return self.client.get(path, params=parameters)

    def close(self) -> None:
        self.client.close()
        self.server.should_exit = True
        self.thread.join()
        self.labelling.close()


@pytest.fixture
def served() -> Iterator[Callable[..., Served]]:
    """`served(root, "leaf", "soil")`: what answers requests for it."""
    running: list[Served] = []

    def start(root: Path, *classes: str) -> Served:
        running.append(Served(root, *classes))
        return running[-1]

    yield start
    for one in running:
        one.close()


class Started:
    """The command in a process of its own, and a client for it."""

    def __init__(self, root: Path, cache: Path, *words: str, opens: bool) -> None:
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "recoseg", "label", str(root), *words]
        command += [] if opens else ["--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        self.lines: list[str] = []
        for line in self.process.stdout:
            self.lines.append(line)
            if found := re.match(r"(http://\S+)/\?token=(\S+)", line):
                self.address, self.token = found.groups()
                break
        else:
            pytest.fail("no address was printed")
        headers = {"Authorization": f"Bearer {self.token}"}
        self.client = httpx.Client(base_url=self.address, headers=headers, timeout=60)

    def mark(self, number: int, one: object, x: int, y: int) -> httpx.Response:
        action = {
            "id": f"m{number}",
            "type": "mark",
            "image": "a",
            "class": one,
            "shape": "points",
            "at": [[x, y]],
        }
        return self.client.post("/api/actions", json={"client": "test", "actions": [action]})

    def end(self, number: int) -> None:
        self.client.close()
        self.process.send_signal(number)
        self.process.wait(300)


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Started]]:
    running: list[Started] = []

    def begin(root: Path, *words: str, opens: bool = False) -> Started:
        running.append(Started(root, tmp_path / "cache", *words, opens=opens))
        return running[-1]

    yield begin
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture
def until() -> Callable[..., None]:
    """`until(condition)`: waits for it, on a busy machine for long."""

    def wait(condition: Callable[[], object], seconds: float = 600.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it never came true"
            time.sleep(0.01)

    return wait


def click(key: str, one: object, x: int, y: int, **more: object) -> dict:
    return {"type": "mark", "image": key, "class": one, "shape": "points", "at": [[x, y]], **more}
