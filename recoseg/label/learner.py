"""The learner: takes labels, and sends predictions, shares of classes and spots where a click helps.

Messages only queue jobs (job_queue.py). No piece of a job takes long, so a click never waits for one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.label.cell_pool import CellPool
from recoseg.label.features import CellMaps, FrozenFeatures, read_lowered
from recoseg.label.job_queue import JobQueue, Urgency
from recoseg.label.map_prediction import MapPrediction
from recoseg.label.marks import MOST_IDS
from recoseg.label.messages import (
    Click,
    Evaluate,
    Evaluated,
    FromLearner,
    Places,
    Predict,
    Predicted,
    Status,
    Survey,
    ToLearner,
    TrainedRun,
    Update,
)
from recoseg.label.next_clicks import Opinion, Seen, next_spots
from recoseg.label.quick import LabelledCells, QuickLearner, joined
from recoseg.runs.run import Run
from recoseg.seeds import permutation

_FIRST_STEPS, _STEPS, _CALM_STEPS = 80, 40, 400
"""Before the first prediction, after a click, and in total while no clicks come."""

_STEPS_AT_ONCE, _STEPS_TO_REFINE = 10, 50
_IMAGES_AT_FIRST = 4
_MOST_IN_ADVANCE = 1_000
_MOST_CELLS_PER_IMAGE = 3_000
_SPOTS = 60
_LATEST = 50
_MOST_PAIRS = 200


class Learner:
    """`receive` messages, and `work` while there are jobs."""

    def __init__(
        self,
        images: Mapping[str, Path],
        features: FrozenFeatures,
        folder: Path,
        send: Callable[[FromLearner], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.images, self.features, self.folder, self.send = images, features, folder, send
        self.jobs = JobQueue()
        self.quick = QuickLearner(features.num_channels)
        self.pool = CellPool()
        self.version = int(1000 * time.time())  # above those of all earlier processes
        self.run: TrainedRun | None = None
        self.agreed = self._read_agreed()
        self._clock = clock
        self._network: torch.nn.Module | None = None  # of the run
        self._valid_from = self.version
        self._classes = frozenset(range(MOST_IDS))
        self._places: dict[str, Places] = {}
        self._cells: dict[str, LabelledCells] = {}
        self._skips: dict[str, Sequence[tuple[float, float]]] = {}
        self._views: tuple[str, ...] = ()  # images that pages show
        self._calm = 0  # steps since the last click
        self._seconds: float | None = None  # that the latest update took
        keys = list(images)
        order = permutation(len(keys), 0, "images in advance")[:_MOST_IN_ADVANCE]
        self._waiting = [keys[place] for place in reversed(order)]  # for the pool; the next one last
        self._in_advance = len(order)
        self.jobs.put("first images", Urgency.FIRST, self._add_images(_IMAGES_AT_FIRST))
        self.jobs.put("images", Urgency.BACKGROUND, self._add_images(len(keys)))

    def receive(self, message: ToLearner) -> None:
        match message:
            case Update():
                self._update(message)
            case Predict(request, image):
                self.jobs.put(message, Urgency.ANSWER, self._predict_image(image, request))
            case Evaluate(run):
                self.jobs.put("evaluation", Urgency.EVALUATE, self._evaluate(run))

    def _update(self, update: Update) -> None:
        if update.clicks:
            self.jobs.put(object(), Urgency.FIRST, self._compare(update.clicks))
        if update.run != self.run:
            self.run = update.run
            self.jobs.put("run", Urgency.FIRST, self._load_run())
        if update.classes != self._classes:
            self._classes = update.classes
            if self._network is not None:
                self._change_model()
        self._views = update.views
        for image in update.opened:
            self._show(image)
        if update.skips:
            self._skips |= update.skips
            self.jobs.put("survey", Urgency.SURVEY, self._survey())
        if update.labels:
            self._places |= update.labels
            for key in update.labels:
                self._cells.pop(key, None)
                if key in self._waiting:
                    self._waiting.remove(key)
                    self._waiting.append(key)
            self._calm = 0
            self._learn_soon(_STEPS if self.quick.is_ready else _FIRST_STEPS)

    def work(self) -> None:
        """Do a piece of the most urgent job."""
        self.jobs.work()
        if not self.jobs:
            self.send_status()

    # Features

    def _add_images(self, count: int) -> Iterator[None]:
        """Until the pool has that many."""
        while self._waiting and len(self.pool.keys) < count and not self.pool.is_full:
            key = self._waiting.pop()
            if (maps := self._maps(key)) is not None:
                self.pool.add(key, maps)
            if len(self._waiting) % 10 == 0 or self.pool.is_full:
                self.jobs.put("survey", Urgency.SURVEY, self._survey())
            yield

    def _maps(self, key: str) -> CellMaps | None:
        """None for an image that cannot be read."""
        with suppress(FileError, OSError):
            return self.features.maps(self.images[key])
        return None

    # Learning

    def _learn_soon(self, steps: int) -> None:
        self.jobs.put("learning", Urgency.LEARN, self._learn(steps))

    def _learn(self, steps: int) -> Iterator[None]:
        begun, was_ready = self._clock(), self.quick.is_ready
        self.send_status()
        for key in self._places.keys() - self._cells.keys():
            if (maps := self._maps(key)) is not None:
                self._cells[key] = _cells_of(maps, self._places[key])
            yield
        labelled = self._labelled()
        if self.quick.step == 0 and self.pool.keys:
            self.quick.standardise(*self.pool.spread)
        for _ in range(0, steps if self.pool.keys else 0, _STEPS_AT_ONCE):
            self.quick.learn(labelled, self.pool.features, steps=_STEPS_AT_ONCE)
            if not self.quick.is_ready:  # fewer than two classes
                break
            self._calm += _STEPS_AT_ONCE
            yield
        self._seconds = self._clock() - begun
        self.jobs.put("survey", Urgency.SURVEY, self._survey())
        if was_ready and not self.quick.is_ready:
            self._change_model()
        elif self.quick.is_ready and not self._outputs:
            self._new_version()
        if self.quick.is_ready and self._calm < _CALM_STEPS:
            self.jobs.put("refinement", Urgency.BACKGROUND, self._refine())

    def _refine(self) -> Iterator[None]:
        self._learn_soon(_STEPS_TO_REFINE)
        yield

    def _labelled(self) -> LabelledCells:
        return joined(list(self._cells.values()), self.features.num_channels)

    def _compare(self, clicks: Sequence[Click]) -> Iterator[None]:
        """Compare predictions with clicks, before learning from these."""
        for click in clicks:
            prediction = self._prediction(click.image) if self.quick.is_ready else None
            if prediction is not None:
                guess = prediction.at(np.array([click.x]), np.array([click.y]))[0]
                self.agreed.append(int(guess[0, 0]) == click.class_id)
            yield
        with suppress(OSError):  # a full disk
            write_whole(self._agreed_file, json.dumps(self.agreed))

    def _survey(self) -> Iterator[None]:
        """Shares of classes in the pool, and where to click next."""
        opinion, shares, labelled = None, dict[int, float](), self._labelled()
        if self.quick.is_ready:
            probabilities = self.quick.probabilities(self.pool.features)
            opinion = Opinion(probabilities, self.quick.known, self.quick.relations(labelled))
            counts = probabilities.argmax(1).bincount(minlength=len(opinion.classes)).double()
            shares = dict(zip(opinion.classes, (counts / counts.sum()).tolist(), strict=True))
        places = {key: list(skips) for key, skips in self._skips.items()}
        for key, found in self._places.items():
            places.setdefault(key, []).extend(zip(found.x.tolist(), found.y.tolist(), strict=True))
        points = labelled.classes.long().bincount().tolist()
        seen = Seen(places, labelled.features, dict(enumerate(points)))
        self.send(Survey(shares, next_spots(self.pool, seen, opinion, count=_SPOTS)))
        self.send_status()
        yield

    # Predictions

    def _change_model(self) -> None:
        """Earlier predictions are no longer valid."""
        self._new_version()
        self._valid_from = self.version
        self.send_status()

    def _new_version(self) -> None:
        self.version += 1
        for image in self._views:
            self._show(image)

    def _show(self, image: str) -> None:
        self.jobs.put(("show", image), Urgency.SHOW, self._predict_image(image))

    def _predict_image(self, image: str, request: int | None = None) -> Iterator[None]:
        """For a request, or for the pages that show it."""
        if request is not None or (image in self._views and self._can_predict):
            self.send(Predicted(image, self._prediction(image), request))
        yield

    @property
    def _outputs(self) -> dict[int, int]:
        """Output of the run's network -> class that is still there; none if there are fewer than two."""
        classes = self.run.classes if self.run is not None and self._network is not None else ()
        outputs = {number: one for number, one in enumerate(classes) if one in self._classes}
        return outputs if len(outputs) > 1 else {}

    @property
    def _can_predict(self) -> bool:
        return bool(self._outputs) or self.quick.is_ready

    def _prediction(self, key: str) -> MapPrediction | None:
        maps = self._maps(key) if self._can_predict else None
        if maps is None:
            return None
        outputs = self._outputs
        if self._network is not None and outputs:
            probabilities = _network_probabilities(self._network, self.images[key])[list(outputs)]
            probabilities = probabilities / probabilities.sum(0)
            ids, source = list(outputs.values()), "full"
        else:
            of_cells = self.quick.probabilities(maps.of_all())  # (h * w, K)
            probabilities, source = of_cells.t().reshape(-1, *maps.shape), "quick"
            ids = list(self.quick.known)
        return MapPrediction(probabilities.half().numpy(), np.array(ids, np.uint8), self.version, source)

    # Full training

    def _load_run(self) -> Iterator[None]:
        """Predict with its network instead of the quick learner."""
        self._network = None
        if self.run is not None:
            try:
                self._network = _network_of(self.run)
            except UserError as error:
                self.send(Evaluated(self.run, error=str(error)))
        self._change_model()
        yield

    def _evaluate(self, run: TrainedRun) -> Iterator[None]:
        """Compare a run with a new quick learner on held-back points, which neither has learned from."""
        try:
            network = _network_of(run)
        except UserError as error:
            self.send(Evaluated(run, error=str(error)))
            return
        learned, held = [], []
        hits, count = 0, 0
        for key, places in list(self._places.items()):
            if (maps := self._maps(key)) is None:
                continue
            learned.append(_cells_of(maps, _only(places, ~places.held_back)))
            kept = _only(places, places.held_back)
            if len(kept.x):
                held.append(_cells_of(maps, kept, unique=False))
                outputs = _likeliest_at(_network_probabilities(network, self.images[key]), kept)
                guesses = np.array(run.classes)[outputs]
                hits, count = hits + int((guesses == kept.classes).sum()), count + len(guesses)
            yield
        num_channels = self.features.num_channels
        quick, labelled = QuickLearner(num_channels, seed=1), joined(learned, num_channels)
        if self.pool.keys:
            quick.standardise(*self.pool.spread)
            for _ in range(0, _FIRST_STEPS + _CALM_STEPS, _STEPS_AT_ONCE):
                quick.learn(labelled, self.pool.features, steps=_STEPS_AT_ONCE)
                yield
        if not count or not quick.is_ready:
            self.send(Evaluated(run))
            return
        requested = joined(held, num_channels)
        guessed = torch.tensor(quick.known)[quick.probabilities(requested.features).argmax(1)]
        right = guessed == requested.classes
        self.send(Evaluated(run, quick=float(right.double().mean()), full=hits / count))

    # Status

    def send_status(self) -> None:
        if self._can_predict:
            is_learning = "learning" in self.jobs or "refinement" in self.jobs
            phase = "learning" if is_learning else "ready"
        else:
            phase = "features" if "first images" in self.jobs else "waiting"
        done = self._in_advance if self.pool.is_full else self._in_advance - len(self._waiting)
        status = {
            "phase": phase,
            "message": "",
            "features": {"done": min(done, self._in_advance), "total": self._in_advance},
            "version": self.version,
            "source": "full" if self._outputs else "quick" if self.quick.is_ready else None,
            "seconds": self._seconds,
            "agreement": agreement(self.agreed),
        }
        self.send(Status(status, self._valid_from))

    @property
    def _agreed_file(self) -> Path:
        return self.folder / "agreed.json"

    def _read_agreed(self) -> list[bool]:
        with suppress(OSError, ValueError, TypeError):
            return [bool(one) for one in json.loads(self._agreed_file.read_text(encoding="utf-8"))]
        return []


def _network_of(run: TrainedRun) -> torch.nn.Module:
    return Run.open(Path(run.path)).network.inference()


def agreement(agreed: Sequence[bool]) -> dict[str, Any]:
    """The share of the latest clicks at which the prediction was right, and how it went."""
    if not agreed:
        return {"count": 0, "latest": None, "curve": []}
    sums = np.concatenate(([0], np.cumsum(agreed)))
    ends = np.arange(1, len(sums))
    starts = np.maximum(0, ends - _LATEST)
    shares = (sums[ends] - sums[starts]) / (ends - starts)
    shown = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), _MOST_PAIRS)).round().astype(int))
    curve = [[int(ends[k]), round(float(shares[k]), 4)] for k in shown]
    return {"count": len(agreed), "latest": curve[-1][1], "curve": curve}


def _only(places: Places, chosen: NDArray[np.bool_]) -> Places:
    return Places(places.x[chosen], places.y[chosen], places.classes[chosen], places.held_back[chosen])


def _cells_of(maps: CellMaps, places: Places, *, unique: bool = True) -> LabelledCells:
    """Each cell once for each of the classes in it, so that a fill counts no more than its cells."""
    cells, classes = maps.cells_at(places.x, places.y), places.classes
    if unique and len(cells):
        cells, classes = np.unique(np.stack((cells, classes)), axis=1)
        if len(cells) > _MOST_CELLS_PER_IMAGE:
            some = np.linspace(0, len(cells) - 1, _MOST_CELLS_PER_IMAGE).round().astype(int)
            cells, classes = cells[some], classes[some]
    return LabelledCells(maps.of_cells(cells), torch.from_numpy(classes.astype(np.int64)))


def _likeliest_at(probabilities: Tensor, places: Places) -> NDArray[np.int64]:
    """(K, h, w) -> the class of the cell that each place lies in."""
    height, width = probabilities.shape[1:]
    rows, columns = (
        np.minimum((at * n).astype(np.int64), n - 1) for at, n in ((places.y, height), (places.x, width))
    )
    found: NDArray[np.int64] = probabilities.argmax(0).numpy()[rows, columns]
    return found


@torch.inference_mode()
def _network_probabilities(network: torch.nn.Module, path: Path) -> Tensor:
    """(K, h, w) probabilities at the network's own resolution."""
    probabilities: Tensor = network(read_lowered(path)[None]).logits[0].softmax(0)
    return probabilities
