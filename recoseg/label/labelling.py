"""Labelling a folder: people's actions, the learner, full training, and the events for all pages."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from recoseg.errors import UserError
from recoseg.label.actions import NotNowError
from recoseg.label.full_training import FullTraining
from recoseg.label.journal import Record
from recoseg.label.label_folder import LabelFolder, marks_of
from recoseg.label.label_state import LabelState
from recoseg.label.label_sync import LabelSync
from recoseg.label.learner_client import LearnerClient, start_process
from recoseg.label.map_prediction import MapPrediction
from recoseg.label.marks import VOID, Bytes
from recoseg.label.messages import Evaluated, Failed, FromLearner, Predicted, Started, Status, Survey
from recoseg.label.prediction_cache import PredictionCache
from recoseg.label.spot_queue import SpotQueue
from recoseg.label.tiles import TILE, num_levels

Plain = dict[str, Any]
Event = tuple[str, Plain]

_SECONDS_BETWEEN_POLLS = 1.0
MOST_MISSED = 1_000


class Labelling:
    """Everything between the folder and the addresses of the server.

    `do` only waits for the journal. Three threads follow: one counts and informs the learner, one writes
    label files, one receives from the learner. The page shows an error in a thread, and the thread goes on.
    """

    def __init__(self, folder: LabelFolder, *, learns: bool = True) -> None:
        self.folder = folder
        self.listeners: set[Callable[[Event], None]] = set()
        self.predictions = PredictionCache(folder)
        self.spots = SpotQueue(folder)
        self.training = FullTraining(folder)
        self.troubles: dict[str, str] = {}  # by what they stop
        self._numbers = {key: place for place, key in enumerate(folder.images)}
        self._shares: Mapping[int, float] = {}
        self._status: Mapping[str, Any] = _initial_status(len(folder.images))
        self._lock = threading.Lock()
        self._records: list[Record] = []  # that the learner does not know
        self._published: dict[str, Plain] = {}  # the latest event of a kind
        self.is_ending = False
        self._wake, self._wake_writer = threading.Event(), threading.Event()
        works = [self._follow, self._write]
        self.learner: LearnerClient | None = None
        if learns:
            self.learner = LearnerClient(lambda: start_process(folder.images, folder.path()))
            self._sync = LabelSync(folder, self.training, self.learner)
            works.append(self._receive_all)
        self._wake.set()
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def end_requests(self) -> None:
        """End what a request may wait for: events, and predictions of the learner."""
        self.is_ending = True
        if self.learner is not None:
            self.learner.end_requests()
        self.tell("end", {})

    def close(self) -> None:
        self.end_requests()
        if self.learner is not None:
            self.learner.close()
        self._wake.set()
        self._wake_writer.set()
        for thread in self._threads:
            thread.join()
        self.training.close()
        self.folder.close()

    # What people do

    def do(self, client: str, actions: Sequence[object]) -> list[Record]:
        before = self.folder.state.version
        records = self.folder.do(client, actions, self._accepted)
        new = [record for record in records if record["number"] > before]
        with self._lock:
            self._records += new
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

    def view(self, image: str, client: str) -> None:
        if self.learner is not None:
            self._sync.view(client, image)
            self._wake.set()

    def predicted(self, image: str) -> MapPrediction | None:
        """The prediction of any image from the current labels, waited for; None where there is none."""
        return self.predictions.get(image) if self.learner is None else self.learner.predict(image)

    def start_training(self) -> None:
        self.training.start()
        self._wake.set()

    def stop_training(self) -> None:
        self.training.stop()
        self._wake.set()

    def discard_training(self) -> None:
        self.training.discard()
        self._wake.set()

    # Threads

    def _follow(self) -> None:
        while not self.is_ending:
            self._wake.wait(_SECONDS_BETWEEN_POLLS if self.training.is_active else None)
            self._wake.clear()
            with self._reporting("full training"):
                self.training.poll()
            with self._reporting("labels"):
                self._update()
            self._wake_writer.set()

    def _update(self) -> None:
        with self._lock:
            records, self._records = self._records, []
        if self.learner is not None:
            self._sync.update(records)
        self._remove_predictions()
        self._publish("classes", self._counted())
        self._publish("training", self.training.as_plain())

    def _write(self) -> None:
        """A large label file takes a while, and the learner need not wait for it."""
        while not self.is_ending:
            self._wake_writer.wait()
            self._wake_writer.clear()
            with self._reporting("label files"):
                self.folder.write_labels()

    def _receive_all(self) -> None:
        assert self.learner is not None
        for message in self.learner.messages():
            with self._reporting("learner"):
                self.receive(message)

    @contextmanager
    def _reporting(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._set_trouble(what, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except UserError as error:
            self._set_trouble(what, str(error))
        except Exception as error:
            logging.getLogger(__name__).exception("recoseg label: %s", what)
            self._set_trouble(what, f"{what}: {type(error).__name__}: {error}")
        else:
            self._set_trouble(what, "")

    def _set_trouble(self, what: str, message: str) -> None:
        before = self.troubles.pop(what, "")
        if message:
            self.troubles[what] = message
            if message != before:
                self.tell("trouble", {"message": message})

    # The learner

    def receive(self, message: FromLearner) -> None:
        match message:
            case Started():
                self._sync.restart()
                self._wake.set()
            case Status(content, valid_from):
                self._set_status(content)
                self.predictions.keep_from(valid_from)
                self._remove_predictions()
            case Survey(shares, spots):
                self._shares, self.spots.spots = shares, spots
                self.tell("shares", {str(one): share for one, share in shares.items()})
            case Predicted(image, prediction):
                if prediction is not None:
                    views = self._sync.views.values() if self.learner is not None else ()
                    self.predictions.put(image, prediction, views=views)
                if found := self.predictions.get(image):
                    about = {"version": found.version, "source": found.source, "images": [image]}
                    self.tell("predictions", about)
            case Evaluated():
                self.training.evaluated(message)
                self._wake.set()
            case Failed(text, final):
                phase = "failed" if final else "features"
                self._set_status({**self._status, "phase": phase, "message": text})

    def _set_status(self, status: Mapping[str, Any]) -> None:
        self._status = status
        self.tell("learner", self.learner_status)

    def _remove_predictions(self) -> None:
        """Those that are no longer valid."""
        images = self.predictions.remove_invalid()
        if images:
            self.tell("predictions", {"version": 0, "source": None, "images": images})

    # What pages show

    def tell(self, kind: str, data: Plain) -> None:
        for listener in list(self.listeners):
            listener((kind, data))

    def _publish(self, kind: str, data: Plain) -> None:
        """Unless nothing changed."""
        if self._published.get(kind) != data:
            self._published[kind] = data
            self.tell(kind, data)

    def _counted(self) -> Plain:
        with self.folder.lock:
            state = self.folder.state
            undo, redo = state.next_undo(), state.next_redo()
            classes, version, marks = state.classes(), state.version, marks_of(state)
        counted = [self.folder.counted(key) for key in self.folder.labelled()]
        problems = [one.problem for one in counted if one.problem]
        more = f" ({len(problems) - 1} more images)" if len(problems) > 1 else ""
        self._set_trouble("images", problems[0] + more if problems else "")
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

    @property
    def learner_status(self) -> Plain:
        return dict(self._status)

    def state(self) -> Plain:
        counted = self._published.get("classes", {})
        if counted.get("version") != self.folder.state.version:
            counted = self._counted()
        classes = [one | {"share": self._share(one["id"])} for one in counted["classes"]]  # as it is by now
        return {
            "folder": self.folder.root.resolve().name,
            "total": len(self.folder.images),
            **counted,
            "classes": classes,
            "learner": self.learner_status,
            "training": self.training.as_plain(),
        }

    def image(self, key: str) -> Plain:
        width, height = self.folder.size(key)
        counted = self.folder.counted(key)
        prediction = self.predictions.get(key)
        return {
            "key": key,
            "index": self._numbers[key],
            "width": width,
            "height": height,
            "levels": num_levels(width, height),
            "tile": TILE,
            "pixels": {"void" if one == VOID else str(one): count for one, count in counted.pixels.items()},
            "accepted": counted.accepted,
            "labels": self.folder.state.last_change(key),
            "prediction": prediction.version if prediction else 0,
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


def _initial_status(total: int) -> Plain:
    return {
        "phase": "features",
        "message": "",
        "features": {"done": 0, "total": total},
        "version": 0,
        "source": None,
        "seconds": None,
        "agreement": {"count": 0, "latest": None, "curve": [], "classes": {}},
    }
