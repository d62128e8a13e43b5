"""What the tests of networks share."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture
def with_random_statistics():
    """Puts a network into eval mode with BatchNorm statistics that a mistake in their use would show."""

    def prepare(model):
        generator = torch.Generator().manual_seed(0)
        for name, buffer in model.named_buffers():
            if name.endswith(("running_mean", "running_var")):
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
        return model.eval()

    return prepare
