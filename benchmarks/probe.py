"""Processor time and scores of the linear probe on a folder dataset, and the turned images it recognises.

python benchmarks/probe.py DATA LABELS     one thread; DATA as recoseg train --data takes it
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import torch

from recoseg.config.load import load
from recoseg.data.build import build_dataset, val_keys
from recoseg.evaluate.loop import evaluate
from recoseg.losses.cross_entropy import root_inverse_frequency
from recoseg.models.build import build_starting_model
from recoseg.probe import cross_validate, fit_classifier, labelled_cells
from recoseg.probe.orientation import recognised_turns
from recoseg.splits.draw import build_split

Result = TypeVar("Result")


def timed(what: str, function: Callable[[], Result]) -> Result:
    before = time.process_time()
    result = function()
    print(f"{what:<10} {time.process_time() - before:6.1f} s")
    return result


def main(data: str, labels: str) -> None:
    torch.set_num_threads(1)
    device = torch.device("cpu")
    config = load("own_images", [f"--data={data}", f"--split.labels={labels}", "--method=probe"])
    dataset = build_dataset(config.data)
    split, classes = build_split(config.split, dataset), len(dataset.classes)
    network, _ = build_starting_model(config.model, classes, seed=0)
    cells = timed("features", lambda: labelled_cells(network, dataset, split.labelled, device=device))
    weights = root_inverse_frequency(torch.bincount(cells.labels, minlength=classes))
    fit = timed("folds", lambda: cross_validate(cells, classes, class_weights=weights))
    found = timed(
        "fit",
        lambda: fit_classifier(
            cells.features, cells.labels, classes, strength=fit.strength, class_weights=weights
        ),
    )
    network.probe.set_(found.weight, found.bias, found.mean, found.deviation)
    scores = timed("evaluate", lambda: evaluate(network, dataset, val_keys(dataset), device=device))
    turns = timed("turns", lambda: recognised_turns(network, dataset, dataset.keys("train"), device=device))
    print(f"{len(cells):,} cells of {cells.num_images} images; {fit}")
    print(f"validation images: mean IoU {scores.mean_iou:.1%}; turned images recognised: {turns or 0:.0%}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
