"""Splitting and loading must not be felt: the class index of a dataset, a further split, and partial labels.

    python benchmarks/splits.py [FOLDER]

FOLDER is a folder dataset, by default cityscapes_quarter below $RECOSEG_DATA; without it the first part is
left out. Each figure is the best of a few tries, beside the limit that we hold ourselves to.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from recoseg.data.folder import Folder
from recoseg.splits.class_index import ClassCounter
from recoseg.splits.labelled_images import few_images, sample_images
from recoseg.splits.labelled_pixels import PixelBudget, draw_points

DEFAULT = (
    Path(os.environ.get("RECOSEG_DATA", Path(__file__).parents[2] / "shared" / "data")) / "cityscapes_quarter"
)


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    if root.is_dir():
        index_of_a_dataset(Folder(root=root))
    else:
        print(f"no dataset at {root}: the class index is left out")
    split_of_ten_thousand_images()
    masks()


def index_of_a_dataset(dataset: Folder) -> None:
    """The labels of all training images, read with one process a core; then a split from the index."""
    keys = [key for key in dataset.keys("train") if dataset.has_labels(key)]
    with tempfile.TemporaryDirectory() as cache:
        counter = ClassCounter(num_workers=os.cpu_count() or 1, cache=Path(cache))
        show(f"class index of {len(keys)} labels", seconds(lambda: counter(dataset, keys)), 20)
        again = seconds(lambda: few_images(dataset, labels=20, seed=0, counter=counter), tries=3)
        show("a further split of them", again, 1)


def split_of_ten_thousand_images() -> None:
    generator = np.random.default_rng(0)
    presence = generator.random((10_000, 21)) < np.geomspace(0.9, 0.01, 21)
    names = [str(number) for number in range(21)]

    def draw() -> None:
        sample_images(presence, names, labels=600, images_per_class=None, min_classes=3, seed=0)

    show("600 of 10,000 images by the paper's rule", seconds(draw, tries=3), 1)


def masks() -> None:
    """Partial labels of one 512x256 label with 13 classes in streets and blocks."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 13, (16, 16)).repeat(16, 0).repeat(32, 1).astype(np.uint8)
    points = draw_points(labels, key="a", seed=0)
    for text in ("1", "1%", "5%", "25%"):
        budget = PixelBudget.parse(text)
        best = seconds(lambda budget=budget: budget.visible(labels, points), tries=200)  # type: ignore[misc]
        show(f"{text} of a 512x256 label", best, 0.002)


def seconds(work: Callable[[], object], tries: int = 1) -> float:
    """The best time of a few tries: what the work costs when nothing else is in its way."""
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def show(what: str, taken: float, limit: float) -> None:
    verdict = "ok" if taken < limit else "TOO SLOW"
    print(f"{what:45s} {taken * 1e3:10.2f} ms of {limit * 1e3:8.0f} ms  {taken / limit:6.2f}  {verdict}")


if __name__ == "__main__":
    main()
