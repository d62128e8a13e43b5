"""The slide: what the page tells of runs, as one wide picture for a talk or a message."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np

from recoseg.errors import UserError
from recoseg.figures.sheet import INK, MUTED, Sheet, sheet, shortened, text_width
from recoseg.overlay import Overlay
from recoseg.report.label_images import share_right
from recoseg.report.page import subtitle
from recoseg.report.run_view import Picture, RunView, spread
from recoseg.score_names import SCORE_NAMES
from recoseg.text import count, hundredths, percent, points
from recoseg.types import require_same_classes

MOST_RUNS = 4
_MOST_CLASSES = 20
_MOST_PICTURES = 5
_RUN_COLOURS = ("#2458c6", "#c2570c", "#0b7d6c", "#8a3ea8")
"""Those of the page; page.css has them too."""

# The layout, in inches: 16 to 9, scores at the left, classes in the middle, pictures at the right.
_WIDTH, _HEIGHT = 13.333, 7.5
_MARGIN = 0.55
_TOP, _BOTTOM = 1.65, _HEIGHT - 0.4
_SCORES = 2.95  # wide
_CLASSES, _PICTURES = 3.95, 7.55  # where they begin
_GAP = 0.09


def require_slide(path: Path) -> None:
    """What can be said of the file before any work is done."""
    if path.suffix.lower() != ".png":
        raise UserError(f"--png {path}: the name of a slide ends in .png")
    if path.is_dir():
        raise UserError(f"--png {path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise UserError(f"--png {path}: there is no folder {path.parent}")


def draw_slide(path: Path, runs: Sequence[RunView], *, title: str) -> None:
    """One run, or the first few of several side by side; the others are counted."""
    require_same_classes([(run.name, run.classes) for run in runs], remedy="give each its own slide")
    shown = runs[:MOST_RUNS]
    with sheet(path, width=_WIDTH, height=_HEIGHT) as page:
        room = int((_WIDTH - 2 * _MARGIN) / text_width(1, 27))
        page.text(_MARGIN, 0.62, shortened(title, room), fontsize=25, fontweight="bold")
        page.text(_MARGIN, 1.1, shortened(subtitle(runs), 120), fontsize=12.5, color=MUTED)
        if len(runs) == 1:
            _draw_scores(page, runs[0])
        else:
            _draw_standings(page, shown, num_more=len(runs) - len(shown))
        _draw_classes(page, shown)
        _draw_pictures(page, shown)


def _draw_scores(page: Sheet, run: RunView) -> None:
    """The mean IoU large, the other numbers below it, and what was trained."""
    scores = run.scores or {}
    main, *others = (SCORE_NAMES[name] for name in ("iou", "boundary_iou", "boundary_f", "accuracy"))
    page.text(_MARGIN, _TOP, main.overall_title, fontsize=12.5, color=MUTED)
    value = percent(main.overall_in(scores))
    page.text(_MARGIN - 0.03, _TOP + 0.62, value, fontsize=54, fontweight="bold", color=_RUN_COLOURS[0])
    facts = [(name.overall_title, percent(name.overall_in(scores))) for name in others]
    facts += [
        ("Labelled images", count(run.num_labelled)),
        ("Unlabelled images", count(run.num_unlabelled)),
        ("Iterations", count(run.iterations)),
    ]
    top = _TOP + 1.45
    for name, value in facts:
        page.text(_MARGIN, top, name, fontsize=12, color=MUTED)
        page.text(_MARGIN + _SCORES, top, value, fontsize=12, ha="right")
        top += 0.33
    top += 0.15
    for text in (run.method, run.network):
        top = _draw_lines(page, top, text, _MARGIN)


def _draw_standings(page: Sheet, runs: Sequence[RunView], *, num_more: int) -> None:
    """Each run's mean IoU, with its difference to the first."""
    name = SCORE_NAMES["iou"]
    values = [name.overall_in(run.scores or {}) for run in runs]
    first, best = values[0], max((value for value in values if value is not None), default=None)
    page.text(_MARGIN, _TOP, name.overall_title, fontsize=12.5, color=MUTED)
    top = _TOP + 0.42
    for number, (run, value) in enumerate(zip(runs, values, strict=True)):
        page.box(_MARGIN, top - 0.06, 0.14, 0.14, facecolor=_RUN_COLOURS[number], edgecolor="none")
        page.text(_MARGIN + 0.24, top, shortened(run.name, 22), fontsize=12.5, fontweight="bold")
        weight = "bold" if value is not None and value == best else "normal"
        how = {"fontsize": 27, "fontweight": weight, "color": _RUN_COLOURS[number]}
        page.text(_MARGIN + 0.22, top + 0.42, percent(value), **how)
        if number and value is not None and first is not None:
            page.text(_MARGIN + 1.7, top + 0.46, f"{points(value - first)} points", fontsize=11, color=MUTED)
        top = _draw_lines(page, top + 0.79, run.method, _MARGIN + 0.24) + 0.22
    if num_more:
        page.text(_MARGIN, top, f"and {num_more} more", fontsize=11, color=MUTED)


def _draw_lines(page: Sheet, top: float, text: str, left: float) -> float:
    """Small print in at most two lines; returns where the next may begin."""
    room = int((_MARGIN + _SCORES - left) / text_width(1, 10))
    for line in wrap(text, room)[:2]:
        page.text(left, top, line, fontsize=10, color=MUTED)
        top += 0.21
    return top + 0.06


def _draw_classes(page: Sheet, runs: Sequence[RunView]) -> None:
    """A bar for each class and run: the colours are the pictures' legend too."""
    classes = runs[0].classes
    names, left_out = _classes_to_show(runs)
    page.text(_CLASSES, _TOP, "IoU by class, %", fontsize=12.5, color=MUTED)
    if left_out:
        note = f"{left_out} more not shown"
        page.text(_PICTURES - 0.4, _TOP, note, fontsize=9, color=MUTED, ha="right")
    top, tall = _TOP + 0.32, min(0.42, (_BOTTOM - _TOP - 0.32) / max(len(names), 1))
    size = min(11.0, 26 * tall)
    bar_left, bar_width = _CLASSES + 1.65, _PICTURES - _CLASSES - 2.6
    thick = min(0.62 * tall, 0.2) / len(runs) if len(runs) < 3 else 0.8 * tall / len(runs)
    for index in names:
        middle = top + tall / 2
        fill = tuple(value / 255 for value in classes.palette[index])
        page.box(_CLASSES, middle - 0.07, 0.14, 0.14, facecolor=fill, edgecolor="#999999", linewidth=0.4)
        page.text(_CLASSES + 0.24, middle, shortened(classes.names[index], 17), fontsize=size)
        values = [run.class_score("iou", index) for run in runs]
        for number, value in enumerate(values):
            up = middle - thick * len(runs) / 2 + number * thick
            page.box(bar_left, up, bar_width, 0.86 * thick, facecolor="#f0f0ef", edgecolor="none")
            if value:
                bar = {"facecolor": _RUN_COLOURS[number], "edgecolor": "none"}
                page.box(bar_left, up, bar_width * value, 0.86 * thick, **bar)
        best = int(np.argmax([value or 0.0 for value in values]))
        colour = INK if len(runs) == 1 else _RUN_COLOURS[best]  # whose number it is
        page.text(_PICTURES - 0.4, middle, hundredths(values[best]), fontsize=size, ha="right", color=colour)
        top += tall


def _classes_to_show(runs: Sequence[RunView]) -> tuple[list[int], int]:
    """In the dataset's order; of very many the best and the worst, and how many are left out."""
    every = list(range(len(runs[0].classes)))
    if len(every) <= _MOST_CLASSES:
        return every, 0
    scores = [(runs[-1].class_score("iou", index), index) for index in every]
    ranked = [index for _, index in sorted((value, index) for value, index in scores if value is not None)]
    half = _MOST_CLASSES // 2
    chosen = {*ranked[:half], *ranked[-half:]} or set(every[:_MOST_CLASSES])
    return [index for index in every if index in chosen], len(every) - len(chosen)


def _draw_pictures(page: Sheet, runs: Sequence[RunView]) -> None:
    """Image, truth and what each run predicts; as many rows as there is room for."""
    of_run = [{picture.key: picture for picture in run.pictures} for run in runs]
    keys = [key for key in of_run[0] if all(key in pictures for pictures in of_run)]
    if not keys:
        return
    titles = ["Image", "Truth", *(["Prediction"] if len(runs) == 1 else [run.name for run in runs])]
    wide = (_WIDTH - _MARGIN - _PICTURES - _GAP * (len(titles) - 1)) / len(titles)
    for column, title in enumerate(titles):
        left = _PICTURES + column * (wide + _GAP)
        text = shortened(title, max(6, int(wide / text_width(1, 10))))
        colour = _RUN_COLOURS[column - 2] if column > 1 and len(runs) > 1 else MUTED
        page.text(left, _TOP, text, fontsize=12.5 if len(titles) == 3 else 10, color=colour)
    tallest = max(_height(of_run[0][key], wide) for key in keys) + 0.3
    rows = max(1, min(_MOST_PICTURES, int((_BOTTOM - _TOP - 0.22) / tallest)))
    top = _TOP + 0.22
    for key in spread(keys, rows):
        pictures = [of[key] for of in of_run]
        tall = _height(pictures[0], wide)
        for column, (pixels, below) in enumerate(_panels(pictures, runs)):
            left = _PICTURES + column * (wide + _GAP)
            axes = page.picture(left, top, wide, tall, pixels, interpolation="antialiased")
            for side in axes.spines.values():
                side.set_visible(False)
            page.text(left, top + tall + 0.12, below, fontsize=8.5, color=MUTED)
        top += tall + 0.3


def _height(picture: Picture, wide: float) -> float:
    """Inches; a very tall image is squeezed rather than cut."""
    height, width = picture.truth.shape
    return min(wide * height / width, 1.5 * wide)


def _panels(pictures: Sequence[Picture], runs: Sequence[RunView]) -> list[tuple[object, str]]:
    """(pixels, words below) of a row."""
    first, look = pictures[0], Overlay()
    image = first.image.permute(1, 2, 0).numpy()
    classes = runs[0].classes
    panels: list[tuple[object, str]] = [(image, ""), (look.draw(image, first.truth.numpy(), classes), "")]
    for one in pictures:
        drawn = look.draw(image, one.prediction.numpy(), classes)
        panels.append((drawn, f"{percent(share_right(one.truth, one.prediction))} right"))
    return panels
