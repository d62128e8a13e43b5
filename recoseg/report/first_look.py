"""The first look at several runs: who leads and by how much, and the images that set them apart most."""

from __future__ import annotations

from collections.abc import Sequence

from recoseg.evaluate.disagreement import difference_weights
from recoseg.report.label_images import label_map_uri, photo_uri, share_right, size_on_page
from recoseg.report.markup import Markup, breakable, joined, run_colour, tag
from recoseg.report.run_view import Picture, RunView
from recoseg.report.standing import standing
from recoseg.text import how_many, percent

MOST_IMAGES = 2
MOST_RUNS = 4  # whose pictures fit beside each other; the gallery has all


def first_look(runs: Sequence[RunView]) -> Markup:
    """A sentence, and below it pictures where there are any."""
    return joined([tag("p", standing(runs), class_="lead"), _pictures(runs)])


def _pictures(runs: Sequence[RunView]) -> Markup:
    shown = [(number, run) for number, run in enumerate(runs) if run.pictures][:MOST_RUNS]
    if len(shown) < 2:
        return Markup()
    of_run = [{picture.key: picture for picture in run.pictures} for _, run in shown]
    rows = [[pictures[key] for pictures in of_run] for key in of_run[0] if all(key in p for p in of_run)]
    rows.sort(key=_apartness, reverse=True)
    chosen = rows[:MOST_IMAGES]
    if not chosen:
        return Markup()
    told = (
        f"Of the {how_many(len(rows), 'picture')} below, the {len(chosen)} in which these runs differ most."
        if len(rows) > len(chosen)
        else "What each run sees in the same image."
    )
    columns = f"--columns:{len(shown) + 2}"
    strips = (tag("div", *_strip(row, shown), class_="strip", style=columns) for row in chosen)
    return tag("div", *strips, tag("p", told, class_="muted"), class_="first-look")


def _apartness(row: Sequence[Picture]) -> float:
    """How much the predictions of an image differ."""
    return float(difference_weights(row[0].truth, [picture.prediction for picture in row]).mean())


def _strip(row: Sequence[Picture], shown: Sequence[tuple[int, RunView]]) -> list[Markup]:
    """The image, its truth and one prediction a run."""
    first, classes = row[0], shown[0][1].classes
    figures = [
        _figure(photo_uri(first.image), f"Image {first.key}", first, ["Image"], sharp=False),
        _figure(label_map_uri(first.truth, classes), f"True labels of {first.key}", first, ["Truth"]),
    ]
    for picture, (number, run) in zip(row, shown, strict=True):
        name = tag(
            "span", tag("span", class_="dash"), breakable(run.name), class_=f"run-name {run_colour(number)}"
        )
        right = tag(
            "span", f"{percent(share_right(picture.truth, picture.prediction))} right", class_="muted"
        )
        alt = f"What {run.name} sees in {picture.key}"
        figures.append(_figure(label_map_uri(picture.prediction, classes), alt, picture, [name, right]))
    return figures


def _figure(uri: str, alt: str, picture: Picture, caption: Sequence[str], *, sharp: bool = True) -> Markup:
    wide, high = size_on_page(*picture.truth.shape)
    image = tag("img", src=uri, alt=alt, width=wide, height=high, class_="sharp" if sharp else None)
    return tag("figure", image, tag("figcaption", *caption))
