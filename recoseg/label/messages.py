"""Messages between the server and the learner's process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recoseg.label.map_prediction import MapPrediction

RADIUS = 8 / 128
"""Share of an image's side around a label or skip without a further spot: eight cells of a map of 128."""


@dataclass(frozen=True)
class Places:
    """Labelled places of an image: x and y in (0, 1), class ids, and which are held back."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    classes: NDArray[np.int64]
    held_back: NDArray[np.bool_]

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Places:
        return Places(self.x[chosen], self.y[chosen], self.classes[chosen], self.held_back[chosen])


@dataclass(frozen=True)
class Click:
    """A labelled pixel at x and y in (0, 1), to compare with its prediction."""

    image: str
    x: float
    y: float
    class_id: int


@dataclass(frozen=True)
class Spot:
    """A place in (0, 1) of an image where a click helps, and its prediction."""

    image: str
    x: float
    y: float
    guess: int | None = None  # class id
    second: int | None = None
    confidence: float | None = None
    cell: int = 0  # of the pool


@dataclass(frozen=True)
class TrainedRun:
    """A run of full training, and the class ids of its network's outputs."""

    path: str
    classes: tuple[int, ...]


# To the learner


@dataclass(frozen=True)
class Update:
    """What is there now, and which labels, skips and clicks are new."""

    classes: frozenset[int]
    run: TrainedRun | None = None  # predicts instead of the quick learner
    views: tuple[str, ...] = ()  # images that pages show
    opened: tuple[str, ...] = ()  # those of them that a page opened just now
    labels: Mapping[str, Places] = field(default_factory=dict)
    skips: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    clicks: Sequence[Click] = ()


@dataclass(frozen=True)
class Predict:
    """`Predicted` with this number answers it."""

    request: int
    image: str


@dataclass(frozen=True)
class Evaluate:
    """`Evaluated` answers it."""

    run: TrainedRun


ToLearner = Update | Predict | Evaluate


# From the learner


@dataclass(frozen=True)
class Started:
    """A new process, which has no labels yet."""


@dataclass(frozen=True)
class Status:
    content: Mapping[str, Any]  # `learner` of docs/labelling.md
    valid_from: int = 0  # predictions of earlier versions are of another model


@dataclass(frozen=True)
class Survey:
    shares: Mapping[int, float]  # of each class in all images; none before two classes have labels
    spots: Sequence[Spot]


@dataclass(frozen=True)
class Predicted:
    image: str
    prediction: MapPrediction | None
    request: int | None = None


@dataclass(frozen=True)
class Evaluated:
    """Accuracy on held-back points; None where there are none. With `error` the run cannot be loaded."""

    run: TrainedRun
    quick: float | None = None
    full: float | None = None
    error: str = ""


@dataclass(frozen=True)
class Failed:
    """The process ends now; a restart helps unless it is `final`."""

    message: str
    final: bool = False


FromLearner = Started | Status | Survey | Predicted | Evaluated | Failed
