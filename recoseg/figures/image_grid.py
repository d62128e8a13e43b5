"""Images in rows, each with its title: predictions, queries, labels and contact sheets are drawn by this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from recoseg.figures.sheet import MUTED, PAGE, annotate, characters, legend_height, sheet, shortened

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from recoseg.evaluate.disagreement import Spot

SCALE = "viridis"  # also for the colour-blind, and in print
NO_LABEL = "#808080"
_WIDEST, _NARROWEST = 3.0, 1.6  # inches of an image
_ARROW = 0.11  # its length as a share of the image's longer side


@dataclass(frozen=True)
class Panel:
    """Pixels (H, W, 3) in colours, or (H, W) of shares from 0 to 1; None for a file that cannot be read."""

    pixels: NDArray[Any] | None
    title: str = ""
    side: str = ""  # left of the image
    note: str = ""  # below it, in the colour of the title
    colour: str = "#1a1a1a"
    photo: bool = False  # colours may mix where it is made smaller; those of classes must not
    arrows: Sequence[Spot] = ()
    frame: Spot | None = None


def draw_image_grid(
    path: Path,
    rows: Sequence[Sequence[Panel]],
    *,
    handles: Sequence[Artist] = (),
    title: str = "",
    about: str = "",
    scale: str = "",
) -> None:
    """The last row may be shorter. `scale` names what shares mean, on a bar below them."""
    columns = max(map(len, rows))
    width = min(_WIDEST, max(_NARROWEST, PAGE / columns))
    shapes = [[one.pixels.shape for one in row if one.pixels is not None] for row in rows]
    ratios = [max([min(1.2, shape[0] / shape[1]) for shape in row], default=0.75) for row in shapes]
    widest = max((shape[1] for row in shapes for shape in row), default=1)
    lines = sum(1 + max(one.note.count("\n") + bool(one.note) for one in row) for row in rows)
    sheet_width = max(columns * (width + 0.08), 3.5)
    height = width * sum(ratios) + 0.25 * lines + 0.5 * bool(scale) + 0.4 * bool(title)
    height += legend_height(sheet_width, handles) + 0.2 * bool(about)
    # A tall image does not fill the width.
    filled = max(
        (min(1, r * w / h) for r, row in zip(ratios, shapes, strict=True) for h, w, *_ in row), default=1
    )
    # Maps of classes are drawn with a dot or more for each pixel, so that no single pixel is lost.
    dots = max(200.0, 1.15 * widest / width)
    with sheet(path, width=sheet_width, height=height, dots=dots) as figure:
        grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=ratios)
        drawn = []
        for row, axes_of_row in zip(rows, grid, strict=True):
            for axes in axes_of_row[len(row) :]:
                axes.remove()
            for one, axes in zip(row, axes_of_row, strict=False):
                _draw_panel(axes, one, characters(filled * width, 9))
                drawn += [axes] if one.pixels is not None and one.pixels.ndim == 2 else []
        if scale:
            from matplotlib.cm import ScalarMappable

            bar = figure.colorbar(
                ScalarMappable(cmap=SCALE), ax=drawn, location="bottom", shrink=0.95, aspect=30, pad=0.02
            )
            bar.outline.set_visible(False)
            bar.ax.tick_params(length=2, labelsize=8)
            bar.set_label(scale, fontsize=8)
        annotate(figure, title=title, about=about, handles=handles)


def _draw_panel(axes: Axes, panel: Panel, most: int) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(shortened(panel.title, most), color=panel.colour)
    if panel.side:
        axes.set_ylabel(shortened(panel.side, 30), color=panel.colour)
    if panel.note:
        axes.set_xlabel(panel.note, fontsize=7.5, color=panel.colour)
    if panel.pixels is None:
        axes.set_facecolor("#eeeeee")
        axes.set_box_aspect(0.75)
        axes.text(0.5, 0.5, "cannot be read", transform=axes.transAxes, ha="center", color=MUTED)
        return
    how: Any = {"cmap": SCALE, "vmin": 0, "vmax": 1} if panel.pixels.ndim == 2 else {}
    axes.set_facecolor(NO_LABEL)  # of shares that are NaN
    axes.imshow(panel.pixels, interpolation="antialiased" if panel.photo else "nearest", **how)
    height, width = panel.pixels.shape[:2]
    for spot in panel.arrows:
        _draw_arrow(axes, spot, height, width)
    if panel.frame is not None:
        _draw_frame(axes, panel.frame)


def _draw_frame(axes: Axes, spot: Spot) -> None:
    from matplotlib.patches import Rectangle

    corner = spot.columns.start - 0.5, spot.rows.start - 0.5
    size = spot.columns.stop - spot.columns.start, spot.rows.stop - spot.rows.start
    for colour, line in (("black", 2.0), ("white", 1.0)):
        axes.add_patch(Rectangle(corner, *size, fill=False, edgecolor=colour, linewidth=line))


def _draw_arrow(axes: Axes, spot: Spot, height: int, width: int) -> None:
    """White with a dark edge; its tail is towards the middle, so that it stays inside of the image."""
    from matplotlib.patheffects import withStroke

    length = _ARROW * max(width, height)
    across = length if spot.column < width / 2 else -length
    down = 0.7 * length if spot.row < height / 2 else -0.7 * length
    look = {
        "arrowstyle": "-|>,head_width=0.28,head_length=0.5",
        "color": "white",
        "linewidth": 1.8,
        "shrinkA": 0,
        "shrinkB": 2,
        "path_effects": [withStroke(linewidth=3.4, foreground="black")],
    }
    axes.annotate(
        "", xy=(spot.column, spot.row), xytext=(spot.column + across, spot.row + down), arrowprops=look
    )
