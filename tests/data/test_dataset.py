"""A dataset around another one."""

from __future__ import annotations

import pytest

from recoseg.data.dataset import Cached, Dataset
from recoseg.data.scenes import Scenes
from recoseg.splits import all_labels
from recoseg.splits.label_split import VisibleLabels

SCENES = Scenes(height=16, width=16, num_train=2, num_val=1)


@pytest.mark.parametrize(
    "wrap",
    [lambda source: Cached(source, budget_bytes=0), lambda source: VisibleLabels(source, all_labels(source))],
)
def test_all_that_is_known_of_a_dataset_is_known_of_one_around_it(wrap, monkeypatch) -> None:
    for name in ("partial", "is_divided", "min_classes"):
        monkeypatch.setattr(SCENES, name, f"this {name}", raising=False)
    wrapped = wrap(SCENES)
    for name in Dataset.__annotations__:
        assert getattr(wrapped, name) == getattr(SCENES, name), name
    assert wrapped.fingerprint() == SCENES.fingerprint()
    assert wrapped.keys("val") == SCENES.keys("val")
