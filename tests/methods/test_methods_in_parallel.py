"""Two processes with half of the images each: the gradients of one with all of them, and none missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed
import torch.multiprocessing
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from recoseg.augment.strong import StrongView
from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.methods.advsemseg import AdvSemSeg
from recoseg.methods.cct import CCT
from recoseg.methods.dmt import DMT
from recoseg.methods.ecs import ECS
from recoseg.methods.fixmatch import FixMatch
from recoseg.methods.gct import GCT
from recoseg.methods.mean_teacher import MeanTeacher
from recoseg.methods.method import Method
from recoseg.methods.parts.activation_maps import ActivationMaps
from recoseg.methods.parts.alignment import Alignment
from recoseg.methods.parts.corrector import Corrector
from recoseg.methods.parts.threshold import FittedThreshold
from recoseg.methods.prevmatch import PrevMatch
from recoseg.methods.pseudoseg import PseudoSeg
from recoseg.methods.s4gan import S4GAN
from recoseg.methods.supervised import Supervised
from recoseg.methods.unimatch import UniMatch
from recoseg.methods.unimatch_v2 import UniMatchV2
from recoseg.methods.vat import VAT
from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.encoders import ENCODERS, EncoderOutput
from recoseg.models.freezing import freeze_batch_norm
from recoseg.models.network import SegmentationNetwork
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels

SIDES = {"advsemseg": 32, "gct": 96}
"""Of images, in pixels, where 16 are not enough."""

MATCHING = ("fixmatch", "daw", "unimatch", "unimatch_v2", "prevmatch")
EXACT = {"gct": torch.float64}
"""Sums over so many pixels come out differently in another order."""

STEPS = {
    "supervised": (0,),
    "mean_teacher": (0, 1),
    "soft_mean_teacher": (1,),
    "aligned_mean_teacher": (0, 1),
    "vat": (0, 1),
    "cct": (1,),
    "resting_cct": (0, 1),
    "s4gan": (0, 1, 0, 1),
    "advsemseg": (0, 1),
    "gct": (0, 1),
    "ecs": (0, 1),
    "pseudoseg": (0, 1),
    "dmt": (0, 1),
} | dict.fromkeys(MATCHING, (0, 1))
"""Iterations to go through; the first of the semi-supervised methods has labels alone."""


class PlainNetwork(SegmentationNetwork):
    """Without BatchNorm, so that images do not depend on one another."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.classifier = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 2, 1)
        self.representation = None

    def decoded_channels(self) -> int:
        return 8

    def encode(self, images: Tensor) -> EncoderOutput:
        return EncoderOutput((images, self.body(images).relu()))

    def decode(self, encoded: EncoderOutput) -> ModelOutput:
        return ModelOutput(self.classifier(encoded.high))

    def forward(self, images: Tensor) -> ModelOutput:
        return self.decode(self.encode(images))


class SameView(StrongView):
    def __call__(
        self, images: Tensor, pseudo: PseudoLabels, known: Tensor | None, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels]:
        return images, pseudo


class UndrawnVAT(VAT):
    """Draws nothing: a direction for two images is not that of each alone."""

    def perturbed(self, images: Tensor, target: Tensor, inside: Tensor, generator: torch.Generator) -> Tensor:
        return images * 0.9


def every_other_channel(maps: Sequence[Tensor], generator: torch.Generator) -> list[Tensor]:
    """Undrawn complementary channels: the first view of each image has the even ones, the second the odd."""
    found = []
    for first, second in (one.chunk(2) for one in maps):
        even = 2.0 * (torch.arange(first.shape[1]) % 2 == 0)[:, None, None]
        found.append(torch.cat([first * even, second * (2 - even)]))
    return found


NOTHING_DRAWN = {
    "num_dropout": 0, "num_feature_drop": 0, "num_feature_noise": 0, "num_guided_cutout": 0, "num_vat": 0,
}  # fmt: skip


def sgd(network: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(network.parameters(), lr=0.1)


def gct_of(student: nn.Module) -> GCT:
    method = GCT(student, PlainNetwork(), SameView(), 2, sgd, detector_width=2)
    method.detector.eval()  # its BatchNorm would see the images of its own process
    return method


def ecs_of(student: nn.Module) -> ECS:
    network = DeepLabV2(encoder=ENCODERS["resnet10_small"](output_stride=16), num_classes=3)
    freeze_batch_norm(network, "all")
    return ECS(student, SameView(), Corrector(network, 2), sgd, supervised_start=1)


def build(name: str) -> Method:
    torch.manual_seed(0)
    student, plain = PlainNetwork(), WeakToStrong(flip=0, colours=(), cutmix=0)
    maps = ActivationMaps([3, 8], 2)
    maps.refine[1] = nn.Identity()  # type: ignore[assignment]
    methods: dict[str, Method] = {
        "supervised": Supervised(student),
        "mean_teacher": MeanTeacher(student, SameView(), trust_above=0.5, supervised_start=1),
        "soft_mean_teacher": MeanTeacher(student, SameView(), consistency="probabilities"),
        "aligned_mean_teacher": MeanTeacher(student, SameView(), alignment=Alignment(2), trust_above=0.5),
        "vat": UndrawnVAT(student, SameView(), trust_above=0.7, supervised_start=1),
        "cct": CCT(student, SameView(), 2, 0, sgd, **NOTHING_DRAWN),
        "resting_cct": CCT(student, SameView(), 2, 0, sgd, supervised_start=1),
        "s4gan": S4GAN(student, SameView(), 2, supervised_start=1),
        "advsemseg": AdvSemSeg(student, SameView(), 2, self_start=1),
        "gct": gct_of(student),
        "ecs": ecs_of(student),
        "dmt": DMT(
            student,
            PlainNetwork(),
            SameView(),
            lambda network: torch.optim.SGD(network.parameters()),
            2,
            iterations=6,
            supervised_start=1,
        ),
        "pseudoseg": PseudoSeg(student, maps, torch.optim.SGD(maps.parameters()), plain, cut=0),
        "fixmatch": FixMatch(student, plain, 2, pixel_above=0.5),
        "daw": FixMatch(student, plain, 2, threshold="daw"),
        "unimatch": UniMatch(student, plain, 2, pixel_above=0.5, drop=0),
        "unimatch_v2": UniMatchV2(student, plain, 2, pixel_above=0.7),
        "prevmatch": PrevMatch(
            student, plain, 2, 4, store_every=1, pixel_above=0.5, previous_above=0.5, drop=0
        ),
    }
    if hasattr(methods[name], "teacher") and methods[name].teacher is not None:
        torch.nn.init.normal_(methods[name].teacher.network.classifier.weight)  # teacher and student differ
    return methods[name]


def batches(name: str, processes: slice) -> tuple[Batch, Batch]:
    """Some processes' share of two labelled images, one with hardly any label, and of two others."""
    generator = torch.Generator().manual_seed(0)
    side = SIDES.get(name, 16)
    images = torch.rand(4, 3, side, side, generator=generator).to(EXACT.get(name, torch.float32))
    labels = torch.randint(2, (4, side, side), generator=generator)
    labels[1, 1:], labels[2:] = IGNORE, IGNORE
    return tuple(  # type: ignore[return-value]
        Batch(images[part][processes], labels[part][processes], ("a", "b")[processes])
        for part in (slice(2), slice(2, 4))
    )


def gradients(name: str, processes: slice, *, parallel: bool) -> list[dict[str, Tensor]]:
    """Of every parameter that learns, in each step."""
    method = build(name).to(EXACT.get(name, torch.float32))
    step = DistributedDataParallel(method) if parallel else method
    labelled, unlabelled = batches(name, processes)
    found = []
    for iteration in STEPS[name]:
        torch.manual_seed(iteration)
        others = unlabelled if method.uses_unlabelled(iteration) else None
        method.zero_grad()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("recoseg.methods.unimatch_v2.complementary_channels", every_other_channel)
            step(labelled, others, iteration=iteration, generator=torch.Generator()).loss.backward()
        learning = {name: p for name, p in method.named_parameters() if p.requires_grad}
        found.append({name: p.grad.clone() for name, p in learning.items()})
    return found


def fitted(processes: slice) -> dict[str, Tensor]:
    """The buffers of a threshold that has learned from labelled images."""
    threshold, student = FittedThreshold(0.95, 2), build("supervised").student
    labelled, _ = batches("daw", processes)
    with torch.no_grad():
        threshold.fit(5 * student(labelled.images).logits, labelled.labels)
    return threshold.state_dict()


def one_process(process: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=process, world_size=2
    )
    own = slice(process, process + 1)
    results: dict[str, Any] = {name: gradients(name, own, parallel=True) for name in STEPS}
    results["threshold"] = fitted(own)
    torch.save(results, f"{folder}/{process}.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("processes")
    torch.multiprocessing.spawn(one_process, args=(str(folder),), nprocs=2)
    return [torch.load(folder / f"{process}.pt") for process in range(2)]


EQUAL = [
    "supervised", "mean_teacher", "soft_mean_teacher", "aligned_mean_teacher", "vat", "cct", "fixmatch",
    "daw", "unimatch", "unimatch_v2", "prevmatch", "advsemseg", "gct", "ecs", "pseudoseg", "dmt",
]  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_two_processes_have_the_gradients_of_one_with_all_images(
    found: list[dict[str, Any]], name: str
) -> None:
    for step, expected in enumerate(gradients(name, slice(None), parallel=False)):
        for parameter, gradient in expected.items():
            assert gradient.any()
            for process in found:
                torch.testing.assert_close(process[name][step][parameter], gradient)


def test_a_threshold_is_fitted_to_the_joined_batch(found: list[dict[str, Any]]) -> None:
    expected = fitted(slice(None))
    assert expected["means"][0] != expected["means"][1]
    for process in found:
        torch.testing.assert_close(process["threshold"], expected)


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


def test_cct_has_a_gradient_for_every_decoder_in_every_step_and_the_same_in_both(
    found: list[dict[str, Any]],
) -> None:
    first, second = (process["resting_cct"] for process in found)
    for step, (mine, other) in enumerate(zip(first, second, strict=True)):
        for parameter, gradient in mine.items():
            assert torch.equal(gradient, other[parameter])
            rests = parameter.startswith("decoders.") and STEPS["resting_cct"][step] == 0
            assert bool(gradient.any()) != rests, (step, parameter)
