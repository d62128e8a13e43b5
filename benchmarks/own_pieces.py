"""What small pieces of our own gain in a whole training step, each with and without it, as ratios of one run.

    python benchmarks/own_pieces.py             on one thread
    python benchmarks/own_pieces.py 2           on two

A step is ClassMix + ReCo of the profile `small` on 2 + 2 crops of 256x256, with augmentation, teacher, losses
and optimiser. Times are processor time, and the ways take turns step by step, so that a busy machine does
little harm. Memory that is kept between steps is measured in processes of its own.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import step as whole
import torch
from _side_by_side import ratio, side_by_side

from recoseg.kept_memory import keep_freed_memory
from recoseg.losses.regional_contrast import comparing, sampled_products
from recoseg.models import depthwise

ROUNDS = 15
SMALL = (
    "--model.decoder_width 96 --model.separable true --model.rates fit --model.pooling_norm false "
    "--train.channels_last true --optimiser adamw"
)
CLASSMIX = "--method mean_teacher --method.decay 0.983 --method.warm_up fast"


def walk(encoder: str, keys: str, folder: Path) -> Iterator[None]:
    """A training step at each turn."""
    whole.SIZES["own pieces"] = (256, f"--model.encoder {encoder} {SMALL}")
    whole.METHODS["own pieces"] = CLASSMIX
    whole.CONTRAST = f"--contrast reco --contrast.feature_channels 128 --contrast.keys {keys}"
    trainer = whole.new_trainer("own pieces", "own pieces", folder, contrast=True)
    return whole.steps(trainer, whole.quiet_log(trainer))


def compare(encoder: str, keys: str, switch: Callable[[bool], None]) -> float:
    """A step without the piece over a step with it; `switch` turns it on or off."""
    with tempfile.TemporaryDirectory() as folder:
        steps = walk(encoder, keys, Path(folder))

        def run(on: bool) -> None:
            switch(on)
            next(steps)

        ways = {"with": lambda: run(True), "without": lambda: run(False)}
        seconds = side_by_side(ways, rounds=ROUNDS, clock=time.process_time)
        switch(True)
    return ratio(seconds, "without", "with")


def switch_depthwise(on: bool, ours: Callable[..., bool] = depthwise._has_slow_gradients) -> None:
    depthwise._has_slow_gradients = ours if on else lambda *words: False


def switch_sampled(on: bool) -> None:
    products, sums = sampled_products.sampled_products, sampled_products.sampled_sums
    comparing.sampled_products = products if on else sampled_products.gathered_products
    comparing.sampled_sums = sums if on else sampled_products.gathered_sums


def kept_memory() -> float:
    """Without over with, each in three processes."""
    found: dict[str, list[float]] = {"kept": [], "given back": []}
    for _ in range(3):
        for way, times in found.items():
            command = [sys.executable, __file__, str(torch.get_num_threads()), way]
            times.append(float(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return min(found["given back"]) / min(found["kept"])


def print_seconds(way: str) -> None:
    """The median of some steps of this process."""
    if way == "kept":
        keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        steps, times = walk("mobilenet_v2", "shared", Path(folder)), []
        for _ in range(ROUNDS):
            start = time.process_time()
            next(steps)
            times.append(time.process_time() - start)
    print(statistics.median(times[2:]))


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[1]) if sys.argv[1:] else 1)
    if sys.argv[2:]:
        print_seconds(sys.argv[2])
        sys.exit()
    print(f"without memory that is kept between steps: {kept_memory():.2f} times as long")
    keep_freed_memory()
    for encoder in ("mobilenet_v2", "efficientnet_lite0"):
        found = compare(encoder, "shared", switch_depthwise)
        print(f"{encoder} with torch's gradients of depthwise kernels: {found:.2f} times as long")
    found = compare("mobilenet_v2", "per_query", switch_sampled)
    print(f"keys of every query, gathered: {found:.2f} times as long")
