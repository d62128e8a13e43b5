"""The class relation graph as heat maps, and the trees of classes that follow from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.errors import UserError
from recoseg.evaluate.class_relations import Branch, Relations, leaf_order
from recoseg.figures.image_grid import SCALE
from recoseg.figures.sheet import INK, annotate, sheet, shortened
from recoseg.tables import MINUS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST_NAME = 26
_MOST_NUMBERED = 12
"""With up to so many classes the cells hold their numbers."""


@dataclass(frozen=True)
class RelationPanel:
    """The relations in one embedding of one run."""

    run: str
    embedding: str
    relations: Relations


def draw_relations(
    path: Path, panels: Sequence[RelationPanel], names: Sequence[str], *, by_tree: bool = False
) -> None:
    """A heat map above a tree for each panel, on one scale, with the classes in one order for all of them.

    The order is the dataset's or, `by_tree`, that of the leaves of the first panel's tree.
    """
    relations = [one.relations for one in panels]
    shown = leaf_order(relations) if by_tree else tuple(sorted(leaf_order(relations)))
    if not shown:
        raise UserError("no class has a pixel in these images: there is nothing to compare")
    absent = [name for number, name in enumerate(names) if number not in shown]
    lowest = min(0.0, math.floor(10 * min(float(one.graph.nan_to_num(1).min()) for one in relations)) / 10)
    trees = [one.tree() for one in relations]
    farthest = max((float(tree.linkage[-1, 2]) for tree in trees if tree), default=0.0)
    labels = {number: shortened(names[number], _LONGEST_NAME) for number in shown}
    # Names of many classes need a large sheet, and its titles large letters.
    side = max(2.6, 0.115 * len(shown))
    points, large = min(8.0, 54 * side / len(shown)), max(9.0, 1.8 * side)
    depth = min(side, 0.25 * len(shown))  # of a tree
    with sheet(path, width=len(panels) * (side + 1.2) + 0.8, height=side + depth + 2.2) as figure:
        grid = figure.subplots(2, len(panels), squeeze=False, height_ratios=[side, depth])
        for number, (one, tree) in enumerate(zip(panels, trees, strict=True)):
            above, below = grid[:, number]
            title = f"{shortened(one.run, 24)}: {one.embedding}"
            mean = f"mean similarity {one.relations.mean_similarity:.2f}".replace("-", MINUS)
            above.set_title(f"{title}\n{mean}", fontsize=large)
            _draw_graph(above, one.relations, labels, lowest, points)
            if tree is None:
                below.remove()
                continue
            _draw_tree(below, tree.branches(), [labels[leaf] for leaf in tree.leaves], farthest, points)
            below.set_box_aspect(depth / side)
            below.set_xlabel("1 − cosine", fontsize=0.9 * large)
            below.tick_params(axis="x", length=2, labelsize=0.8 * large)
        bar = figure.colorbar(grid[0, 0].images[0], ax=list(grid[0]), shrink=0.7, aspect=25, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=2, labelsize=0.8 * large)
        bar.set_label("cosine of class means", fontsize=0.9 * large)
        annotate(figure, about=f"Left out, having no pixels here: {', '.join(absent)}." if absent else "")


def _draw_graph(
    axes: Axes, relations: Relations, labels: dict[int, str], lowest: float, points: float
) -> None:
    """The graph (K, K) with names on two sides; brighter is closer."""
    shown = list(labels)
    graph = relations.graph[shown][:, shown].numpy()
    axes.set_facecolor("#d0d0d0")  # where nothing is known
    axes.imshow(graph, cmap=SCALE, vmin=lowest, vmax=1, interpolation="nearest")
    places = range(len(shown))
    axes.set_xticks(places, list(labels.values()), rotation=90, fontsize=points, color=INK)
    axes.set_yticks(places, list(labels.values()), fontsize=points, color=INK)
    axes.tick_params(length=0, pad=3)
    if len(shown) > _MOST_NUMBERED:
        return
    for row in places:
        for column in places:
            value = float(graph[row, column])
            colour = "black" if value > lowest + 0.6 * (1 - lowest) else "white"
            if not math.isnan(value):
                text = f"{value:.2f}".replace("0.", ".").replace("-", MINUS)
                axes.text(column, row, text, ha="center", va="center", fontsize=6.5, color=colour)


def _draw_tree(
    axes: Axes, branches: Sequence[Branch], names: Sequence[str], farthest: float, points: float
) -> None:
    """Leaves on the left; two parts are joined the further right, the less alike they are."""
    from matplotlib.collections import LineCollection

    lines = []
    for branch in branches:
        (before, joined, after), (first, second) = branch.distances, branch.places
        lines.append([(before, first), (joined, first), (joined, second), (after, second)])
    axes.add_collection(LineCollection(lines, colors=INK, linewidths=0.9))
    axes.set_yticks(range(len(names)), names, fontsize=points, color=INK)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, 1.03 * farthest if farthest > 0 else 1)
    axes.tick_params(axis="y", length=0, pad=3)
    axes.spines[["left", "right", "top"]].set_visible(False)
