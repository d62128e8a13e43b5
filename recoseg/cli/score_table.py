"""Scores in the terminal: what they are of, a row a class, the means, and what was taken for what."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.words import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from recoseg.evaluate.scores_file import Evaluation
    from recoseg.types import Scores

DASH = "–"
NUM_PAIRS = 5
LINES = "\n".join(["    ", "    ", " ── ", "    ", " ── ", "    ", "    ", "    "]) + "\n"
"""A rule below the head and one above the means, nothing else."""


def show(evaluation: Evaluation, console: Console, *, run: Path) -> None:
    about = evaluation.about
    images = f"{about['num_images']:,} image{'' if about['num_images'] == 1 else 's'}"
    for line in (
        f"run:      {run}, {about['weights']} weights, iteration {about['iteration']}",
        f"data:     {about['data'].get('root', about['data']['name'])}, {about['subset']}, {images}",
        f"protocol: {about['protocol']}",
    ):
        console.print(printable(line), soft_wrap=True)
    console.print()
    console.print(class_table(evaluation))
    console.print()
    for text in notes(evaluation):
        console.print(textwrap.fill(printable(text), console.width), soft_wrap=True)
    pairs = confused_pairs(evaluation.scores, evaluation.class_names)
    if pairs:
        console.print("Most confused:")
        console.print(pairs)


def notes(evaluation: Evaluation) -> Iterator[str]:
    """What the figures mean, and why there are dashes."""
    from recoseg.evaluate.distance import Distance

    scores, names = evaluation.scores, evaluation.class_names
    yield f"In per cent. Pixel accuracy: {percent(scores.accuracy)}."
    if scores.boundary is not None:
        far = {name: Distance.parse(word) for name, word in evaluation.about["boundary_rule"].items()}
        yield (
            f"Boundary IoU counts bands of {far['dilation']}, boundary F forgives contours that are off by "
            f"{far['tolerance']}, and the IoU near contours counts what is within {far['band']} of true ones."
        )
    is_true = (scores.confusion.sum(1) > 0).tolist()
    is_absent = scores.iou.isnan().tolist()
    absent = [name for name, missing in zip(names, is_absent, strict=True) if missing]
    if absent:
        yield f"{DASH} Left out of the means, since no pixel is or was called so: {', '.join(absent)}."
    false = [name for name, a, b in zip(names, is_true, is_absent, strict=True) if not a and not b]
    if false:
        yield f"No pixel is, but some were called: {', '.join(false)}. Their IoU is 0."


def class_table(evaluation: Evaluation) -> Table:
    """IoU and accuracy, and what was counted at boundaries."""
    from rich.box import Box
    from rich.table import Table
    from rich.text import Text

    scores, boundary = evaluation.scores, evaluation.scores.boundary
    columns = {
        "IoU": (scores.iou.tolist(), scores.mean_iou),
        "accuracy": (scores.class_accuracy.tolist(), scores.mean_accuracy),
    }
    if boundary is not None:
        columns["boundary\nIoU"] = (boundary.iou.tolist(), boundary.mean_iou)
        columns["boundary\nF"] = (boundary.f_score.tolist(), boundary.mean_f_score)
        columns["near\nIoU"] = (boundary.near.iou.tolist(), boundary.near.mean_iou)
    table = Table(box=Box(LINES), show_edge=False, header_style="bold", pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("class")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for number, name in enumerate(evaluation.class_names):
        row = [percent(values[number]) for values, _ in columns.values()]
        table.add_row(str(number), Text(printable(name), overflow="fold"), *row)
    table.add_section()
    table.add_row("", "mean", *(percent(mean) for _, mean in columns.values()), style="bold")
    return table


def confused_pairs(scores: Scores, names: tuple[str, ...]) -> Table | None:
    """The largest shares of a true class that were called another."""
    from rich.table import Table
    from rich.text import Text

    wrong = scores.confusion - scores.confusion.diagonal().diag()
    share = (wrong / scores.confusion.sum(1, keepdim=True)).nan_to_num()  # (K, K)
    table = Table.grid(padding=(0, 1), pad_edge=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    largest = share.flatten().topk(min(NUM_PAIRS, share.numel()))
    for value, cell in zip(largest.values.tolist(), largest.indices.tolist(), strict=True):
        true, called = divmod(cell, len(names))
        if value > 0:
            text = Text(printable(f"of {names[true]} is called {names[called]}"))
            table.add_row(f"{percent(value)} %", text, f"{int(wrong[true, called]):,} pixels")
    return table if table.row_count else None


def percent(share: float) -> str:
    """0.4126 as 41.3; what does not exist as a dash."""
    return DASH if share != share else f"{100 * share:.1f}"
