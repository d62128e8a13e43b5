"""Pictures: each image beside its truth and every run's prediction; a switch shows overlays or errors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from recoseg.report.class_table import colour_box
from recoseg.report.label_images import error_map_uri, label_map_uri, photo_uri, share_right, shown_size
from recoseg.report.markup import Markup, joined, run_colour, tag
from recoseg.report.numbers import percent
from recoseg.report.run_view import Picture, RunView
from recoseg.types import IGNORE, ClassInfo

VIEWS = (("labels", "Labels"), ("overlay", "Over the image"), ("errors", "Errors"))
"""What the switch offers: its value, which the style sheet knows, and its name."""

PIXELATED_BELOW = 400
"""A map narrower than this is enlarged on most screens, and then its pixels should stay sharp."""


def gallery(runs: Sequence[RunView]) -> Markup:
    """All pictures of all runs, those of one image in a row."""
    rows = pictures_by_key(runs)
    if not rows:
        return tag("p", "No pictures were taken.", class_="muted")
    shown = [picture for row in rows.values() for picture in row if picture]
    pictures = (picture_row(key, row, runs) for key, row in rows.items())
    return joined(
        [
            tag("div", class_legend(shown, runs[0].classes), view_switch(), class_="controls"),
            tag("div", *pictures, id="gallery", data_view="labels"),
        ]
    )


def pictures_by_key(runs: Sequence[RunView]) -> dict[str, list[Picture | None]]:
    """For each image, one picture a run; None where that run has none."""
    keys = dict.fromkeys(picture.key for run in runs for picture in run.pictures)
    of_run = [{picture.key: picture for picture in run.pictures} for run in runs]
    return {key: [pictures.get(key) for pictures in of_run] for key in keys}


def picture_row(key: str, row: Sequence[Picture | None], runs: Sequence[RunView]) -> Markup:
    first = next(picture for picture in row if picture)
    photo, truth = photo_uri(first.image), label_map_uri(first.truth, runs[0].classes)
    tiles = [
        tile("Image", layer(photo, f"Image {key}", first, "photo")),
        tile("Truth", layer(truth, f"True labels of {key}", first, "map"), class_="labels"),
        *(prediction_tile(picture, number, runs) for number, picture in enumerate(row)),
    ]
    columns = tag("div", *tiles, class_="tiles", style=f"--tiles:{len(tiles)}")
    return tag("article", tag("h3", key, class_="key"), columns, class_="picture")


def prediction_tile(picture: Picture | None, number: int, runs: Sequence[RunView]) -> Markup:
    run = runs[number]
    colour = tag("span", class_="dash") if len(runs) > 1 else Markup()
    name = tag("span", colour, run.name if len(runs) > 1 else "Prediction")
    if picture is None:
        return tile(name, tag("p", "no picture", class_="muted"))
    labels = label_map_uri(picture.prediction, run.classes)
    errors = error_map_uri(picture.truth, picture.prediction)
    right = share_right(picture.truth, picture.prediction)
    return tile(
        name,
        layer(labels, f"Prediction of {run.name} for {picture.key}, {percent(right)} right", picture, "map"),
        layer(errors, "", picture, "wrong"),
        note=f"{percent(right)} right",
        class_=f"labels prediction {run_colour(number)}",
    )


def tile(name: str, *layers: Markup, note: str = "", class_: str = "") -> Markup:
    caption = tag("figcaption", name, tag("span", note, class_="muted") if note else Markup())
    return tag("figure", tag("div", *layers, class_="frame"), caption, class_=f"tile {class_}".strip())


def layer(uri: str, alt: str, picture: Picture, kind: str) -> Markup:
    height, width = picture.truth.shape
    wide, high = shown_size(height, width)
    sharp = " sharp" if kind != "photo" and wide < PIXELATED_BELOW else ""
    return tag("img", src=uri, alt=alt, width=wide, height=high, class_=kind + sharp)


def view_switch() -> Markup:
    """Radio buttons: the arrow keys work on them as they are, and the script adds a key and a click."""
    choices = (
        tag(
            "label",
            tag("input", type="radio", name="view", value=value, checked=not number),
            tag("span", name),
        )
        for number, (value, name) in enumerate(VIEWS)
    )
    hint = tag("span", "click a picture or press ", tag("kbd", "v"), class_="muted hint")
    group = tag("fieldset", tag("legend", "Show", class_="unseen"), *choices, class_="switch")
    return tag("div", group, hint, class_="needs-script view", hidden=True)


def class_legend(pictures: Sequence[Picture], classes: ClassInfo) -> Markup:
    """A box for each class that occurs in the pictures, and for void if there is any."""
    maps = [labels.flatten() for picture in pictures for labels in (picture.truth, picture.prediction)]
    found = torch.cat(maps).bincount().nonzero().flatten().tolist()
    items = [tag("li", colour_box(classes.palette[k]), classes.names[k]) for k in found if k < len(classes)]
    if IGNORE in found:
        items.append(tag("li", tag("span", class_="box void"), "void"))
    return tag("ul", *items, class_="legend")
