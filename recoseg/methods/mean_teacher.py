"""Mean Teacher: the student learns from labels, and from what its moving average sees in unlabelled images.

With a mix it is CutOut, CutMix (French et al., 2020) or ClassMix (Olsson et al., 2021).
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.losses.cross_entropy import confident_cross_entropy
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.ema_teacher import Teacher
from recoseg.methods.parts.ramp import Ramp
from recoseg.methods.parts.student_passes import PASSES
from recoseg.text import lookup
from recoseg.types import Batch, PseudoLabels, StepOutput


class MeanTeacher(Method):
    """Eq. 6 without its contrast: supervised + eta * unsupervised.

    The teacher labels an unlabelled image as it is; the student sees it through `view`. Where a few of its
    labels are known, these override the teacher's. The first `supervised_start` iterations have the
    supervised part alone; over the next `ramp` ones the weight of the other grows from 0 to 1. Pixels that
    the teacher is less sure of than `pixel_above` are not learned from; with 0, as in the paper, all are.
    """

    needs_unlabelled = True

    def __init__(
        self,
        student: nn.Module,
        view: StrongView,
        *,
        trust_above: float = 0.97,
        pixel_above: float = 0.0,
        decay: float = 0.99,
        warm_up: Literal["mean", "fast"] = "mean",
        teacher_norm: Literal["average", "batch"] = "average",
        student_pass: Literal["separate", "together"] = "separate",
        supervised_start: int = 0,
        ramp: int = 0,
        class_weights: Tensor | None = None,
    ) -> None:
        super().__init__(student, class_weights=class_weights)
        for name, value in (("trust_above", trust_above), ("pixel_above", pixel_above)):
            if not 0 <= value <= 1:
                raise UserError(f"{name} is a probability, got {value:g}")
        self.teacher = Teacher(student, decay=decay, warm_up=warm_up, norm=teacher_norm)
        self.view, self.trust_above, self.pixel_above = view, trust_above, pixel_above
        self.pass_both = lookup(PASSES, student_pass, what="student's pass")
        self.ramp = Ramp(supervised_start=supervised_start, ramp=ramp)

    @classmethod
    def build(
        cls, student: nn.Module, parts: MethodParts, *, mix: str = "classmix", **settings: Any
    ) -> MeanTeacher:
        return cls(student, parts.strong_view(mix), **settings)

    @property
    def least_unlabelled(self) -> int:
        return self.view.least_images

    def uses_unlabelled(self, iteration: int) -> bool:
        return self.ramp.has_begun(iteration)

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        if unlabelled is None:
            return self.supervised_step(labelled)
        pseudo = self.teacher.pseudo_label(unlabelled.images).within(unlabelled.inside)
        images, pseudo = self.view(unlabelled.images, pseudo, unlabelled.labels, generator)
        both = self.pass_both(self.student, labelled.images, images)
        supervised = self.supervised_loss(both.on_labelled, labelled)
        unsupervised = confident_cross_entropy(
            both.on_mixed.logits, pseudo, trust_above=self.trust_above, pixel_above=self.pixel_above
        )
        return StepOutput(
            loss=supervised + self.ramp.weight(iteration) * unsupervised,
            parts={"supervised": supervised.detach(), "unsupervised": unsupervised.detach()},
            pixels=both.pixels(PseudoLabels.of_batch(labelled), pseudo),
            mixed=(images, pseudo),
        )

    def after_update(self, iteration: int) -> None:
        self.teacher.update(self.student, iteration)

    @property
    def evaluation_model(self) -> nn.Module:
        return self.teacher.network
