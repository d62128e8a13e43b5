"""The page: one HTML file with everything in it, for one run or several on the same classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.report.class_table import class_table
from recoseg.report.confusion_matrix import confusion
from recoseg.report.difference_table import difference_table
from recoseg.report.gallery import gallery
from recoseg.report.markup import Markup, joined, tag
from recoseg.report.relation_graphs import relation_graphs
from recoseg.report.run_view import RunView
from recoseg.report.summary import origin, summary
from recoseg.report.training_curves import training
from recoseg.text import how_many
from recoseg.types import require_same_classes

_GENERATOR = b'name="generator" content="recoseg"'


@dataclass(frozen=True)
class Section:
    """`draw` makes its markup from the runs; one `for_several` is left out where there is a single run."""

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
"""What the page is made of, in order, by the anchors of its links."""


def write_page(path: Path, runs: Sequence[RunView], *, title: str) -> None:
    """Write the page of `runs` to `path`, all of it or nothing."""
    write_whole(path, page(runs, title=title))


def require_replaceable(path: Path) -> None:
    """A page may be written anew; a file that is something else may not be lost."""
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
    wanted = {
        anchor: section for anchor, section in SECTIONS.items() if len(runs) > 1 or not section.for_several
    }
    sections = joined(_section_markup(anchor, one.heading, one.draw(runs)) for anchor, one in wanted.items())
    return Template(_part("page.html")).substitute(
        title=escape(title),
        subtitle=escape(subtitle(runs)),
        style=_part("page.css"),
        script=_part("page.js"),
        links=joined(tag("a", one.heading, href=f"#{anchor}") for anchor, one in wanted.items()),
        sections=sections,
    )


def _section_markup(anchor: str, heading: str, content: Markup) -> Markup:
    return tag(
        "section",
        tag("h2", heading, id=f"{anchor}-heading"),
        content,
        id=anchor,
        aria_labelledby=f"{anchor}-heading",
    )


def subtitle(runs: Sequence[RunView]) -> str:
    """Which run, or how many, and what the scores are of."""
    who = runs[0].name if len(runs) == 1 else how_many(len(runs), "run")
    networks = {run.network for run in runs}
    network = f" · {networks.pop()}" if len(runs) > 1 and len(networks) == 1 else ""
    sizes = {run.survey.num_images for run in runs if run.survey}
    images = f" · {how_many(sizes.pop(), 'validation image')}" if len(sizes) == 1 else ""
    return f"{who} · {how_many(len(runs[0].classes), 'class')}{images}{network}"


def _part(name: str) -> str:
    """A file that ships beside this one."""
    return files("recoseg.report").joinpath(name).read_text(encoding="utf-8")
