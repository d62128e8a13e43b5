"""The section on differences: where runs disagree with the first one, and which of the two is right."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from recoseg.evaluate.disagreement import BETTER, WORSE, difference
from recoseg.evaluate.resampling import Gain, Interval
from recoseg.report.markup import Markup, breakable, colour_box, joined, run_heading, tag
from recoseg.report.run_view import RunView, are_folds
from recoseg.score_names import SCORE_NAMES
from recoseg.text import DASH, how_many, hundredths, percent, points, points_range
from recoseg.types import IGNORE

_COLUMNS = (
    ("class", "Class"),
    ("iou", "IoU, points"),
    ("boundary", f"{SCORE_NAMES['boundary_iou'].title}, points"),
    ("better", "Only this right, %"),
    ("worse", "Only first right, %"),
)
"""Sort key and heading."""


def difference_table(runs: Sequence[RunView]) -> Markup:
    """Each run against the first."""
    first = runs[0]
    if are_folds(runs):
        return tag("p", "Each fold is scored on other images: there is nothing to compare.", class_="muted")
    about = tag(
        "p",
        f"Each run against {first.name}: points of IoU over all validation images, and the share of a "
        "class's pixels in the pictures below that one of the two has right and the other wrong. The view ",
        tag("b", "Difference"),
        " of the pictures shows where. Pale bars may be chance: their 95% interval holds 0.",
        class_="about",
    )
    parts = (_compared(first, run, number) for number, run in enumerate(runs[1:], 1))
    return joined([about, *parts])


def _compared(first: RunView, run: RunView, number: int) -> Markup:
    counts = pixel_counts(first, run)
    heads = (tag("th", text, scope="col", data_key=key) for key, text in _COLUMNS)
    gains = [_gain(first.class_score("iou", k), run.class_score("iou", k)) for k in range(len(run.classes))]
    largest = max((abs(value) for value in gains if value is not None), default=0)
    sure = run.survey.gain_over(first.survey) if run.survey and first.survey else None
    intervals = sure.iou if sure else [None] * len(gains)
    rows = (
        _row(index, value, intervals[index], largest, first, run, counts) for index, value in enumerate(gains)
    )
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="differences sortable")
    heading = run_heading(f"{run.name} against {first.name}", number)
    told = tag("p", _mean_told(first, run, sure), class_="about")
    return tag("div", heading, told, _verdict(first, run, counts), table, class_="run-part")


def _mean_told(first: RunView, run: RunView, sure: Gain | None) -> str:
    """The difference of the means, and how sure it is."""
    gain = _gain(first.mean_iou, run.mean_iou)
    if gain is None:
        return "One of them has not been evaluated yet."
    told = f"Mean IoU: {points(gain)} points"
    if sure is None:
        return f"{told}."
    assert run.survey is not None
    span = f"{told}, {points_range(*sure.mean_iou)} with a probability of 95%"
    doubt = f": on these {how_many(run.survey.num_images, 'image')} it may be chance"
    return f"{span}{doubt if sure.mean_iou.holds(0) else ''}."


def pixel_counts(first: RunView, run: RunView) -> Tensor:
    """(K, 4) pixels of each true class in the pictures of both: agreed upon, BETTER, WORSE, BOTH_WRONG."""
    others = {picture.key: picture for picture in run.pictures}
    counts = torch.zeros(IGNORE + 1, 4, dtype=torch.int64)
    for picture in first.pictures:
        if other := others.get(picture.key):
            kinds = difference(picture.truth, picture.prediction, other.prediction)
            cells = picture.truth.long().flatten() * 4 + kinds.flatten()
            counts += cells.bincount(minlength=counts.numel()).view_as(counts)
    return counts[: len(first.classes)]


def _verdict(first: RunView, run: RunView, counts: Tensor) -> Markup:
    total = int(counts.sum())
    if not total:
        return tag("p", "They share no pictures with labels.", class_="muted")
    agreed, better, worse, both_wrong = counts.sum(0).tolist()
    differing = total - agreed
    keys = {picture.key for picture in first.pictures} & {picture.key for picture in run.pictures}
    where = f"{percent(differing / total)} of the pixels in {how_many(len(keys), 'picture')}"
    if not differing:
        return tag("p", "They agree on all pixels in the pictures.", class_="note")
    text = (
        f"They call {where} differently. There {run.name} is right on {percent(better / differing)}, "
        f"{first.name} on {percent(worse / differing)}, neither on {percent(both_wrong / differing)}."
    )
    return tag("p", text, class_="about")


def _row(
    index: int,
    iou: float | None,
    interval: Interval | None,
    largest: float,
    first: RunView,
    run: RunView,
    counts: Tensor,
) -> Markup:
    """A class with its gain of IoU, whose bar is as long as it is a share of the `largest`."""
    classes = first.classes
    boundary = _gain(*(each.class_score("boundary_iou", index) for each in (first, run)))
    total = int(counts[index].sum())
    shares = [int(counts[index, kind]) / total if total else None for kind in (BETTER, WORSE)]
    numbers = [DASH if boundary is None else points(boundary), *map(hundredths, shares)]
    return tag(
        "tr",
        tag("th", colour_box(classes.palette[index]), breakable(classes.names[index]), scope="row"),
        tag(
            "td",
            gain_bar(iou, largest),
            class_="bars unsure" if interval and interval.holds(0) else "bars",
            title=points_range(*interval) if interval else None,
        ),
        *(
            tag("td", text, class_="number", data_label=heading.split(",")[0])
            for text, (_, heading) in zip(numbers, _COLUMNS[2:], strict=True)
        ),
        data_class=classes.names[index],
        data_iou=iou,
        data_boundary=boundary,
        data_better=shares[0],
        data_worse=shares[1],
    )


def gain_bar(gain: float | None, largest: float) -> Markup:
    """From the middle, to the right for a gain, to the left for a loss."""
    if gain is None:
        empty = tag("span", class_="track middle")
        return tag("div", empty, tag("span", DASH, class_="value"), class_="bar")
    side = "left" if gain >= 0 else "right"
    length = 50 * abs(gain) / largest if largest else 0.0
    filled = tag("span", style=f"{side}:50%;width:{length:.2f}%", class_="gain" if gain >= 0 else "loss")
    track = tag("span", filled, class_="track middle")
    return tag("div", track, tag("span", points(gain), class_="value"), class_="bar")


def _gain(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
