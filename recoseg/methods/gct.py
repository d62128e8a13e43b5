"""GCT (Ke et al., 2020): two students, and a flaw detector that tells where each of them errs.

At each pixel the student with the greater flaw learns from the other; where both err, both learn to err less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from recoseg.augment.strong import StrongView
from recoseg.config.method_settings import GCTSettings
from recoseg.config.parse import section_of
from recoseg.losses.consistency import mean_inside
from recoseg.methods.method import Method, MethodParts, require_whole_labels
from recoseg.methods.parts.discriminator import PixelDiscriminator
from recoseg.methods.parts.flaw_maps import read_flaws, true_flaws
from recoseg.methods.parts.ramp import Ramp
from recoseg.methods.parts.second_networks import asked_and_taught, require_two_starts
from recoseg.methods.parts.student_passes import together
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels, StepOutput

_WIDTHS, _STRIDES = (1, 2, 2, 4, 4, 8, 8), (2, 2, 1, 2, 1, 2, 1)  # widths in those of the first convolution


class GCT(Method):
    """For both students supervised + consistency + correction, and the detector's loss.

    Consistency, on all images: `consistency_weight` times the mean squared difference between a student's
    probabilities and its target, growing over `ramp` iterations. The target of a pixel is the student's own
    answer, or the other student's where that has the lesser flaw. Correction: `correction_weight` times the
    mean of the detector's squared answer, at the pixels where both students' flaws are above `bad_above`.
    The detector, of `detector_width` channels in its first and eight times as many in its last convolution,
    sees image and probabilities; its loss is `detector_weight` times the squared difference to
    the true flaws of labelled images, a mean over both students.

    The students' parts see the detector's weights as constants, the detector's part and the targets see
    probabilities as constants. Pixels without a label are not in the detector's mean, padding is in none
    (ours). Unlabelled images get colour and geometry as labelled ones do; both students see all images
    alike, labelled and unlabelled ones together, and so does the detector when it learns. The first one is
    evaluated, and has the contrast: with the targets as labels, and no confidence where both err (ours).
    """

    needs_unlabelled = True
    trains_second_network = True

    def __init__(
        self,
        student: nn.Module,
        second: nn.Module,
        view: StrongView,
        num_classes: int,
        optimiser: Callable[[nn.Module], Optimizer],
        **settings: Any,
    ) -> None:
        own = section_of(GCTSettings, settings)
        super().__init__(student, own)
        self.consistency_weight, self.correction_weight = own.consistency_weight, own.correction_weight
        self.detector_weight, self.bad_above = own.detector_weight, own.bad_above
        self.ramp = Ramp(ramp=own.ramp or 0, shape="sigmoid")
        self.second, self.view = second, view
        self.detector = PixelDiscriminator(
            3 + num_classes,
            who="gct",
            widths=[own.detector_width * width for width in _WIDTHS],
            strides=_STRIDES,
            norm="half",
            least_cells=2,  # one says that all pixels have the same flaw: nobody would learn from anybody
        )
        self.optimisers = {
            "second": optimiser(second),
            "detector": Adam(self.detector.parameters(), lr=own.detector_lr, betas=(0.9, 0.99)),
        }

    @classmethod
    def build(cls, student: nn.Module, parts: MethodParts, **settings: Any) -> GCT:
        second = parts.another_network()
        require_two_starts("gct", student, second)
        view = parts.strong_view("none")
        return cls(student, second, view, parts.num_classes, parts.optimiser, **settings)

    def require_fitting(self, *, sparse: bool, crop: tuple[int, int]) -> None:
        require_whole_labels("gct", sparse=sparse)
        self.detector.require_size(crop)

    def own_optimisers(self) -> dict[str, Optimizer]:
        return self.optimisers

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        require_whole_labels("gct", sparse=labelled.sparse)
        assert unlabelled is not None  # from the first iteration on
        unlabelled = self.view.of_batch(unlabelled, generator)
        students = (self.student, self.second)
        first, second = (together(student, labelled.images, unlabelled.images) for student in students)
        size, inside = labelled.labels.shape[1:], torch.cat([labelled.shown, unlabelled.shown])
        # Of all images for the first student, then of all for the second: (2, B, K, H, W)
        enlarged = [both.enlarged(size) for both in (first, second)]
        answers = torch.stack([logits.softmax(1) for logits in enlarged])
        images = torch.cat([labelled.images, unlabelled.images]).expand(2, -1, -1, -1, -1)
        seen = torch.cat([images, answers], 2)  # (2, B, 3 + K, H, W)

        asked, taught = asked_and_taught(self.detector, seen.flatten(0, 1))
        scores, said = asked.view(2, *inside.shape), taught.view(2, *inside.shape)
        flaws = read_flaws(scores.detach().flatten(0, 1), inside.repeat(2, 1, 1), bad_above=self.bad_above)
        targets, both_err = targets_of(answers.detach(), flaws.view_as(scores))
        both_inside = inside.expand_as(scores)
        consistency = 2 * mean_inside((answers - targets).square().mean(2), both_inside)  # of both, summed
        correction = 2 * mean_inside(scores.square() * both_err, both_inside)

        supervised, second_supervised = (
            self.supervised_loss(ModelOutput(logits[: len(labelled)]), labelled) for logits in enlarged
        )
        confidence, labels = targets[0, len(labelled) :].max(1)  # (B, H, W), twice
        confidence = confidence.masked_fill(both_err[len(labelled) :], 0)
        pseudo = PseudoLabels(labels, confidence).within(unlabelled.inside)
        output = StepOutput(
            loss=supervised,
            parts={"supervised": supervised.detach()},
            pixels=first.pixels(PseudoLabels.of_batch(labelled), pseudo),
            mixed=(unlabelled.images, pseudo),
        )
        weight = self.consistency_weight * self.ramp.weight(iteration)
        output = output.plus("second_supervised", second_supervised)
        output = output.plus("consistency", consistency, weight=weight)
        output = output.plus("correction", correction, weight=self.correction_weight)
        detector = _detector_loss(said, answers.detach(), labelled.labels)
        return output.plus("detector", detector, weight=self.detector_weight)


def _detector_loss(said: Tensor, answers: Tensor, labels: Tensor) -> Tensor:
    """What it says of all images and students (2, B, H, W), their answers, and labels of the first images."""
    said, answers = (of_all[:, : len(labels)].flatten(0, 1) for of_all in (said, answers))
    labels = labels.repeat(2, 1, 1)
    return mean_inside((said - true_flaws(answers, labels)).square(), labels != IGNORE)


def targets_of(answers: Tensor, flaws: Tensor) -> tuple[Tensor, Tensor]:
    """Two students' probabilities (2, B, K, H, W) and flaws (2, B, H, W) -> targets, and where both err.

    A student's target is its own answer where its flaw is not the greater one; else the other's. Both err,
    (B, H, W) bool, where both flaws are whole.
    """
    keeps = flaws <= flaws.flip(0)  # (2, B, H, W)
    return answers.where(keeps[:, :, None], answers.flip(0)), (flaws == 1).all(0)
