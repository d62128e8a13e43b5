"""Draw a picture of the paper's kinds, of one run or of several side by side.

recoseg picture KIND --help tells more of each.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.network_pictures import (
    add_predictions_arguments,
    add_queries_arguments,
    add_relations_arguments,
    draw_predictions_of,
    draw_queries_of,
    draw_relations_of,
)
from recoseg.cli.subcommands import Subcommand, added_subcommands
from recoseg.errors import UserError
from recoseg.text import printable

if TYPE_CHECKING:
    from recoseg.figures.line_charts import Chart
    from recoseg.training.log_curves import Log

KEEPS_MEMORY = True
SAVES_MEMORY = "fewer or smaller images, and runs one by one, need less"


@dataclass(frozen=True)
class _PictureKind(Subcommand):
    """`run(arguments, out)` draws it; `beside` are endings of other files that it writes beside it."""

    beside: tuple[str, ...] = ()


EXAMPLES = (
    "recoseg picture relations runs/first",
    "recoseg picture curves runs/first runs/second",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, kind, subparser in added_subcommands(parser, SUBCOMMANDS, metavar="KIND"):
        subparser.add_argument("runs", metavar="RUN", nargs="+", help="run folders")
        subparser.add_argument(
            "--out",
            metavar="FILE",
            help=f"a .png, .svg or .pdf to write (default: pictures/{name}.png in the first run)",
        )
        subparser.add_argument("--force", action="store_true", help="write over an existing file")
        kind.add_arguments(subparser)
        subparser.set_defaults(kind=name, draw=kind.run, beside=kind.beside)


def run(arguments: argparse.Namespace) -> int:
    out = _where(arguments)
    arguments.draw(arguments, out)
    print(f"picture: {printable(str(out))}")
    return 0


def _where(arguments: argparse.Namespace) -> Path:
    """The file to draw into; what can be wrong with it is said before any work is done."""
    from recoseg.cli.arguments import require_writable
    from recoseg.figures.sheet import require_ending
    from recoseg.training.run_folder import RunFolder

    first = RunFolder.open(Path(arguments.runs[0]))
    if arguments.out is None:
        if arguments.force:
            raise UserError("--force has no effect without --out: a run's own pictures are drawn afresh")
        out = first.path / "pictures" / f"{arguments.kind}.png"
        out.parent.mkdir(exist_ok=True)
        return out
    out = Path(arguments.out)
    require_ending(out)
    for file in (out, *(out.with_suffix(ending) for ending in arguments.beside)):
        require_writable(file, force=arguments.force)
    return out


def _add_labels_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--image", metavar="KEY", help="the image (default: one with most classes)")


def _draw_labels_of(arguments: argparse.Namespace, out: Path) -> None:
    """Show an image with partial labels: 1 pixel, 1 %, 5 %, 25 % of each class.

    One labelled training image of the run's split, with that much of each class labelled. Needs no weights.
    """
    from recoseg.cli.data_tables import draw_partial as draw_labels
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.config.load import load
    from recoseg.data.build import build_data_of_run
    from recoseg.splits.class_index import class_counter
    from recoseg.splits.label_split import LabelSplit
    from recoseg.training.run_folder import RunFolder

    if len(arguments.runs) > 1:
        raise UserError(f"labels are those of one run, and {len(arguments.runs)} are given")
    folder = RunFolder.open(Path(arguments.runs[0]))
    dataset = build_data_of_run(load(folder.config).data, folder.path)
    split = LabelSplit.load(folder.split)
    split.check_fits(dataset)
    with progress_of(new_console(stderr=True), doing="reading labels") as progress:
        draw_labels(out, dataset, split, class_counter(progress=progress), arguments.image)


def _draw_curves_of(arguments: argparse.Namespace, out: Path) -> None:
    """Show scores and parts of the loss over iterations, all runs in each chart.

    Read from the logs of the runs: they need no weights, and may be of different data. Long curves are drawn
    through means of neighbours.
    """
    from recoseg.figures.line_charts import draw_charts
    from recoseg.training.run_folder import RunFolder, run_names

    folders = [RunFolder.open(Path(path)) for path in arguments.runs]
    metrics = [folder.read_metrics() for folder in folders]
    losses = [folder.read_losses() for folder in folders]
    charts = [chart for chart in _charts_of(metrics, losses) if any(map(any, chart.series))]
    if not charts:
        raise UserError("nothing is logged yet: train to the first lines of losses.jsonl")
    draw_charts(out, run_names(arguments.runs), charts)


def _charts_of(metrics: Sequence[Log], losses: Sequence[Log]) -> list[Chart]:
    """Scores first, then the loss and, if there are several, its parts, then how well the contrast ranks."""
    from recoseg.figures.line_charts import Chart
    from recoseg.score_names import SCORE_NAMES
    from recoseg.training.log_curves import curve, loss_parts, stats, thinned

    def chart(title: str, logs: Sequence[Log], name: str, *, percent: bool = False) -> Chart:
        return Chart(title, [[thinned(curve(log, name))] for log in logs], percent=percent)

    return [
        *(
            chart(name.overall_title, metrics, ".".join(name.overall), percent=True)
            for name in (SCORE_NAMES["iou"], SCORE_NAMES["accuracy"])
        ),
        chart("Loss", losses, "loss"),
        *(chart(f"Loss: {part}", losses, part) for part in loss_parts(losses)),
        chart(
            "Contrast: positive key ranked first",
            [stats(log) for log in losses],
            "contrast_accuracy",
            percent=True,
        ),
    ]


SUBCOMMANDS = {
    "relations": _PictureKind(
        draw_relations_of,
        add_relations_arguments,
        ["recoseg picture relations runs/first runs/second"],
        beside=(".json",),
    ),
    "queries": _PictureKind(draw_queries_of, add_queries_arguments, ["recoseg picture queries runs/first"]),
    "predictions": _PictureKind(
        draw_predictions_of, add_predictions_arguments, ["recoseg picture predictions runs/first runs/second"]
    ),
    "labels": _PictureKind(_draw_labels_of, _add_labels_arguments, ["recoseg picture labels runs/first"]),
    "curves": _PictureKind(_draw_curves_of, examples=["recoseg picture curves runs/first runs/second"]),
}
