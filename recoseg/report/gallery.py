"""Pictures that flip in place: image, truth, prediction, confidence, errors, and where runs differ.

Paper, and a browser without scripts, show all views side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from recoseg.evaluate.disagreement import difference
from recoseg.report.class_table import colour_box
from recoseg.report.label_images import (
    confidence_uri,
    difference_map_uri,
    error_map_uri,
    label_map_uri,
    photo_uri,
    share_right,
    size_on_page,
)
from recoseg.report.markup import Markup, breakable, joined, run_colour, tag
from recoseg.report.run_view import Picture, RunView, are_folds
from recoseg.text import percent
from recoseg.types import IGNORE, ClassInfo

_VIEWS = {
    "side": "Side by side",
    "image": "Image",
    "truth": "Truth",
    "prediction": "Prediction",
    "confidence": "Confidence",
    "errors": "Errors",
}
"""What the switch offers, which the style sheet knows too; their keys are 0, 1, 2, ..."""
_DIFFERENCE = "difference"
"""One more where there are several runs."""

_PIXELATED_BELOW = 400
"""A map narrower than this is enlarged on most screens, and then its pixels should stay sharp."""


def gallery(runs: Sequence[RunView]) -> Markup:
    """All pictures of all runs, those of one image together."""
    rows = _pictures_by_key(runs)
    if not rows:
        return tag("p", "No pictures were taken.", class_="muted")
    shown = [picture for row in rows.values() for picture in row if picture]
    alone = len(runs) == 1
    begin = "side" if alone else "prediction"
    pictures = (_picture_row(key, row, runs) for key, row in rows.items())
    return joined(
        [
            _view_switch(begin, several=not alone),
            _key_of_colours(shown, runs),
            tag("div", *pictures, id="gallery", class_="alone" if alone else None, data_view="side"),
        ]
    )


def _pictures_by_key(runs: Sequence[RunView]) -> dict[str, list[Picture | None]]:
    """For each image, one picture a run; None where that run has none."""
    keys = dict.fromkeys(picture.key for run in runs for picture in run.pictures)
    of_run = [{picture.key: picture for picture in run.pictures} for run in runs]
    return {key: [pictures.get(key) for pictures in of_run] for key in keys}


def _picture_row(key: str, row: Sequence[Picture | None], runs: Sequence[RunView]) -> Markup:
    """The image and its truth are in the first tile; page.js lends them to the others."""
    first = next(picture for picture in row if picture)
    shared = [
        _layer("image", photo_uri(first.image), f"Image {key}", first),
        _layer("truth", label_map_uri(first.truth, runs[0].classes), f"True labels of {key}", first),
    ]
    shown = [number for number in range(len(runs)) if row[number] or not are_folds(runs)]
    tiles = (_tile(number, row, runs, shared if number == shown[0] else []) for number in shown)
    columns = tag(
        "div",
        *tiles,
        class_="tiles",
        style=f"--tiles:{len(shown)}",
        tabindex="0",
        role="group",
        aria_label=f"{key}: left and right change the view",
    )
    return tag("article", tag("h3", key, class_="key"), columns, class_="picture")


def _tile(
    number: int, row: Sequence[Picture | None], runs: Sequence[RunView], shared: Sequence[Markup]
) -> Markup:
    run, picture = runs[number], row[number]
    name = (
        Markup()
        if len(runs) == 1
        else tag("span", tag("span", class_="dash"), breakable(run.name), class_="run-name")
    )
    if picture is None:
        layers, note = [*shared, tag("p", "no picture", class_="muted")], ""
    else:
        layers = [*shared, *_own_layers(picture, run)]
        right, sure = share_right(picture.truth, picture.prediction), picture.confidence.float().mean() / 255
        note = f"{percent(right)} right, {percent(float(sure))} sure"
    if len(runs) > 1:
        layers.append(_difference_layer(row[0], picture, runs[0].name))
    caption = tag("figcaption", name, tag("span", note, class_="muted"))
    frame = tag("div", *layers, class_="frame")
    return tag("figure", frame, caption, class_=f"tile {run_colour(number)}")


def _own_layers(picture: Picture, run: RunView) -> list[Markup]:
    key = picture.key
    labels = label_map_uri(picture.prediction, run.classes)
    confidence = confidence_uri(picture.confidence)
    errors = error_map_uri(picture.truth, picture.prediction)
    return [
        _layer("prediction", labels, f"Prediction of {run.name} for {key}", picture),
        _layer("confidence", confidence, f"Confidence of {run.name} for {key}", picture),
        _layer("errors", errors, f"Errors of {run.name} for {key}", picture),
    ]


def _difference_layer(first: Picture | None, other: Picture | None, first_name: str) -> Markup:
    """A run against the first; the first itself has nothing to show there."""
    if first is None or other is None or first is other:
        text = "the others are compared with this run" if first is other else "nothing to compare"
        return tag("p", text, class_="layer muted", data_view=_DIFFERENCE)
    uri = difference_map_uri(difference(first.truth, first.prediction, other.prediction))
    return _layer(_DIFFERENCE, uri, f"Difference to {first_name} for {other.key}", other)


def _layer(view: str, uri: str, alt: str, picture: Picture) -> Markup:
    wide, high = size_on_page(*picture.truth.shape)
    sharp = "sharp" if view not in {"image", "confidence"} and wide < _PIXELATED_BELOW else None
    image = tag("img", src=uri, alt=alt, width=wide, height=high, class_=sharp)
    name = _VIEWS.get(view, "Difference")
    sheet = tag("div", image, class_="sheet")
    return tag("div", sheet, tag("span", name, class_="name"), class_="layer", data_view=view)


def _view_switch(begin: str, *, several: bool) -> Markup:
    """Radio buttons: the arrow keys work on them as they are; page.js adds keys and clicks."""
    views = _VIEWS | ({_DIFFERENCE: "Difference"} if several else {})
    choices = (
        tag(
            "label",
            tag("input", type="radio", name="view", value=value, checked=value == begin),
            tag("span", name, tag("kbd", str(number))),
        )
        for number, (value, name) in enumerate(views.items())
    )
    group = tag("fieldset", tag("legend", "Show", class_="unseen"), *choices, class_="switch")
    over = tag("label", tag("input", type="checkbox", id="over"), " labels over the image ", tag("kbd", "o"))
    hint = tag("span", "Click a picture, or press ", tag("kbd", "←"), " ", tag("kbd", "→"), class_="hint")
    return tag("div", group, over, hint, class_="needs-script view muted", hidden=True)


def _key_of_colours(pictures: Sequence[Picture], runs: Sequence[RunView]) -> Markup:
    """A box for each class that occurs, void if there is any, and what the other views' colours mean."""
    views = [
        tag("li", "Confidence 0%", tag("span", class_="viridis"), "100%"),
        tag("li", tag("span", class_="box wrong"), "error"),
    ]
    if len(runs) > 1:
        meanings = {
            "better": "only this run right",
            "worse": f"only {runs[0].name} right",
            "neither": "both wrong",
        }
        views += [tag("li", tag("span", class_=f"box {key}"), text) for key, text in meanings.items()]
    return joined([_class_legend(pictures, runs[0].classes), tag("ul", *views, class_="legend view-legend")])


def _class_legend(pictures: Sequence[Picture], classes: ClassInfo) -> Markup:
    maps = [labels.flatten() for picture in pictures for labels in (picture.truth, picture.prediction)]
    found = torch.cat(maps).bincount().nonzero().flatten().tolist()
    items = [tag("li", colour_box(classes.palette[k]), classes.names[k]) for k in found if k < len(classes)]
    if IGNORE in found:
        items.append(tag("li", tag("span", class_="box void"), "void"))
    return tag("ul", *items, class_="legend")
