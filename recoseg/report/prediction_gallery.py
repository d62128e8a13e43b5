"""The gallery of predictions: a page in their folder that shows all of them, the least certain first."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from recoseg.files import write_whole
from recoseg.overlay import Overlay
from recoseg.predict.output_folder import OutputFolder
from recoseg.report.markup import render, source
from recoseg.text import how_many, percent, printable
from recoseg.types import ClassInfo


def write_gallery(output: OutputFolder, classes: ClassInfo, *, title: str) -> Path:
    """Write `index.html` into the folder of results, with all results there; return its path."""
    page = output.path / "index.html"
    write_whole(page, gallery_page(output, classes, title=title))
    return page


def gallery_page(output: OutputFolder, classes: ClassInfo, *, title: str) -> str:
    """The page. Pictures stay in their files: a browser fetches the thumbnails that come into sight."""
    found = sorted(output.thumbnails().items(), key=lambda item: item[1].confidence)
    mean = sum(thumbnail.confidence for _, thumbnail in found) / max(len(found), 1)
    drawn = (output.overlay or Overlay()).tinted(classes)
    return render(
        "prediction_gallery.html",
        title=title,
        subtitle=f"{how_many(len(found), 'image')} · {percent(mean)} sure on average",
        style=source("page.css") + source("prediction_gallery.css"),
        script=source("prediction_gallery.js"),
        classes=[
            (printable(name), colour)
            for name, colour, is_drawn in zip(classes.names, classes.palette, drawn, strict=False)
            if is_drawn
        ],
        cards=[
            {
                "name": name,
                "title": printable(name),
                "confidence": thumbnail.confidence,
                "thumbnail": quote(f"thumbnails/{name}.jpg"),
                "overlay": quote(output.overlay_file(Path(name)).relative_to(output.path).as_posix()),
                "width": thumbnail.width,
                "height": thumbnail.height,
            }
            for name, thumbnail in found
        ],
    )
