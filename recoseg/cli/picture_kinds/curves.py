"""Show scores and parts of the loss over iterations, all runs in each chart.

Read from the logs of the runs: they need no weights, and may be of different data. Long curves are drawn
through means of neighbours.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.cli.picture_words import run_names
from recoseg.errors import UserError

if TYPE_CHECKING:
    from recoseg.figures.curves import Chart

BESIDE: tuple[str, ...] = ()

Log = list[dict[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None besides those of every kind."""


def draw(arguments: argparse.Namespace, out: Path) -> None:
    from recoseg.figures.curves import draw_curves
    from recoseg.train.run_folder import RunFolder

    folders = [RunFolder.open(Path(path)) for path in arguments.runs]
    metrics = [folder.read_metrics() for folder in folders]
    losses = [folder.read_losses() for folder in folders]
    charts = [chart for chart in charts_of(metrics, losses) if any(chart.lines)]
    if not charts:
        raise UserError("nothing is logged yet: train to the first lines of losses.jsonl")
    draw_curves(out, run_names(arguments.runs), charts)


def charts_of(metrics: Sequence[Log], losses: Sequence[Log]) -> list[Chart]:
    """Scores first, then the loss and, if there are several, its parts, then how well the contrast ranks."""
    from recoseg.figures.curves import Chart
    from recoseg.report.chart import thinned
    from recoseg.report.curves import NOT_PARTS, curve

    def chart(title: str, logs: Sequence[Log], name: str, *, percent: bool = False) -> Chart:
        return Chart(title, [thinned(curve(log, name)) for log in logs], percent=percent)

    parts = list(dict.fromkeys(key for log in losses for line in log for key in line if key not in NOT_PARTS))
    stats = [
        [{"iteration": line["iteration"], **(line.get("stats") or {})} for line in log] for log in losses
    ]
    return [
        chart("Mean IoU", metrics, "mean_iou", percent=True),
        chart("Pixel accuracy", metrics, "accuracy", percent=True),
        chart("Loss", losses, "loss"),
        *(chart(f"Loss: {part}", losses, part) for part in parts if len(parts) > 1),
        chart("Contrast: positive key ranked first", stats, "contrast_accuracy", percent=True),
    ]
