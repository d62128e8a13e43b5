"""Public functions refuse what is no number, path or tensor with one line that names the argument."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from torch import nn

import recoseg
from recoseg.errors import UserError
from recoseg.losses import FeatureBank

DOCS = Path(__file__).parents[1] / "docs"
LABELS = torch.zeros(1, 8, 8, dtype=torch.long)
NOT_NUMBERS = ["0.5", ["1"], {"a": 1}, b"1", object(), 10**400]
NOT_PATHS = [1.5, [1], {"a": 1}, b"x", object()]
NUMBERS = ("num_queries", "num_keys", "temperature", "hard_below", "hard_share", "graph_temperature")


def wrong_calls():
    """(function, arguments, settings, the argument that the message names)."""
    for value in NOT_NUMBERS:
        for name in NUMBERS:
            yield recoseg.RegionalContrast, (), {name: value}, name
        for name in ("queries", "negatives", "keys"):
            yield recoseg.RegionalContrast, (), {name: value}, name
        for name in ("size", "per_step", "warm_up"):
            yield FeatureBank, (3, 8), {name: value}, name
        for name in ("window", "overlap", "scales"):
            yield recoseg.load, ("nowhere",), {name: value}, name
        for name in ("feature_channels", "multiple_of", "feature_stride"):
            yield recoseg.with_representation, (nn.Conv2d(3, 4, 1),), {"num_classes": 4, name: value}, name
        yield recoseg.with_representation, (value,), {"num_classes": 4}, "network"
        yield recoseg.shrink_labels, (value, (4, 4)), {}, "labels"
        yield recoseg.shrink_labels, (LABELS, (4, 4)), {"mask": value}, "mask"
        yield recoseg.shrink_labels, (LABELS, value), {}, "size"
    for value in NOT_PATHS:
        yield recoseg.load, (value,), {}, "run"
        yield recoseg.Run.open, (value,), {}, "run"
        yield recoseg.train, ("scenes",), {"config": value}, "config"
        yield recoseg.train, ("scenes",), {"out": value}, "out"
    for device in ("mps", "meta", "gpu", 3.5):
        yield recoseg.load, ("nowhere",), {"device": device}, "device"
    features, probabilities = torch.zeros(1, 4, 8, 8), torch.full((1, 2, 8, 8), 0.5)
    inputs = (features, LABELS, probabilities)
    yield recoseg.RegionalContrast(), inputs, {"generator": 3}, "generator"


@pytest.mark.parametrize(("function", "arguments", "settings", "name"), list(wrong_calls()))
def test_a_wrong_type_is_named_with_its_argument(function, arguments, settings, name) -> None:
    with pytest.raises(UserError, match=name) as caught:
        function(*arguments, **settings)
    assert "\n" not in str(caught.value)


def test_the_page_of_the_contrast_names_every_argument() -> None:
    page = (DOCS / "regional_contrast.md").read_text(encoding="utf-8")
    for name in inspect.signature(recoseg.RegionalContrast).parameters:
        assert f"| `{name}` |" in page, name
