"""Mean Teacher: the student learns from labels, and from what its moving average sees in unlabelled images.

With a mix it is CutOut, CutMix (French et al., 2020) or ClassMix (Olsson et al., 2021); with a consistency of
probabilities it is the original (Tarvainen and Valpola, 2017).
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from recoseg.augment.strong import StrongView
from recoseg.errors import UserError
from recoseg.losses.consistency import cells_inside, squared_error
from recoseg.losses.cross_entropy import confident_cross_entropy
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.alignment import Alignment
from recoseg.methods.parts.ema_teacher import Teacher, labels_of
from recoseg.methods.parts.ramp import Ramp
from recoseg.methods.parts.student_passes import PASSES
from recoseg.text import lookup
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels, StepOutput

_SHAPES: dict[str, Literal["line", "sigmoid"]] = {"labels": "line", "probabilities": "sigmoid"}
"""What the student shall agree on with its teacher -> how the weight of that grows."""
_TRUST_ABOVE, _PIXEL_ABOVE = 0.97, 0.0


class MeanTeacher(Method):
    """Eq. 6 without its contrast: supervised + `consistency_weight` * eta * unsupervised.

    The teacher labels an unlabelled image as it is; the student sees it through `view`. Where a few of its
    labels are known, these override the teacher's. The first `supervised_start` iterations have the
    supervised part alone; over the next `ramp` ones the weight of the other grows from 0 to 1. Pixels that
    the teacher is less sure of than `pixel_above` are not learned from; with 0, as in the paper, all are.
    With an `alignment` its labels show classes as often as those of labelled images do.

    With `consistency="probabilities"` the unsupervised part is the mean over cells and classes of the squared
    difference between the student's softmax and the teacher's, without eta, and its weight grows as a
    sigmoid. Cells of both must lie at the same place: `view` may change colours and nothing else. Known
    labels are then for the contrast alone.
    """

    needs_unlabelled = True
    teacher: Teacher

    def __init__(
        self,
        student: nn.Module,
        view: StrongView,
        alignment: Alignment | None = None,
        *,
        consistency: Literal["labels", "probabilities"] = "labels",
        consistency_weight: float = 1.0,
        trust_above: float = _TRUST_ABOVE,
        pixel_above: float = _PIXEL_ABOVE,
        decay: float = 0.99,
        warm_up: Literal["mean", "fast", "none"] = "mean",
        teacher_norm: Literal["average", "batch"] = "average",
        student_pass: Literal["separate", "together"] = "separate",
        supervised_start: int = 0,
        ramp: int = 0,
    ) -> None:
        super().__init__(student)
        for name, value in (("trust_above", trust_above), ("pixel_above", pixel_above)):
            if not 0 <= value <= 1:
                raise UserError(f"{name} is a probability, got {value:g}")
        shape = lookup(_SHAPES, consistency, what="consistency")
        if consistency != "labels" and (trust_above, pixel_above) != (_TRUST_ABOVE, _PIXEL_ABOVE):
            raise UserError(
                "method.trust_above and method.pixel_above have no effect with method.consistency "
                f"{consistency}, which learns from all pixels alike: leave them out"
            )
        if consistency != "labels" and alignment is not None:
            raise UserError(f"method.align has no effect with method.consistency {consistency}: leave it out")
        self.consistency, self.consistency_weight = consistency, consistency_weight
        self.alignment = alignment
        self.teacher = Teacher(student, decay=decay, warm_up=warm_up, norm=teacher_norm)
        self.view, self.trust_above, self.pixel_above = view, trust_above, pixel_above
        self.pass_both = lookup(PASSES, student_pass, what="student's pass")
        self.ramp = Ramp(supervised_start=supervised_start, ramp=ramp, shape=shape)

    @classmethod
    def build(
        cls,
        student: nn.Module,
        parts: MethodParts,
        *,
        mix: str = "classmix",
        align: bool = False,
        **settings: Any,
    ) -> MeanTeacher:
        view = parts.strong_view(mix)
        if settings.get("consistency") == "probabilities":
            if mix != "none":
                raise UserError(
                    f"method.mix {mix} moves labels, and method.consistency probabilities compares cells at "
                    "the same place: add method.mix none, or take method.consistency labels"
                )
            view = view.in_place()
        return cls(student, view, alignment=Alignment(parts.num_classes) if align else None, **settings)

    def require_fitting(self, *, sparse: bool, crop: tuple[int, int]) -> None:
        if self.alignment is not None:
            self.alignment.require_whole_labels(sparse=sparse)

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
        target = self.teacher.logits(unlabelled.images)  # (B, K, h, w)
        if self.alignment is not None:
            target = self.alignment(target, labelled, unlabelled)
        size = (unlabelled.images.shape[2], unlabelled.images.shape[3])
        pseudo = labels_of(target, size).within(unlabelled.inside)
        images, pseudo = self.view(unlabelled.images, pseudo, unlabelled.labels, generator)
        both = self.pass_both(self.student, labelled.images, images)
        supervised = self.supervised_loss(both.on_labelled, labelled)
        unsupervised = self._disagreement(both.on_mixed, target, pseudo)
        return StepOutput(
            loss=supervised + self.ramp.weight(iteration) * self.consistency_weight * unsupervised,
            parts={"supervised": supervised.detach(), "unsupervised": unsupervised.detach()},
            pixels=both.pixels(PseudoLabels.of_batch(labelled), pseudo),
            mixed=(images, pseudo),
        )

    def _disagreement(self, output: ModelOutput, target: Tensor, pseudo: PseudoLabels) -> Tensor:
        """Between the student's output and the teacher's logits, or the labels that these became."""
        if self.consistency == "labels":
            return confident_cross_entropy(
                output.logits, pseudo, trust_above=self.trust_above, pixel_above=self.pixel_above
            )
        inside = cells_inside(pseudo.labels != IGNORE, (target.shape[2], target.shape[3]))
        return squared_error(output.logits, target.softmax(1), inside)
