"""VAT (Miyato et al., 2018; for segmentation French et al., 2020): agreement where images are most fragile.

A Mean Teacher whose student sees each unlabelled image moved to where the prediction changes most.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from recoseg.augment.strong import StrongView
from recoseg.distributed import sum_over_processes
from recoseg.errors import UserError
from recoseg.losses.consistency import cells_inside, divergence
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.adversarial_direction import adversarial_direction, unit_length
from recoseg.methods.parts.ema_teacher import Teacher, labels_of
from recoseg.methods.parts.ramp import Ramp
from recoseg.methods.parts.student_passes import PASSES
from recoseg.models.network import without_features
from recoseg.text import lookup
from recoseg.types import Batch, PseudoLabels, StepOutput


class VAT(Method):
    """supervised + `consistency_weight` * share * KL(teacher on u || student on u + r), a mean over cells.

    r points where the teacher's prediction changes most, and is `radius` times `own_contrast` of the image
    long. The share is that of all cells of the batch that the teacher is sure of by at least `trust_above`.
    The teacher is in eval mode, and gets no gradient. All begins at once; `supervised_start` and `ramp` are
    ours, and so are the small step by which the direction is found, and colour and geometry that unlabelled
    images get as labelled ones do, before teacher and student see them. Known labels are for the contrast.
    """

    needs_unlabelled = True
    teacher: Teacher

    def __init__(
        self,
        student: nn.Module,
        view: StrongView,
        *,
        consistency_weight: float = 0.1,
        radius: float = 1.0,
        trust_above: float = 0.97,
        decay: float = 0.99,
        warm_up: Literal["mean", "fast", "none"] = "mean",
        student_pass: Literal["separate", "together"] = "separate",
        supervised_start: int = 0,
        ramp: int = 0,
    ) -> None:
        super().__init__(student)
        self.evaluate_average(decay, warm_up)
        if not 0 <= trust_above <= 1:
            raise UserError(f"trust_above is a probability, got {trust_above:g}")
        self.view, self.radius, self.trust_above = view, radius, trust_above
        self.consistency_weight = consistency_weight
        self.pass_both = lookup(PASSES, student_pass, what="student's pass")
        self.ramp = Ramp(supervised_start=supervised_start, ramp=ramp)

    @classmethod
    def build(cls, student: nn.Module, parts: MethodParts, **settings: Any) -> VAT:
        return cls(student, parts.strong_view("none"), **settings)

    def uses_unlabelled(self, iteration: int) -> bool:
        return self.ramp.has_begun(iteration)

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        if unlabelled is None:
            return self.supervised_step(labelled)
        seen = self.view.of_batch(unlabelled, generator)
        with torch.autocast(seen.images.device.type, enabled=False):  # the direction needs it
            logits = self.teacher.logits(seen.images)  # (B, K, h, w)
        target = logits.softmax(1)
        inside = cells_inside(seen.inside, (logits.shape[2], logits.shape[3]))
        assert seen.inside is not None
        assert inside is not None
        images = self.perturbed(seen.images, target, seen.inside, generator)
        both = self.pass_both(self.student, labelled.images, images)

        supervised = self.supervised_loss(both.on_labelled, labelled)
        share = _share_of_batch(target, inside, self.trust_above)
        consistency = share * divergence(both.on_mixed.logits, target, inside)
        size = (images.shape[2], images.shape[3])
        pseudo = labels_of(logits, size).within(seen.inside).overridden_by(seen.labels)
        return StepOutput(
            loss=supervised + self.ramp.weight(iteration) * self.consistency_weight * consistency,
            parts={"supervised": supervised.detach(), "unsupervised": consistency.detach()},
            pixels=both.pixels(PseudoLabels.of_batch(labelled), pseudo),
            mixed=(images, pseudo),
        )

    def perturbed(self, images: Tensor, target: Tensor, inside: Tensor, generator: torch.Generator) -> Tensor:
        """Images (B, 3, H, W), each moved by r where they are `inside` (B, H, W).

        `target` (B, K, h, w) is what the teacher says of them unmoved.
        """
        with without_features(self.teacher.network) as network:
            direction = adversarial_direction(
                lambda moved: network(moved).logits,
                images,
                target,
                generator=generator,
                inside=cells_inside(inside, (target.shape[2], target.shape[3])),
            )
        length = self.radius * own_contrast(images, inside)  # (B,)
        return images + length[:, None, None, None] * unit_length(direction * inside[:, None])


def own_contrast(images: Tensor, inside: Tensor) -> Tensor:
    """(B, C, H, W) -> (B,): half the length of all differences between pixels two apart, down and across.

    Of pixels `inside` (B, H, W) alone.
    """
    total = images.new_zeros(len(images))
    for pixels, shown in ((images, inside), (images.mT, inside.mT)):
        squares = (pixels[:, :, 2:] - pixels[:, :, :-2]).square().sum(1)
        total = total + (squares * (shown[:, 2:] & shown[:, :-2])).sum((1, 2))
    return total.sqrt() / 2


def _share_of_batch(target: Tensor, inside: Tensor, trust_above: float) -> Tensor:
    """How many of the cells `inside` (B, h, w), of all processes, have a class of that probability."""
    confident = (target.amax(1) >= trust_above) & inside
    sure, total = sum_over_processes(torch.stack([confident.sum(), inside.sum()])).unbind()
    return sure / total.clamp(min=1)
