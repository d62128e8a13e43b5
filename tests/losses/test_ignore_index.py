"""Labels of other conventions: whatever number says that a pixel has none."""

from __future__ import annotations

import pytest
import torch

from recoseg import RegionalContrast
from recoseg.errors import UserError


@pytest.mark.parametrize("value", [-100, -1, 255, 999])
def test_any_number_that_is_no_class_may_stand_for_no_label(value: int) -> None:
    torch.manual_seed(0)
    features, logits = torch.randn(2, 8, 6, 6), torch.randn(2, 3, 6, 6)
    labels = torch.randint(0, 3, (2, 6, 6))
    labels[:, :2] = 255
    expected = RegionalContrast(num_queries=8, num_keys=8)(
        features, labels, logits.softmax(1), generator=torch.Generator().manual_seed(0)
    )
    theirs = labels.where(labels != 255, value)
    contrast = RegionalContrast(num_queries=8, num_keys=8, ignore_index=value)
    found = contrast(features, theirs, logits.softmax(1), generator=torch.Generator().manual_seed(0))
    assert found == expected
    assert (theirs == value).sum() == 24  # what was given stays as it was


@pytest.mark.parametrize("value", [0, 7, 254, True, 1.5])
def test_a_number_that_a_class_may_have_is_refused(value) -> None:
    with pytest.raises(UserError, match="ignore_index: got"):
        RegionalContrast(ignore_index=value)
