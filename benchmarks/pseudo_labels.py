"""How right the pseudo-labels of a trained run are on images whose labels it never saw.

    python benchmarks/pseudo_labels.py RUN [number of images]

The images are its unlabelled ones, or where a few pixels of every image are labelled, these images.
A check from outside: training itself opens no hidden label. The evaluated network, which is the teacher where
there is one, labels whole images; its labels are compared with the dataset's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from recoseg.evaluate.scores import Scores, confusion_matrix
from recoseg.methods.parts.ema_teacher import Teacher
from recoseg.runs.run import Run
from recoseg.splits.label_split import LabelSplit
from recoseg.training.run_folder import RunFolder
from recoseg.types import IGNORE

THRESHOLDS = (0.0, 0.7, 0.97)
"""All pixels, those that the contrast trusts (delta_w), those that eta counts (delta_s)."""


def main(path: Path, most: int) -> None:
    run = Run.open(RunFolder.open(path))
    dataset, num_classes = run.dataset, len(run.dataset.classes)
    split = LabelSplit.load(run.folder.split)
    hidden = split.unlabelled or (split.labelled if split.pixels else ())
    keys = [key for key in hidden if dataset.has_labels(key)]
    keys = keys[:: -(-len(keys) // most)] if keys else []  # from all of them: names tell cities and days
    if not keys:
        raise SystemExit("no image of this run has hidden labels to compare with")
    teacher = Teacher(run.model)
    confusion = {
        threshold: torch.zeros(num_classes, num_classes, dtype=torch.int64) for threshold in THRESHOLDS
    }
    labelled = 0
    for key in keys:
        sample = dataset.sample(key)
        pseudo = teacher.pseudo_label(sample.image[None].to(run.device).float() / 255)
        truth = sample.labels[None].long()
        labelled += int((truth != IGNORE).sum())
        for threshold, counts in confusion.items():
            sure = pseudo.confidence.cpu() >= threshold
            counts += confusion_matrix(pseudo.labels.cpu(), truth.where(sure, IGNORE), num_classes)
    print(f"{len(keys)} images of {path}")
    print("confidence   share of pixels   right   mean IoU")
    for threshold, counts in confusion.items():
        scores = Scores(counts)
        share = int(counts.sum()) / labelled
        print(f"   >= {threshold:4.2f}   {share:15.1%}   {scores.accuracy:5.1%}   {scores.mean_iou:8.1%}")
    print_classes(dataset.classes.names, confusion[0.0], confusion[max(THRESHOLDS)])


def print_classes(names: Sequence[str], counts: Tensor, sure: Tensor) -> None:
    """Of each class's pixels: how many there are, how many pseudo-labels say so, and which are sure."""
    truth = counts.sum(1)
    shares = {
        "labels": truth / truth.sum(),
        "pseudo": counts.sum(0) / truth.sum(),
        "right": counts.diagonal() / truth,
        "sure, right": sure.diagonal() / truth,
        "sure, wrong": (sure.sum(1) - sure.diagonal()) / truth,
    }
    print(f"\n{'class':14}" + "".join(f"{name:>13}" for name in shares))
    for number, name in enumerate(names):
        print(f"{name:14}" + "".join(f"{share[number].item():13.1%}" for share in shares.values()))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("needs a run to look at: python benchmarks/pseudo_labels.py RUN")
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100)
