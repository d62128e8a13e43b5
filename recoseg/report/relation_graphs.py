"""The section on relations: how alike classes look to a network, in the order of its tree, for Z and R."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from recoseg.evaluate.class_relations import Relations, Tree
from recoseg.report.heat_map import heat_key, heat_map
from recoseg.report.markup import Markup, joined, run_heading, tag
from recoseg.report.run_view import RunView
from recoseg.report.summary import some
from recoseg.text import DASH

_ABOUT = (
    "Cosine of the mean embeddings of two classes over the validation images: 1 is the same direction, 0 "
    "unrelated. The less alike different classes are, the better the network tells them apart. Classes stand "
    "in the order of the tree beside them: the further right two branches join, the less alike they are."
)
_SPACES = {"Z": "what the classifier reads", "R": "what regional contrast trains"}
_MOST_PAIRS = 5


def relation_graphs(runs: Sequence[RunView]) -> Markup:
    """For each space the figures of all runs that have it, side by side."""
    if not any(_relations_of(run) for run in runs):
        return tag("p", "No run has weights whose classes could be compared yet.", class_="muted")
    key = tag("p", heat_key("−1", "0", "1", both_ways=True), class_="about")
    parts = (_of_space(runs, space) for space in _SPACES)
    side_by_side = tag("div", *parts, class_="heats wide" if len(runs) == 1 else None)
    return joined([tag("p", _ABOUT, class_="about"), key, side_by_side])


def _relations_of(run: RunView) -> Mapping[str, Relations]:
    return run.survey.relations if run.survey is not None else {}


def _of_space(runs: Sequence[RunView], space: str) -> Markup:
    """Of all runs that have it."""
    found = [(number, run) for number, run in enumerate(runs) if space in _relations_of(run)]
    if not found:
        return Markup()
    figures = (_figure(run, number, space, alone=len(runs) == 1) for number, run in found)
    heading = tag("h3", space, tag("span", f" {_SPACES[space]}", class_="muted"))
    return tag("div", heading, tag("div", *figures, class_="heats wide"), class_="run-part")


def _figure(run: RunView, number: int, space: str, *, alone: bool) -> Markup:
    """Heat map and tree of one space, its number, and its closest pairs."""
    relations, names = _relations_of(run)[space], run.classes.names
    whose = Markup() if alone else run_heading(run.name, number, level="h4")
    mean = tag("p", "Mean similarity ", tag("strong", cosine(relations.mean_similarity)), class_="mean")
    heading = joined([whose, mean])
    tree = relations.tree()
    if tree is None:
        text = "Fewer than two classes have pixels: nothing to compare."
        return tag("div", heading, tag("p", text, class_="muted"), class_="heat-figure")
    order = list(tree.leaves)
    picture = heat_map(
        relations.graph[order][:, order].numpy(),
        [names[index] for index in order],
        label=f"Relation graph of {run.name} in {space}",
        says="{row} and {column}: {value}",
        decimals=2,
        beside=dendrogram(tree, names),
        columns=False,
    )
    closest = (
        f"{names[one]} and {names[other]} {cosine(float(relations.graph[one, other]))}"
        for one, other in relations.closest(_MOST_PAIRS)
    )
    notes = [tag("p", f"Most alike: {', '.join(closest)}.", class_="note")]
    if relations.absent:
        left_out = some([names[index] for index in relations.absent])
        notes.append(tag("p", f"Without pixels, left out: {left_out}.", class_="note"))
    return tag("div", heading, picture, *notes, class_="heat-figure")


def dendrogram(tree: Tree, names: Sequence[str]) -> Markup:
    """Branches as steps, the leaves on the left in line with the rows of the heat map."""
    furthest = max(float(tree.linkage[:, 2].max()), 1e-9)
    paths = []
    for branch in tree.branches():
        x1, x, x2 = (98 * distance / furthest for distance in branch.distances)  # in per cent
        y1, y2 = (place + 0.5 for place in branch.places)  # in rows
        together = some([names[index] for index in branch.members])
        title = tag("title", f"{together}: {cosine(1 - branch.distances[1])} on average")
        path = f"M{x1:.1f} {y1:g}H{x:.1f}V{y2:g}H{x2:.1f}"
        paths.append(tag("path", title, d=path, vector_effect="non-scaling-stroke"))
    return tag(
        "svg",
        *paths,
        viewBox=f"0 0 100 {len(tree.classes)}",
        preserveAspectRatio="none",
        class_="dendrogram",
        role="img",
        aria_label="Dendrogram of the classes, in the order of the rows",
    )


def cosine(value: float) -> str:
    return DASH if math.isnan(value) else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")  # never -0.00
