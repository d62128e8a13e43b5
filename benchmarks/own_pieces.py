"""What three small pieces of our own gain, each with and without it, as ratios measured in one run.

    python benchmarks/own_pieces.py

Memory that is kept between steps: a training step, each way in a process of its own. Large zeros from numpy:
the contrast, forward and backward. Label images by zlib: written in a thread beside a network that labels.
"""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from _side_by_side import ratio, side_by_side
from PIL import Image

from recoseg.kept_memory import keep_freed_memory
from recoseg.losses import RegionalContrast
from recoseg.losses.regional_contrast.fast import pixel_vectors
from recoseg.models import ENCODERS, DeepLabV3Plus
from recoseg.predict.label_png import write_png

STEPS = 12


def network() -> DeepLabV3Plus:
    torch.manual_seed(0)
    encoder = ENCODERS["mobilenet_v2"](output_stride=16)
    return DeepLabV3Plus(encoder=encoder, num_classes=19, decoder_width=96, separable=True)


def seconds_of_step(kept: bool) -> float:
    """The median of some steps of this process."""
    if kept:
        keep_freed_memory()
    model, images = network().train(), torch.rand(4, 3, 256, 256)
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        model(images).logits.square().mean().backward()
        times.append(time.perf_counter() - start)
    return float(np.median(times[2:]))


def memory() -> float:
    """Without over with, both measured in turns."""
    seconds: dict[str, list[float]] = {"kept": [], "given back": []}
    for _ in range(3):
        for way, found in seconds.items():
            command = [sys.executable, __file__, way]
            found.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return min(seconds["given back"]) / min(seconds["kept"])


def zeros() -> float:
    contrast = RegionalContrast(keys="shared")
    features = torch.randn(4, 256, 128, 128, requires_grad=True)
    labels = torch.randint(0, 19, (4, 8, 8)).repeat_interleave(16, 1).repeat_interleave(16, 2)
    probabilities = torch.full((4, 19, 128, 128), 1 / 19)

    def step(is_for_numpy: Callable[..., bool]) -> None:
        pixel_vectors._is_for_numpy = is_for_numpy
        features.grad = None
        contrast(features, labels, probabilities).backward()

    plain = pixel_vectors._is_for_numpy
    ways = {"ours": lambda: step(plain), "torch": lambda: step(lambda like: False)}
    seconds = side_by_side(ways, rounds=9)
    pixel_vectors._is_for_numpy = plain
    return ratio(seconds, "torch", "ours")


def labels_beside_a_network() -> float:
    model, images = network().inference(), torch.rand(1, 3, 512, 1024)
    labels = np.random.default_rng(0).integers(0, 19, (64, 128)).repeat(8, 0).repeat(8, 1).astype(np.uint8)
    palette = [(k, k, k) for k in range(19)]

    def by_zlib() -> None:
        write_png(io.BytesIO(), labels, palette=palette)

    def by_pillow() -> None:
        picture = Image.fromarray(labels, "P")
        picture.putpalette([value for colour in palette for value in colour])
        picture.save(io.BytesIO(), "PNG")

    def both(write: Callable[[], None]) -> None:
        with ThreadPoolExecutor(1) as pool, torch.inference_mode():
            written = pool.submit(lambda: [write() for _ in range(4)])
            for _ in range(4):
                model(images)
            written.result()

    seconds = side_by_side({"zlib": lambda: both(by_zlib), "Pillow": lambda: both(by_pillow)}, rounds=7)
    return ratio(seconds, "Pillow", "zlib")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(seconds_of_step(sys.argv[1] == "kept"))
        sys.exit()
    print(f"a step without memory that is kept: {memory():.2f} times as long")
    print(f"a contrast with zeros of torch:     {zeros():.2f} times as long")
    print(f"labelling with Pillow's PNG writer: {labels_beside_a_network():.2f} times as long")
