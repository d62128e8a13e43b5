"""The types of scores in files and logs, by which they are checked when they are read.

Apart from the scores themselves, which need torch: the logs of many runs are read to show a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from recoseg.records import Count, Share, require_lengths

BOUNDARY_COUNTS = ("bands", "contours", "confusion")
"""The fields of BoundaryScores."""

Shares = list[Share | None]  # of each class; none where it is absent


class _BoundaryCounts(TypedDict):
    bands: list[list[Count]]
    contours: list[list[Count]]
    confusion: list[list[Count]]


class _PlainBoundary(TypedDict):
    """Boundary scores in a file."""

    mean_iou: Share | None
    mean_f_score: Share | None
    near_mean_iou: Share | None
    iou: Shares
    f_score: Shares
    near_iou: Shares
    counts: _BoundaryCounts


class PlainScores(TypedDict):
    """Scores in a file."""

    mean_iou: Share | None
    accuracy: Share | None
    iou: Shares
    class_accuracy: Shares
    confusion: list[list[Count]]
    boundary: NotRequired[_PlainBoundary | None]
    metrics: NotRequired[dict[str, dict[str, Any]]]


SCORES = tuple(PlainScores.__annotations__)


def require_classes(plain: Mapping[str, Any], num_classes: int | None = None) -> None:
    """A rule for plain scores: all of them are of so many classes, by default of those in the confusion."""
    classes = len(plain["confusion"]) if num_classes is None else num_classes
    require_lengths("confusion", plain["confusion"], classes, classes)
    for name in ("iou", "class_accuracy"):
        require_lengths(name, plain[name], classes)
    if (boundary := plain.get("boundary")) is not None:
        for name in ("iou", "f_score", "near_iou"):
            require_lengths(f"boundary.{name}", boundary[name], classes)
        for name, rows in zip(BOUNDARY_COUNTS, (3, 4, classes), strict=True):
            require_lengths(f"boundary.counts.{name}", boundary["counts"][name], rows, classes)
