"""The overview of several runs: who leads and by how much, and the images that set them apart most."""

from __future__ import annotations

from collections.abc import Sequence

from recoseg.evaluate.disagreement import difference_weights
from recoseg.report import label_images
from recoseg.report.markup import Markup, render
from recoseg.report.run_view import Picture, RunView
from recoseg.report.standing import standing

MOST_IMAGES = 2
# More do not fit into a row; the gallery has all.
MOST_RUNS = 4


def overview(runs: Sequence[RunView]) -> Markup:
    """A sentence, and pictures below it if at least two runs have the same ones."""
    displayed = [(number, run) for number, run in enumerate(runs) if run.pictures][:MOST_RUNS]
    strips = _shared_pictures([run for _, run in displayed]) if len(displayed) > 1 else []
    return render(
        "overview.html",
        ranking=standing(runs),
        runs=[(number, run.name) for number, run in displayed],
        strips=sorted(strips, key=_difference, reverse=True)[:MOST_IMAGES],
        num_shared=len(strips),
        classes=runs[0].classes,
        images=label_images,
    )


def _shared_pictures(runs: Sequence[RunView]) -> list[list[Picture]]:
    """For each image that all runs have a picture of, their pictures."""
    of_run = [{picture.key: picture for picture in run.pictures} for run in runs]
    return [[pictures[key] for pictures in of_run] for key in of_run[0] if all(key in p for p in of_run)]


def _difference(strip: Sequence[Picture]) -> float:
    """How much the predictions for an image differ."""
    return float(difference_weights(strip[0].truth, [picture.prediction for picture in strip]).mean())
