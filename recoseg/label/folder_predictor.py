"""The learner of a labelled folder as a predictor of new images, fitted to the folder's label files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recoseg.data.folder import Folder
from recoseg.errors import UserError
from recoseg.evaluate.protocol import Protocol
from recoseg.evaluate.sliding_window import Block
from recoseg.label.calibration import calibrate, fit_temperature, read_comparisons
from recoseg.label.candidate_pool import CandidatePool
from recoseg.label.features import FrozenFeatures, lower, pretrained_encoder
from recoseg.label.journal import NAME
from recoseg.label.label_folder import HIDDEN
from recoseg.label.map_prediction import MapPrediction, bands
from recoseg.label.messages import Places
from recoseg.label.quick_learner import LabelledPixels, QuickLearner, merge, thin_out
from recoseg.predict.predictor import Predictor
from recoseg.types import IGNORE


def is_label_folder(path: str | Path) -> bool:
    """Whether `recoseg label` made labels there."""
    return (Path(path) / NAME).is_file()


def load_label_folder(root: Path) -> Predictor:
    """Fit a classifier to all labels of the folder. Features of its images are read from where the page kept
    them, or computed.
    """
    dataset = Folder(root=root)
    keys = [key for subset in ("train", "val") for key in dataset.keys(subset) if dataset.has_labels(key)]
    name, encoder = pretrained_encoder()
    features = FrozenFeatures(encoder, name=name, folder=root / HIDDEN / "features")
    pool, parts = CandidatePool(), list[LabelledPixels]()
    for key in keys:
        labels = dataset.labels(key).numpy()
        rows, columns = np.nonzero(labels != IGNORE)
        maps = features.maps(dataset.entry(key).image)
        pool.add(key, maps)
        x, y = (columns + 0.5) / labels.shape[1], (rows + 0.5) / labels.shape[0]
        classes = labels[rows, columns].astype(np.int64)
        places = thin_out(maps, Places(x, y, classes, np.zeros(len(x), dtype=bool)))
        parts.append(LabelledPixels(maps.at(places.x, places.y), torch.from_numpy(places.classes)))
    quick = QuickLearner(features.level_channels)
    labelled = merge(parts, features.num_channels)
    if pool.keys:
        quick.fit(labelled, pool.spread)
    if not quick.is_ready:
        raise UserError(f"{root} needs labels of two classes to predict: run recoseg label {root}")
    return _FolderPredictor(quick, features, dataset, evidence=len(keys))


class _FolderPredictor(Predictor):
    def __init__(
        self, quick: QuickLearner, features: FrozenFeatures, dataset: Folder, *, evidence: int
    ) -> None:
        super().__init__(features.encoder, dataset.classes, device=torch.device("cpu"))
        comparisons = read_comparisons(dataset.root / HIDDEN)
        self._quick, self._features = quick, features
        self._temperature = fit_temperature(comparisons)
        self._evidence = evidence + len(comparisons)

    def __repr__(self) -> str:
        return f"<Predictor of {len(self.classes)} classes from clicks>"

    def labels(self, image: Tensor, protocol: Protocol) -> NDArray[np.uint8]:
        found = np.empty(image.shape[1:], dtype=np.uint8)
        for part in self.parts(image, protocol):
            found[part.rows, part.columns] = part.logits[0].argmax(0).numpy()
        return found

    @torch.inference_mode()
    def parts(self, image: Tensor, protocol: Protocol) -> Iterator[Block]:
        """Logarithms of calibrated probabilities; classes without labels have none."""
        maps = self._features.compute(lower(image))
        probabilities = calibrate(
            self._quick.logit_map(maps), temperature=self._temperature, evidence=self._evidence
        )
        prediction = MapPrediction.of(
            probabilities, maps.grey, classes=self._quick.known, version=0, source="quick"
        )
        height, width = image.shape[1:]
        columns = (np.arange(width) + 0.5) / width
        for rows in bands(height, width):
            found = prediction.probabilities_at(columns, (np.arange(rows.start, rows.stop) + 0.5) / height)
            logits = torch.full((1, len(self.classes), *found.shape[1:]), -30.0)
            logits[0, list(self._quick.known)] = torch.from_numpy(found).clamp(min=1e-9).log()
            yield Block(rows, slice(0, width), logits)
