"""Every method learns a toy problem of two classes, alone and with the contrast on top."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn

from recoseg import RegionalContrast
from recoseg.augment.mix import MIXES, no_mix
from recoseg.augment.strong import StrongView
from recoseg.methods import METHODS
from recoseg.methods.dmt import DMT
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.method import Method
from recoseg.methods.parts.activation_maps import ActivationMaps
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.pseudoseg import PseudoSeg
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised

STEPS = 30


def dmt(student: nn.Module) -> DMT:
    second = copy.deepcopy(student)
    for parameter in second.parameters():
        nn.init.normal_(parameter, std=0.3)
    sgd = partial(torch.optim.SGD, lr=0.03, momentum=0.9)
    return DMT(
        student,
        second,
        StrongView(mix=no_mix),
        lambda network: sgd(network.parameters()),
        2,
        STEPS,
        supervised_start=10,
    )


def pseudoseg(student: nn.Module) -> PseudoSeg:
    maps = ActivationMaps([8], 2)
    optimiser = torch.optim.SGD(maps.parameters(), lr=0.03, momentum=0.9)
    return PseudoSeg(student, maps, optimiser, StrongView(mix=no_mix, colours=()))


CASES: dict[str, tuple[str, Callable[..., Method]]] = {
    "supervised": ("supervised", Supervised),
    "s4gan": ("s4gan", lambda student: S4GAN(student, StrongView(mix=no_mix), 2)),
    "dmt": ("dmt", lambda student: dmt(student)),
    "pseudoseg": ("pseudoseg", lambda student: pseudoseg(student)),
    **{
        f"mean_teacher, {mix}": (
            "mean_teacher",
            # a teacher that remembers ten steps rather than a hundred, since there are so few
            lambda student, mix=mix: MeanTeacher(student, StrongView(mix=MIXES[mix]), decay=0.9),
        )
        for mix in MIXES
    },
}  # fmt: skip


def test_every_method_is_tried_here() -> None:
    assert {name for name, _ in CASES.values()} == METHODS.keys()


@pytest.mark.no_cover
@pytest.mark.parametrize("with_contrast", [False, True], ids=["alone", "with contrast"])
@pytest.mark.parametrize("case", CASES)
def test_the_method_learns_two_classes(tiny_network, toy_batch, case: str, with_contrast: bool) -> None:
    torch.manual_seed(0)
    _, build = CASES[case]
    method = build(tiny_network(features=8 if with_contrast else None))
    contrast = ContrastTerm(contrast=RegionalContrast(num_queries=16, num_keys=32)) if with_contrast else None
    optimisers = [torch.optim.SGD(method.student.parameters(), lr=0.03, momentum=0.9)]
    optimisers += method.own_optimisers().values()

    losses = []
    for iteration in range(STEPS):
        generator = torch.Generator().manual_seed(iteration)
        unlabelled = toy_batch(seed=1000 + iteration, visible=False)
        unlabelled = unlabelled if method.uses_unlabelled(iteration) else None
        output = method(toy_batch(seed=iteration % 4), unlabelled, iteration=iteration, generator=generator)
        if contrast is not None:
            output = contrast(output, generator, iteration=iteration)
        method.zero_grad()
        output.loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        method.after_update(iteration)
        losses.append(output.parts["supervised"].item())

    assert sum(losses[-5:]) < 0.3 * sum(losses[:5])
    model, unseen = method.evaluation_model.eval(), toy_batch(8, seed=5000)
    with torch.no_grad():
        logits = torch.nn.functional.interpolate(model(unseen.images).logits, (32, 32), mode="bilinear")
    accuracy = (logits.argmax(1) == unseen.labels).float().mean().item()
    assert accuracy > 0.8  # the commoner class alone has 0.57
