"""What four small pieces of our own gain, each with and without it, as ratios measured in one run.

    python benchmarks/own_pieces.py

Memory that is kept between steps: a training step and a forward pass, each way in a process of its own.
Large zeros from numpy: the contrast, forward and backward.
Gradients of depthwise convolutions, and of logits that are enlarged: a training step of two networks, at the
crops of `small` and of the demo.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from types import ModuleType

import numpy as np
import torch
from _side_by_side import ratio, side_by_side

from recoseg.kept_memory import keep_freed_memory
from recoseg.losses import RegionalContrast
from recoseg.losses.cross_entropy import pixel_cross_entropy
from recoseg.losses.regional_contrast.fast import pixel_vectors
from recoseg.models import ENCODERS, DeepLabV3Plus, bilinear, depthwise

STEPS = 12
CROPS = {"mobilenet_v2": (2, 256), "efficientnet_lite0": (8, 64)}
"""Encoder -> crops in a step, and their side."""


def network() -> DeepLabV3Plus:
    torch.manual_seed(0)
    encoder = ENCODERS["mobilenet_v2"](output_stride=16)
    return DeepLabV3Plus(encoder=encoder, num_classes=19, decoder_width=96, separable=True)


def seconds(way: str, work: str) -> float:
    """The median of some steps, or some forward passes, of this process."""
    if way == "kept":
        keep_freed_memory()
    model, images = network(), torch.rand(4, 3, 256, 256)

    def step() -> None:
        model(images).logits.square().mean().backward()

    def forward() -> None:
        with torch.inference_mode():
            model(images)

    run = {"step": step, "forward": forward}[work]
    model.train(work == "step")
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times[2:]))


def memory(work: str) -> float:
    """Without over with, both measured in turns."""
    found: dict[str, list[float]] = {"kept": [], "given back": []}
    for _ in range(3):
        for way, times in found.items():
            command = [sys.executable, __file__, way, work]
            times.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return min(found["given back"]) / min(found["kept"])


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


def gradients(encoder: str, piece: ModuleType, choice: str) -> float:
    """With the `choice` of that room between its own way and torch's, and without."""
    torch.manual_seed(0)
    count, side = CROPS[encoder]
    model = DeepLabV3Plus(
        encoder=ENCODERS[encoder](), num_classes=19, decoder_width=96, separable=True, rates=(2, 4, 6),
        pooling_norm=False,
    ).to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # fmt: skip
    images = torch.rand(count, 3, side, side).contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 19, (count, side, side))
    ours = getattr(piece, choice)

    def step(chosen: Callable[..., bool]) -> None:
        setattr(piece, choice, chosen)
        pixel_cross_entropy(model(images).logits, labels).backward()

    ways = {"ours": lambda: step(ours), "torch": lambda: step(lambda *words: False)}
    seconds = side_by_side(ways, rounds=15)
    setattr(piece, choice, ours)
    return ratio(seconds, "torch", "ours")


if __name__ == "__main__":
    if sys.argv[1:]:
        print(seconds(*sys.argv[1:]))
        sys.exit()
    print(f"a step without memory that is kept:         {memory('step'):.2f} times as long")
    print(f"a forward pass without memory that is kept: {memory('forward'):.2f} times as long")
    print(f"a contrast with zeros of torch:             {zeros():.2f} times as long")
    keep_freed_memory()
    for encoder in CROPS:
        kernels = gradients(encoder, depthwise, "_has_slow_gradients")
        enlarged = gradients(encoder, bilinear, "_has_slow_gradient")
        print(f"a step of {encoder} with torch's gradients of kernels: {kernels:.2f} times as long")
        print(f"a step of {encoder} with torch's gradients of enlarged logits: {enlarged:.2f} times as long")
