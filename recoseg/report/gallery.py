"""Pictures that flip in place: image, truth, prediction, confidence, errors, and where runs differ.

Paper, and a browser without scripts, show all views side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from recoseg.evaluate.disagreement import difference
from recoseg.report import label_images
from recoseg.report.markup import Markup, render, tag
from recoseg.report.run_view import Picture, RunView, are_folds
from recoseg.types import IGNORE

_VIEWS = {
    "side": "Side by side",
    "image": "Image",
    "truth": "Truth",
    "prediction": "Prediction",
    "confidence": "Confidence",
    "errors": "Errors",
}
"""Choices of the switch, which page.css knows too; their keys are 0, 1, 2, ..."""

_PIXELATED_BELOW = 400
"""A map narrower than this is enlarged on most screens, and then its pixels should stay sharp."""


@dataclass(frozen=True)
class _Row:
    """The pictures of one image, by the number of their run; None where a run has none."""

    key: str
    tiles: list[tuple[int, Picture | None]]
    baseline: Picture | None  # that of the first run, which the others are compared with

    @property
    def first(self) -> Picture:
        return next(picture for _, picture in self.tiles if picture)


def gallery(runs: Sequence[RunView]) -> Markup:
    """All pictures of all runs, those of one image together."""
    rows = _rows(runs)
    if not rows:
        return tag("p", "This page has no pictures.", class_="muted")
    several = len(runs) > 1
    found = _labels_found(rows)
    return render(
        "gallery.html",
        runs=runs,
        rows=rows,
        several=several,
        views=_VIEWS | ({"difference": "Difference"} if several else {}),
        begin="prediction" if several else "side",
        classes=runs[0].classes,
        found=[index for index in found if index < len(runs[0].classes)],
        has_void=IGNORE in found,
        pixelated_below=_PIXELATED_BELOW,
        images=label_images,
        difference=difference,
        mean_confidence=lambda picture: float(picture.confidence.float().mean() / 255),
    )


def _rows(runs: Sequence[RunView]) -> list[_Row]:
    """A row for each image. A fold has no tile for images that it was not scored on."""
    keys = dict.fromkeys(picture.key for run in runs for picture in run.pictures)
    of_run = [{picture.key: picture for picture in run.pictures} for run in runs]
    folds = are_folds(runs)
    rows = []
    for key in keys:
        tiles = [(number, pictures.get(key)) for number, pictures in enumerate(of_run)]
        rows.append(_Row(key, [tile for tile in tiles if tile[1] or not folds], tiles[0][1]))
    return rows


def _labels_found(rows: Sequence[_Row]) -> list[int]:
    """Indices in the truth or the prediction of any picture, in order."""
    pictures = [picture for row in rows for _, picture in row.tiles if picture]
    maps = [labels.flatten() for picture in pictures for labels in (picture.truth, picture.prediction)]
    found: list[int] = torch.cat(maps).bincount().nonzero().flatten().tolist()
    return found
