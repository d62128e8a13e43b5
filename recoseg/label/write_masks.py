"""Labels or predictions of all images as files: index masks, coloured masks, overlays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from recoseg.data.image_files import read_rgb
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.files import whole_file, write_whole
from recoseg.label.actions import NotNowError
from recoseg.label.label_folder import png_of
from recoseg.label.marks import Bytes
from recoseg.label_formats.exporting import coco_text
from recoseg.overlay import Overlay
from recoseg.types import IGNORE

if TYPE_CHECKING:
    from recoseg.label.labelling import Labelling

KINDS = ("index", "palette", "overlay", "coco")
SOURCES = ("labels", "prediction")


def write_masks(labelling: Labelling, what: object, of: object) -> dict[str, Any]:
    """Below `export/` of the folder, of all images that have some and can be read."""
    if not isinstance(what, list) or not what or not set(map(str, what)) <= set(KINDS):
        raise UserError(f"what: needs a list of {', '.join(KINDS)}")
    if of not in SOURCES:
        raise UserError(f"of: needs one of {', '.join(SOURCES)}")
    export = _Export(labelling, set(map(str, what)), str(of))
    if "coco" in what:
        text = coco_text(export.images(), labelling.folder.class_info(), polygons=False)
        if export.num_images:
            export.target.mkdir(parents=True, exist_ok=True)
            write_whole(export.target / "coco.json", text)
            export.num_files += 1
    else:
        for _ in export.images():
            pass
    if not export.num_files:
        raise NotNowError(f"there are no {'labels' if of == 'labels' else 'predictions'} to write yet")
    return {"folder": str(export.target), "files": export.num_files, "left_out": export.num_left_out}


class _Export:
    def __init__(self, labelling: Labelling, kinds: set[str], of: str) -> None:
        self.labelling, self.kinds, self.of = labelling, kinds, of
        self.folder = labelling.folder
        self.target = self.folder.root / "export" / of
        self.num_images = self.num_files = self.num_left_out = 0

    def images(self) -> Iterator[tuple[str, Bytes]]:
        """Write the files of each image; its file name and (H, W) class indices."""
        for key in self.folder.labelled() if self.of == "labels" else self.folder.images:
            if self.labelling.is_ending:
                raise NotNowError("the server ends")
            try:
                indices = self._indices(key)
                if indices is None:
                    continue
                for kind in self.kinds - {"coco"}:
                    self._write(kind, key, indices)
            except FileError:  # the image was deleted or is damaged
                self.num_left_out += 1
                continue
            self.num_images += 1
            yield f"{key}{self.folder.images[key].suffix}", indices

    def _indices(self, key: str) -> Bytes | None:
        """None for an image without labels or prediction."""
        size = self.folder.size(key)
        if 0 in size:
            raise FileError(self.folder.images[key], "cannot be read", "restore it")
        if self.of == "labels":
            indices = self.folder.class_indices(key)
        else:
            prediction = self.labelling.predicted(key)
            if prediction is None:
                return None
            indices = self.folder.index_table()[prediction.mask(size)]
        return indices if (indices != IGNORE).any() else None

    def _write(self, kind: str, key: str, indices: Bytes) -> None:
        path = self.target / kind / f"{key}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "overlay":
            drawn = Overlay().draw(read_rgb(self.folder.images[key]), indices, self.folder.class_info())
            with whole_file(path) as temporary:
                drawn.save(temporary, "PNG")
        else:
            palette = [one.colour for one in self.folder.state.classes()] if kind == "palette" else None
            write_whole(path, png_of(indices, palette=palette))
        self.num_files += 1
