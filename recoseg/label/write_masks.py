"""Labels or predictions of all images as files: index masks, coloured masks, overlays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from recoseg.data.image_files import read_rgb
from recoseg.errors import UserError
from recoseg.exchange.exporting import coco_text
from recoseg.files import whole_file, write_whole
from recoseg.label.actions import NotNowError
from recoseg.label.label_folder import png_of
from recoseg.label.marks import Bytes
from recoseg.overlay import Overlay
from recoseg.types import IGNORE

if TYPE_CHECKING:
    from recoseg.label.labelling import Labelling

KINDS = ("index", "palette", "overlay", "coco")
SOURCES = ("labels", "prediction")


def write_masks(labelling: Labelling, what: object, of: object) -> dict[str, Any]:
    """Below `export/` of the folder, of all images that have some."""
    if not isinstance(what, list) or not what or not set(map(str, what)) <= set(KINDS):
        raise UserError(f"what: needs a list of {', '.join(KINDS)}")
    if of not in SOURCES:
        raise UserError(f"of: needs one of {', '.join(SOURCES)}")
    folder = labelling.folder
    target = folder.root / "export" / str(of)
    palette = [one.colour for one in folder.state.classes()]
    num_files = 0
    for key, indices in _masks(labelling, str(of)):
        for kind in dict.fromkeys(map(str, what)):
            if kind == "coco":
                continue  # one file for all, below
            path = target / kind / f"{key}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "overlay":
                drawn = Overlay().draw(read_rgb(folder.images[key]), indices, folder.class_info())
                with whole_file(path) as temporary:
                    drawn.save(temporary, "PNG")
            else:
                write_whole(path, png_of(indices, palette=palette if kind == "palette" else None))
            num_files += 1
    if "coco" in what and next(_masks(labelling, str(of)), None) is not None:
        photos = (
            (f"{key}{folder.images[key].suffix}", indices) for key, indices in _masks(labelling, str(of))
        )
        target.mkdir(parents=True, exist_ok=True)
        write_whole(target / "coco.json", coco_text(photos, folder.class_info(), polygons=False))
        num_files += 1
    if not num_files:
        raise NotNowError(f"there are no {'labels' if of == 'labels' else 'predictions'} to write yet")
    return {"folder": str(target), "files": num_files}


def _masks(labelling: Labelling, of: str) -> Iterator[tuple[str, Bytes]]:
    """(key, (H, W) class indices) of every image of which something is known."""
    folder, table = labelling.folder, labelling.folder.index_table()
    for key in folder.labelled() if of == "labels" else folder.images:
        if of == "labels":
            indices = folder.class_indices(key)
        else:
            prediction = labelling.predicted(key)
            if prediction is None:
                continue
            indices = table[prediction.mask(folder.size(key))]
        if (indices != IGNORE).any():
            yield key, indices
