"""A table of the scores of several runs, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from recoseg.text import DASH, how_many, percent, percent_range, points, points_range, printable

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.evaluate.resampling import Interval
    from recoseg.evaluate.survey import Survey


def print_run_table(paths: Sequence[Path], console: Console, *, last: str) -> None:
    """`last` is what stands beside or below the runs: their "differences" to the first, the mean of scores,
    its interval and their "range", or what comes out when all images of the runs are "pooled".
    """
    from recoseg.runs.run import Run
    from recoseg.tables import Table, terminal

    surveys = {path.name: Run.open(path, trust=True).survey() for path in paths}  # trained here
    first = next(iter(surveys.values()))
    differences = ["difference, points"] if last == "differences" else []
    rows: list[Sequence[str]] = []
    for name, survey in surveys.items():
        gain = [_gain(first, survey)] if last == "differences" else []
        mean_iou = _score(survey.scores.mean_iou, survey.interval)
        rows.append((name, mean_iou, *gain, percent(survey.scores.accuracy)))
    totals = _last_rows(surveys, last)
    head = ("run", "mean IoU", *differences, "accuracy")
    console.print(terminal(Table(head=head, rows=[*rows, *totals], num_totals=len(totals))))
    console.print()
    for line in _notes(surveys, last):
        console.print(fill(line, min(console.width, 79)), soft_wrap=True)


def _last_rows(surveys: Mapping[str, Survey], last: str) -> list[tuple[str, ...]]:
    from recoseg.evaluate.seed_statistics import score_interval
    from recoseg.evaluate.survey import pooled

    each = [survey.scores for survey in surveys.values()]
    if last == "range":
        ious, accuracies = ([one.mean_iou for one in each], [one.accuracy for one in each])
        means = (percent(sum(values) / len(values)) for values in (ious, accuracies))
        ranges = (percent_range(min(values), max(values)) for values in (ious, accuracies))
        intervals = [score_interval(values) for values in (ious, accuracies)]
        shown = (percent_range(*interval) if interval else DASH for interval in intervals)
        return [("mean", *means), ("95% interval", *shown), ("range", *ranges)]
    if last == "pooled":
        scores, interval = pooled(list(surveys.values()))
        return [("pooled", _score(scores.mean_iou, interval), percent(scores.accuracy))]
    return []


def _score(mean_iou: float, interval: Interval | None) -> str:
    return f"{percent(mean_iou)}{f' ({percent_range(*interval)})' if interval else ''}"


def _gain(first: Survey, survey: Survey) -> str:
    if survey is first:
        return ""
    gain = survey.gain_over(first)
    return f"{points(survey.scores.mean_iou - first.scores.mean_iou)}" + (
        f" ({points_range(*gain.mean_iou)})" if gain else ""
    )


def _notes(surveys: Mapping[str, Survey], last: str) -> list[str]:
    """What the brackets mean, and whose difference may be chance."""
    first = next(iter(surveys.values()))
    total = sum(one.num_images for one in surveys.values()) if last == "pooled" else first.num_images
    images = how_many(total, "image")
    if total == 1:
        return ["One validation image: too few for confidence intervals."]
    if not any(one.interval for one in surveys.values()):
        return []
    told = [f"In brackets: 95% bootstrap intervals over {images}; chance in training comes on top."]
    gains = [(name, one.gain_over(first)) for name, one in surveys.items() if one is not first]
    open_ = [name for name, gain in gains if gain and gain.mean_iou.holds(0)]
    if last == "differences" and open_:
        told.append(printable(f"May be chance on these {images}: the difference of {', '.join(open_)}."))
    return told
