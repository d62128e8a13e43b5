"""What the learner does next, in a process of its own: learn from new clicks, predict, compute features.

It hears messages, does the most urgent piece of work, and tells what came of it; no piece takes long.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as to_safetensors
from torch import Tensor

from recoseg.data.image_files import read_image
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.label.cell_pool import CellPool
from recoseg.label.features import CellMaps, FrozenFeatures, lowered
from recoseg.label.map_prediction import MapPrediction
from recoseg.label.next_clicks import Opinion, Seen, next_spots
from recoseg.label.quick import LabelledCells, QuickLearner, joined
from recoseg.runs.run import Run
from recoseg.seeds import permutation

Message = tuple[str, dict[str, Any]]

_FIRST_STEPS, _STEPS, _CALM_STEPS = 80, 40, 400
"""At the first prediction, after a click, and in all while nobody clicks."""

_STEPS_AT_ONCE = 10
"""Then messages are heard: a click waits for no more than these."""

_IMAGES_AT_FIRST = 4
_MOST_IN_ADVANCE = 1_000
_MOST_CELLS_PER_IMAGE = 3_000
_SPOTS = 60
_LATEST = 50
_MOST_PAIRS = 200
_SECONDS_BETWEEN_SAVES = 5.0


@dataclass(frozen=True)
class Places:
    """Labelled places of an image: x and y in (0, 1), class ids, and which are held back."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    classes: NDArray[np.int64]
    held_back: NDArray[np.bool_]


class Learner:
    """`hear` a message, then `work` until it returns False."""

    def __init__(
        self,
        images: Mapping[str, Path],
        features: FrozenFeatures,
        folder: Path,
        tell: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self.images, self.features, self.folder, self.tell = images, features, folder, tell
        self.quick = QuickLearner(features.num_channels)
        self.pool = CellPool()
        self.version = 0
        self.agreed: list[bool] = []
        self.full: tuple[torch.nn.Module, list[int]] | None = None
        self._places: dict[str, Places] = {}
        self._cells: dict[str, LabelledCells] = {}
        self._skips: dict[str, list[tuple[float, float]]] = {}
        self._due = 0  # steps to do before the next prediction
        self._calm = 0  # steps since the last click
        self._begun = 0.0  # when these began
        self._unasked = False  # whether the pool is to be looked at again
        self._viewed: OrderedDict[str, int] = OrderedDict()  # key -> version of the prediction that was told
        self._wanted: list[str] = []  # whose predictions somebody waits for
        self._unreadable: set[str] = set()
        keys = list(images)
        order = permutation(len(keys), 0, "images in advance")[:_MOST_IN_ADVANCE]
        self._waiting = [keys[place] for place in reversed(order)]
        self._in_advance = len(order)
        self._seconds: float | None = None
        self._saved = 0.0
        self._load()
        self.version = max(self.version, int(4 * time.time()))  # never a number again, whatever was lost

    # Messages

    def hear(self, kind: str, data: dict[str, Any]) -> None:
        if kind == "clicks":
            self._compare(data["clicks"])
        elif kind == "labels":
            self._take_labels(data["image"], data["places"])
        elif kind == "skips":
            self._skips[data["image"]] = data["places"]
        elif kind == "view":
            self._viewed[data["image"]] = -1
            self._viewed.move_to_end(data["image"])
            while len(self._viewed) > 8:
                self._viewed.popitem(last=False)
        elif kind == "predict":
            self._wanted.append(data["image"])
        elif kind == "full":
            self._take_full(data["run"], data["classes"], judge=data["judge"])

    def _take_labels(self, key: str, places: Places) -> None:
        self._places[key] = places
        self._cells.pop(key, None)
        if key not in self.pool.keys and key not in self._unreadable:
            self._waiting = [other for other in self._waiting if other != key] + [key]  # the next
        self._due, self._calm = _STEPS if self.quick.is_ready else _FIRST_STEPS, 0
        self._begun = time.perf_counter()

    def _compare(self, clicks: Sequence[tuple[str, float, float, int]]) -> None:
        """What was predicted at clicks, before anything is learned from them."""
        if not self.quick.is_ready:
            return
        for key, x, y, answer in clicks:
            maps = self._maps(key)
            if maps is not None:
                prediction = self._predicted(key, maps)
                guess = prediction.at(np.array([x]), np.array([y]))[0]
                self.agreed.append(int(guess[0, 0]) == answer)

    # Work

    def work(self) -> bool:
        if self._waiting and len(self.pool.keys) < min(_IMAGES_AT_FIRST, self._in_advance):
            self._add_image()
        elif self._due > 0:
            self._learn()
        elif any(version != self.version for version in self._viewed.values()) and self._can_predict:
            key = next(k for k, v in reversed(self._viewed.items()) if v != self.version)
            self._viewed[key] = self.version
            self._tell_prediction(key)
        elif self._wanted:
            self._tell_prediction(self._wanted.pop(0))
        elif self._unasked:
            self._ask()
        elif self.quick.is_ready and self._calm < _CALM_STEPS and self._cells:
            if self._waiting and not self.pool.is_full:
                self._add_image()  # in turns: features grow however often somebody clicks
            self._due = 5 * _STEPS_AT_ONCE
            self._begun = time.perf_counter()
        elif self._waiting and not self.pool.is_full:
            self._add_image()
        else:
            return False
        return True

    @property
    def _can_predict(self) -> bool:
        return self.full is not None or self.quick.is_ready

    def _add_image(self) -> None:
        key = self._waiting.pop()
        maps = self._maps(key)
        if maps is not None:
            self.pool.add(key, maps)
        if len(self._waiting) % 10 == 0 or self.pool.is_full:
            self._unasked = True

    def _maps(self, key: str) -> CellMaps | None:
        """None of an image that cannot be read."""
        if key in self._unreadable:
            return None
        try:
            return self.features.maps(self.images[key])
        except (FileError, OSError):
            self._unreadable.add(key)
            return None

    def _learn(self) -> None:
        """A few of the steps that are due; after the last there is something new to predict."""
        labelled = self._labelled()
        if self.quick.step == 0 and self.pool.keys:
            self.quick.standardise(*self.pool.spread)
        steps = min(self._due, _STEPS_AT_ONCE) if self.pool.keys else 0
        if steps:
            self.quick.learn(labelled, self.pool.features, steps=steps)
        if not self.quick.is_ready:  # fewer than two classes: nothing to learn yet
            self._due = steps
        self._due -= steps
        self._calm += steps
        if self._due <= 0:
            self.version += self.quick.is_ready
            self._unasked = True
            self._seconds = time.perf_counter() - self._begun

    def _ask(self) -> None:
        """What the pool's cells are taken for: the shares of classes, and where to click next."""
        self._unasked = False
        opinion, labelled = None, self._labelled()
        if self.quick.is_ready:
            probabilities = self.quick.probabilities(self.pool.features)
            opinion = Opinion(probabilities, self.quick.known, self.quick.relations(labelled))
            self._tell_shares(opinion)
        self._tell_spots(opinion, labelled)
        self.tell_status()
        if time.monotonic() - self._saved > _SECONDS_BETWEEN_SAVES or self._calm >= _CALM_STEPS:
            self.save()

    def _labelled(self) -> LabelledCells:
        for key in self._places.keys() - self._cells.keys():
            places, maps = self._places[key], self._maps(key)
            if maps is not None:
                self._cells[key] = _cells_of(maps, places)
        return joined(list(self._cells.values()), self.features.num_channels)

    def _tell_shares(self, opinion: Opinion) -> None:
        counts = opinion.probabilities.argmax(1).bincount(minlength=len(opinion.classes)).double()
        shares = (counts / counts.sum()).tolist()
        self.tell("shares", {"shares": dict(zip(opinion.classes, shares, strict=True))})

    def _tell_spots(self, opinion: Opinion | None, labelled: LabelledCells) -> None:
        places = {key: list(skips) for key, skips in self._skips.items()}
        for key, found in self._places.items():
            places.setdefault(key, []).extend(zip(found.x.tolist(), found.y.tolist(), strict=True))
        counts = labelled.classes.long().bincount().tolist()
        seen = Seen(places, labelled.features, dict(enumerate(counts)))
        self.tell("spots", {"spots": next_spots(self.pool, seen, opinion, count=_SPOTS)})

    # Predictions

    def _tell_prediction(self, key: str) -> None:
        maps = self._maps(key) if self._can_predict else None
        prediction = None if maps is None else self._predicted(key, maps)
        self.tell("prediction", {"image": key, "prediction": prediction})

    def _predicted(self, key: str, maps: CellMaps) -> MapPrediction:
        if self.full is not None:
            network, classes = self.full
            probabilities, source = _of_network(network, self.images[key]), "full"
        else:
            of_cells = self.quick.probabilities(maps.of_all())  # (h * w, K)
            probabilities, source = of_cells.t().reshape(-1, *maps.shape), "quick"
            classes = list(self.quick.known)
        ids = np.array(classes, dtype=np.uint8)
        return MapPrediction(probabilities.half().numpy(), ids, self.version, source)

    # Full training

    def _take_full(self, run: str | None, classes: list[int], *, judge: bool) -> None:
        """Its network in place of the quick learner; with `judge`, if it is better on points held back."""
        self.full = None
        if run is not None:
            try:
                network = Run.open(Path(run)).network.inference()
            except UserError as error:
                self.tell("judged", {"error": str(error)})
                return
            if not judge or self._is_better(network, classes):
                self.full = network, classes
        self.version += 1
        self.tell_status()

    def _is_better(self, network: torch.nn.Module, classes: list[int]) -> bool:
        """Both learned without the points held back: the quick learner is trained anew for that."""
        learned, held = [], []
        hits, count = 0, 0
        for key, places in self._places.items():
            maps = self._maps(key)
            if maps is None:
                continue
            learned.append(_cells_of(maps, _only(places, ~places.held_back)))
            kept = _only(places, places.held_back)
            if len(kept.x):
                held.append(_cells_of(maps, kept, unique=False))
                said = np.array(classes)[_likeliest_at(_of_network(network, self.images[key]), kept)]
                hits, count = hits + int((said == kept.classes).sum()), count + len(said)
        quick = self._trained_without(joined(learned, self.features.num_channels))
        if not count or not quick.is_ready:
            self.tell("judged", {"quick": None, "full": None})
            return True  # nothing to compare by: the longer training it is
        asked = joined(held, self.features.num_channels)
        right = torch.tensor(quick.known)[quick.probabilities(asked.features).argmax(1)] == asked.classes
        scores = float(right.double().mean()), hits / count
        self.tell("judged", {"quick": scores[0], "full": scores[1]})
        return scores[1] > scores[0]

    def _trained_without(self, labelled: LabelledCells) -> QuickLearner:
        quick = QuickLearner(self.features.num_channels, seed=1)
        quick.standardise(*self.pool.spread)
        quick.learn(labelled, self.pool.features, steps=_FIRST_STEPS + _CALM_STEPS)
        return quick

    # What is told, and kept

    def tell_status(self) -> None:
        if self.quick.is_ready or self.full is not None:
            phase = "learning" if self._due or self._calm < _CALM_STEPS else "ready"
        else:
            phase = "features" if not self.pool.keys else "waiting"
        source = "full" if self.full is not None else "quick" if self.quick.is_ready else None
        done = self._in_advance if self.pool.is_full else self._in_advance - len(self._waiting)
        self.tell(
            "status",
            {
                "phase": phase,
                "message": "",
                "features": {"done": min(done, self._in_advance), "total": self._in_advance},
                "version": self.version,
                "source": source,
                "seconds": self._seconds,
                "agreement": agreement(self.agreed),
            },
        )

    @property
    def _file(self) -> Path:
        return self.folder / f"quick.{self.features.name}.safetensors"

    def save(self) -> None:
        self._saved = time.monotonic()
        with suppress(OSError):  # a full disk: everything here can be learned again
            write_whole(self._file, to_safetensors(self.quick.weights()))
            about = {"version": self.version, "agreed": self.agreed}
            write_whole(self.folder / "quick.json", json.dumps(about))

    def _load(self) -> None:
        """Goes on from what is kept; anew if that is not there, not whole, or of another kind."""
        try:
            about = json.loads((self.folder / "quick.json").read_text(encoding="utf-8"))
            self.quick.load(load_file(self._file))
            self.version, self.agreed = int(about["version"]), [bool(one) for one in about["agreed"]]
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError):
            self.quick = QuickLearner(self.features.num_channels)


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
def _of_network(network: torch.nn.Module, path: Path) -> Tensor:
    """(K, h, w) probabilities at the network's own resolution."""
    probabilities: Tensor = network(lowered(read_image(path))[None]).logits[0].softmax(0)
    return probabilities
