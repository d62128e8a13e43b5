"""The learner: takes labels, and sends predictions, shares of classes and spots where a click helps.

Messages only queue jobs (job_queue.py). No piece of a job takes long, so a click never waits for one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.label.calibration import (
    Comparison,
    agreement,
    calibrate,
    fit_temperature,
    read_comparisons,
    write_comparisons,
)
from recoseg.label.candidate_pool import CandidatePool
from recoseg.label.click_suggestions import Knowledge, suggest_spots
from recoseg.label.features import FeatureMaps, FrozenFeatures, read_lowered, sample
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
from recoseg.label.quick_learner import LabelledPixels, QuickLearner, merge, thin_out
from recoseg.seeds import permutation

_IMAGES_AT_FIRST = 4
_MOST_IN_ADVANCE = 1_000
_NETWORK_SIDE = 512
"""Larger images are resized to it for a network of full training."""

_MOST_OUTPUTS = 64
"""Images of which outputs of that network are kept."""

_SPOTS = 60


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
        self.quick = self._new_quick_learner()
        self.pool = CandidatePool()
        self.version = int(1000 * time.time())  # above those of all earlier processes
        self.run: TrainedRun | None = None
        self.comparisons = read_comparisons(folder)
        self._clock = clock
        self._network: torch.nn.Module | None = None  # of the run
        self._outputs: dict[str, Tensor] = {}  # (N, h, w) of that network, by image
        self._valid_from = self.version
        self._classes = frozenset(range(MOST_IDS))
        self._places: dict[str, Places] = {}
        self._pixels: dict[str, LabelledPixels] = {}
        self._skips: dict[str, Sequence[tuple[float, float]]] = {}
        self._views: tuple[str, ...] = ()  # images that pages show
        self._predictions: dict[str, MapPrediction] = {}  # of the current version
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
                self._change_network()
        self._views = update.views
        for image in update.opened:
            self._show(image)
        if update.skips:
            self._skips |= update.skips
            self.jobs.put("survey", Urgency.SURVEY, self._survey())
        if update.labels:
            self._places |= update.labels
            for key in update.labels:
                self._pixels.pop(key, None)
                if key in self._waiting:
                    self._waiting.remove(key)
                    self._waiting.append(key)
            self._learn_soon()

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

    def _maps(self, key: str) -> FeatureMaps | None:
        """None for an image that cannot be read."""
        with suppress(FileError, OSError):
            return self.features.maps(self.images[key])
        return None

    # Learning

    def _new_quick_learner(self, trained: Mapping[int, int] | None = None) -> QuickLearner:
        return QuickLearner(self.features.level_channels, trained)

    def _learn_soon(self) -> None:
        self.jobs.put("learning", Urgency.LEARN, self._learn())

    def _learn(self) -> Iterator[None]:
        begun, was_ready = self._clock(), self.quick.is_ready
        self.send_status()
        for key in self._places.keys() - self._pixels.keys():
            if (maps := self._maps(key)) is not None:
                self._pixels[key] = self._pixels_of(key, maps, self._places[key])
            yield
        if self.pool.keys:
            self.quick.fit(self._labelled(), self.pool.spread)
        self._seconds = self._clock() - begun
        self.jobs.put("survey", Urgency.SURVEY, self._survey())
        if was_ready and not self.quick.is_ready:
            self._change_model()
        elif self.quick.is_ready:
            self._new_version()

    def _labelled(self) -> LabelledPixels:
        return merge(list(self._pixels.values()), self.features.num_channels)

    def _pixels_of(self, key: str, maps: FeatureMaps, places: Places, *, thin: bool = True) -> LabelledPixels:
        """Of all places, or of some for each class."""
        places = thin_out(maps, places) if thin else places
        outputs = None
        if self.quick.trained:
            outputs = sample(self._outputs_of(key), places.x, places.y)
        classes = torch.from_numpy(places.classes.astype(np.int64))
        return LabelledPixels(maps.at(places.x, places.y), classes, outputs)

    def _compare(self, clicks: Sequence[Click]) -> Iterator[None]:
        """Compare predictions with clicks, before learning from these."""
        for click in clicks:
            maps = self._maps(click.image) if self.quick.is_ready else None
            prediction = self._prediction(click.image)
            if maps is not None and prediction is not None:
                x, y = np.array([click.x]), np.array([click.y])
                outputs = sample(self._outputs_of(click.image), x, y) if self.quick.trained else None
                logits = self.quick.logits(maps.at(x, y), outputs)[0]
                self.comparisons.append(
                    Comparison(
                        click.class_id,
                        int(prediction.at(x, y)[0][0, 0]),
                        self.quick.known,
                        tuple(round(value, 3) for value in logits.tolist()),
                    )
                )
            yield
        with suppress(OSError):  # a full disk
            write_comparisons(self.folder, self.comparisons)

    def _survey(self) -> Iterator[None]:
        """Shares of classes in the pool, and where to click next."""
        labelled, shares, quick = self._labelled(), dict[int, float](), self.quick
        if quick.trained and self.pool.keys:  # the network has not seen the images of the pool
            quick = self._new_quick_learner()
            quick.fit(LabelledPixels(labelled.features, labelled.classes), self.pool.spread)
        knowledge = Knowledge(
            _places_by_image(self._places, self._skips), labelled.features, labelled.classes
        )
        if quick.is_ready and self.pool.keys:
            parts = [quick.logits(part.float()) for part in torch.split(self.pool.features, 4096)]
            probabilities = self._calibrated(torch.cat(parts).t()).t()
            counts = probabilities.argmax(1).bincount(minlength=len(quick.known)).double()
            shares = dict(zip(quick.known, (counts / counts.sum()).tolist(), strict=True))
            knowledge = replace(knowledge, probabilities=probabilities, known=quick.known)
        self.send(Survey(shares, suggest_spots(self.pool, knowledge, count=_SPOTS)))
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
        self._predictions.clear()
        for image in self._views:
            self._show(image)

    def _show(self, image: str) -> None:
        self.jobs.put(("show", image), Urgency.SHOW, self._predict_image(image))

    def _predict_image(self, image: str, request: int | None = None) -> Iterator[None]:
        """For a request, or for the pages that show it."""
        if request is not None or (image in self._views and self.quick.is_ready):
            prediction = self._prediction(image)
            if prediction is not None and image in self._views:
                self._predictions[image] = prediction
            self.send(Predicted(image, prediction, request))
        yield

    def _prediction(self, key: str) -> MapPrediction | None:
        if key in self._predictions:
            return self._predictions[key]
        maps = self._maps(key) if self.quick.is_ready else None
        if maps is None:
            return None
        logits = self.quick.logit_map(maps, self._outputs_of(key) if self.quick.trained else None)
        return MapPrediction.of(
            self._calibrated(logits),
            maps.grey,
            classes=self.quick.known,
            version=self.version,
            source="full" if self.quick.trained else "quick",
        )

    def _calibrated(self, logits: Tensor) -> Tensor:
        return calibrate(
            logits,
            temperature=fit_temperature(self.comparisons),
            evidence=len(self.comparisons) + len(self._pixels),
        )

    # Full training

    def _load_run(self) -> Iterator[None]:
        """Correct its network by clicks, instead of predicting from clicks alone."""
        self._network = None
        if self.run is not None:
            try:
                self._network = _network_of(self.run)
            except UserError as error:
                self.send(Evaluated(self.run, error=str(error)))
        self._change_network()
        yield

    def _change_network(self) -> None:
        """Or the classes that are left of it: a network of fewer than two predicts nothing."""
        classes = self.run.classes if self.run is not None and self._network is not None else ()
        outputs = {number: one for number, one in enumerate(classes) if one in self._classes}
        self.quick = self._new_quick_learner(outputs if len(outputs) > 1 else None)
        # Logits of another model say nothing of this one.
        self.comparisons = [Comparison(one.class_id, one.guess) for one in self.comparisons]
        self._outputs.clear()
        self._pixels.clear()
        self._change_model()
        self._learn_soon()

    def _outputs_of(self, key: str) -> Tensor:
        """(N, h, w) probabilities of the run's network."""
        assert self._network is not None
        if key not in self._outputs:
            if len(self._outputs) >= _MOST_OUTPUTS:
                del self._outputs[next(iter(self._outputs))]
            self._outputs[key] = _network_probabilities(self._network, self.images[key])
        return self._outputs[key]

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
            kept = thin_out(maps, places.only(~places.held_back))
            learned.append(LabelledPixels(maps.at(kept.x, kept.y), torch.from_numpy(kept.classes)))
            kept = places.only(places.held_back)
            if len(kept.x):
                held.append(LabelledPixels(maps.at(kept.x, kept.y), torch.from_numpy(kept.classes)))
                outputs = sample(_network_probabilities(network, self.images[key]), kept.x, kept.y)
                guesses = np.array(run.classes)[outputs.argmax(1).numpy()]
                hits, count = hits + int((guesses == kept.classes).sum()), count + len(guesses)
            yield
        quick = self._new_quick_learner()
        if self.pool.keys:
            quick.fit(merge(learned, self.features.num_channels), self.pool.spread)
        if not count or not quick.is_ready:
            self.send(Evaluated(run))
            return
        requested = merge(held, self.features.num_channels)
        guessed = torch.tensor(quick.known)[quick.logits(requested.features).argmax(1)]
        right = guessed == requested.classes
        self.send(Evaluated(run, quick=float(right.double().mean()), full=hits / count))

    # Status

    def send_status(self) -> None:
        if self.quick.is_ready:
            phase = "learning" if "learning" in self.jobs else "ready"
        else:
            phase = "features" if "first images" in self.jobs else "waiting"
        done = self._in_advance if self.pool.is_full else self._in_advance - len(self._waiting)
        source = "full" if self.quick.trained else "quick" if self.quick.is_ready else None
        status = {
            "phase": phase,
            "message": "",
            "features": {"done": min(done, self._in_advance), "total": self._in_advance},
            "version": self.version,
            "source": source,
            "seconds": self._seconds,
            "agreement": agreement(self.comparisons),
        }
        self.send(Status(status, self._valid_from))


def _network_of(run: TrainedRun) -> torch.nn.Module:
    from recoseg.runs.run import Run  # 30 MB of modules, which most sessions do without

    return Run.open(Path(run.path)).network.inference()


@torch.inference_mode()
def _network_probabilities(network: torch.nn.Module, path: Path) -> Tensor:
    """(N, h, w) float16 at the network's own resolution, at the sizes that it was trained with."""
    image = read_lowered(path, longest_side=_NETWORK_SIDE, most_enlarged=1)
    probabilities: Tensor = network(image[None]).logits[0].softmax(0).half()
    return probabilities


def _places_by_image(
    labels: Mapping[str, Places], skips: Mapping[str, Sequence[tuple[float, float]]]
) -> dict[str, list[tuple[float, float]]]:
    """x and y of all that was labelled or skipped."""
    found = {key: list(places) for key, places in skips.items()}
    for key, places in labels.items():
        found.setdefault(key, []).extend(zip(places.x.tolist(), places.y.tolist(), strict=True))
    return found
