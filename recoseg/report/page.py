"""The page: one HTML file with everything in it, for one run or several on the same classes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from recoseg.errors import UserError
from recoseg.files import regular, write_whole
from recoseg.report.class_table import class_table
from recoseg.report.confusion import confusion
from recoseg.report.curves import curves
from recoseg.report.differences import differences
from recoseg.report.gallery import gallery
from recoseg.report.markup import Markup, joined, tag
from recoseg.report.numbers import how_many
from recoseg.report.origin import origin
from recoseg.report.relations import relations
from recoseg.report.run_view import RunView
from recoseg.report.summary import summary
from recoseg.types import ClassInfo

GENERATOR = b'name="generator" content="recoseg"'

SECTIONS = {
    "summary": ("Summary", summary),
    "curves": ("Training", curves),
    "classes": ("Classes", class_table),
    "differences": ("Differences", differences),
    "confusion": ("Confusion", confusion),
    "relations": ("Relations of classes", relations),
    "pictures": ("Pictures", gallery),
    "origin": ("Reproduce", origin),
}
"""What the page is made of, in order: anchor, heading, and the function that draws it from the runs."""

FOR_SEVERAL = {"differences"}
"""Sections that one run alone does not have."""


def write_page(path: Path, runs: Sequence[RunView], *, title: str) -> None:
    """Write the page of `runs` to `path`, all of it or nothing."""
    write_whole(path, page(runs, title=title))


def require_replaceable(path: Path) -> None:
    """A page may be written anew; a file that is something else may not be lost."""
    if path.is_dir():
        raise UserError(
            f"{path} is a folder; give the name of a file for the page, such as {path}/index.html"
        )
    if path.exists() and GENERATOR not in start_of(path):
        raise UserError(f"{path} exists and is not a page of recoseg; choose another --out")


def start_of(path: Path) -> bytes:
    with regular(path).open("rb") as file:
        return file.read(2000)


def page(runs: Sequence[RunView], *, title: str) -> str:
    require_same_classes([(run.name, run.classes) for run in runs])
    wanted = {key: value for key, value in SECTIONS.items() if len(runs) > 1 or key not in FOR_SEVERAL}
    sections = joined(section(anchor, heading, draw(runs)) for anchor, (heading, draw) in wanted.items())
    return Template(part("page.html")).substitute(
        title=escape(title),
        subtitle=escape(subtitle(runs)),
        style=part("page.css"),
        script=part("page.js"),
        links=joined(tag("a", heading, href=f"#{anchor}") for anchor, (heading, _) in wanted.items()),
        sections=sections,
    )


def section(anchor: str, heading: str, content: Markup) -> Markup:
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


def require_same_classes(runs: Sequence[tuple[str, ClassInfo]]) -> None:
    """Runs, by name, share a page only if their classes mean the same."""
    if not runs:
        raise UserError("a page needs at least one run")
    first, classes = runs[0]
    for name, others in runs[1:]:
        if others != classes:
            raise UserError(f"{name!r} has other classes than {first!r}: give each its own page")


def part(name: str) -> str:
    """A file that ships beside this one."""
    return files("recoseg.report").joinpath(name).read_text(encoding="utf-8")
