"""Score a trained run on labelled images: classes, confusions, boundaries.

RUN is a run folder. The scores are shown as a table and written as JSON. By default the run's own
validation images are shown whole; docs/evaluating.md explains every score and choice.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.cli.run_words import add_trust_argument
from recoseg.errors import UserError
from recoseg.lookup import did_you_mean
from recoseg.words import printable

if TYPE_CHECKING:
    from recoseg.builders.evaluation import Exam
    from recoseg.evaluate.boundary import BoundaryRule
    from recoseg.evaluate.distance import Distance
    from recoseg.evaluate.protocol import Protocol

TAKES_SETTINGS = True
KEEPS_MEMORY = True
SAVES_MEMORY = "large images need less in parts: --window 512"
MOST_LETTERS = 40  # of the data's name in that of a file
BOUNDARY_OPTIONS = ("dilation", "tolerance", "band")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "recoseg evaluate RUN [--subset NAME] [--data FOLDER] [--data.NAME VALUE ...] [options]"
    parser.add_argument("run_folder", metavar="RUN", help="the run folder")
    parser.add_argument("--subset", default="val", metavar="NAME", help="train, val (default) or test")
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
    from recoseg.builders.evaluation import build_exam
    from recoseg.cli.check import progress_of
    from recoseg.cli.score_table import show
    from recoseg.cli.split import require_writable
    from recoseg.cli.terminal import new_console
    from recoseg.train.run_folder import RunFolder

    words = data_words(arguments)
    protocol, rule = chosen_protocol(arguments), chosen_rule(arguments)
    if arguments.out:
        require_writable(Path(arguments.out), force=arguments.force)
    elif arguments.force:
        raise UserError("--force has no effect without --out")
    folder = RunFolder.open(Path(arguments.run_folder))
    exam = build_exam(
        folder,
        weights=arguments.weights,
        data_words=words,
        subset=arguments.subset,
        trust=arguments.trust,
    )
    with progress_of(new_console(stderr=True), doing="evaluating", did="evaluated") as progress:
        evaluation = exam.taken(protocol, rule, progress=progress)
    out = Path(arguments.out) if arguments.out else folder.evaluations / file_name(exam, protocol, rule)
    console = new_console()
    show(evaluation, console, run=folder.path)  # first: what was computed shall be seen in any case
    try:
        out.parent.mkdir(exist_ok=True)
        evaluation.save(out)
    except OSError as error:
        raise UserError(f"{out}: the scores are not written there: {error.strerror or error}") from error
    console.print(printable(f"scores: {out}"), soft_wrap=True)
    return 0


def data_words(arguments: argparse.Namespace) -> list[str]:
    """The settings of other data; nothing else of a config may be set here."""
    for word in arguments.settings:
        name = word.partition("=")[0]
        if word.startswith("-") and not name.startswith("--data."):
            options = [f"--{option}" for option in vars(arguments) if option not in NO_OPTIONS]
            raise UserError(f"unexpected argument {name!r}{did_you_mean(name, options)}")
    return [*([f"--data={arguments.data}"] if arguments.data else []), *arguments.settings]


NO_OPTIONS = ("run", "run_folder", "settings", "takes_settings", "keeps_memory")


def chosen_protocol(arguments: argparse.Namespace) -> Protocol:
    from recoseg.evaluate.protocol import Protocol

    if arguments.overlap is not None and arguments.window is None:
        raise UserError("--overlap has no effect without --window")
    given: dict[str, Any] = {name: getattr(arguments, name) for name in ("window", "overlap", "flip")}
    given["scales"] = tuple(arguments.scales) if arguments.scales else None
    return Protocol(**{name: value for name, value in given.items() if value is not None})


def chosen_rule(arguments: argparse.Namespace) -> BoundaryRule | None:
    from recoseg.evaluate.boundary import BoundaryRule
    from recoseg.evaluate.distance import Distance

    given = {name: text for name in BOUNDARY_OPTIONS if (text := getattr(arguments, name)) is not None}
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


def file_name(exam: Exam, protocol: Protocol, rule: BoundaryRule | None) -> str:
    """SUBSET.json; whatever is not the default is in the name, so that other figures are not written over."""
    from recoseg.evaluate.boundary import BoundaryRule
    from recoseg.evaluate.protocol import Protocol

    parts = [exam.subset, *(["best"] if exam.weights == "best" else [])]
    if exam.is_other_data:
        digest = hashlib.sha256(json.dumps(exam.data, sort_keys=True).encode()).hexdigest()[:8]
        parts.append(f"{Path(exam.data.get('root', exam.dataset.name)).name[:MOST_LETTERS]}-{digest}")
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
