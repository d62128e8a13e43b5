"""The first section, the scores and labels of each run; and the last, how to repeat it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recoseg.evaluate import METRICS
from recoseg.report.markup import Markup, render
from recoseg.report.overview import overview
from recoseg.report.run_view import RunView, are_folds, repeated_by, seed_groups
from recoseg.report.standing import may_be_chance
from recoseg.score_names import LAST_WEIGHTS, SCORE_NAMES
from recoseg.text import DASH, count, how_many, percent, percent_range, points


def summary(runs: Sequence[RunView]) -> Markup:
    """The facts of a single run, or a table of several; then what to know when you read the scores."""
    alone = len(runs) == 1
    return render(
        "summary.html",
        facts=_measures(runs[0]) if alone else [],
        words=[("Method", runs[0].method), ("Network", runs[0].network), ("Scored weights", runs[0].weights)],
        overview=None if alone else overview(runs),
        headings=["Run", *(name for name, _ in _measures(runs[0]))],
        rows=[_comparison_row(number, runs) for number in range(len(runs))],
        weights_notes=_weights_notes(runs),
        interval_note=_interval_note(runs),
        notes=[*_start_notes(runs), *_class_notes(runs), *_best_notes(runs)],
    )


def _weights_notes(runs: Sequence[RunView]) -> list[str]:
    """A warning where some runs are scored by an average of their weights and others are not."""
    last = [run.name for run in runs if run.weights == LAST_WEIGHTS]
    averaged = [run for run in runs if run.weights.startswith("EMA")]
    if not (last and averaged):
        return []
    others, decay = some([run.name for run in averaged]), averaged[0].weights.removeprefix("EMA ")
    return [
        f"Not on equal terms: scores of {some(last)} are those of the last weights, scores of {others} those "
        f"of a moving average (EMA). Train the former with --method.average {decay} too."
    ]


def _interval_note(runs: Sequence[RunView]) -> str | None:
    """What the intervals mean; None where no run has one."""
    surveys = [run.survey for run in runs if run.survey]
    intervals = [survey.interval for survey in surveys if survey.interval]
    if len(runs) > 1 and intervals:
        return (
            "Ranges below a score are 95% intervals: bootstrap over the validation images. "
            "Differences between runs on the same images are more certain."
        )
    if intervals:
        number = how_many(surveys[0].num_images, "image")
        return (
            f"Mean IoU {percent_range(*intervals[0])}: 95% bootstrap interval over {number}. "
            "Chance in training comes on top."
        )
    if len(runs) == 1 and surveys and surveys[0].num_images == 1:
        return "Scored on one image: too few images for a confidence interval."
    return None


def _start_notes(runs: Sequence[RunView]) -> list[str]:
    """The gain of training over the probe of the frozen features that it started from."""
    notes = []
    for run in runs:
        if run.start is None or run.mean_iou is None or not run.iterations:
            continue
        gain = run.mean_iou - run.start
        text = f"Linear probe of the frozen features {percent(run.start)}, training {points(gain)}."
        if gain < 0:
            text += " Use the probe (--method probe), or train with a lower optimiser.lr."
        notes.append(_whose(run, runs) + text)
    return notes


def _best_notes(runs: Sequence[RunView]) -> list[str]:
    """How the best weights were chosen, where a run keeps them in addition to the last."""
    notes = []
    for run in runs:
        if best := run.best:
            chosen = best["selection"]
            notes.append(
                f"{_whose(run, runs)}scores here are those of the last weights. best.safetensors are those "
                f"of iteration {count(best['iteration'])}, chosen by their mean IoU of "
                f"{percent(chosen['mean_iou'])} on {chosen['on']}; they have {percent(best['mean_iou'])} "
                "on the validation images."
            )
    return notes


def _whose(run: RunView, runs: Sequence[RunView]) -> str:
    """The start of a note about `run`: its name where there are several."""
    return f"{run.name}: " if len(runs) > 1 else ""


def _comparison_row(number: int, runs: Sequence[RunView]) -> dict[str, Any]:
    run = runs[number]
    interval = run.survey.interval if run.survey else None
    return {
        "name": run.name,
        "kind": _what_differs(run, runs),
        "measures": _measures(run),
        "is_best": _is_best(number, runs),
        "gain": _gain(number, runs),
        "interval": percent_range(*interval) if interval else None,
    }


def _what_differs(run: RunView, runs: Sequence[RunView]) -> str:
    """The method; network and scored weights where they differ between runs."""
    words = [run.method]
    if len({each.network for each in runs}) > 1:
        words.append(run.network)
    if len({each.weights for each in runs}) > 1:
        words.append(f"{run.weights} weights" if run.weights == LAST_WEIGHTS else run.weights)
    return "; ".join(words)


def _gain(number: int, runs: Sequence[RunView]) -> str | None:
    """Points above the first run, which has no such number; folds have none either."""
    own, first = runs[number].mean_iou, runs[0].mean_iou
    if number == 0 or own is None or first is None or are_folds(runs):
        return None
    return points(own - first)


def _measures(run: RunView) -> list[tuple[str, str]]:
    """(name, value), the most important first."""
    scores = run.scores or {}
    names = (SCORE_NAMES[name] for name in ("iou", "boundary_iou", "boundary_f", "accuracy"))
    return [
        *((name.overall_title, percent(name.overall_in(scores))) for name in names),
        *(
            METRICS[name].told(result)
            for name, result in scores.get("metrics", {}).items()
            if name in METRICS
        ),
        ("Iterations", count(run.iterations)),
        ("Labelled images", f"{count(run.num_labelled)}{_partly(run)}"),
        ("Unlabelled images", count(run.num_unlabelled)),
        ("Classes in the mean", f"{_num_counted(run)} of {len(run.classes)}" if run.scores else DASH),
    ]


def _partly(run: RunView) -> str:
    """The share of pixels that have labels; nothing where all have one."""
    if run.pixels is None:
        return ""
    share = run.pixels if run.pixels.endswith("%") else how_many(int(run.pixels), "pixel")
    return f", {share} of each class"


def _is_best(number: int, runs: Sequence[RunView]) -> bool:
    """Whether no run scores higher, and its lead over no other run may be chance."""
    own = runs[number].mean_iou
    if own is None or repeated_by([run.settings for run in runs]) or seed_groups(runs):
        return False
    scored = [run for run in runs if run.mean_iou is not None]
    highest = percent(max(run.mean_iou or 0 for run in scored)) == percent(own)
    return highest and not any(
        may_be_chance(runs[number], run) for run in scored if percent(run.mean_iou) != percent(own)
    )


def _num_counted(run: RunView) -> int:
    return len(run.classes) - len(_absent(run))


def _absent(run: RunView) -> list[str]:
    """Classes that have no IoU although the run was evaluated."""
    iou = run.scores["iou"] if run.scores else ()
    return [name for name, value in zip(run.classes.names, iou, strict=False) if value is None]


def _never_predicted(run: RunView) -> list[str]:
    """Classes that have pixels but were predicted nowhere."""
    confusion = run.scores["confusion"] if run.scores else []
    called = [sum(column) for column in zip(*confusion, strict=True)]
    return [
        name
        for name, row, times in zip(run.classes.names, confusion, called, strict=False)
        if sum(row) and not times
    ]


def _class_notes(runs: Sequence[RunView]) -> list[str]:
    """Classes that the mean leaves out, classes that were never predicted, and what runs lack."""
    waiting = [run.name for run in runs if not run.scores]
    notes = [f"Not evaluated yet: {', '.join(waiting)}."] if waiting else []
    if unweighted := [run.name for run in runs if run.survey is None]:
        names = ", ".join(unweighted)
        notes.append(f"Without weights, so without pictures and relations of classes: {names}.")
    for run in runs:
        whose = _whose(run, runs)
        if missed := _never_predicted(run):
            notes.append(f"{whose}{how_many(len(missed), 'class')} never predicted: {some(missed)}.")
        if absent := _absent(run):
            left = f"{how_many(len(absent), 'class')} in neither truth nor prediction, left out of the mean"
            notes.append(f"{whose}{left}: {some(absent)}.")
    return notes


def some(names: Sequence[str], most: int = 8) -> str:
    """The first few, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def origin(runs: Sequence[RunView]) -> Markup:
    """The command and the settings of each run."""
    return render("origin.html", runs=runs)
