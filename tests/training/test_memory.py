"""Running out of memory is one line that says what helps; other errors stay what they are."""

from __future__ import annotations

import pytest
import torch

from recoseg.errors import UserError
from recoseg.training.early_end import explained_shortage, peak_bytes


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: 9e12"),
        MemoryError(),
    ],
)
def test_a_shortage_names_its_remedies(error) -> None:
    with pytest.raises(UserError) as caught, explained_shortage("The state of run is kept."):
        raise error
    message = str(caught.value)
    for remedy in ("train.accumulate 2", "train.labelled_per_step", "augment.crop", "contrast.num_keys"):
        assert remedy in message
    assert message.endswith("The state of run is kept.")


def test_a_real_allocation_that_fails_is_recognised() -> None:
    with pytest.raises(UserError, match="out of memory"), explained_shortage(""):
        torch.empty(2**62, dtype=torch.uint8)


@pytest.mark.parametrize("error", [RuntimeError("shapes do not match"), KeyError("x"), UserError("yours")])
def test_other_errors_pass(error) -> None:
    with pytest.raises(type(error)) as caught, explained_shortage(""):
        raise error
    assert caught.value is error


def test_the_peak_is_at_least_what_is_held() -> None:
    held = torch.ones(30_000_000, dtype=torch.uint8)
    assert peak_bytes(torch.device("cpu")) > held.nbytes
