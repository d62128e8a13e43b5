"""Segment images with an exported ONNX file: numpy, Pillow and onnxruntime are all it needs.

recoseg export runs/001 --out model.onnx
python examples/run_onnx.py model.onnx photo.jpg        # writes photo_labels.png here
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image, ImageOps


def segment(session: onnxruntime.InferenceSession, image: Image.Image) -> np.ndarray:
    """(H, W) uint8: the class of each pixel."""
    upright = ImageOps.exif_transpose(image)  # phones store photos lying, with a note
    pixels = np.asarray(upright.convert("RGB"))  # (H, W, 3) uint8
    images = np.ascontiguousarray(pixels.transpose(2, 0, 1))[None]  # (1, 3, H, W)
    (logits,) = session.run(["logits"], {"images": images})  # (1, K, H, W)
    return logits[0].argmax(0).astype(np.uint8)


def main(model: str, *paths: str) -> None:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    metadata = session.get_modelmeta().custom_metadata_map
    names, palette = json.loads(metadata["classes"]), json.loads(metadata["palette"])
    for path in map(Path, paths):
        with Image.open(path) as image:
            labels = segment(session, image)
        coloured = Image.fromarray(labels).convert("P")
        coloured.putpalette([value for colour in palette for value in colour])
        coloured.save(f"{path.stem}_labels.png")
        seen = [names[k] for k in np.unique(labels)]
        print(f"{path.name}: {', '.join(seen)}; written to {path.stem}_labels.png")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
