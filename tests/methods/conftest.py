"""A tiny network, toy batches and a view that changes nothing: what the tests of methods share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.augment.mix import no_mix
from recoseg.augment.strong import StrongView
from recoseg.models.network import SegmentationNetwork
from recoseg.types import IGNORE, Batch, ModelOutput


@dataclass(frozen=True)
class TinyEncoded:
    map: Tensor  # (B, 8, H/2, W/2)

    @property
    def maps(self) -> tuple[Tensor, ...]:
        return (self.map,)

    def with_maps(self, maps: Sequence[Tensor]) -> TinyEncoded:
        return TinyEncoded(*maps)


class TinyNetwork(SegmentationNetwork):
    """One convolution of stride 2 and two heads; with `probabilities` it says the same of every pixel.

    Its answer is cast to `answers_in`, as if it had computed in that.
    """

    def __init__(
        self,
        *,
        num_classes: int = 2,
        features: int | None = None,
        norm: bool = True,
        probabilities: Sequence[float] | None = None,
        answers_in: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.answers_in = answers_in
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8) if norm else nn.Identity(), nn.ReLU()
        )
        self.classifier = nn.Conv2d(8, num_classes if probabilities is None else len(probabilities), 1)
        self.representation = None if features is None else nn.Conv2d(8, features, 1)
        if probabilities is not None:
            nn.init.zeros_(self.classifier.weight)
            self.classifier.bias.data = torch.tensor(probabilities).log()

    def decoded_channels(self) -> int:
        return self.classifier.in_channels

    def encode(self, images: Tensor) -> TinyEncoded:
        return TinyEncoded(self.body(images))

    def forward(self, images: Tensor) -> ModelOutput:
        return self.decode(self.encode(images))

    def decode(self, encoded: TinyEncoded) -> ModelOutput:
        x = encoded.map
        logits, features = self.classifier(x), None if self.representation is None else self.representation(x)
        if self.answers_in is not None:
            logits, features = (one if one is None else one.to(self.answers_in) for one in (logits, features))
        return ModelOutput(logits, features)


def toy(count: int = 2, *, size: tuple[int, int] = (32, 32), seed: int = 0, visible: bool = True) -> Batch:
    """Noisy images of bright blobs on a dark ground, in two classes; labels are IGNORE unless `visible`."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.randn(count, 1, 4, 4, generator=generator)
    labels = (F.interpolate(coarse, size, mode="bilinear")[:, 0] > 0).long()  # (B, H, W)
    noise = torch.rand(count, 3, *size, generator=generator)
    images = 0.2 + 0.4 * labels[:, None] + 0.4 * noise
    keys = tuple(f"{seed}-{n}" for n in range(count))
    return Batch(images, labels if visible else torch.full_like(labels, IGNORE), keys)


@pytest.fixture
def tiny_network() -> Callable[..., TinyNetwork]:
    """`tiny_network(...)`, always with the same weights."""

    def build(**settings: object) -> TinyNetwork:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return TinyNetwork(**settings)

    return build


@pytest.fixture
def toy_batch() -> Callable[..., Batch]:
    return toy


@pytest.fixture
def same_view() -> StrongView:
    """Shows images as they are."""
    return StrongView(mix=no_mix, colours=[], flip=0)


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(7)


@pytest.fixture
def require_same_in_half_precision(toy_batch, needs_16_bits) -> Callable[[nn.Module], None]:
    """That a step on unlabelled images comes out the same, to that precision."""

    def require(method: nn.Module) -> None:
        needs_16_bits("bfloat16")
        found = []
        for is_mixed in (False, True):
            drawn = torch.Generator().manual_seed(0)
            with torch.autocast("cpu", torch.bfloat16, enabled=is_mixed):
                output = method(toy_batch(), toy_batch(seed=1, visible=False), iteration=0, generator=drawn)
            output.loss.backward()
            assert output.loss.dtype == torch.float32
            found.append(output.parts["unsupervised"].item())
        assert found[0] > 1e-3
        assert found[1] == pytest.approx(found[0], rel=0.1)

    return require
