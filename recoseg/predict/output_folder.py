"""The folder of results: what is in it under which name, how it is written, and what may be replaced.

Probabilities of all classes may be larger than the memory, and are written part by part.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recoseg.data.image_files import png_text
from recoseg.errors import UserError
from recoseg.files import UNFINISHED, digest, remove_unfinished, whole_file, write_whole
from recoseg.overlay import Overlay
from recoseg.predict.image_list import ImageFile
from recoseg.predict.prediction import IMAGE_DIGEST, Prediction
from recoseg.predict.thumbnail import Thumbnail, write_thumbnail
from recoseg.records import read_record
from recoseg.types import ClassInfo

LONGEST_JPEG = 65500
_JPEG_QUALITY = 90
_JPEG_END = b"\xff\xd9"
_SUFFIXES = {
    "labels": ".png",
    "overlays": ".jpg",
    "thumbnails": ".jpg",
    "confidence": ".png",
    "probabilities": ".npy",
}
_TEMPORARY = 64  # letters that the path of a file has more as long as it is not whole


@dataclass(frozen=True, kw_only=True)
class OutputFolder:
    """A sub-folder for each kind of result: `labels` always, the others if they are wanted.

    With an `overlay` there are thumbnails too, of which a gallery can be made.
    """

    path: Path
    overlay: Overlay | None = field(default_factory=Overlay)
    confidence: bool = False
    probabilities: bool = False

    def files(self, name: Path) -> dict[str, Path]:
        """kind -> the file of an image's result; overlays beyond JPEG's size are PNG files in its place."""
        wanted = {
            "overlays": self.overlay is not None,
            "thumbnails": self.overlay is not None,
            "confidence": self.confidence,
            "probabilities": self.probabilities,
        }
        kinds = ["labels", *(kind for kind, is_wanted in wanted.items() if is_wanted)]
        return {kind: self.path / kind / name.parent / f"{name.name}{_SUFFIXES[kind]}" for kind in kinds}

    def overlay_file(self, name: Path) -> Path:
        """Where it is, or would be."""
        path = self.files(name)["overlays"]
        return path if os.path.exists(path) else path.with_suffix(".png")  # noqa: PTH110 (also of long names)

    @property
    def needs_confidence(self) -> bool:
        """Thumbnails show it, too."""
        return self.confidence or self.overlay is not None

    def takes(self, name: Path) -> bool:
        """Whether the names of an image's results are no longer than names can be there."""
        longest, deepest = (os.pathconf(self.path, limit) for limit in ("PC_NAME_MAX", "PC_PATH_MAX"))
        files = [os.fsencode(file) for file in self.files(name).values()]
        return all(
            len(file) + _TEMPORARY <= deepest and max(map(len, file.split(b"/"))) <= longest for file in files
        )

    def has_results(self, name: Path) -> bool:
        """Whether all files are there, whichever image they are of."""
        files = self.files(name)
        if "overlays" in files:
            files["overlays"] = self.overlay_file(name)
        return all(os.path.isfile(file) for file in files.values())  # noqa: PTH113 (also of long names)

    def is_done(self, image: ImageFile) -> bool:
        """Whether the results of this image are there; an error for those of another one of its name."""
        if not self.has_results(image.name):
            return False
        found = png_text(self.files(image.name)["labels"], IMAGE_DIGEST)
        try:
            own = digest(image.path)
        except OSError:  # reading it will say so
            return False
        if found not in (None, own):
            raise UserError(
                f"{self.path} holds the results of another image called {image.name} than {image.path}: "
                "choose another folder with -o, or replace them with --force"
            )
        return found is not None

    def prepare(
        self,
        images: Sequence[ImageFile],
        classes: ClassInfo,
        made_by: Mapping[str, str],
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> list[ImageFile]:
        """Make the folder; returns the images that are to be done.

        Results that are there are never replaced unasked, and files of others never. `made_by` says which
        weights and options make them: a folder never holds results of two kinds.
        """
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is a file; results need a folder: choose another one with -o")
        about = self.path / "predictions.json"
        before = self.made_before(about)
        if before is not None and before != made_by:
            names = dict.fromkeys((*made_by, *before))
            differing = ", ".join(name for name in names if before.get(name) != made_by.get(name))
            raise UserError(
                f"{self.path} holds predictions made otherwise (other {differing}): choose another folder "
                "with -o, or delete it"
            )
        self._refuse_names_of_folders(images)
        there = [image for image in images if self.has_results(image.name)]
        if there and not (resume or overwrite):
            raise UserError(
                f"{self.path} already holds predictions of {len(there)} of these {len(images)} images: "
                "--resume does the others only, --force all of them again"
            )
        done = set() if overwrite else {image.name for image in there if self.is_done(image)}
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(about, json.dumps(made_by, indent=2) + "\n")  # first: by it the folder is known as ours
        # As in a folder of one's own data, so that labels/ can be learned from.
        own_data = {"names": classes.names, "palette": classes.palette, "format": "index"}
        write_whole(self.path / "classes.json", json.dumps(own_data) + "\n")
        remove_unfinished(self.path)
        return [image for image in images if image.name not in done]

    def _refuse_names_of_folders(self, images: Sequence[ImageFile]) -> None:
        """The labels of x.jpg are x.png, which is also where the labels of images in a folder x.png/ go."""
        files = {file: image for image in images for file in self.files(image.name).values()}
        folders = {folder for file in files for folder in file.parents}
        for file, image in files.items():
            if file in folders or os.path.isdir(file):  # noqa: PTH112 (also of long names)
                raise UserError(
                    f"the result of {image.path} would be {file}, which is the folder of other results: "
                    "rename the image"
                )

    def made_before(self, about: Path) -> dict[str, str] | None:
        """What made the results that are there, None if there are none; files of others are a mistake."""
        if os.path.lexists(about):
            remedy = "choose another folder with -o, or delete this one"
            made_by: dict[str, str] = read_record(about, dict[str, str], what="record", remedy=remedy)
            return made_by
        if self.path.is_dir():
            remove_unfinished(self.path, name=about.name)
            if any(self.path.iterdir()):
                raise UserError(
                    f"{self.path} holds files that are no predictions: choose a new folder with -o"
                )
        return None

    @contextmanager
    def probabilities_of(self, name: Path, shape: tuple[int, int, int]) -> Iterator[ProbabilitiesFile | None]:
        """Where they are to be put, if they are wanted; the file appears when all of them are there."""
        if not self.probabilities:
            yield None
            return
        path = self.files(name)["probabilities"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            yield ProbabilitiesFile(temporary, shape)

    def write(self, name: Path, prediction: Prediction, *, image: Path | None = None) -> None:
        """All but the probabilities; labels come last, and name the file of the `image` by its digest."""
        files = self.files(name)
        for file in files.values():
            file.parent.mkdir(parents=True, exist_ok=True)
        if self.overlay:
            _write_overlay(files["overlays"], prediction, self.overlay)
            write_thumbnail(files["thumbnails"], prediction, self.overlay)
        if self.confidence:
            prediction.save_confidence(files["confidence"])
        prediction.save(files["labels"], image_digest=digest(image) if image else None)

    def thumbnails(self) -> dict[str, Thumbnail]:
        """Of all images whose results are in the folder, also of earlier times: name -> thumbnail."""
        folder, ending = self.path / "thumbnails", _SUFFIXES["thumbnails"]
        files = (path for path in sorted(folder.rglob(f"*{ending}")) if not UNFINISHED.fullmatch(path.name))
        return {
            path.relative_to(folder).as_posix().removesuffix(ending): Thumbnail.read(path) for path in files
        }


def _require_end(jpeg: Path) -> None:
    """Pillow does not notice when the end of a file no longer fits onto the disk."""
    with jpeg.open("rb") as file:
        file.seek(-len(_JPEG_END), os.SEEK_END)
        if file.read() != _JPEG_END:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _write_overlay(path: Path, prediction: Prediction, look: Overlay) -> None:
    picture = prediction.drawn(look)
    is_jpeg = max(picture.size) <= LONGEST_JPEG
    with whole_file(path if is_jpeg else path.with_suffix(".png")) as temporary:
        # Into a file by its name: so Pillow lets other threads run while it packs.
        if is_jpeg:
            picture.save(temporary, "JPEG", quality=_JPEG_QUALITY, subsampling=0)
            _require_end(temporary)
        else:
            picture.save(temporary, "PNG")


Place = tuple[slice, slice, slice]


class ProbabilitiesFile:
    """A file of (K, H, W) float16 that parts are put into as into an array."""

    def __init__(self, path: Path, shape: tuple[int, int, int]) -> None:
        self.path = path
        np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=shape)
        if hasattr(os, "posix_fallocate"):  # a full disk is told now; later it would end the process
            with path.open("r+b") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)

    def __setitem__(self, place: Place, values: NDArray[np.float32]) -> None:
        # Mapped anew each time: pages that were written would count as this process's memory.
        np.load(self.path, mmap_mode="r+")[place] = values
