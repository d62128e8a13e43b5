"""Recognises labels that number objects rather than classes, as Cellpose and StarDist write them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from recoseg.data.image_files import read_label_pixels

_FEWEST_IDS = 8
_MANY_OBJECTS = 30
"""Values in one image: hardly any image shows as many classes."""

_SHARE = 0.8
_NUM_READ = 5  # images in which regions are counted


def are_object_ids(labels: Sequence[tuple[Path, Collection[int]]]) -> bool:
    """Whether values are object ids, by the values in each label file.

    Ids run from 1 without a gap to the number of objects in an image, which differs between images; or an
    image has more of them than any image has classes. And nearly every id is one connected region.
    """
    ids = {path: sorted(value for value in values if value) for path, values in labels}
    ids = {path: values for path, values in ids.items() if values}
    if len({value for values in ids.values() for value in values}) < _FEWEST_IDS:
        return False
    counts = [len(values) for values in ids.values()]
    num_whole = sum(values[-1] == len(values) for values in ids.values())
    is_numbered = num_whole >= _SHARE * len(ids) and len(set(counts)) > 1
    if not is_numbered and max(counts) < _MANY_OBJECTS:
        return False
    most = sorted(ids, key=lambda path: len(ids[path]))[-_NUM_READ:]
    connected = [one for path in most for one in _connected(path)]
    return sum(connected) >= _SHARE * len(connected)


def _connected(path: Path) -> list[bool]:
    """Whether each value above 0 is one region; neighbours may touch by corners."""
    from scipy import ndimage  # slow to import, and hardly any labels come this far

    values = read_label_pixels(path).astype(np.int32)  # (H, W)
    places = ndimage.find_objects(values)
    corners = np.ones((3, 3))
    return [
        ndimage.label(values[place] == value, corners)[1] == 1
        for value, place in enumerate(places, start=1)
        if place is not None
    ]
