"""Importing must not take much longer than writing label images does: COCO polygons into a new folder.

    python benchmarks/import_labels.py [--images 10000] [--polygons 100000] [--size 480x640] [--workers N]

Images are tiny files of one colour that only say how large they are. Prints the time of each part in one
process, beside the limit that we hold ourselves to: drawing takes at most half of the whole.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from PIL import Image

from recoseg.exchange import FORMATS, importing
from recoseg.exchange.importing import ImportRules, import_labels


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--polygons", type=int, default=5000)
    parser.add_argument("--size", default="480x640")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    height, width = (int(side) for side in arguments.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "source")
        write_coco(source, arguments.images, arguments.polygons, height, width)
        spent = timed_import(source, Path(folder, "imported"), arguments.workers)
    whole = spent["whole"]
    print(f"{arguments.images:,} images of {height}x{width}, {arguments.polygons:,} polygons")
    for name, seconds in spent.items():
        print(f"{name:<28} {seconds:8.2f} s  {100 * seconds / whole:5.1f} %")
    if arguments.workers == 1:
        print(f"drawing is {100 * spent['drawing'] / whole:.0f} % of the whole; limit 50 %")


def write_coco(folder: Path, num_images: int, num_polygons: int, height: int, width: int) -> None:
    """Stars of 10 to 40 corners, a tenth of them reaching beyond the image."""
    generator = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    Image.new("L", (width, height)).save(folder / "images" / "0.png")
    content = (folder / "images" / "0.png").read_bytes()
    for number in range(1, num_images):
        (folder / "images" / f"{number}.png").write_bytes(content)
    images = [
        {"id": number, "file_name": f"{number}.png", "height": height, "width": width}
        for number in range(num_images)
    ]
    objects = []
    for number in range(num_polygons):
        angles = np.sort(generator.uniform(0, 2 * np.pi, generator.integers(10, 41)))
        radii = generator.uniform(10, 0.15 * width) * generator.uniform(0.6, 1.2, len(angles))
        x = generator.uniform(0, width) + radii * np.cos(angles)
        y = generator.uniform(0, height) + radii * np.sin(angles)
        polygon = np.stack((x, y), axis=1).round(2).ravel().tolist()
        category, image = int(generator.integers(1, 21)), number % num_images
        objects.append({"id": number, "image_id": image, "category_id": category, "segmentation": [polygon]})
    categories = [{"id": number, "name": f"class {number}"} for number in range(1, 21)]
    content_of_json = {"images": images, "annotations": objects, "categories": categories}
    (folder / "instances.json").write_text(json.dumps(content_of_json))


def timed_import(source: Path, destination: Path, num_workers: int) -> dict[str, float]:
    """Seconds in each part; parts are told apart in this process only."""
    spent: Counter[str] = Counter()

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any, **named: Any) -> Any:
            start = time.perf_counter()
            try:
                return work(*values, **named)
            finally:
                spent[name] += time.perf_counter() - start

        return run

    start = time.perf_counter()
    with ExitStack() as stack:
        for name, place in (("drawing", "_paint"), ("of it the image's header", "")):
            if place:
                stack.enter_context(
                    patch.object(importing.Drawing, place, timed(name, getattr(importing.Drawing, place)))
                )
        read = timed("reading the JSON", FORMATS["coco"].read)(source)
        if num_workers == 1:
            writer = importing.LabelWriter
            stack.enter_context(patch.object(writer, "__call__", timed("images: all", writer.__call__)))
            stack.enter_context(patch.object(importing, "write_png", timed("PNG: packing", importing.write_png)))
        import_labels(read, destination, rules=ImportRules(), num_workers=num_workers)
    spent["whole"] = time.perf_counter() - start
    return dict(spent)


if __name__ == "__main__":
    main()
