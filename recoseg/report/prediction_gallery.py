"""The gallery of predictions: a page beside their files that shows all of them, the least certain first."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from urllib.parse import quote

from recoseg.files import write_whole
from recoseg.overlay import Overlay
from recoseg.predict.output_folder import OutputFolder
from recoseg.predict.thumbnail import Thumbnail
from recoseg.report.class_table import colour_box
from recoseg.report.markup import Markup, tag
from recoseg.text import how_many, percent, printable
from recoseg.types import ClassInfo


def write_gallery(output: OutputFolder, classes: ClassInfo, *, title: str) -> Path:
    """`index.html` in the folder of results, of all that are there; returns where it is."""
    page = output.path / "index.html"
    write_whole(page, gallery_page(output, classes, title=title))
    return page


def gallery_page(output: OutputFolder, classes: ClassInfo, *, title: str) -> str:
    """Pictures stay in their files: a browser fetches the thumbnails that come into sight."""
    found = sorted(output.thumbnails().items(), key=lambda item: item[1].confidence)
    mean = sum(thumbnail.confidence for _, thumbnail in found) / max(len(found), 1)
    return Template(_part("prediction_gallery.html")).substitute(
        title=escape(title),
        subtitle=escape(f"{how_many(len(found), 'image')} · {percent(mean)} sure on average"),
        style=_part("page.css") + _part("prediction_gallery.css"),
        script=_part("prediction_gallery.js"),
        legend=_class_legend(classes, output.overlay or Overlay()),
        cards="\n".join(_card(output, name, thumbnail) for name, thumbnail in found),
    )


def _class_legend(classes: ClassInfo, look: Overlay) -> Markup:
    """The classes that are drawn."""
    drawn = look.tinted(classes)
    shown = [index for index in range(len(classes)) if drawn[index]]
    items = (tag("li", colour_box(classes.palette[k]), printable(classes.names[k])) for k in shown)
    return tag("ul", *items, class_="legend")


def _card(output: OutputFolder, name: str, thumbnail: Thumbnail) -> Markup:
    """A thumbnail that leads to the overlay, the image's name, and how sure the network is of it."""
    overlay = output.overlay_file(Path(name)).relative_to(output.path)
    image = tag(
        "img",
        src=quote(f"thumbnails/{name}.jpg"),
        alt=f"{printable(name)}: image, overlay and confidence",
        loading="lazy",
        decoding="async",
        style=f"--w:{thumbnail.width};--h:{thumbnail.height}",
    )
    sure = tag("span", tag("span", style=f"width:{100 * thumbnail.confidence:.1f}%"), class_="track")
    return tag(
        "li",
        tag("a", image, href=quote(overlay.as_posix())),
        tag("p", printable(name), class_="key"),
        tag("p", sure, tag("span", f"{percent(thumbnail.confidence)} sure"), class_="sure"),
        data_name=name,
        data_confidence=f"{thumbnail.confidence:.6f}",
    )


def _part(name: str) -> str:
    """A file that ships beside this one."""
    return files("recoseg.report").joinpath(name).read_text(encoding="utf-8")
