"""Images, their truth and what several runs predict, side by side over the classes' colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from recoseg.evaluate.disagreement import Spot, difference_weights, spots
from recoseg.figures.sheet import ClassBoxes, Sheet, coloured, sheet, shortened
from recoseg.types import IGNORE, ClassInfo

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Pixels = NDArray[np.uint8]

_NUM_ARROWS = 2
_ARROW = 0.11  # its length as a share of the panel's width

# The layout, in inches.
PANEL = 2.9
_GAP = 0.08
_TITLE = 0.3


@dataclass(frozen=True)
class PredictedImage:
    """One row of the picture."""

    image: _Pixels  # (H, W, 3)
    truth: _Pixels  # (H, W), IGNORE where there is no label
    predictions: Mapping[str, _Pixels]  # run -> (H, W)

    def panels(self, classes: ClassInfo) -> dict[str, _Pixels]:
        """Title -> colours (H, W, 3)."""
        maps = {"Ground truth": self.truth, **self.predictions}
        return {"Image": self.image, **{title: coloured(labels, classes) for title, labels in maps.items()}}

    def spots(self, most: int) -> list[Spot]:
        maps = [torch.from_numpy(labels) for labels in self.predictions.values()]
        return spots(difference_weights(torch.from_numpy(self.truth), maps).numpy(), most)

    @property
    def size(self) -> tuple[float, float]:
        """(width, height) of its panels in inches; a tall image is no taller than others are wide."""
        height, width = self.truth.shape
        scale = PANEL / max(width, height)
        return width * scale, height * scale


def draw_predictions(
    path: Path,
    images: Sequence[PredictedImage],
    classes: ClassInfo,
    *,
    arrows: bool = False,
    zoom: bool = False,
) -> None:
    """A row for each image, and with `zoom` one below it that enlarges where the runs differ most."""
    titles = list(images[0].panels(classes))
    tall = sum((1 + zoom) * (one.size[1] + _GAP) for one in images)
    width = len(titles) * (PANEL + _GAP) + _GAP
    shown, undefined = _classes_in(images, len(classes))
    boxes = ClassBoxes.of(classes, shown, width - 2 * _GAP, undefined=undefined)
    with sheet(path, width=width, height=_TITLE + tall + boxes.height + _GAP) as page:
        for column, title in enumerate(titles):
            middle = _GAP + column * (PANEL + _GAP) + PANEL / 2
            page.text(middle, _TITLE / 2, shortened(title, 34), ha="center", fontsize=10, weight="bold")
        top = _TITLE
        for one in images:
            found = one.spots(_NUM_ARROWS) if arrows or zoom else []
            axes = _draw_row(page, top, one, one.panels(classes))
            top += one.size[1] + _GAP
            if arrows:
                for place in axes[1:]:  # not on the image itself
                    _draw_arrows(place, found, one.truth.shape)
            if zoom:
                _draw_zoom(page, top, one, one.panels(classes), found[:1], axes)
                top += one.size[1] + _GAP
        boxes.draw(page, _GAP, top)


def _classes_in(images: Sequence[PredictedImage], num_classes: int) -> tuple[list[int], bool]:
    """The classes that occur in any map, and whether a pixel has none."""
    maps = [labels for one in images for labels in (one.truth, *one.predictions.values())]
    counts = sum(np.bincount(labels.ravel(), minlength=IGNORE + 1) for labels in maps)
    found = np.flatnonzero(counts).tolist()
    return [number for number in found if number < num_classes], IGNORE in found


def _draw_row(page: Sheet, top: float, one: PredictedImage, panels: Mapping[str, _Pixels]) -> list[Axes]:
    width, height = one.size
    axes = []
    for column, pixels in enumerate(panels.values()):
        left = _GAP + column * (PANEL + _GAP) + (PANEL - width) / 2
        # Colours of classes must not mix when a large map is made smaller; a photograph's should.
        how = "nearest" if column else "antialiased"
        axes.append(page.picture(left, top, width, height, pixels, interpolation=how))
    return axes


def _draw_zoom(
    page: Sheet,
    top: float,
    one: PredictedImage,
    panels: Mapping[str, _Pixels],
    found: Sequence[Spot],
    whole: Sequence[Axes],
) -> None:
    """The place in `found` enlarged to a panel, and a frame around it in the panels above."""
    from matplotlib.patches import Rectangle

    for spot in found:
        cut = {title: pixels[spot.rows, spot.columns] for title, pixels in panels.items()}
        _draw_row(page, top, one, cut)
        corner = spot.columns.start - 0.5, spot.rows.start - 0.5
        width, height = spot.columns.stop - spot.columns.start, spot.rows.stop - spot.rows.start
        for axes in whole:
            for colour, line in (("black", 2.0), ("white", 1.0)):
                axes.add_patch(Rectangle(corner, width, height, fill=False, edgecolor=colour, linewidth=line))


def _draw_arrows(axes: Axes, found: Sequence[Spot], size: tuple[int, ...]) -> None:
    """White arrows with a dark edge; their tails lie towards the middle, so that none leaves the image."""
    from matplotlib.patheffects import withStroke

    height, width = size
    for spot in found:
        across = 1 if spot.column < width / 2 else -1
        down = 1 if spot.row < height / 2 else -1
        length = _ARROW * max(width, height)
        axes.annotate(
            "",
            xy=(spot.column, spot.row),
            xytext=(spot.column + across * length, spot.row + down * length * 0.7),
            arrowprops={
                "arrowstyle": "-|>,head_width=0.28,head_length=0.5",
                "color": "white",
                "linewidth": 1.8,
                "shrinkA": 0,
                "shrinkB": 2,
                "path_effects": [withStroke(linewidth=3.4, foreground="black")],
            },
        )
