"""Small images are shown whole and large ones by windows, within memory, however many classes there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoseg.errors import UserError
from recoseg.evaluate.protocol import WHOLE_IMAGE
from recoseg.predict.predictor import LOGIT_BYTES, SizeProtocol


def test_street_scenes_are_shown_whole_as_evaluation_does() -> None:
    assert SizeProtocol().of_size(1024, 2048, 19) == WHOLE_IMAGE


def test_larger_images_are_shown_by_windows() -> None:
    assert SizeProtocol().of_size(10_000, 10_000, 19).window == 768
    assert SizeProtocol().of_size(1600, 1600, 19).window == 768


@given(st.integers(1, 255), st.integers(1, 3000), st.integers(1, 3000))
def test_the_logits_of_a_look_stay_small(num_classes, height, width) -> None:
    window = SizeProtocol().of_size(height, width, num_classes).window
    seen = height * width if window is None else window**2
    assert 4 * num_classes * seen <= LOGIT_BYTES
    assert window is None or window >= 256


def test_a_window_that_was_given_is_used_for_all() -> None:
    looks = SizeProtocol(window=512, overlap=0.5, flip=True)
    assert looks.of_size(10, 10, 2).name == "windows of 512, overlap 0.5, flipped"
    assert looks.name(2) == "windows of 512, overlap 0.5, flipped"


def test_enlarged_looks_are_of_smaller_images() -> None:
    assert SizeProtocol(scales=(0.5, 1.0)).of_size(1024, 2048, 19).window is None
    assert SizeProtocol(scales=(1.0, 2.0)).of_size(1024, 2048, 19).window == 768


def test_the_name_says_what_happens_to_which_image() -> None:
    assert SizeProtocol().name(19) == "whole image up to 2.2 megapixels, else windows of 768, overlap 0.25"


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"window": 8}, "window: got 8"), ({"overlap": 1.0}, "overlap: got 1"), ({"scales": ()}, "scales")],
)
def test_impossible_looks_are_refused_at_once(settings, message) -> None:
    with pytest.raises(UserError, match=message):
        SizeProtocol(**settings)
