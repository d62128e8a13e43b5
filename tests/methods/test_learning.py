"""Every method learns a toy problem of two classes, alone and with the contrast on top."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from recoseg import RegionalContrast
from recoseg.augment.mix import MIXES, no_mix
from recoseg.augment.strong import StrongView
from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.methods import METHODS
from recoseg.methods.advsemseg import AdvSemSeg
from recoseg.methods.cct import CCT
from recoseg.methods.dmt import DMT
from recoseg.methods.ecs import ECS
from recoseg.methods.fixmatch import FixMatch
from recoseg.methods.gct import GCT
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.method import Method
from recoseg.methods.parts.activation_maps import ActivationMaps
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.parts.corrector import Corrector
from recoseg.methods.prevmatch import PrevMatch
from recoseg.methods.pseudoseg import STRONG_JITTER, PseudoSeg
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised
from recoseg.methods.unimatch import UniMatch
from recoseg.methods.unimatch_v2 import UniMatchV2
from recoseg.methods.vat import VAT
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.types import IGNORE, Batch

STEPS = 30


def new_sgd(network: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(network.parameters(), lr=0.03, momentum=0.9)


SIDES = {"gct": 96}


def second_of(student: nn.Module) -> nn.Module:
    """Like the student, of other first weights, without features."""
    second = copy.deepcopy(student)
    second.representation = None
    torch.manual_seed(1)  # with that of the student, 0, both would be one
    for module in second.modules():
        if isinstance(module, nn.Conv2d):
            module.reset_parameters()
    return second


def gct_of(student: nn.Module) -> GCT:
    view = StrongView(mix=no_mix)
    return GCT(student, second_of(student), view, 2, new_sgd, ramp=10, detector_width=2)


def corrector() -> Corrector:
    encoder = ENCODERS["resnet10_small"](output_stride=16)
    return Corrector(DeepLabV3Plus(encoder=encoder, num_classes=3, decoder_width=8), 2)


def ecs(student: nn.Module) -> ECS:
    return ECS(student, StrongView(mix=no_mix), corrector(), new_sgd, supervised_start=3)


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
    return PseudoSeg(student, maps, optimiser, WeakToStrong(colours=[STRONG_JITTER], cutmix=0))


CASES: dict[str, tuple[str, Callable[..., Method]]] = {
    "supervised": ("supervised", Supervised),
    **{
        f"fixmatch, {threshold}": (
            "fixmatch",
            lambda student, threshold=threshold: FixMatch(student, WeakToStrong(), 2, threshold=threshold),
        )
        for threshold in ("fixed", "daw")
    },
    "unimatch": ("unimatch", lambda student: UniMatch(student, WeakToStrong(), 2)),
    "unimatch_v2": (
        "unimatch_v2",
        lambda student: UniMatchV2(student, WeakToStrong(), 2, pixel_above=0.9, decay=0.9),
    ),
    "prevmatch": ("prevmatch", lambda student: PrevMatch(student, WeakToStrong(), 2, STEPS, store_every=2)),
    "s4gan": ("s4gan", lambda student: S4GAN(student, StrongView(mix=no_mix), 2, self_above=0.4)),
    "advsemseg": ("advsemseg", lambda student: AdvSemSeg(student, StrongView(mix=no_mix), 2)),
    "gct": ("gct", lambda student: gct_of(student)),
    "ecs": ("ecs", lambda student: ecs(student)),
    "dmt": ("dmt", lambda student: dmt(student)),
    "pseudoseg": ("pseudoseg", lambda student: pseudoseg(student)),
    "vat": ("vat", lambda student: VAT(student, StrongView(mix=no_mix), decay=0.9)),
    "cct": ("cct", lambda student: CCT(student, StrongView(mix=no_mix), 2, 0, new_sgd, ramp=20)),
    **{
        f"mean_teacher, {mix}": (
            "mean_teacher",
            # a teacher that remembers ten steps rather than a hundred, since there are so few
            lambda student, mix=mix: MeanTeacher(student, StrongView(mix=MIXES[mix]), decay=0.9),
        )
        for mix in MIXES
    },
    "mean_teacher, probabilities": (
        "mean_teacher",
        # in thirty steps, a weight of 100 would hold the student back where its young teacher still is
        lambda student: MeanTeacher(
            student, StrongView().in_place(), consistency="probabilities", ramp=20, decay=0.9
        ),
    ),
}  # fmt: skip


def from_unlabelled(method: Method, labelled: Batch, unlabelled: Batch) -> Tensor:
    """The student's gradient in the last step, where no label is known; all but `unlabelled` is fixed."""
    method.zero_grad()
    hidden = replace(labelled, labels=torch.full_like(labelled.labels, IGNORE))
    drawn = torch.Generator().manual_seed(0)
    method(hidden, unlabelled, iteration=STEPS - 1, generator=drawn).loss.backward()
    return torch.cat([p.grad.flatten() for p in method.student.parameters() if p.grad is not None])


def test_every_method_is_tried_here() -> None:
    assert {name for name, _ in CASES.values()} == METHODS.keys() - {"probe"}  # which has no steps


@pytest.mark.no_cover
@pytest.mark.parametrize("with_contrast", [False, True], ids=["alone", "with contrast"])
@pytest.mark.parametrize("case", CASES)
def test_the_method_learns_two_classes(tiny_network, toy_batch, case: str, with_contrast: bool) -> None:
    torch.manual_seed(0)
    _, build = CASES[case]
    method = build(tiny_network(features=8 if with_contrast else None))
    # With a weight of 1, contrasts of 16 queries sway a run of 30 steps one way or the other by chance.
    loss = RegionalContrast(num_queries=16, num_keys=32)
    contrast = ContrastTerm(contrast=loss, weight=0.3) if with_contrast else None
    optimisers = [new_sgd(method.student)]
    optimisers += method.own_optimisers().values()

    side = SIDES.get(case, 32)
    size = (side, side)

    losses: list[float] = []
    above_0: set[str] = set()  # parts, in some step
    for iteration in range(STEPS):
        generator = torch.Generator().manual_seed(iteration)
        labelled, unlabelled = toy_batch(size=size, seed=iteration % 4), None
        if method.uses_unlabelled(iteration):
            unlabelled = toy_batch(size=size, seed=1000 + iteration, visible=False)
        output = method(labelled, unlabelled, iteration=iteration, generator=generator)
        if contrast is not None:
            output = contrast(output, generator, iteration=iteration)
        method.zero_grad()
        output.loss.backward()
        for optimiser in optimisers:
            optimiser.step()
        method.after_update(iteration)
        losses.append(output.parts["supervised"].item())
        above_0 |= {name for name, part in output.parts.items() if part > 0}

    assert sum(losses[-5:]) < 0.3 * sum(losses[:5])
    assert above_0 == output.parts.keys()
    assert ("contrast" in above_0) == with_contrast
    if method.needs_unlabelled:
        method.eval()  # BatchNorm would show labelled images what the others are like
        batches = [toy_batch(size=size, seed=seed, visible=False) for seed in (2000, 3000)]
        first, second = (from_unlabelled(method, labelled, batch) for batch in batches)
        assert first.isfinite().all()
        assert not torch.equal(first, second)
    model, unseen = method.evaluation_model.eval(), toy_batch(8, seed=5000)
    with torch.no_grad():
        logits = torch.nn.functional.interpolate(model(unseen.images).logits, (32, 32), mode="bilinear")
    accuracy = (logits.argmax(1) == unseen.labels).float().mean().item()
    assert accuracy > 0.8  # the commoner class alone has 0.57
