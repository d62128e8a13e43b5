"""A real Chromium to open pages in, spoken to in its own protocol through two pipes: no driver to install."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from recoseg.colours import distinct_colours
from recoseg.evaluate.class_relations import Relations
from recoseg.evaluate.scores import BoundaryScores, Scores
from recoseg.evaluate.scores_file import scores_as_plain
from recoseg.evaluate.survey import Survey
from recoseg.report.page import write_page
from recoseg.report.run_view import Picture, RunView
from recoseg.types import IGNORE, ClassInfo

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Tab": 9, " ": 32}
KEYS |= {"Escape": 27, "Delete": 46, "Backspace": 8, "PageUp": 33, "PageDown": 34, "Home": 36, "End": 35}
MODIFIERS = {"": 0, "control": 2, "shift": 8, "control shift": 10}


_HARD_TO_READ = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const shine = ([r, g, b]) => [r, g, b].map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
  };
  const left_out = "svg, script, .unseen, :disabled, .numbers";
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const says = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!says || !element.getClientRects().length || element.closest(left_out)) continue;
    const [one, other] = [shine(parse(getComputedStyle(element).color)), shine(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.push([element.tagName, element.className, element.textContent.slice(0, 30), ratio]);
  }
  return poor;
})()"""
"""Texts with a contrast below 4.5 to what is behind them: WCAG's AA."""


class Chromium:
    """A browser process. It reads commands from its file 3 and writes answers and events to its file 4."""

    def __init__(self, program: str, profile: Path) -> None:
        commands_end, self.commands = pipe()
        self.answers, answers_end = pipe()
        options = [
            "--headless=new",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
            "--no-first-run",
        ]
        options += [
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--disable-background-networking",
        ]
        options += ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses to run as root
        wired = f'exec "$@" 3<&{commands_end} 4>&{answers_end}'
        self.process = subprocess.Popen(
            ["bash", "-c", wired, "chromium", program, *options],
            pass_fds=(commands_end, answers_end),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_end)
        os.close(answers_end)
        self.unread, self.count = b"", 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """The result of a command; events that come before it are kept."""
        self.count += 1
        number = self.count
        message = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") != number:
                self.events.append(answer)
                continue
            assert "error" not in answer, f"{method}: {answer['error']}"
            result: dict[str, Any] = answer["result"]
            return result

    def read(self, seconds: float = 60) -> dict[str, Any]:
        """The next message."""
        deadline = time.monotonic() + seconds
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            part = os.read(self.answers, 1 << 20) if ready else b""
            assert part, "Chromium does not answer"
            self.unread += part
        message, self.unread = self.unread.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer

    def close(self) -> None:
        os.close(self.commands)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        os.close(self.answers)


def pipe() -> tuple[int, int]:
    """Its two ends, under numbers that are not in the way of 3 and 4."""
    ends = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return read, write


class Tab:
    """A page that is open, and what a person can do with it."""

    def __init__(self, chromium: Chromium) -> None:
        self.chromium, self.closed = chromium, False
        self.target = chromium.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = chromium.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.chromium.call(method, self.session, **params)

    def events(self, method: str) -> list[dict[str, Any]]:
        """What was reported of this tab under that name so far."""
        mine = (event for event in self.chromium.events if event.get("sessionId") == self.session)
        return [event["params"] for event in mine if event["method"] == method]

    def open(self, page: Path | str, *, width: int = 1200, height: int = 900, dark: bool = False) -> Tab:
        """A file, or the address of a server."""
        self.resize(width, height)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)
        return self._load("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())

    def reload(self) -> Tab:
        return self._load("Page.reload")

    def _load(self, method: str, **params: Any) -> Tab:
        before = len(self.events("Page.loadEventFired"))
        self.call(method, **params)
        while len(self.events("Page.loadEventFired")) == before:
            self.chromium.events.append(self.chromium.read())
        return self

    def resize(self, width: int, height: int = 900) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def run(self, script: str) -> Any:
        """The value of an expression in the page; waits for it where it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def hard_to_read(self) -> list[Any]:
        return list(self.run(_HARD_TO_READ))

    def until(self, condition: str, *, seconds: float = 20) -> Any:
        """The value of an expression as soon as it is true; looks at every frame."""
        return self.run(
            f"""new Promise((done, failed) => {{
              const end = performance.now() + {1000 * seconds};
              const look = () => {{
                const value = {condition};
                if (value) done(value);
                else if (performance.now() > end) failed(new Error("never: " + {json.dumps(condition)}));
                else setTimeout(look, 10);
              }};
              look();
            }})"""
        )

    def press(self, key: str, modifiers: str = "") -> None:
        code = KEYS.get(key, ord(key[0].upper()))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 and "control" not in modifiers else "")
        shared = {"key": key, "windowsVirtualKeyCode": code, "modifiers": MODIFIERS[modifiers]}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **shared)
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def focus(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")

    def point(self, selector: str, *, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
        """Scrolls there and moves the mouse onto the element, at that share of its size."""
        box = self.run(
            f"""(() => {{ const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center", behavior: "instant"}});
            const {{x, y, width, height}} = element.getBoundingClientRect();
            return [x, y, width, height]; }})()"""
        )
        x, y = box[0] + across * box[2], box[1] + down * box[3]
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def click(self, selector: str) -> None:
        self.drag([self.point(selector)])

    def drag(self, places: list[tuple[float, float]], *, button: str = "left", modifiers: str = "") -> None:
        """Presses a button of the mouse at the first place, moves through the others, and lets go there."""
        shared = {"button": button, "clickCount": 1, "modifiers": MODIFIERS[modifiers]}
        for index, (x, y) in enumerate(places):
            kind = "mouseMoved" if index else "mousePressed"
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **shared)
        x, y = places[-1]
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **shared)

    def screenshot(self, path: Path) -> None:
        """The whole page, as long as it is."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}
        answer = self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def close(self) -> None:
        self.closed = True
        self.chromium.call("Target.closeTarget", targetId=self.target)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = os.environ.get("RECOSEG_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium here; install one, or name it in RECOSEG_CHROMIUM")
    browser = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def open_tab(chromium: Chromium) -> Iterator[Callable[..., Tab]]:
    """`open_tab(page, width=360, dark=True)`."""
    tabs: list[Tab] = []

    def open_one(page: Path, **settings: Any) -> Tab:
        tabs.append(Tab(chromium))
        return tabs[-1].open(page, **settings)

    yield open_one
    for tab in tabs:
        tab.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of made-up runs: one and three runs of 19 classes, of 2 and 150 classes, and one just begun."""
    two = torch.tensor([[75, 25], [10, 90]])
    pair = ClassInfo(("background", "leaf"), ((0, 0, 0), (0, 160, 60)))
    begun = drawn_run("begun", nineteen(), 0)
    begun = replace(begun, metrics=[], losses=[], pictures=[], survey=None)
    names = ("supervised", "a_long_name_that_somebody_gave_to_a_run_without_a_single_space", "reco")
    runs = {
        "one": [drawn_run("only", nineteen(), 0)],
        "three": [drawn_run(name, nineteen(), seed) for seed, name in enumerate(names)],
        "two_classes": [drawn_run("pair", pair, 0, confusion=two)],
        "many_classes": [drawn_run("many", classes_of(150), 0)],
        "begun": [begun],
    }
    folder = tmp_path_factory.mktemp("pages")
    for name, shown in runs.items():
        write_page(folder / f"{name}.html", shown, title=name.replace("_", " "))
    return {name: folder / f"{name}.html" for name in runs}


class LabelServer:
    """`recoseg label` on a folder, in a thread and without a learner: a test may play its part."""

    def __init__(self, root: Path, classes: tuple[str, ...]) -> None:
        self.root, self.classes, self.port = root, classes, 0
        self.token = "a-token-for-tests-only"
        self.start()

    def start(self) -> None:
        """At the same address as before."""
        import uvicorn

        from recoseg.label.label_folder import LabelFolder
        from recoseg.label.labelling import Labelling
        from recoseg.label.serve import bound_socket
        from recoseg.label.server import application

        folder = LabelFolder(self.root)
        folder.add_classes(self.classes)
        self.labelling = Labelling(folder, learns=False)
        socket = bound_socket("127.0.0.1", self.port, usual=0)
        self.port = socket.getsockname()[1]
        app = application(self.labelling, token=self.token)
        config = uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=0)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [socket]})
        self.thread.start()

    def stop(self) -> None:
        if self.thread.is_alive():
            self.server.should_exit = True
            self.thread.join()
            self.labelling.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def colour(self, name: str) -> tuple[int, int, int]:
        (found,) = [one.colour for one in self.labelling.folder.state.classes() if one.name == name]
        return found

    def labels(self, key: str = "0") -> dict[tuple[int, int], int]:
        """Ids of labelled pixels by x and y."""
        ids = self.labelling.folder.labels(key).ids
        return {(int(x), int(y)): int(ids[y, x]) for y, x in zip(*(ids != IGNORE).nonzero(), strict=True)}

    def records(self) -> list[dict[str, Any]]:
        """What people did."""
        lines = (self.root / "label_journal.jsonl").read_text().splitlines()
        return [record for record in map(json.loads, lines) if record["client"] != "recoseg"]


class LabelTab(Tab):
    """The page of `recoseg label`, and what a person does and sees there. Places are pixels of the image."""

    READY = "document.getElementById('stage')?.dataset.view"
    STATE = "document.getElementById('saved').dataset.state"
    SAVED = f"{STATE} == 'saved'"

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where the middle of a pixel is in the window."""
        scale, left, top = map(float, self.run(self.READY).split())
        box = self.run("(({x, y}) => [x, y])(document.getElementById('stage').getBoundingClientRect())")
        return box[0] + left + (x + 0.5) * scale, box[1] + top + (y + 0.5) * scale

    def mark(self, *places: tuple[float, float], **how: str) -> None:
        """A click, or a drag through several places."""
        self.drag([self.at(*place) for place in places], **how)

    @staticmethod
    def seen(x: float, y: float, layer: str = "labels") -> str:
        """An expression: red, green, blue and alpha of a layer in the middle of a pixel."""
        return f"""((stage) => {{
            const [scale, left, top] = stage.dataset.view.split(" ").map(Number);
            const context = stage.querySelector("canvas[data-layer={layer}]").getContext("2d");
            return [...context.getImageData(left + ({x} + .5) * scale, top + ({y} + .5) * scale, 1, 1).data];
        }})(document.getElementById("stage"))"""

    @classmethod
    def has(cls, colour: Sequence[int], x: float, y: float, layer: str = "labels") -> str:
        """An expression: whether it is of that colour, and nothing shines through."""
        return f"String({cls.seen(x, y, layer)}) == '{','.join(map(str, colour))},255'"


@pytest.fixture
def label_tab(chromium: Chromium) -> Iterator[Callable[..., LabelTab]]:
    """`label_tab(address)`, when it shows its first image."""
    tabs: list[LabelTab] = []

    def open_one(address: str, **settings: Any) -> LabelTab:
        tabs.append(LabelTab(chromium))
        tabs[-1].open(address, **settings).until(LabelTab.READY)
        return tabs[-1]

    yield open_one
    for tab in tabs:
        if not tab.closed:
            tab.close()


@pytest.fixture
def label_page(
    label_server: Callable[..., LabelServer], label_tab: Callable[..., LabelTab]
) -> Callable[..., tuple[LabelServer, LabelTab]]:
    """`server, tab = label_page(sizes, classes=...)`; the rest is for the tab."""

    def start(
        sizes: Sequence[tuple[int, int]] = ((160, 120),) * 3,
        classes: tuple[str, ...] = ("leaf", "soil"),
        **settings: Any,
    ) -> tuple[LabelServer, LabelTab]:
        server = label_server(sizes, classes)
        return server, label_tab(server.address, **settings)

    return start


@pytest.fixture
def label_server(tmp_path: Path) -> Iterator[Callable[..., LabelServer]]:
    """`label_server(sizes, classes=...)`: drawn images 0, 1, ... of those widths and heights."""
    pytest.importorskip("uvicorn", reason="needs recoseg[label]")
    pytest.importorskip("fastapi", reason="needs recoseg[label]")
    started: list[LabelServer] = []

    def start(
        sizes: Sequence[tuple[int, int]] = ((160, 120),) * 3, classes: tuple[str, ...] = ("leaf", "soil")
    ) -> LabelServer:
        (tmp_path / "images").mkdir()
        for index, (width, height) in enumerate(sizes):
            down = Image.linear_gradient("L").resize((width, height))
            up, plain = (
                down.transpose(Image.Transpose.ROTATE_180),
                Image.new("L", down.size, 60 + 40 * index % 160),
            )
            bands = (down, up, plain)
            Image.merge("RGB", bands).save(tmp_path / "images" / f"{index}.png")
        started.append(LabelServer(tmp_path, classes))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def classes_of(count: int) -> ClassInfo:
    return ClassInfo(tuple(f"class number {index}" for index in range(count)), distinct_colours(count))


def nineteen() -> ClassInfo:
    """The last one has no pixels."""
    classes = classes_of(19)
    return ClassInfo((*classes.names[:-1], "absent"), classes.palette)


def drawn_run(name: str, classes: ClassInfo, seed: int, *, confusion: torch.Tensor | None = None) -> RunView:
    """A run whose numbers are drawn, but for a confusion matrix that is given."""
    count, generator = len(classes), torch.Generator().manual_seed(seed)
    if confusion is None:
        confusion = (torch.rand(count, count, generator=generator) ** 4 * 100).long()
        confusion += torch.diag((torch.rand(count, generator=generator) * 2000).long())
        confusion[-1] = confusion[:, -1] = 0
    true, right, called = confusion.sum(1), confusion.diagonal(), confusion.sum(0)
    boundary = BoundaryScores(
        torch.stack([right, true, called]), torch.stack([true, right, called, right]), confusion
    )
    relations = {space: drawn_relations(count, offset, generator) for space, offset in (("Z", 2), ("R", 0))}
    scores = Scores(confusion, boundary)
    stats = {"contrast_accuracy": 0.4, "contrast_chance_level": 6.2, "contrast_hard_share": 0.9}
    return RunView(
        name=name,
        classes=classes,
        method="mean_teacher with classmix + regional contrast",
        network="deeplab_v3_plus, resnet101",
        config_yaml="train:\n  iterations: 100\n",
        num_labelled=20,
        num_unlabelled=2955,
        metrics=[{"iteration": 100, **scores_as_plain(scores)}],
        losses=[
            {"iteration": 50 * i, "loss": 9 / i, "supervised": 3 / i, "contrast": 6 / i, "stats": stats}
            for i in (1, 2)
        ],
        pictures=[drawn_picture(f"city/{number}", count, number, seed) for number in range(2)],
        command=f"recoseg train --config runs/{name}/config.yaml",
        survey=Survey(scores, relations, 500),
    )


def drawn_relations(count: int, offset: float, generator: torch.Generator) -> Relations:
    vectors = torch.randn(count, 16, generator=generator, dtype=torch.float64) + offset
    vectors = vectors / vectors.norm(dim=1, keepdim=True)
    return Relations(vectors @ vectors.t(), torch.ones(count, dtype=torch.int64))


def drawn_picture(key: str, num_classes: int, number: int, seed: int) -> Picture:
    """The same image and truth for all seeds; every seed is wrong elsewhere."""
    generator = torch.Generator().manual_seed(number)
    blocks = torch.randint(0, num_classes, (8, 16), generator=generator).to(torch.uint8)
    truth = blocks.repeat_interleave(16, 0).repeat_interleave(16, 1)  # (128, 256)
    prediction = truth.roll(2 + seed, 1)
    confidence = torch.where(prediction == truth, 240, 90).to(torch.uint8)
    image = torch.stack([truth * 9, truth * 5, truth * 3])
    return Picture(key, image, truth, prediction, confidence)


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: RECOSEG_SHOTS, for those who want to look at them."""
    wanted = os.environ.get("RECOSEG_SHOTS")
    folder = Path(wanted) if wanted else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
