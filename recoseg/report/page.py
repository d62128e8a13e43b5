"""The page: one HTML file with everything in it, for one run or several on the same classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.report.class_table import class_table
from recoseg.report.confusion_matrix import confusion
from recoseg.report.difference_table import difference_table
from recoseg.report.gallery import gallery
from recoseg.report.markup import Markup, render, source
from recoseg.report.relation_graphs import relation_graphs
from recoseg.report.run_view import RunView
from recoseg.report.summary import origin, summary
from recoseg.report.training_curves import training
from recoseg.text import how_many
from recoseg.types import require_same_classes

_GENERATOR = b'name="generator" content="recoseg"'


@dataclass(frozen=True)
class Section:
    """`draw` makes the markup of the runs. A page of a single run leaves out sections `for_several`."""

    heading: str
    draw: Callable[[Sequence[RunView]], Markup]
    for_several: bool = False


SECTIONS = {
    "summary": Section("Summary", summary),
    "curves": Section("Training", training),
    "classes": Section("Classes", class_table),
    "differences": Section("Differences", difference_table, for_several=True),
    "confusion": Section("Confusion", confusion),
    "relations": Section("Relations of classes", relation_graphs),
    "pictures": Section("Pictures", gallery),
    "origin": Section("Reproduce", origin),
}
"""Parts of the page in order, by the anchors of their links."""


def write_page(path: Path, runs: Sequence[RunView], *, title: str) -> None:
    """Write the page of `runs` to `path`, whole or not at all."""
    write_whole(path, page(runs, title=title))


def require_replaceable(path: Path) -> None:
    """Refuse to overwrite a file that is not a page of recoseg."""
    if path.is_dir():
        raise UserError(
            f"{path} is a folder; give the name of a file for the page, such as {path}/index.html"
        )
    if path.exists():
        with path.open("rb") as file:
            if _GENERATOR not in file.read(2000):
                raise UserError(f"{path} exists and is not a page of recoseg; choose another --out")


def page(runs: Sequence[RunView], *, title: str) -> str:
    if not runs:
        raise UserError("a page needs at least one run")
    require_same_classes([(run.name, run.classes) for run in runs], remedy="give each its own page")
    sections = [
        (anchor, section.heading, section.draw(runs))
        for anchor, section in SECTIONS.items()
        if len(runs) > 1 or not section.for_several
    ]
    return render(
        "page.html",
        title=title,
        subtitle=subtitle(runs),
        style=source("page.css"),
        script=source("page.js"),
        sections=sections,
    )


def subtitle(runs: Sequence[RunView]) -> str:
    """The run or the number of runs, and the data that the scores belong to."""
    who = runs[0].name if len(runs) == 1 else how_many(len(runs), "run")
    networks = {run.network for run in runs}
    network = f" · {networks.pop()}" if len(runs) > 1 and len(networks) == 1 else ""
    sizes = {run.survey.num_images for run in runs if run.survey}
    images = f" · {how_many(sizes.pop(), 'validation image')}" if len(sizes) == 1 else ""
    return f"{who} · {how_many(len(runs[0].classes), 'class')}{images}{network}"
