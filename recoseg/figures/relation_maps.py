"""The class relation graph as heat maps, and the trees of classes that follow from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from recoseg.errors import UserError
from recoseg.evaluate.class_relations import Branch, Relations, leaf_order
from recoseg.figures.sheet import INK, MUTED, Sheet, sheet, shortened, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage


_COLOURS = "viridis"  # brighter is closer, as in the paper; also for the colour-blind, and in print
_LONGEST_NAME = 26
_MOST_NUMBERED = 12
"""Up to so many classes the cells hold their numbers."""


@dataclass(frozen=True)
class RelationPanel:
    """The relations in one embedding of one run."""

    run: str
    embedding: str
    relations: Relations

    @property
    def title(self) -> str:
        return f"{shortened(self.run, 34)}: {self.embedding}"


@dataclass(frozen=True)
class Layout:
    """In inches; everything follows from the number of classes, their names, and the number of panels."""

    names: tuple[str, ...]  # all classes
    classes: tuple[int, ...]  # the rows and columns of the heat maps
    num_panels: int
    note: str

    between = 0.2  # between a heat map's names and the tree below

    @property
    def cell(self) -> float:
        """Large for few classes; for many as small as a name can be."""
        return min(1.1, max(0.105, 4.2 / max(1, len(self.classes))))

    @property
    def side(self) -> float:
        return self.cell * len(self.classes)

    @property
    def leaf(self) -> float:
        """The height of a leaf of a tree."""
        return min(self.cell, 0.3)

    @property
    def points(self) -> float:
        return min(9.0, 0.75 * 72 * self.cell)

    @property
    def title_points(self) -> float:
        """A large sheet is looked at from afar."""
        return max(10.0, 1.8 * self.side)

    @property
    def top(self) -> float:
        """Above a heat map, for its title."""
        return 0.062 * self.title_points

    @property
    def axis(self) -> float:
        """Under a tree."""
        return 0.25 + 0.025 * self.title_points

    @property
    def margin(self) -> float:
        """For the names on the left of a panel, and below it."""
        longest = max(len(shortened(self.names[number], _LONGEST_NAME)) for number in self.classes)
        return text_width(longest, self.points) + 0.15

    @property
    def bar(self) -> float:
        """Right of the last panel, for the scale."""
        return 0.25 + 0.06 * self.title_points

    @property
    def pitch(self) -> float:
        return max(self.side, 2.4) + self.margin + 0.2

    @property
    def width(self) -> float:
        return self.num_panels * self.pitch + self.bar

    @property
    def tree_top(self) -> float:
        return self.top + self.side + self.margin + self.between

    @property
    def tree_height(self) -> float:
        return self.leaf * len(self.classes)

    @property
    def note_points(self) -> float:
        return 0.8 * self.title_points

    @property
    def wrapped_note(self) -> str:
        return fill(self.note, max(30, int(self.width / text_width(1, self.note_points))))

    @property
    def height(self) -> float:
        lines = self.wrapped_note.count("\n") + 1 if self.note else 0
        return self.tree_top + self.tree_height + self.axis + 0.02 * self.note_points * lines

    def left(self, number: int) -> float:
        return number * self.pitch + self.margin


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
    note = f"Left out, having no pixels here: {', '.join(absent)}." if absent else ""
    layout = Layout(tuple(names), shown, len(panels), note)
    lowest = min(0.0, math.floor(10 * min(_lowest_cosine(one) for one in relations)) / 10)
    farthest = max(_tree_height(one) for one in relations)
    with sheet(path, width=layout.width, height=layout.height) as page:
        for number, one in enumerate(panels):
            drawn = _draw_graph(page, layout, number, one, lowest)
            _draw_tree(page, layout, number, one.relations, farthest)
        _draw_scale(page, layout, drawn)
        if note:
            told, points = layout.wrapped_note, layout.note_points
            page.text(0.1, layout.height - 0.08, told, va="bottom", fontsize=points, color=MUTED)


def _lowest_cosine(relations: Relations) -> float:
    return float(relations.graph.nan_to_num(1).min())


def _tree_height(relations: Relations) -> float:
    tree = relations.tree()
    return 0.0 if tree is None else float(tree.linkage[-1, 2])


def _draw_graph(page: Sheet, layout: Layout, number: int, panel: RelationPanel, lowest: float) -> AxesImage:
    """The graph (K, K) of one panel, its names on both sides."""
    shown = list(layout.classes)
    graph = panel.relations.graph[shown][:, shown].numpy()
    left, middle = layout.left(number), layout.left(number) + layout.side / 2
    large = layout.title_points
    page.text(middle, 0.32 * layout.top, panel.title, ha="center", fontsize=large, weight="bold")
    mean = panel.relations.mean_similarity
    told = f"mean similarity {mean:.2f}"
    page.text(middle, 0.68 * layout.top, told, ha="center", fontsize=0.9 * large, color=MUTED)
    axes = page.picture(left, layout.top, layout.side, layout.side, graph, cmap=_COLOURS, vmin=lowest, vmax=1)
    axes.set_facecolor("#d0d0d0")  # where nothing is known
    places = range(len(shown))
    names = [shortened(layout.names[place], _LONGEST_NAME) for place in shown]
    axes.set_xticks(places, names, rotation=90, fontsize=layout.points)
    axes.set_yticks(places, names, fontsize=layout.points)
    axes.tick_params(length=0, pad=3)
    if len(shown) <= _MOST_NUMBERED:
        for row in places:
            for column in places:
                value = float(graph[row, column])
                colour = "black" if value > lowest + 0.6 * (1 - lowest) else "white"
                if value == value:
                    axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)
    return axes.images[0]


def _draw_tree(page: Sheet, layout: Layout, number: int, relations: Relations, farthest: float) -> None:
    """The tree of one panel: leaves on the left, and joined the further right the less alike they are."""
    from matplotlib.collections import LineCollection

    tree = relations.tree()
    if tree is None:
        return
    height = layout.leaf * len(tree.leaves)
    axes = page.axes(layout.left(number), layout.tree_top, max(layout.side, 2.0), height)
    lines = [_branch_corners(branch) for branch in tree.branches()]
    axes.add_collection(LineCollection(lines, colors=INK, linewidths=0.9))
    names = [shortened(layout.names[leaf], _LONGEST_NAME) for leaf in tree.leaves]
    axes.set_yticks(range(len(names)), names, fontsize=layout.points)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, 1.03 * farthest if farthest > 0 else 1)
    axes.tick_params(axis="y", length=0, pad=3)
    _plain_axis(axes, 0.8 * layout.title_points)


def _branch_corners(branch: Branch) -> list[tuple[float, float]]:
    """From one part of the tree to where both join, across, and back to the other part."""
    (before, joined, after), (first, second) = branch.distances, branch.places
    return [(before, first), (joined, first), (joined, second), (after, second)]


def _plain_axis(axes: Axes, points: float) -> None:
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="x", length=2, labelsize=points, colors=MUTED)
    axes.set_xlabel("1 − cosine", fontsize=points, color=MUTED, labelpad=2)


def _draw_scale(page: Sheet, layout: Layout, image: AxesImage) -> None:
    height, points = min(layout.side, max(3.0, layout.side / 3)), 0.8 * layout.title_points
    left = layout.left(layout.num_panels - 1) + layout.side + 0.15
    axes = page.axes(left, layout.top, 0.012 * layout.title_points, height)
    bar = page.figure.colorbar(image, cax=axes)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, labelsize=points, colors=MUTED)
    bar.set_label("cosine of class means", fontsize=points, color=MUTED)
