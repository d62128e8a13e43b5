"""A folder being labelled: what people do, what the learner says, and who is told of it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.label.actions import NotNowError
from recoseg.label.full_training import FullTraining
from recoseg.label.journal import Record
from recoseg.label.label_folder import Counted, LabelFolder, marks_of
from recoseg.label.label_state import LabelState
from recoseg.label.learner import Places
from recoseg.label.learner_process import LearnerProcess
from recoseg.label.map_prediction import MapPrediction
from recoseg.label.marks import VOID, Bytes
from recoseg.label.next_clicks import RADIUS, Spot
from recoseg.label.tiles import TILE, num_levels
from recoseg.types import IGNORE

Plain = dict[str, Any]
Event = tuple[str, Plain]

_KEPT_PREDICTIONS = 64
_MOST_PLACES = 20_000
_SECONDS_HANDED_OUT = 300.0
MOST_MISSED = 1_000


class Labelling:
    """Everything between the folder and the addresses of the server.

    `do` is quick whatever else goes on: counting, writing label files and telling the learner is the business
    of a thread that follows.
    """

    def __init__(self, folder: LabelFolder, *, learns: bool = True) -> None:
        self.folder = folder
        self.places = {key: place for place, key in enumerate(folder.images)}
        self.listeners: set[Callable[[Event], None]] = set()
        self.predictions: OrderedDict[str, MapPrediction] = OrderedDict()
        self._learner_status: Plain = _waiting(len(folder.images))
        self._answered = threading.Condition()
        self._awaited: set[str] = set()
        self._answers: dict[str, MapPrediction | None] = {}  # of those
        self._shares: dict[int, float] = {}
        self._spots: list[Spot] = []
        self._handed_out: dict[str, tuple[str, float]] = {}  # cell -> client and time
        self._lock = threading.Lock()
        self._told: dict[str, int] = {}  # image -> change of its labels that the learner knows
        self._told_skips: dict[str, list[tuple[int, int]]] = {}
        self._clicks: list[Record] = []
        self._wake, self._wake_writer, self._ending = threading.Event(), threading.Event(), False
        self._classes_event: Plain = {}
        self.learner = LearnerProcess(folder.images, folder.path(), self._hear) if learns else None
        self.training = FullTraining(folder, self._training_changed)
        self._follow_once()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._follow, self._write)]
        for thread in self._threads:
            thread.start()
        self._wake_writer.set()  # what was not written when the server was killed
        run = self.training.network
        if run is not None and self.learner is not None:
            self.learner.send("full", run=str(run[0]), classes=run[1], judge=False)
        self.training.go_on()

    def close(self) -> None:
        self._ending = True
        with self._answered:
            self._answered.notify_all()
        for wake, thread in zip((self._wake, self._wake_writer), self._threads, strict=True):
            wake.set()
            thread.join()
        self.training.close()
        if self.learner is not None:
            self.learner.close()
        self.folder.close()

    # What people do

    def do(self, client: str, actions: Sequence[object]) -> list[Record]:
        before = self.folder.state.version
        records = self.folder.do(client, actions, self._accepted)
        new = [record for record in records if record["number"] > before]
        with self._lock:
            self._clicks += new
        for record in new:
            self.tell("action", public(record, self.folder.state))
        self._wake.set()
        return records

    def _accepted(self, image: str, version: int, above: float) -> Bytes:
        prediction = self.predictions.get(image)
        if prediction is None:
            raise NotNowError(f"there is no prediction of {image!r} to accept yet")
        if prediction.version != version:
            raise NotNowError(
                f"the prediction of {image!r} is not the one that was shown (version {version}, now "
                f"{prediction.version}); look at the new one first"
            )
        return prediction.mask(self.folder.size(image), above=above)

    def view(self, image: str) -> None:
        if self.learner is not None:
            self.learner.send("view", image=image)

    # What follows from it

    def _follow(self) -> None:
        while not self._ending:
            self._wake.wait()
            self._wake.clear()
            self._follow_once()
            self._wake_writer.set()

    def _write(self) -> None:
        """In a thread of its own: a large label file takes a while, which the learner need not wait for."""
        while not self._ending:
            self._wake_writer.wait()
            self._wake_writer.clear()
            try:
                self.folder.write_labels()
            except OSError as error:  # the journal has it all; the next action tries again
                self.tell("trouble", {"message": f"{error.filename}: {error.strerror}"})

    def _follow_once(self) -> None:
        """The learner hears of clicks before it hears of their labels, to say what it thought of them."""
        with self._lock:
            clicks, self._clicks = self._clicks, []
        if self.learner is not None:
            asked = [click for record in clicks for click in self._clicked(record)]
            if asked:
                self.learner.send("clicks", clicks=asked)
            self._tell_labels()
        self._classes_event = self._counted()
        self.tell("classes", self._classes_event)

    def _clicked(self, record: Record) -> list[tuple[str, float, float, int]]:
        """Single pixels of a class: other marks would be judged where they were easiest to draw."""
        if record["type"] != "mark" or record["shape"] != "points" or type(record["class"]) is not int:
            return []
        width, height = self.folder.size(record["image"])
        inside = [(x, y) for x, y in record["at"] if 0 <= x < width and 0 <= y < height]
        return [
            (record["image"], (x + 0.5) / width, (y + 0.5) / height, record["class"]) for x, y in inside[:1]
        ]

    def _tell_labels(self) -> None:
        assert self.learner is not None
        for key in self.folder.labelled():
            change = self.folder.state.last_change(key)
            if self._told.get(key) != change:
                self._told[key] = change
                self.learner.send("labels", image=key, places=self._places(key))
        for key in list(self.folder.state.skipped):
            skips = self.folder.state.skips(key)
            if self._told_skips.get(key) != skips and key in self.folder.images:
                self._told_skips[key] = skips
                width, height = self.folder.size(key)
                places = [((x + 0.5) / width, (y + 0.5) / height) for x, y in skips]
                self.learner.send("skips", image=key, places=places)

    def _places(self, key: str) -> Places:
        box, (width, height) = self.folder.labelled_box(key), self.folder.size(key)
        labels = self.folder.labels(key, box)
        rows, columns = np.nonzero(labels.ids < VOID)
        if len(rows) > _MOST_PLACES:
            some = np.linspace(0, len(rows) - 1, _MOST_PLACES).round().astype(int)
            rows, columns = rows[some], columns[some]
        ids = labels.ids[rows, columns].astype(np.int64)
        x, y = (columns + box[0] + 0.5) / width, (rows + box[1] + 0.5) / height
        return Places(x, y, ids, labels.held_back[rows, columns])

    # What is told

    def tell(self, kind: str, data: Plain) -> None:
        for listener in list(self.listeners):
            listener((kind, data))

    def _hear(self, kind: str, data: Plain) -> None:
        """From the learner, in a thread of its own."""
        if kind == "status":
            self._learner_status = data
            self.tell("learner", data)
        elif kind == "shares":
            self._shares = data["shares"]
            self.tell("shares", {str(one): share for one, share in self._shares.items()})
        elif kind == "spots":
            self._spots = data["spots"]
        elif kind == "prediction":
            with self._answered:
                if data["image"] in self._awaited:
                    self._answers[data["image"]] = data["prediction"]
                self._answered.notify_all()
            if data["prediction"] is not None:
                self._take_prediction(data["image"], data["prediction"])
        elif kind == "judged":
            self.training.judged(data)
        elif kind in ("failed", "ended") and not self._ending and self._learner_status["phase"] != "failed":
            message = data.get("message", "the learner ended; start recoseg label again")
            self._learner_status = self._learner_status | {"phase": "failed", "message": message}
            self.tell("learner", self._learner_status)
            with self._answered:
                self._answered.notify_all()

    def predicted(self, image: str) -> MapPrediction | None:
        """The prediction of any image as things are now, waited for; None where there is none."""
        if self.learner is None or self._learner_status["phase"] == "failed":
            return self.predictions.get(image)
        with self._answered:
            self._awaited.add(image)
            self.learner.send("predict", image=image)
            self._answered.wait_for(lambda: image in self._answers or self._is_over())
            self._awaited.discard(image)
            return self._answers.pop(image, None)

    def _is_over(self) -> bool:
        return self._ending or self._learner_status["phase"] == "failed"

    def _take_prediction(self, image: str, prediction: MapPrediction) -> None:
        self.predictions[image] = prediction
        self.predictions.move_to_end(image)
        while len(self.predictions) > _KEPT_PREDICTIONS:
            self.predictions.popitem(last=False)
        told = {"version": prediction.version, "source": prediction.source, "images": [image]}
        self.tell("predictions", told)

    def _training_changed(self, run: tuple[Path, list[int]] | None) -> None:
        """With a run that has just ended: whether it is better is asked of the learner."""
        if run is not None and self.learner is not None:
            self.learner.send("full", run=str(run[0]), classes=run[1], judge=True)
        self.tell("training", self.training.as_plain())

    def _counted(self) -> Plain:
        with self.folder.lock:
            state = self.folder.state
            undo, redo = state.next_undo(), state.next_redo()
            classes, version, marks = state.classes(), state.version, marks_of(state)
        counted = [self.folder.counted(key) for key in self.folder.labelled()]
        pixels: dict[int, int] = {}
        for one in counted:
            for number, count in one.pixels.items():
                pixels[number] = pixels.get(number, 0) + count
        return {
            "version": version,
            "labelled": sum(bool(one.pixels) for one in counted),
            "classes": [
                {
                    "id": one.id,
                    "name": one.name,
                    "colour": list(one.colour),
                    "key": one.key,
                    "marks": marks.get(one.id, 0),
                    "pixels": pixels.get(one.id, 0),
                    "share": self._share(one.id),
                }
                for one in classes
            ],
            "void": {"marks": marks.get("void", 0), "pixels": pixels.get(VOID, 0)},
            "undo": public(undo, state) if undo else None,
            "redo": public(redo, state) if redo else None,
        }

    def _share(self, one: int) -> float | None:
        return self._shares.get(one, 0.0) if self._shares else None

    def state(self) -> Plain:
        counted = self._classes_event
        if counted.get("version") != self.folder.state.version:
            counted = self._counted()
        classes = [one | {"share": self._share(one["id"])} for one in counted["classes"]]  # as it is by now
        return {
            "folder": self.folder.root.resolve().name,
            "total": len(self.folder.images),
            **counted,
            "classes": classes,
            "learner": self._learner_status,
            "training": self.training.as_plain(),
        }

    def image(self, key: str) -> Plain:
        width, height = self.folder.size(key)
        counted: Counted = self.folder.counted(key)
        prediction = self.predictions.get(key)
        return {
            "key": key,
            "index": self.places[key],
            "width": width,
            "height": height,
            "levels": num_levels(width, height),
            "tile": TILE,
            "pixels": {"void" if one == VOID else str(one): count for one, count in counted.pixels.items()},
            "accepted": counted.accepted,
            "labels": self.folder.state.last_change(key),
            "prediction": prediction.version if prediction else 0,
        }

    # Where to click next

    def next_spots(self, client: str, count: int) -> list[Plain]:
        """The learner's, without those that were marked since or that somebody else is looking at."""
        now = time.monotonic()
        self._handed_out = {name: held for name, held in self._handed_out.items() if held[0] != client}
        found: list[Plain] = []
        for spot in self._spots:
            name = f"{spot.image}\0{spot.cell}"
            holder, since = self._handed_out.get(name, (client, now))
            if len(found) < count and (holder == client or now - since > _SECONDS_HANDED_OUT):
                x, y = self._pixel(spot)
                if not self._is_marked_near(spot, x, y):
                    self._handed_out[name] = (client, now)
                    found.append(self._as_plain(spot, x, y))
        return found

    def _pixel(self, spot: Spot) -> tuple[int, int]:
        width, height = self.folder.size(spot.image)
        return min(int(spot.x * width), width - 1), min(int(spot.y * height), height - 1)

    def _is_marked_near(self, spot: Spot, x: int, y: int) -> bool:
        width, height = self.folder.size(spot.image)
        across, down = RADIUS * width, RADIUS * height
        for at in self.folder.state.skips(spot.image):
            if abs(at[0] - x) < across and abs(at[1] - y) < down:
                return True
        if not self.folder.state.last_change(spot.image):
            return False
        box = max(0, int(x - across)), max(0, int(y - down)), int(x + across) + 1, int(y + down) + 1
        return bool((self.folder.labels(spot.image, box).ids != IGNORE).any())

    def _as_plain(self, spot: Spot, x: int, y: int) -> Plain:
        names = {one.id: one.name for one in self.folder.state.classes()}
        why = "unlike what was seen so far"
        if spot.guess in names and spot.second in names:
            why = f"{names[spot.guess]} or {names[spot.second]}?"
        return {
            "image": spot.image,
            "x": x,
            "y": y,
            "guess": spot.guess,
            "second": spot.second,
            "confidence": spot.confidence,
            "why": why,
        }


def public(record: Record, state: LabelState) -> Plain:
    """What clients are told of a record; with `box`, where the labels of its image may have changed."""
    told = {name: value for name, value in record.items() if name not in ("mask", "time")}
    meant = state.meant(record)
    if meant["type"] == "mark":
        across, down = zip(*meant["at"], strict=True)
        reach = meant["radius"]
        box = [min(across) - reach, min(down) - reach, max(across) + reach + 1, max(down) + reach + 1]
        told["box"] = [max(0, side) for side in box]
    return told


def _waiting(total: int) -> Plain:
    return {
        "phase": "features",
        "message": "",
        "features": {"done": 0, "total": total},
        "version": 0,
        "source": None,
        "seconds": None,
        "agreement": {"count": 0, "latest": None, "curve": []},
    }
