"""The quick learner: the linear probe, fitted again to all labelled pixels after every click."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg.label.features import FeatureMaps
from recoseg.label.messages import Places
from recoseg.losses.cross_entropy import root_inverse_frequency
from recoseg.models.linear_probe import LinearProbe
from recoseg.probe import Classifier, fit_classifier

_STRENGTH = 0.1
"""L2 penalty. From 0.01 to 0.3 scores stay within a point, so no folds choose it."""

_MOST_PIXELS = 6_000
"""More pixels hardly change the classifier, and a click would wait for them."""


_MOST_CELLS = 200
"""Of a class in an image, so that a fill does not outweigh all clicks."""


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


def thin_out(maps: FeatureMaps, places: Places) -> Places:
    """One place for each class in a cell, and of each class at most `_MOST_CELLS`, evenly spread."""
    pairs = np.stack((places.classes, maps.cells_at(places.x, places.y)))
    (classes, _), first = np.unique(pairs, axis=1, return_index=True)  # by class, then by cell
    kept = []
    for one in np.unique(classes):
        of_class = first[classes == one]
        some = np.linspace(0, len(of_class) - 1, min(len(of_class), _MOST_CELLS)).round().astype(int)
        kept.append(of_class[some])
    return places.only(np.concatenate(kept) if kept else first)


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
