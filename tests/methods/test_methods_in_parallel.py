"""Two processes with half of the images each: the gradients of one with all of them, and none missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from recoseg.augment.strong import StrongView
from recoseg.methods.dmt import DMT
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.method import Method
from recoseg.methods.parts.activation_maps import ActivationMaps
from recoseg.methods.pseudoseg import PseudoSeg
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels

SIZE = (16, 16)
STEPS = {
    "supervised": (0,),
    "mean_teacher": (0, 1),
    "s4gan": (0, 1, 0, 1),
    "pseudoseg": (0, 1),
    "dmt": (0, 1),
}
"""Iterations to go through; the first of the semi-supervised methods has labels alone."""


@dataclass(frozen=True)
class OneMap:
    map: Tensor

    @property
    def maps(self) -> tuple[Tensor, ...]:
        return (self.map,)


class PlainNetwork(nn.Module):
    """Without BatchNorm, so that images do not depend on one another."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.classifier = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 2, 1)

    def encode(self, images: Tensor) -> OneMap:
        return OneMap(self.body(images).relu())

    def decode(self, encoded: OneMap) -> ModelOutput:
        return ModelOutput(self.classifier(encoded.map))

    def forward(self, images: Tensor) -> ModelOutput:
        return self.decode(self.encode(images))


class SameView(StrongView):
    def __call__(
        self, images: Tensor, pseudo: PseudoLabels, known: Tensor | None, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels]:
        return images, pseudo


def build(name: str) -> Method:
    torch.manual_seed(0)
    student = PlainNetwork()
    maps = ActivationMaps([8], 2)
    maps.refine[1] = nn.Identity()  # type: ignore[assignment]
    methods: dict[str, Method] = {
        "dmt": DMT(
            student,
            PlainNetwork(),
            SameView(),
            lambda network: torch.optim.SGD(network.parameters()),
            2,
            iterations=6,
            supervised_start=1,
        ),
        "pseudoseg": PseudoSeg(student, maps, torch.optim.SGD(maps.parameters()), SameView(), (), cut=0),
        "supervised": Supervised(student),
        "mean_teacher": MeanTeacher(student, SameView(), trust_above=0.5, supervised_start=1),
        "s4gan": S4GAN(student, SameView(), 2, supervised_start=1),
    }
    return methods[name]


def batches(processes: slice) -> tuple[Batch, Batch]:
    """Some processes' share of two labelled images, one with hardly any label, and of two others."""
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(4, 3, *SIZE, generator=generator)
    labels = torch.randint(2, (4, *SIZE), generator=generator)
    labels[1, 1:], labels[2:] = IGNORE, IGNORE
    return tuple(  # type: ignore[return-value]
        Batch(images[part][processes], labels[part][processes], ("a", "b")[processes])
        for part in (slice(2), slice(2, 4))
    )


def gradients(name: str, processes: slice, *, parallel: bool) -> list[dict[str, Tensor]]:
    """Of every parameter that learns, in each step."""
    method = build(name)
    step = DistributedDataParallel(method) if parallel else method
    labelled, unlabelled = batches(processes)
    found = []
    for iteration in STEPS[name]:
        torch.manual_seed(iteration)
        others = unlabelled if method.uses_unlabelled(iteration) else None
        method.zero_grad()
        step(labelled, others, iteration=iteration, generator=torch.Generator()).loss.backward()
        learning = {name: p for name, p in method.named_parameters() if p.requires_grad}
        found.append({name: p.grad.clone() for name, p in learning.items()})
    return found


def one_process(process: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=process, world_size=2
    )
    own = slice(process, process + 1)
    torch.save({name: gradients(name, own, parallel=True) for name in STEPS}, f"{folder}/{process}.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("processes")
    torch.multiprocessing.spawn(one_process, args=(str(folder),), nprocs=2)
    return [torch.load(folder / f"{process}.pt") for process in range(2)]


@pytest.mark.parametrize("name", ["supervised", "mean_teacher", "pseudoseg", "dmt"])
def test_two_processes_have_the_gradients_of_one_with_all_images(
    found: list[dict[str, Any]], name: str
) -> None:
    for step, expected in enumerate(gradients(name, slice(None), parallel=False)):
        for parameter, gradient in expected.items():
            assert gradient.any()
            for process in found:
                torch.testing.assert_close(process[name][step][parameter], gradient)


def test_s4gan_has_a_gradient_for_every_parameter_in_every_step_and_the_same_in_both(
    found: list[dict[str, Any]],
) -> None:
    first, second = (process["s4gan"] for process in found)
    assert len(first) == 4
    for step, (mine, other) in enumerate(zip(first, second, strict=True)):
        for parameter, gradient in mine.items():
            assert torch.equal(gradient, other[parameter])
            rests = parameter.startswith("discriminator.") and STEPS["s4gan"][step] == 0
            assert bool(gradient.any()) != rests, (step, parameter)
