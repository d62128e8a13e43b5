"""What the page shows of one run, read from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from recoseg.splits.split_file import LabelSplit
from recoseg.train.run_folder import RunFolder, read_lines
from recoseg.types import ClassInfo


@dataclass(frozen=True)
class Picture:
    """An image that a run was asked about, and what it answered."""

    key: str
    image: Tensor  # (3, H, W) uint8
    truth: Tensor  # (H, W) uint8, IGNORE where a pixel has no label
    prediction: Tensor  # (H, W) uint8


@dataclass(frozen=True)
class RunView:
    """One run as the page sees it: plain values, no files."""

    name: str
    classes: ClassInfo
    config_yaml: str
    num_labelled: int
    num_unlabelled: int
    metrics: list[dict[str, Any]]
    losses: list[dict[str, Any]]
    pictures: list[Picture]
    command: str
    pixels: str | None = None  # how many of a class's pixels are labelled in an image; None: all

    @property
    def scores(self) -> dict[str, Any] | None:
        """Those of the last evaluation; None before the first."""
        return self.metrics[-1] if self.metrics else None

    @property
    def best(self) -> dict[str, Any] | None:
        """The evaluation whose weights were kept as the best; None where none were chosen."""
        chosen = [line for line in self.metrics if (line.get("selection") or {}).get("mean_iou") is not None]
        return max(chosen, key=lambda line: line["selection"]["mean_iou"], default=None)

    @property
    def iterations(self) -> int:
        """How many were done and logged."""
        return max((int(line["iteration"]) for line in (*self.metrics, *self.losses)), default=0)


def view_run(
    folder: RunFolder, *, name: str, classes: ClassInfo, pictures: Sequence[Picture], command: str
) -> RunView:
    """The run in `folder`, with `pictures` of its predictions and the `command` that repeats it."""
    split = LabelSplit.load(folder.split)
    return RunView(
        name=name,
        classes=classes,
        config_yaml=folder.config.read_text(encoding="utf-8"),
        num_labelled=len(split.labelled),
        pixels=split.pixels,
        num_unlabelled=len(split.unlabelled),
        metrics=read_lines(folder.metrics),
        losses=read_lines(folder.losses),
        pictures=list(pictures),
        command=command,
    )
