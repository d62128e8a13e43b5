"""Score a trained run on labelled images: classes, confusions, boundaries.

RUN is a run folder. The scores are shown as a table and written as JSON. By default the run's own
validation images are shown whole; docs/evaluating.md explains every score and choice.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import textwrap
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.cli.arguments import add_trust_argument
from recoseg.errors import UserError
from recoseg.text import DASH, did_you_mean, how_many, hundredths, percent, percent_range, printable

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.evaluate.boundary import BoundaryRule, Distance
    from recoseg.evaluate.protocol import Protocol
    from recoseg.evaluate.scores_file import Evaluation
    from recoseg.runs.run import Run
    from recoseg.tables import Table


TAKES_SETTINGS = True
KEEPS_MEMORY = True
SAVES_MEMORY = "large images need less in parts: --window 512"
MOST_LETTERS = 40  # of the data's name in that of a file
_BOUNDARY_OPTIONS = ("dilation", "tolerance", "band")


EXAMPLES = (
    "recoseg evaluate runs/first",
    "recoseg evaluate runs/first --subset test",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "recoseg evaluate RUN [--subset NAME] [--data FOLDER] [options]"
    parser.add_argument("run_folder", metavar="RUN", help="the run folder")
    parser.add_argument(
        "--subset",
        metavar="NAME",
        help="train, val, test or all (default: val; all of a folder in --data that has no lists)",
    )
    parser.add_argument(
        "--weights", choices=("last", "best"), default="last", help="which weights of the run (default last)"
    )
    parser.add_argument(
        "--data", metavar="DATA", help="other data with the same classes, as in recoseg train"
    )
    look = parser.add_argument_group("how images are shown")
    look.add_argument("--window", type=int, metavar="N", help="through windows of N pixels, not whole")
    look.add_argument(
        "--overlap", type=float, metavar="SHARE", help="what neighbouring windows share (default 0.25)"
    )
    look.add_argument("--flip", action="store_true", help="also flipped, and averaged")
    look.add_argument(
        "--scales", type=float, nargs="+", metavar="S", help="at these sizes, averaged, such as 0.75 1 1.25"
    )
    edge = parser.add_argument_group("boundary scores (distances in pixels, or in % of the diagonal)")
    edge.add_argument(
        "--boundary", action=argparse.BooleanOptionalAction, help="count them (default), or not"
    )
    for name, text in (
        ("dilation", "width of Boundary IoU's bands (default 2%%)"),
        ("tolerance", "how far a contour may be off for the F-score (default 0.75%%)"),
        ("band", "how far from contours the IoU near them looks (default 1%%)"),
    ):
        edge.add_argument(f"--{name}", metavar="D", help=text)
    parser.add_argument(
        "--out", metavar="FILE", help="the JSON file (default: in the run, evaluation/SUBSET.json)"
    )
    parser.add_argument("--force", action="store_true", help="write over an existing --out")
    add_trust_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.arguments import require_writable
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.runs.run import ALL, Run, labelled_keys, require_subset
    from recoseg.training.run_folder import RunFolder

    words = _data_words(arguments)
    protocol, rule = _chosen_protocol(arguments), _chosen_rule(arguments)
    if arguments.out:
        require_writable(Path(arguments.out), force=arguments.force)
    elif arguments.force:
        raise UserError("--force has no effect without --out")
    folder = RunFolder.open(Path(arguments.run_folder))
    if arguments.subset is not None:
        require_subset(arguments.subset)
    opened = Run.open(folder, weights=arguments.weights, trust=arguments.trust)
    if words:
        opened = opened.with_data(words)
    subset = arguments.subset or (opened.default_subset() if words else "val")
    with progress_of(new_console(stderr=True), doing="evaluating", did="evaluated") as progress:
        evaluation = opened.evaluate(subset, protocol, rule, progress=progress)
    out = (
        Path(arguments.out)
        if arguments.out
        else folder.evaluations / file_name(opened, subset, protocol, rule)
    )
    console = new_console()
    num_all = len(labelled_keys(opened.dataset, ALL)) if words else None
    # First: what was computed shall be seen in any case.
    show(evaluation, console, run=folder.path, num_all=num_all)
    try:
        out.parent.mkdir(exist_ok=True)
        evaluation.save(out)
    except OSError as error:
        raise UserError(f"{out}: the scores are not written there: {error.strerror or error}") from error
    console.print(printable(f"scores: {out}"), soft_wrap=True)
    return 0


def _data_words(arguments: argparse.Namespace) -> list[str]:
    """The settings of other data; nothing else of a config may be set here."""
    for word in arguments.settings:
        name = word.partition("=")[0]
        if word.startswith("-") and not name.startswith("--data."):
            options = [f"--{option}" for option in vars(arguments) if option not in _NO_OPTIONS]
            raise UserError(f"unexpected argument {name!r}{did_you_mean(name, options)}")
    return [*([f"--data={arguments.data}"] if arguments.data else []), *arguments.settings]


_NO_OPTIONS = ("run", "run_folder", "settings", "takes_settings", "keeps_memory")


def _chosen_protocol(arguments: argparse.Namespace) -> Protocol:
    from recoseg.evaluate.protocol import Protocol

    if arguments.overlap is not None and arguments.window is None:
        raise UserError("--overlap has no effect without --window")
    given: dict[str, Any] = {name: getattr(arguments, name) for name in ("window", "overlap", "flip")}
    given["scales"] = tuple(arguments.scales) if arguments.scales else None
    return Protocol(**{name: value for name, value in given.items() if value is not None})


def _chosen_rule(arguments: argparse.Namespace) -> BoundaryRule | None:
    from recoseg.evaluate.boundary import BoundaryRule, Distance

    given = {name: text for name in _BOUNDARY_OPTIONS if (text := getattr(arguments, name)) is not None}
    if arguments.boundary is False:
        for name in given:
            raise UserError(f"--{name} has no effect with --no-boundary")
        return None
    distances = {}
    for name, text in given.items():
        try:
            distances[name] = Distance.parse(text)
        except UserError as error:
            raise UserError(f"--{name}: {error}") from None
    return BoundaryRule(**distances)


def file_name(run: Run, subset: str, protocol: Protocol, rule: BoundaryRule | None) -> str:
    """SUBSET.json; whatever is not the default is in the name, so that other figures are not written over."""
    import msgspec

    from recoseg.config.load import load
    from recoseg.evaluate.boundary import BoundaryRule
    from recoseg.evaluate.protocol import Protocol

    parts = [subset, *(["best"] if run.weights == "best" else [])]
    data = msgspec.to_builtins(run.config.data)
    if run.config.data != load(run.folder.config).data:  # than the run was trained with
        digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:8]
        parts.append(f"{Path(data.get('root', run.dataset.name)).name[:MOST_LETTERS]}-{digest}")
    parts += differing(protocol, Protocol())
    parts += differing(rule, BoundaryRule()) if rule else ["no-boundary"]
    return "_".join(parts) + ".json"


def differing(chosen: Protocol | BoundaryRule, usual: Protocol | BoundaryRule) -> list[str]:
    """The settings that are not the usual ones, such as window-512, flip and scales-0.75-1."""
    words = []
    for field in fields(chosen):
        value = getattr(chosen, field.name)
        if value == getattr(usual, field.name):
            continue
        values = value if isinstance(value, tuple) else () if value is True else (value,)
        words.append("-".join([field.name, *(as_word(one) for one in values)]))
    return words


def as_word(value: int | float | Distance) -> str:
    return f"{value:.4g}" if isinstance(value, int | float) else value.as_word().replace("%", "pct")


_NUM_PAIRS = 5


def show(evaluation: Evaluation, console: Console, *, run: Path, num_all: int | None = None) -> None:
    """Print all of it; `num_all` is the number of labelled images in other data than the run's own."""
    from recoseg.evaluate.class_scores import ClassScores
    from recoseg.evaluate.scores_file import scores_as_plain
    from recoseg.tables import terminal

    about = evaluation.about
    chosen = f"{about['subset']}, {how_many(about['num_images'], 'image')}"
    if about["subset"] == "all":
        chosen = f"all {how_many(about['num_images'], 'labelled image')}"
    elif num_all is not None and about["num_images"] < num_all:
        chosen = f"{about['subset']}, {about['num_images']:,} of {num_all:,} labelled images"
        chosen += "; --subset all scores all of them"
    for line in (
        f"run:      {run}, {about['weights']} weights, iteration {about['iteration']}",
        f"data:     {about['data'].get('root', about['data']['name'])}, {chosen}",
        f"protocol: {about['protocol']}",
    ):
        console.print(printable(line), soft_wrap=True)
    console.print()
    plain = scores_as_plain(evaluation.scores)
    console.print(terminal(ClassScores.of(evaluation.class_names, plain).table()))
    console.print()
    for text in notes(evaluation):
        console.print(textwrap.fill(printable(text), console.width), soft_wrap=True)
    pairs = confusions(evaluation)
    if pairs.rows:
        console.print()
        console.print(terminal(pairs))


def notes(evaluation: Evaluation) -> Iterator[str]:
    """What the figures mean, and why there are dashes."""
    from recoseg.evaluate import METRICS
    from recoseg.evaluate.boundary import Distance

    scores, names = evaluation.scores, evaluation.class_names
    measured = [METRICS[name].told(result) for name, result in scores.metrics.items() if name in METRICS]
    told = "".join(f" {name}: {value}." for name, value in measured)
    yield f"In per cent. Pixel accuracy: {hundredths(scores.accuracy)}.{told}"
    if interval := evaluation.about.get("mean_iou_interval"):
        number = how_many(evaluation.about["num_images"], "image")
        yield (f"Mean IoU: 95% bootstrap interval {percent_range(*interval)} over {number}.")
    elif evaluation.about["num_images"] == 1:
        yield "One image: too few for a confidence interval."
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
        yield f"{DASH} Left out of the means, neither labelled nor predicted: {', '.join(absent)}."
    false = [name for name, a, b in zip(names, is_true, is_absent, strict=True) if not a and not b]
    if false:
        yield f"Predicted, but not in the labels: {', '.join(false)}. Their IoU is 0."


def confusions(evaluation: Evaluation) -> Table:
    """The largest shares of a true class that were predicted as another."""
    from recoseg.evaluate.class_scores import confused_pairs, row_shares
    from recoseg.tables import Table

    confusion, names = evaluation.scores.confusion.tolist(), evaluation.class_names
    shares = row_shares(confusion)
    rows = [
        [names[true], names[other], percent(shares[true, other]), f"{confusion[true][other]:,}"]
        for true, other in confused_pairs(shares, most=_NUM_PAIRS)
    ]
    head = ("class", "predicted as", "share", "pixels")
    return Table(head=head, rows=rows, title="Most confused", num_names=2)
