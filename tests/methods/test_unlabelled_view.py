"""Unlabelled images get colour and geometry as labelled ones do, where no view is stronger than another."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from recoseg.augment.mix import no_mix
from recoseg.augment.strong import StrongView
from recoseg.methods.advsemseg import AdvSemSeg
from recoseg.methods.cct import CCT
from recoseg.methods.ecs import ECS
from recoseg.methods.gct import GCT
from recoseg.methods.method import Method
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.vat import VAT

FLIPPED = StrongView(mix=no_mix, colours=[], flip=1)


def sgd(network: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(network.parameters(), lr=0.1)


class Approving(nn.Module):
    """A corrector that finds everything right."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Conv2d(2, 3, 1)

    def forward(self, images: torch.Tensor, probabilities: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.network(probabilities)
        return answer


METHODS: dict[str, Callable[[Callable[[], nn.Module]], Method]] = {
    "s4gan": lambda new: S4GAN(new(), FLIPPED, 2),
    "advsemseg": lambda new: AdvSemSeg(new(), FLIPPED, 2),
    "gct": lambda new: GCT(new(), new(), FLIPPED, 2, sgd, detector_width=2),
    "ecs": lambda new: ECS(new(), FLIPPED, Approving(), sgd),  # type: ignore[arg-type]
    "cct": lambda new: CCT(new(), FLIPPED, 2, None, sgd),
}


@pytest.mark.parametrize("name", METHODS)
def test_the_student_sees_unlabelled_images_through_the_view(
    name, tiny_network, toy_batch, generator
) -> None:
    method, seen = METHODS[name](tiny_network), []
    method.student.register_forward_pre_hook(lambda _, images: seen.append(images[0]))
    labelled, unlabelled = toy_batch(size=(96, 96)), toy_batch(size=(96, 96), seed=1, visible=False)
    output = method(labelled, unlabelled, iteration=0, generator=generator)
    assert torch.equal(torch.cat(seen)[-2:], unlabelled.images.flip(3))
    images, _ = output.mixed
    assert torch.equal(images, unlabelled.images.flip(3))


def test_vat_moves_images_that_it_sees_through_the_view(tiny_network, toy_batch, generator) -> None:
    method, unlabelled = VAT(tiny_network(), FLIPPED, radius=1e-30), toy_batch(seed=1, visible=False)
    images, _ = method(toy_batch(), unlabelled, iteration=0, generator=generator).mixed
    assert torch.equal(images, unlabelled.images.flip(3))
