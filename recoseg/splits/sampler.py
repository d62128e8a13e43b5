"""The paper's choice of labelled images: many classes in each, and the rare classes as often as the others.

It works on which image holds which class, (N, K), and knows nothing of datasets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from recoseg.errors import UserError
from recoseg.seeds import permutation

Presence = NDArray[np.bool_]  # (N, K) whether image n holds class k

NUM_DRAWS = 200
"""Orders that are tried when both the number of images and the images per class are asked for."""


def sample_images(
    presence: Presence,
    names: Sequence[str],
    *,
    labels: int | None,
    images_per_class: int | None,
    min_classes: int,
    seed: int,
) -> list[int]:
    """The rows to label: `labels` of them, or as many as give every class `images_per_class` images, or both.

    Each has at least `min_classes` classes and, when it was taken, one of the classes taken least so far.
    """
    rows = np.flatnonzero(presence.sum(1) >= max(min_classes, 1))
    require_enough_images(presence, labels=labels, min_classes=min_classes)
    if images_per_class is not None:
        require_enough_of_each_class(presence[rows], names, images_per_class, min_classes)
    best: list[int] = []
    for draw in range(NUM_DRAWS):
        order = rows[permutation(len(rows), seed, "few_images", draw)].tolist()
        chosen = take(presence, order, labels=labels, images_per_class=images_per_class)
        if labels is None or images_per_class is None or rarest(presence, chosen) >= images_per_class:
            return chosen
        best = max(best or chosen, chosen, key=lambda some: rarest(presence, some))
    raise UserError(too_few_of_a_class(presence, names, best, images_per_class))


def take(
    presence: Presence, order: Sequence[int], *, labels: int | None, images_per_class: int | None
) -> list[int]:
    """Rows in the order in which they are taken, until there are enough."""
    chosen: list[int] = []
    taken = np.zeros(presence.shape[1], dtype=np.int64)
    for row in take_in_turn(presence, order):
        chosen.append(row)
        taken += presence[row]
        if len(chosen) == labels or (labels is None and taken.min() >= (images_per_class or 0)):
            break
    return chosen


def take_in_turn(presence: Presence, order: Sequence[int]) -> Iterator[int]:
    """All rows of `order`, each when it holds one of the classes taken least so far.

    What does not is kept for the next pass. A class that no waiting row holds any more is out of the
    count: the paper's rule would wait for it forever.
    """
    held = {row: bits(presence[row]) for row in order}
    taken, waiting_with = np.zeros(presence.shape[1], dtype=np.int64), presence[order].sum(0)
    least = least_taken(taken, waiting_with)
    waiting = list(order)
    while waiting:
        passed_over = []
        for row in waiting:
            if not held[row] & least:
                passed_over.append(row)
                continue
            yield row
            taken += presence[row]
            waiting_with -= presence[row]
            least = least_taken(taken, waiting_with)
        waiting = passed_over


def least_taken(taken: NDArray[np.int64], waiting_with: NDArray[np.int64]) -> int:
    """The classes taken least, of those that can still be had, as the bits of a number."""
    obtainable = waiting_with > 0
    if not obtainable.any():
        return 0
    return bits(obtainable & (taken == taken[obtainable].min()))


def bits(flags: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(flags).tobytes(), "big")


def rarest(presence: Presence, rows: Sequence[int]) -> int:
    """How many of the rows hold the class that the fewest hold."""
    return int(presence[list(rows)].sum(0).min()) if rows else 0


def require_enough_images(presence: Presence, *, labels: int | None, min_classes: int) -> None:
    """An error with the most that could be had, if fewer than `labels` images have enough classes."""
    num_classes = np.sort(presence.sum(1))[::-1]
    available = int((num_classes >= max(min_classes, 1)).sum())
    if available >= (labels or 1):
        return
    wanted = "any" if labels is None else f"{labels}"
    classes = "1 class" if min_classes <= 1 else f"{min_classes} classes"
    lower = int(num_classes[(labels or 1) - 1]) if len(num_classes) >= (labels or 1) else 0
    remedy = f"; with min_classes {lower} there are enough" if 0 < lower < min_classes else ""
    raise UserError(
        f"{wanted} images with at least {classes} were asked for, but only {available} of "
        f"{len(presence)} labelled images have as many{remedy}"
    )


def require_enough_of_each_class(
    presence: Presence, names: Sequence[str], images_per_class: int, min_classes: int
) -> None:
    """An error that names the classes that occur in fewer of these images."""
    available = presence.sum(0)
    scarce = [f"{names[k]} in {available[k]}" for k in np.argsort(available, kind="stable")]
    scarce = scarce[: int((available < images_per_class).sum())]
    if not scarce:
        return
    among = f" with at least {min_classes} classes" if min_classes > 1 else ""
    raise UserError(
        f"{images_per_class} images a class were asked for, but of the {len(presence)} labelled "
        f"images{among} too few hold some classes ({', '.join(scarce)}); "
        f"the most is {available.min()} images a class"
    )


def too_few_of_a_class(
    presence: Presence, names: Sequence[str], best: Sequence[int], images_per_class: int | None
) -> str:
    counts = presence[list(best)].sum(0)
    scarce = names[int(counts.argmin())]
    return (
        f"in {NUM_DRAWS} draws no {len(best)} images hold every class {images_per_class} times; the best "
        f"hold {scarce} {counts.min()} times; ask for more labels or fewer images per class"
    )
