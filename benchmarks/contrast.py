"""Time and memory of the regional contrast, forward and backward, beside a plain implementation of the paper.

    python benchmarks/contrast.py            all sizes
    python benchmarks/contrast.py paper      one size

Each figure comes from a process of its own. Time is the best of several runs, in units of one float32 product
of two 2048 x 2048 matrices, whose best time is taken in between the runs. Figures of another machine compare;
those of a busy one less so, since short operations suffer more from waiting than one long product does.
Memory is the peak of the resident set during the first run, less what it was with the inputs in place, as
Linux counts it (VmHWM); it includes the gradient of the features. A tiny run before that loads all code.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from recoseg import RegionalContrast
from recoseg.losses import FeatureBank

NUM_IMAGES, CHANNELS, NUM_QUERIES, NUM_KEYS, TEMPERATURE = 4, 256, 256, 512, 0.5
MOST_GIGABYTES = 8.0  # more than this a plain implementation is not given


@dataclass(frozen=True)
class Size:
    num_classes: int
    side: int  # of the square feature map

    @property
    def plain_gigabytes(self) -> float:
        """What (Q, M, D) keys of all classes take, kept for the backward pass."""
        return self.num_classes * NUM_QUERIES * NUM_KEYS * CHANNELS * 4 / 1e9


SIZES = {"small": Size(10, 64), "paper": Size(19, 128), "many": Size(60, 192), "large": Size(150, 256)}

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def plain_contrast(features: Tensor, labels: Tensor, probabilities: Tensor) -> Tensor:
    """Eq. 1 to 4 class by class as one would first write them, with all keys of all queries gathered."""
    vectors, labels = features.permute(0, 2, 3, 1).flatten(0, 2), labels.flatten()  # (P, D), (P,)
    hard = probabilities.permute(0, 2, 3, 1).flatten(0, 2).gather(1, labels[:, None])[:, 0] <= 0.97
    classes = labels.unique().tolist()
    members = {k: (labels == k).nonzero()[:, 0] for k in classes}
    means = torch.stack([vectors[members[k]].mean(0) for k in classes]).detach()  # (C, D)
    graph = F.cosine_similarity(means[:, None], means, dim=2)  # (C, C)
    losses = []
    for row, k in enumerate(classes):
        candidates = members[k][hard[members[k]]]
        queries = vectors[candidates[torch.randint(len(candidates), (NUM_QUERIES,))]]  # (Q, D)
        weights = graph[row].exp().scatter(0, torch.tensor(row), 0.0)
        drawn = torch.multinomial(weights, NUM_QUERIES * NUM_KEYS, replacement=True)
        pixels = torch.empty_like(drawn)
        for other, name in enumerate(classes):
            mine = (drawn == other).nonzero()[:, 0]
            pixels[mine] = members[name][torch.randint(len(members[name]), (len(mine),))]
        negatives = vectors.detach()[pixels].view(NUM_QUERIES, NUM_KEYS, CHANNELS)
        keys = torch.cat((means[row].expand(NUM_QUERIES, 1, -1), negatives), dim=1)  # (Q, 1 + M, D)
        scores = F.cosine_similarity(queries[:, None], keys, dim=2) / TEMPERATURE
        losses.append(F.cross_entropy(scores, torch.zeros(NUM_QUERIES, dtype=torch.long)))
    return torch.stack(losses).mean()


class ContrastWithBank:
    """Per-query keys from a bank that has been filled, and filling it: what a bank adds to a step."""

    def __init__(self) -> None:
        self.contrast: RegionalContrast | None = None

    def __call__(self, features: Tensor, labels: Tensor, probabilities: Tensor) -> Tensor:
        num_classes, everywhere = probabilities.shape[1], torch.ones_like(labels, dtype=torch.bool)
        bank = self.contrast and self.contrast.bank
        if not bank or len(bank.counts) != num_classes:
            bank = FeatureBank(num_classes, CHANNELS, per_step=256, prototypes="bank")
            bank.fill(features, labels, everywhere)
            bank.per_step = 16
            self.contrast = RegionalContrast(keys="per_query", bank=bank)
        loss: Tensor = self.contrast(features, labels, probabilities)  # type: ignore[misc]
        bank.fill(features, labels, everywhere)
        return loss


LOSSES: dict[str, Loss] = {
    "per_query": RegionalContrast(keys="per_query"),
    "shared": RegionalContrast(keys="shared"),
    "bank": ContrastWithBank(),
    "plain": plain_contrast,
}


def inputs(size: Size) -> tuple[Tensor, Tensor, Tensor]:
    """Features that need a gradient, labels in blocks with all classes present, and no pixel that is easy."""
    torch.manual_seed(0)
    features = torch.randn(NUM_IMAGES, CHANNELS, size.side, size.side, requires_grad=True)
    blocks = torch.arange(NUM_IMAGES * 16 * 16)[torch.randperm(NUM_IMAGES * 16 * 16)] % size.num_classes
    cell = size.side // 16
    labels = blocks.view(NUM_IMAGES, 16, 16).repeat_interleave(cell, 1).repeat_interleave(cell, 2)
    shape = (NUM_IMAGES, size.num_classes, size.side, size.side)
    return features, labels, torch.full(shape, 1 / size.num_classes)


def measure(loss: Loss, size: Size) -> dict[str, float]:
    """Best seconds of a run and of a unit, and megabytes, in this process."""
    matrix = torch.randn(2048, 2048)
    matrix @ matrix
    run(loss, inputs(Size(4, 16)))
    batch = inputs(size)
    megabytes = peak_megabytes(lambda: run(loss, batch))
    seconds, unit = [], []
    start = time.perf_counter()
    while len(seconds) < 3 or (len(seconds) < 40 and time.perf_counter() - start < 30):
        unit.append(seconds_of(lambda: matrix @ matrix))
        seconds.append(seconds_of(lambda: run(loss, batch)))
    return {"seconds": min(seconds), "unit": min(unit), "megabytes": megabytes}


def run(loss: Loss, batch: tuple[Tensor, Tensor, Tensor]) -> None:
    batch[0].grad = None
    loss(*batch).backward()


def seconds_of(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def peak_megabytes(action: Callable[[], object]) -> float:
    """How far the resident set of this process rises during an action."""
    Path("/proc/self/clear_refs").write_text("5")  # sets the recorded peak to the present size
    before = _status_megabytes("VmRSS")
    action()
    return _status_megabytes("VmHWM") - before


def _status_megabytes(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(name))


def measure_in_own_process(loss: str, size: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", loss, size]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def print_table(sizes: list[str]) -> None:
    num_threads = torch.get_num_threads()
    print(f"{NUM_IMAGES} images, D = {CHANNELS}, Q = {NUM_QUERIES}, M = {NUM_KEYS}, {num_threads} threads")
    print("size    classes      map  loss       unit ms        ms    units        MB  plain/time  plain/MB")
    for name in sizes:
        size = SIZES[name]
        too_large = size.plain_gigabytes > MOST_GIGABYTES
        plain = None if too_large else measure_in_own_process("plain", name)
        for loss in LOSSES:
            heading = f"{name:7} {size.num_classes:7} {size.side:>4}x{size.side:<3}  {loss:9}"
            if loss == "plain" and plain is None:
                print(f"{heading}  not run: its keys alone would take {size.plain_gigabytes:.0f} GB")
                continue
            found = plain if loss == "plain" and plain else measure_in_own_process(loss, name)
            print(f"{heading}{_figures(found, plain)}", flush=True)


def _figures(found: dict[str, float], plain: dict[str, float] | None) -> str:
    units = found["seconds"] / found["unit"]
    text = (
        f"{1000 * found['unit']:9.1f}  {1000 * found['seconds']:8.1f} {units:8.2f}  {found['megabytes']:8.0f}"
    )
    if plain is None:
        return text
    ratio = plain["seconds"] / plain["unit"] / units
    return f"{text}  {ratio:10.1f}  {plain['megabytes'] / found['megabytes']:8.1f}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(LOSSES[sys.argv[2]], SIZES[sys.argv[3]])))
    else:
        print_table(sys.argv[1:] or list(SIZES))
