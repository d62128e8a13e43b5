"""A square of numbers as a picture of one pixel a cell: small for 150 classes, its numbers told on demand.

Colour is opacity, so that one picture serves light and dark; page.js tells the number under the pointer, or
under a cursor that the arrow keys move.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from recoseg.report.label_images import data_uri
from recoseg.report.markup import Markup, tag
from recoseg.text import DASH

_POSITIVE, _NEGATIVE, _UNKNOWN = (36, 88, 198), (214, 110, 10), (128, 128, 128, 70)
_NUMBERS_UP_TO = 10
"""So many classes have room for a number in each cell."""
_MOST_NAMES, _MOST_BESIDE_TREE = 42, 26
"""Of more classes, only every second or third has its name beside the picture."""
_CROWDED_ABOVE = 24
"""More classes have no names beside the picture on a phone."""


def heat_map(
    values: NDArray[np.float64],
    names: Sequence[str],
    *,
    label: str,
    says: str,
    decimals: int,
    unit: float = 1.0,
    strength: NDArray[np.float64] | None = None,
    beside: Markup | None = None,
    columns: bool = True,
) -> Markup:
    """`values` (K, K), NaN where there is none, in `names`' order; `says` is what to tell of a cell.

    `says` holds {row}, {column} and {value}, which is a value times `unit` with so many `decimals`.
    `strength` is how strongly to paint, if not the value itself. `beside` is drawn to the right, as high as
    the cells.
    """
    count = len(names)
    shown = values * unit
    painted = values if strength is None else strength
    numbers = _cell_numbers(shown, painted) if count <= _NUMBERS_UP_TO else Markup()
    picture = tag("img", src=heat_uri(painted), alt="", width=count, height=count)
    cells = tag(
        "div",
        picture,
        numbers,
        tag("span", class_="cursor", hidden=True),
        class_="cells",
        role="group",
        tabindex="0",
        aria_label=f"{label}; arrow keys tell the numbers",
        data_names=json.dumps(list(names), ensure_ascii=False),
        data_values=json.dumps(_whole_numbers(shown * 10**decimals), separators=(",", ":")),
        data_decimals=decimals,
        data_says=says,
    )
    step = math.ceil(count / (_MOST_BESIDE_TREE if beside else _MOST_NAMES))
    parts = [_name_list(names, step, "rows"), cells, beside or Markup()]
    parts += [_name_list(names, step, "columns")] if columns else []
    kind = "matrix" + (" crowded" if count > _CROWDED_ABOVE else "") + (" with-tree" if beside else "")
    matrix = tag("div", *parts, class_=kind, style=f"--count:{count};--named:{math.ceil(count / step)}")
    hint = "Point at a cell, or move with the arrow keys."
    return tag("div", matrix, tag("output", hint, class_="readout muted"), class_="heat")


def heat_uri(values: NDArray[np.float64]) -> str:
    """A pixel for each value: clear at 0, in full colour at 1 and, in another one, at -1; grey for NaN."""
    pixels = np.zeros((*values.shape, 4), dtype=np.uint8)
    pixels[..., :3] = np.where(np.nan_to_num(values)[..., None] < 0, _NEGATIVE, _POSITIVE)
    pixels[..., 3] = (np.abs(np.nan_to_num(values)).clip(0, 1) * 255).round()
    pixels[np.isnan(values)] = _UNKNOWN
    return data_uri(Image.fromarray(pixels), "PNG", optimize=True)


def _cell_numbers(shown: NDArray[np.float64], painted: NDArray[np.float64]) -> Markup:
    """A number over each cell, in a colour that can be read on the cell's."""
    texts = (
        tag(
            "span",
            _text_of(value),
            class_=None if abs(strong) <= 0.5 else "on-dark" if strong > 0 else "on-bright",
        )
        for value, strong in zip(shown.flat, np.nan_to_num(painted).flat, strict=True)
    )
    return tag("div", *texts, class_="numbers", aria_hidden="true")


def _text_of(value: float) -> str:
    if math.isnan(value):
        return DASH
    return f"{value:.0f}" if abs(value) >= 2 or value == 0 else f"{value:.1f}".replace("-", "−")


def _whole_numbers(values: NDArray[np.float64]) -> list[int | None]:
    """Row by row; null where there is no number."""
    return [None if math.isnan(value) else round(value) for value in values.flat]


def _name_list(names: Sequence[str], step: int, class_: str) -> Markup:
    """The names along one side, or every second of them and so on."""
    spans = (tag("span", name if index % step == 0 else "") for index, name in enumerate(names))
    return tag("div", *spans, class_=class_, aria_hidden="true")


def heat_key(*marks: str, both_ways: bool = False) -> Markup:
    """What the colours mean: `marks` stand evenly along the scale."""
    texts = tag("span", *(tag("span", mark) for mark in marks), class_="marks")
    scale = tag("span", class_="scale both-ways" if both_ways else "scale")
    return tag("span", scale, texts, class_="heat-key")
