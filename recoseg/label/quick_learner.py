"""The quick learner: the linear probe, fitted again to all labelled pixels after every click."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.files import write_whole
from recoseg.label.features import FeatureMaps
from recoseg.losses.cross_entropy import root_inverse_frequency
from recoseg.models.linear_probe import LinearProbe
from recoseg.probe import Classifier, fit_classifier

_STRENGTH = 0.1
"""L2 penalty. From 0.01 to 0.3 scores stay within a point, so no folds choose it."""

_MOST_PIXELS = 6_000
"""More pixels hardly change the classifier, and a click would wait for them."""

_FILE = "comparisons.json"
_LATEST = 200
_TEMPERATURES = np.geomspace(0.25, 16, 49)
_DOUBT = 2
"""The calibrated probabilities are a mean of the classifier's and of this many clicks on any class."""


@dataclass(frozen=True)
class LabelledPixels:
    features: Tensor  # (n, C) float32
    classes: Tensor  # (n,) class ids
    outputs: Tensor | None = None  # (n, N) probabilities of a trained network, where one predicts


def merge(parts: Sequence[LabelledPixels], num_channels: int) -> LabelledPixels:
    if not parts:
        return LabelledPixels(torch.zeros(0, num_channels), torch.zeros(0, dtype=torch.int64))
    outputs = [part.outputs for part in parts if part.outputs is not None]
    return LabelledPixels(
        torch.cat([part.features for part in parts]),
        torch.cat([part.classes for part in parts]),
        torch.cat(outputs) if len(outputs) == len(parts) else None,
    )


class QuickLearner:
    """`fit` it to labelled pixels; its logits are over the class ids `known`.

    With `trained`, output of a trained network -> class id, it corrects that network: its logits are added
    to the logarithms of the network's probabilities, and it starts from zero.
    """

    def __init__(self, level_channels: Sequence[int], trained: Mapping[int, int] | None = None) -> None:
        self.level_channels, self.trained = tuple(level_channels), trained or {}
        self.known: tuple[int, ...] = tuple(sorted(self.trained.values()))
        self._classifier: Classifier | None = None

    @property
    def is_ready(self) -> bool:
        return self._classifier is not None or len(self.trained) > 1

    def fit(self, labelled: LabelledPixels, spread: tuple[Tensor, Tensor]) -> None:
        """`spread` is the mean and the deviation (C,) of features of all kinds of pixels."""
        found = set(labelled.classes.tolist()) | set(self.trained.values())
        self.known, self._classifier = tuple(sorted(found)), None
        if len(self.known) < 2 or not len(labelled.classes):
            return
        if len(labelled.classes) > _MOST_PIXELS:
            every = torch.linspace(0, len(labelled.classes) - 1, _MOST_PIXELS).round().long()
            outputs = None if labelled.outputs is None else labelled.outputs[every]
            labelled = LabelledPixels(labelled.features[every], labelled.classes[every], outputs)
        labels = torch.searchsorted(torch.tensor(self.known), labelled.classes)
        self._classifier = fit_classifier(
            labelled.features.t().contiguous(),
            labels,
            len(self.known),
            strength=_STRENGTH,
            class_weights=root_inverse_frequency(torch.bincount(labels, minlength=len(self.known))),
            offsets=self._offsets(labelled.outputs),
            spread=spread,
        )

    def _offsets(self, outputs: Tensor | None) -> Tensor | None:
        """(n, N) probabilities of the trained network -> (n, K) logarithms, none of them far below zero."""
        if outputs is None or not self.trained:
            return None
        probabilities = outputs.new_zeros(len(outputs), len(self.known))
        for output, one in self.trained.items():
            probabilities[:, self.known.index(one)] = outputs[:, output]
        probabilities /= probabilities.sum(1, keepdim=True).clamp(min=1e-6)
        return (0.98 * probabilities + 0.02 / len(self.known)).log()

    @torch.inference_mode()
    def logits(self, features: Tensor, outputs: Tensor | None = None) -> Tensor:
        """(n, C) features, and (n, N) outputs of the trained network -> (n, K)."""
        offsets = self._offsets(outputs)
        if self._classifier is None:
            assert offsets is not None
            return offsets
        logits = self._classifier.logits(features.t()).t()
        return logits if offsets is None else logits + offsets

    @torch.inference_mode()
    def logit_map(self, maps: FeatureMaps, outputs: Tensor | None = None) -> Tensor:
        """(K, h, w) at the finest level of an image, of whose outputs (N, h', w') are given."""
        total: Tensor | None = None
        if self.trained and outputs is not None:
            resized = F.interpolate(outputs[None].float(), maps.shape, mode="bilinear")[0]
            total = self._offsets(resized.flatten(1).t())
            assert total is not None
            total = total.t().view(-1, *maps.shape)
        if self._classifier is not None:
            probe, found = LinearProbe(self.level_channels, len(self.known)), self._classifier
            probe.set_(found.weight, found.bias, found.mean, found.deviation)
            logits = probe([level[None].float() for level in maps.levels], maps.shape)[0]
            total = logits if total is None else total + logits
        assert total is not None
        return total


@dataclass(frozen=True)
class Comparison:
    """A click, and the prediction of its pixel before it was learned from."""

    class_id: int
    guess: int
    classes: tuple[int, ...] = ()  # (K,) ids of the logits
    logits: tuple[float, ...] = ()

    @property
    def is_right(self) -> bool:
        return self.class_id == self.guess


def read_comparisons(folder: Path) -> list[Comparison]:
    """Those that `write_comparisons` left; none where there is no whole file."""
    with suppress(OSError, ValueError, TypeError):
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return [
            Comparison(int(one), int(guess), tuple(map(int, classes)), tuple(map(float, logits)))
            for one, guess, classes, logits in rows
        ]
    return []


def write_comparisons(folder: Path, comparisons: Sequence[Comparison]) -> None:
    """All of them, and the logits of the latest."""
    first = len(comparisons) - _LATEST
    rows = [
        (one.class_id, one.guess, *((one.classes, one.logits) if number >= first else ((), ())))
        for number, one in enumerate(comparisons)
    ]
    write_whole(folder / _FILE, json.dumps(rows))


def fit_temperature(comparisons: Sequence[Comparison]) -> float:
    """What to divide logits by so that clicks are as probable as they were before they were learned from."""
    counted = [one for one in comparisons if one.class_id in one.classes][-_LATEST:]
    losses = np.log(_TEMPERATURES) ** 2  # without clicks: 1
    for one in counted:
        scaled = np.array(one.logits)[None] / _TEMPERATURES[:, None]  # (temperatures, K)
        place = one.classes.index(one.class_id)
        losses = losses + np.logaddexp.reduce(scaled, axis=1) - scaled[:, place]
    return float(_TEMPERATURES[losses.argmin()])


def calibrate(logits: Tensor, *, temperature: float, evidence: float) -> Tensor:
    """(K, ...) logits -> probabilities: none is near one while there is little evidence (in clicks)."""
    probabilities = (logits / temperature).softmax(0)
    return (evidence * probabilities + _DOUBT / len(logits)) / (evidence + _DOUBT)
