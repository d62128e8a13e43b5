"""What tests of the contrast share: random images, and a comparison of losses that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
from torch import Tensor

from recoseg.losses.regional_contrast import RegionalContrast, plain_regional_contrast
from recoseg.types import IGNORE

Images = tuple[Tensor, Tensor, Tensor]
"""Features (B, D, h, w), labels (B, h, w) and probabilities (B, K, h, w)."""

_FEW = {"num_queries": 6, "num_keys": 3, "temperature": 0.5, "hard_below": 0.6}


@pytest.fixture(scope="session")
def random_images() -> Callable[..., Images]:
    """By a seed: two maps of 3x4 of up to four classes, some pixels ignored, features of several lengths."""

    def draw(seed: int, classes: Sequence[int] = range(4)) -> Images:
        generator = torch.Generator().manual_seed(seed)
        features = torch.randn(2, 5, 3, 4, generator=generator, dtype=torch.double) + 0.5
        labels = torch.tensor(classes)[torch.randint(len(classes), (2, 3, 4), generator=generator)]
        labels[torch.rand(2, 3, 4, generator=generator) < 0.2] = IGNORE
        return features, labels, (4 * torch.rand(2, 4, 3, 4, generator=generator)).softmax(1)

    return draw


@pytest.fixture(scope="session")
def standard_errors_apart() -> Callable[..., float]:
    """How far the means of many losses and gradients, ours and the plain one's, are apart at most."""

    def compare(
        images: Images, ours: dict[str, object], plain: dict[str, object], *, draws: tuple[int, int]
    ) -> float:
        features, labels, probabilities = images
        generator = torch.Generator().manual_seed(7)
        losses = (
            RegionalContrast(**_FEW, **ours),  # type: ignore[arg-type]
            partial(plain_regional_contrast, **_FEW, **plain),  # type: ignore[arg-type]
        )
        means = []
        for loss_of, count in zip(losses, draws, strict=True):
            runs = []
            for _ in range(count):
                leaves = features.clone().requires_grad_()
                loss = loss_of(leaves, labels, probabilities, generator=generator)
                runs.append(torch.cat([loss.detach()[None], torch.autograd.grad(loss, leaves)[0].flatten()]))
            samples = torch.stack(runs)
            means.append((samples.mean(0), samples.var(0) / count))
        (mean, error), (plain_mean, plain_error) = means
        return ((mean - plain_mean).abs() / (error + plain_error).sqrt().clamp(min=1e-12)).max().item()

    return compare
