"""The page: one HTML file with everything in it, for one run or several on the same classes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.report.class_table import class_table
from recoseg.report.curves import curves
from recoseg.report.gallery import gallery
from recoseg.report.markup import Markup, joined, tag
from recoseg.report.numbers import how_many
from recoseg.report.origin import origin
from recoseg.report.run_view import RunView
from recoseg.report.summary import summary

SECTIONS = {
    "summary": ("Summary", summary),
    "curves": ("Training", curves),
    "classes": ("Classes", class_table),
    "pictures": ("Pictures", gallery),
    "origin": ("Reproduce", origin),
}
"""What the page is made of, in order: anchor, heading, and the function that draws it from the runs."""


def write_page(path: Path, runs: Sequence[RunView], *, title: str) -> None:
    """Write the page of `runs` to `path`, all of it or nothing."""
    write_whole(path, page(runs, title=title))


def page(runs: Sequence[RunView], *, title: str) -> str:
    check_comparable(runs)
    sections = joined(section(anchor, heading, draw(runs)) for anchor, (heading, draw) in SECTIONS.items())
    return Template(part("page.html")).substitute(
        title=escape(title),
        subtitle=escape(subtitle(runs)),
        style=part("page.css"),
        script=part("page.js"),
        links=joined(tag("a", heading, href=f"#{anchor}") for anchor, (heading, _) in SECTIONS.items()),
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
    """Which run, or how many."""
    who = runs[0].name if len(runs) == 1 else how_many(len(runs), "run")
    return f"{who} · {how_many(len(runs[0].classes), 'class')}"


def check_comparable(runs: Sequence[RunView]) -> None:
    """Runs share a page only if their classes mean the same."""
    if not runs:
        raise UserError("a page needs at least one run")
    for run in runs[1:]:
        if run.classes != runs[0].classes:
            raise UserError(f"{run.name!r} has other classes than {runs[0].name!r}: give each its own page")


def part(name: str) -> str:
    """A file that ships beside this one."""
    return files("recoseg.report").joinpath(name).read_text(encoding="utf-8")
