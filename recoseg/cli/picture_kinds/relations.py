"""Show how alike the classes are to a network: heat maps and trees.

The cosine between the means of any two classes over all validation images, in the embedding Z, which the
classifier reads, and in R, the output of the representation head, where a run has one. Beside the picture
the numbers are saved as JSON. What takes time is kept in the run folder as survey.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.cli.picture_words import open_runs
from recoseg.cli.run_words import add_trust_argument
from recoseg.errors import UserError
from recoseg.words import printable

if TYPE_CHECKING:
    from recoseg.figures.relations import RelationPanel

BESIDE: tuple[str, ...] = (".json",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--order",
        choices=("data", "dendrogram"),
        default="data",
        help="classes as the dataset lists them, or as the leaves of the first tree (default: data)",
    )
    add_trust_argument(parser)


def draw(arguments: argparse.Namespace, out: Path) -> None:
    from recoseg.figures.relations import draw_relations
    from recoseg.files import write_whole

    panels, names = read_panels(arguments.runs, trust=arguments.trust)
    draw_relations(out, panels, names, by_tree=arguments.order == "dendrogram")
    beside = out.with_suffix(".json")
    plain = {"classes": list(names), "graphs": [as_plain(panel) for panel in panels]}
    write_whole(beside, json.dumps(plain) + "\n")
    show(panels, names)
    print(f"numbers: {printable(str(beside))}")


def read_panels(paths: Sequence[str], *, trust: bool) -> tuple[list[RelationPanel], tuple[str, ...]]:
    """The graphs of all runs, and the names of their classes."""
    from recoseg.builders.survey import surveyed
    from recoseg.cli.check import progress_of
    from recoseg.cli.terminal import new_console
    from recoseg.figures.relations import RelationPanel

    runs = open_runs(paths, trust=trust)
    panels = []
    for name, run in runs.items():
        with progress_of(
            new_console(stderr=True), doing=f"looking through {name}", did="looked at"
        ) as progress:
            relations = surveyed(run, progress=progress).relations
        panels += [RelationPanel(name, embedding, one) for embedding, one in relations.items()]
    if not panels:
        raise UserError("no layer of these networks could be found that makes the logits, so there is no Z")
    return panels, next(iter(runs.values())).dataset.classes.names


def as_plain(panel: RelationPanel) -> dict[str, Any]:
    tree = panel.relations.tree()
    mean = panel.relations.mean_similarity
    return {
        "run": panel.run,
        "embedding": panel.embedding,
        "mean_similarity": None if mean != mean else mean,
        "absent": list(panel.relations.absent),
        "leaves": [] if tree is None else list(tree.leaves),
        "linkage": [] if tree is None else tree.linkage.tolist(),
        "linkage_classes": [] if tree is None else list(tree.classes),
        **panel.relations.as_plain(),
    }


def show(panels: Sequence[RelationPanel], names: Sequence[str]) -> None:
    """A row a graph: how alike classes are on the whole, and which two most."""
    from rich.table import Table
    from rich.text import Text

    from recoseg.cli.terminal import new_console

    table = Table("run", "", header_style="bold")
    table.add_column("mean similarity", justify="right")
    table.add_column("most alike")
    for panel in panels:
        pair = panel.relations.closest()
        alike = "–"
        for one, other in pair:
            alike = f"{names[one]}, {names[other]} ({float(panel.relations.graph[one, other]):.2f})"
        mean = panel.relations.mean_similarity
        told = "–" if mean != mean else f"{mean:.3f}"
        run, pair_names = (Text(printable(text), overflow="fold") for text in (panel.run, alike))
        table.add_row(run, panel.embedding, told, pair_names)
    new_console().print(table)
