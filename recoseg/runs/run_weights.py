"""The weights files of a run folder: which there are, and what their headers hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta
from safetensors import SafetensorError, safe_open

from recoseg.errors import UserError
from recoseg.records import Count, from_json
from recoseg.training.run_folder import RunFolder

WEIGHTS = ("last", "best")
COPY_AGAIN = "copy the file again"

_Byte = Annotated[int, Meta(ge=0, le=255)]


class _WeightsAbout(TypedDict):
    """Content of the header of a weights file."""

    classes: list[str]
    palette: list[tuple[_Byte, _Byte, _Byte]]
    iteration: Count
    best_on: NotRequired[str]


def weights_about(file: Path) -> _WeightsAbout:
    try:
        with safe_open(file, framework="pt") as content:
            header = (content.metadata() or {}).get("recoseg")
    except (SafetensorError, ValueError) as error:
        raise UserError(f"{file}: not a readable weights file ({error}); {COPY_AGAIN}") from error
    if header is None:
        raise UserError(f"{file}: does not name its classes; only weights that recoseg trained do")
    about: _WeightsAbout = from_json(header, _WeightsAbout, where=f"{file}: header", remedy=COPY_AGAIN)
    return about


def weights_file(folder: RunFolder, weights: str) -> Path:
    if weights not in WEIGHTS:
        raise UserError(f"weights: got {weights!r}, needs {' or '.join(WEIGHTS)}")
    if weights == "best":
        if not folder.best_weights.is_file():
            raise UserError(f"{folder.path} kept no best weights (train.best_on does): use the last ones")
        return folder.best_weights
    if not folder.weights.is_file():
        raise UserError(f"{folder.path} has no weights yet: train it to its first evaluation")
    return folder.weights
