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
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from PIL import Image

from recoseg.label_formats import FORMATS, importing
from recoseg.label_formats.importing import ImportRules, import_labels
from recoseg.label_formats.rasterize import Drawing


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
    print(f"{arguments.images:,} images of {height}x{width}, {arguments.polygons:,} polygons")
    for name, (seconds, busy) in spent.items():
        print(f"{name:<20} {seconds:8.2f} s, of the processor {busy:8.2f} s")
    if arguments.workers == 1:
        shares = [
            f"{100 * one / all:.0f} %" for one, all in zip(spent["drawing"], spent["whole"], strict=True)
        ]
        print(f"drawing: {shares[0]} of the whole, {shares[1]} of the processor's time; limit 50 %")


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


def timed_import(source: Path, destination: Path, num_workers: int) -> dict[str, tuple[float, float]]:
    """Seconds, and those of the processor, in each part; with several processes in this one only."""
    spent: dict[str, tuple[float, float]] = {}

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any, **named: Any) -> Any:
            start = time.perf_counter(), time.process_time()
            try:
                return work(*values, **named)
            finally:
                seconds, busy = spent.get(name, (0.0, 0.0))
                spent[name] = (
                    seconds + time.perf_counter() - start[0],
                    busy + time.process_time() - start[1],
                )

        return run

    def whole() -> None:
        read = timed("reading the JSON", FORMATS["coco"].read)(source)
        import_labels(read, destination, rules=ImportRules(), num_workers=num_workers)

    with (
        patch.object(Drawing, "__call__", timed("drawing", Drawing.__call__)),
        patch.object(importing, "write_png", timed("packing PNGs", importing.write_png)),
    ):
        timed("whole", whole)()
    return spent


if __name__ == "__main__":
    main()
