"""What label files hold when no class file says so: values or colours, and the class file they suggest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.data.image_files import read_label_pixels
from recoseg.data.label_codes import colour_codes, colour_of, ranges
from recoseg.data.palette import distinct_colours
from recoseg.data.problem import FileError
from recoseg.types import IGNORE

BLACK_AND_WHITE = {0, 255}


@dataclass(frozen=True)
class Survey:
    """Everything that occurs in some label files: values of grey and palette files, colours of RGB files."""

    values: frozenset[int]
    colours: frozenset[int]  # 24-bit numbers


def found_classes(path: Path, labels: Sequence[Path]) -> dict[str, Any]:
    """The content of a class file for labels that need no explanation, or an error that suggests one.

    Plain are: the values 0 to K-1, and perhaps 255 for void; or nothing but 0 and 255, a binary mask.
    Reads every label once. `path` is where the class file would be.
    """
    found = plain_values(survey(labels))
    if found.colours:
        raise class_file_wanted(
            path, f"the labels hold {len(found.colours)} colours", suggest_colours(found.colours)
        )
    if found.values == BLACK_AND_WHITE:
        return {"names": ["background", "foreground"], "format": "binary"}
    values = sorted(found.values - {IGNORE})
    if len(values) < 2:
        only = f"only the value {values[0]}" if values else "no class at all"
        raise class_file_wanted(path, f"the labels hold {only}", {"names": ["background", "foreground"]})
    if values != list(range(len(values))):
        what = f"the label values ({ranges(sorted(found.values))}) do not run from 0 without a gap"
        raise class_file_wanted(path, what, suggest_values(values))
    return index_classes(len(values))


def survey(labels: Iterable[Path]) -> Survey:
    """Reads the labels, in threads; one that cannot be read adds nothing: using it will say what is wrong."""
    with ThreadPoolExecutor() as threads:
        surveys = list(threads.map(survey_file, labels))
    return Survey(
        frozenset().union(*(one.values for one in surveys)),
        frozenset().union(*(one.colours for one in surveys)),
    )


def survey_file(path: Path) -> Survey:
    try:
        pixels = read_label_pixels(path)
    except FileError:
        return Survey(frozenset(), frozenset())
    if pixels.ndim == 3:
        return Survey(frozenset(), frozenset(np.unique(colour_codes(pixels)).tolist()))
    return Survey(frozenset(np.flatnonzero(np.bincount(pixels.ravel())).tolist()), frozenset())


def plain_values(found: Survey) -> Survey:
    """RGB files whose colours are all grey hold values, three times over."""
    greys = [colour_of(code) for code in found.colours]
    if any(red != green or green != blue for red, green, blue in greys):
        return found
    return Survey(found.values | {red for red, _, _ in greys}, frozenset())


def only_black_and_white(labels: Iterable[Path]) -> bool:
    """Whether all labels together hold the values 0 and 255 and no other; stops at the first other."""
    seen: set[int] = set()
    for path in labels:
        found = plain_values(survey_file(path))
        seen |= found.values
        if found.colours or not seen <= BLACK_AND_WHITE:
            return False
    return seen == BLACK_AND_WHITE


def index_classes(num_classes: int) -> dict[str, Any]:
    return {
        "names": [f"class_{index}" for index in range(num_classes)],
        "palette": [list(colour) for colour in distinct_colours(num_classes)],
        "ignore_index": IGNORE,
    }


def suggest_values(values: Sequence[int]) -> dict[str, Any] | None:
    """Indices with a few gaps, or grey levels that stand for classes."""
    if values[-1] < 2 * len(values):
        return index_classes(values[-1] + 1)
    return suggest_colours({value * 0x010101 for value in values}) if values[-1] <= 255 else None


def suggest_colours(codes: Iterable[int]) -> dict[str, Any] | None:
    """One class a colour; None if there are too many to be classes."""
    colours = [colour_of(code) for code in sorted(codes)]
    if len(colours) > IGNORE:
        return None
    names = [f"class_{index}" for index in range(len(colours))]
    return {"names": names, "palette": [list(colour) for colour in colours], "format": "rgb"}


def class_file_wanted(path: Path, what: str, suggestion: dict[str, Any] | None) -> FileError:
    """What the labels hold, and the class file that would settle it."""
    if suggestion is None:
        return FileError(path, f"missing, and {what}, too many for classes", "export the labels as plain PNG")
    remedy = f"say what they mean in that file, such as: {json.dumps(suggestion)}"
    return FileError(path, f"missing, and {what}", remedy)
