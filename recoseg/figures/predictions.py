"""Images, their truth and the predictions of several runs, side by side in the colours of the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from recoseg.evaluate.disagreement import Spot, difference_weights, spots
from recoseg.figures.image_grid import Panel, draw_image_grid
from recoseg.figures.sheet import class_handles, coloured
from recoseg.types import IGNORE, ClassInfo

_Pixels = NDArray[np.uint8]
_NUM_ARROWS = 2


@dataclass(frozen=True)
class PredictedImage:
    """One row of the picture."""

    image: _Pixels  # (H, W, 3)
    truth: _Pixels  # (H, W), IGNORE where there is no label
    predictions: Mapping[str, _Pixels]  # run -> (H, W)

    def panels(self, classes: ClassInfo) -> list[Panel]:
        maps = {"Ground truth": self.truth, **self.predictions}
        panels = [Panel(coloured(labels, classes), title) for title, labels in maps.items()]
        return [Panel(self.image, "Image", photo=True), *panels]

    def spots(self, most: int) -> list[Spot]:
        """Where runs differ most."""
        maps = [torch.from_numpy(labels) for labels in self.predictions.values()]
        return spots(difference_weights(torch.from_numpy(self.truth), maps).numpy(), most)


def draw_predictions(
    path: Path,
    images: Sequence[PredictedImage],
    classes: ClassInfo,
    *,
    arrows: bool = False,
    zoom: bool = False,
) -> None:
    """A row for each image, and with `zoom` one below it that enlarges where the runs differ most."""
    rows: list[list[Panel]] = []
    for one in images:
        found = one.spots(_NUM_ARROWS) if arrows or zoom else []
        frame = found[0] if zoom and found else None
        panels = [replace(panel, frame=frame) for panel in one.panels(classes)]
        rows.append([panels[0], *(replace(panel, arrows=found if arrows else ()) for panel in panels[1:])])
        if frame:
            rows.append([_cut(panel, frame) for panel in panels])
    for row in rows[1:]:
        row[:] = [replace(panel, title="") for panel in row]
    counts = sum(
        np.bincount(labels.ravel(), minlength=IGNORE + 1)
        for one in images
        for labels in (one.truth, *one.predictions.values())
    )
    found_classes = np.flatnonzero(counts[: len(classes)]).tolist()  # type: ignore[index]
    handles = class_handles(classes, found_classes, undefined=bool(counts[IGNORE]))  # type: ignore[index]
    draw_image_grid(path, rows, handles=handles)


def _cut(panel: Panel, spot: Spot) -> Panel:
    assert panel.pixels is not None
    return replace(panel, pixels=panel.pixels[spot.rows, spot.columns], frame=None)
