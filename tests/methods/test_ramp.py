"""When unlabelled images join, and with which weight."""

from __future__ import annotations

import pytest

from recoseg.errors import UserError
from recoseg.methods.parts.ramp import Ramp


def test_without_settings_everything_counts_from_the_first_iteration() -> None:
    assert Ramp().has_begun(0)
    assert [Ramp().weight(t) for t in (0, 1, 1000)] == [1, 1, 1]


def test_a_supervised_start_has_no_unlabelled_images_and_then_all_of_them() -> None:
    ramp = Ramp(supervised_start=3)
    assert [ramp.has_begun(t) for t in range(5)] == [False, False, False, True, True]
    assert [ramp.weight(t) for t in range(5)] == [0, 0, 0, 1, 1]


def test_a_ramp_grows_in_equal_steps_and_ends_at_one() -> None:
    ramp = Ramp(supervised_start=2, ramp=3)
    assert [ramp.weight(t) for t in range(7)] == [0, 0, 0.25, 0.5, 0.75, 1, 1]


@pytest.mark.parametrize("name", ["supervised_start", "ramp"])
def test_a_negative_number_of_iterations_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"{name} is a number of iterations, at least 0, got -1"):
        Ramp(**{name: -1})


def test_a_sigmoid_ramp_grows_slowly_first() -> None:
    ramp = Ramp(supervised_start=2, ramp=10, shape="sigmoid")
    assert [ramp.weight(t) for t in (0, 1)] == [0, 0]
    expected = [0.0067, 0.2865, 1, 1]  # exp(-5), exp(-5 / 4)
    assert [ramp.weight(t) for t in (2, 7, 12, 99)] == pytest.approx(expected, abs=5e-5)
    assert Ramp(shape="sigmoid").weight(0) == 1
