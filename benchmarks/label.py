"""How long `recoseg label` keeps a person waiting: a real server, real requests, drawn scenes of 512x256.

    python benchmarks/label.py

Asked on two cores, with 100 images whose features are being computed meanwhile: a first prediction 10 s after
the second class has a click, a fresh one 3 s after each further click. Of every click also the time until the
server says that it is on the disk. The page draws a click before it asks (tests/browser/test_label.py).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from recoseg.data.scenes import Scenes

SIZE = (256, 512)


class Server:
    """The command in a process of its own, and what its events say, with their times."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "recoseg", "label", str(folder), "--no-browser", "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        address = next(word for line in self.process.stdout for word in line.split() if "http://" in word)
        self.base, token = address.split("/?token=")
        self.headers = {"Authorization": f"Bearer {token}"}
        self.predicted: list[tuple[float, int, str]] = []  # time, version, image
        self.heard = threading.Condition()
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = self.headers | ({"Content-Type": "application/json"} if body else {})
        with urllib.request.urlopen(urllib.request.Request(self.base + path, content, headers)) as answer:
            return json.load(answer)

    def do(self, **action: Any) -> dict[str, Any]:
        action["id"] = f"{time.monotonic_ns()}"
        return self.ask("/api/actions", {"client": "benchmark", "actions": [action]})["records"][0]

    def _listen(self) -> None:
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.base}/api/events?since=0", headers=self.headers)
        ) as stream:
            for kind, data in _events(stream):
                if kind == "predictions":
                    with self.heard:
                        self.predicted += [
                            (time.perf_counter(), data["version"], one) for one in data["images"]
                        ]
                        self.heard.notify_all()

    def seconds_to_prediction(self, image: str, since: float) -> float:
        """From the click to the next prediction of its image; each click waits for its own."""
        with self.heard:
            self.heard.wait_for(lambda: self._of(image, since), timeout=60)
            return self._of(image, since)[0] - since

    def _of(self, image: str, since: float) -> list[float]:
        return [at for at, _, key in self.predicted if key == image and at > since]


def _events(stream: Any) -> Iterator[tuple[str, Any]]:
    kind = ""
    for line in stream:
        name, _, content = line.decode().rstrip("\n").partition(": ")
        if name == "event":
            kind = content
        elif name == "data":
            yield kind, json.loads(content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--clicks", type=int, default=20)
    arguments = parser.parse_args()
    scenes = Scenes(height=SIZE[0], width=SIZE[1], num_train=arguments.images)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "images").mkdir()
        for number, key in enumerate(scenes.keys("train")):
            pixels = scenes.image(key).permute(1, 2, 0).numpy()
            Image.fromarray(pixels).save(folder / "images" / f"{number:03}.jpg", quality=92)
        server = Server(folder)
        try:
            measure(server, scenes, arguments.clicks)
        finally:
            server.process.terminate()
            server.process.wait()


def measure(server: Server, scenes: Scenes, num_clicks: int) -> None:
    labels = scenes.labels(scenes.keys("train")[0]).numpy()
    found = np.unique(labels[labels < len(scenes.classes)]).tolist()
    ids = {index: server.do(type="add_class", name=scenes.classes.names[index])["class"] for index in found}
    image, random = "000", np.random.default_rng(0)
    server.ask(f"/api/image?key={image}&client=benchmark")
    saved: list[float] = []

    def click(index: int) -> float:
        """The moment before it is sent."""
        row, column = random.permutation(np.argwhere(labels == index))[0].tolist()
        start = time.perf_counter()
        server.do(type="mark", image=image, **{"class": ids[index]}, shape="points", at=[[column, row]])
        saved.append(time.perf_counter() - start)
        return start

    click(found[0])
    first = server.seconds_to_prediction(image, click(found[1]))
    print(f"first prediction after {first:.1f} s (10 asked)")
    fresh = []
    for number in range(num_clicks):
        time.sleep(0.5)  # as a person would
        fresh.append(server.seconds_to_prediction(image, click(found[number % len(found)])))
    print(f"a fresh one after {np.median(fresh):.1f} s in the median, {max(fresh):.1f} at most (3 asked)")
    milliseconds = 1000 * np.array(saved)
    print(f"a click is on the disk after {np.median(milliseconds):.0f} ms, {milliseconds.max():.0f} at most")
    print(f"features of {server.ask('/api/state')['learner']['features']['done']} images were ready by then")


if __name__ == "__main__":
    main()
