"""AdvSemSeg (Hung et al., 2018): a discriminator tells, at each pixel, predicted class maps from true ones.

The student learns to fool it, and learns from its own labels where the discriminator believes them.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from recoseg.augment.strong import StrongView
from recoseg.config.method_settings import AdvSemSegSettings
from recoseg.config.parse import section_of
from recoseg.errors import UserError
from recoseg.losses.consistency import mean_inside
from recoseg.losses.cross_entropy import pixel_cross_entropy
from recoseg.methods.method import Method, MethodParts, require_whole_labels
from recoseg.methods.parts.discriminator import PixelDiscriminator, class_maps
from recoseg.methods.parts.second_networks import asked_and_taught
from recoseg.methods.parts.student_passes import together
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels, StepOutput


class AdvSemSeg(Method):
    """supervised + adversarial + self-training, and the discriminator's loss.

    Adversarial: binary cross-entropy of the discriminator's scores with "true", weighted `adversarial_weight`
    for maps of labelled images and `unlabelled_weight` for the others. Self-training, from iteration
    `self_start` on: `self_weight` times cross-entropy with the student's own labels, a mean over the
    unlabelled pixels that the discriminator takes for true with a probability of at least `self_above`. The
    discriminator reads class maps alone, no image; true ones and predicted ones weigh the same in its loss.

    The student's parts see the discriminator's weights as constants, the discriminator's part sees maps as
    constants. A pixel of a labelled image that has no label is empty in the true map, and in the predicted
    one too (ours, so that gaps tell nothing); so is padding. Such pixels are in no mean. Unlabelled images
    get colour and geometry as labelled ones do, and pass the student together with them (ours).
    """

    needs_unlabelled = True

    def __init__(
        self,
        student: nn.Module,
        view: StrongView,
        num_classes: int,
        **settings: Any,
    ) -> None:
        own = section_of(AdvSemSegSettings, settings)
        super().__init__(student, own)
        self.view, self.num_classes = view, num_classes
        self.self_above, self.self_start = own.self_above, own.self_start or 0
        self.adversarial_weight, self.unlabelled_weight = own.adversarial_weight, own.unlabelled_weight
        self.self_weight = own.self_weight
        self.discriminator = PixelDiscriminator(num_classes, who="advsemseg")
        self.optimiser = Adam(self.discriminator.parameters(), lr=own.discriminator_lr, betas=(0.9, 0.99))

    @classmethod
    def build(cls, student: nn.Module, parts: MethodParts, **settings: Any) -> AdvSemSeg:
        start = settings.get("self_start", 0)
        if start >= parts.iterations:
            raise UserError(
                f"method.self_start: self-training would begin after {start} of {parts.iterations} "
                "iterations, never: lower it, or set method.self_weight to 0 and leave it out"
            )
        return cls(student, parts.strong_view("none"), parts.num_classes, **settings)

    def require_fitting(self, *, sparse: bool, crop: tuple[int, int]) -> None:
        require_whole_labels("advsemseg", sparse=sparse)
        self.discriminator.require_size(crop)

    def own_optimisers(self) -> dict[str, Optimizer]:
        return {"discriminator": self.optimiser}

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        require_whole_labels("advsemseg", sparse=labelled.sparse)
        assert unlabelled is not None  # from the first iteration on
        unlabelled = self.view.of_batch(unlabelled, generator)
        both = together(self.student, labelled.images, unlabelled.images)
        first, others = slice(len(labelled)), slice(len(labelled), None)
        counted = torch.cat([labelled.labels != IGNORE, unlabelled.shown])  # (B, H, W)
        logits = both.enlarged(counted.shape[1:])  # (B, K, H, W)
        predicted = logits.softmax(1) * counted[:, None]
        true = class_maps(labelled.labels, self.num_classes).to(predicted.dtype)  # (B, K, H, W), both
        on_true = self.discriminator(true)
        scores, on_predicted = asked_and_taught(self.discriminator, predicted)  # (B, H, W), both
        fooling = F.softplus(-scores)  # cross-entropy with "true"

        confidence, own = predicted[others].detach().max(1)  # (B, H, W), twice
        believed = unlabelled.shown & (scores[others].detach().sigmoid() >= self.self_above)
        pseudo = PseudoLabels(own.where(believed, IGNORE), confidence)

        supervised = self.supervised_loss(ModelOutput(logits[first]), labelled)
        output = StepOutput(
            loss=supervised,
            parts={"supervised": supervised.detach()},
            pixels=both.pixels(PseudoLabels.of_batch(labelled), pseudo),
            mixed=(unlabelled.images, pseudo),
        )
        on_labelled = mean_inside(fooling[first], counted[first])
        output = output.plus("adversarial", on_labelled, weight=self.adversarial_weight)
        on_unlabelled = mean_inside(fooling[others], counted[others])
        output = output.plus("unlabelled_adversarial", on_unlabelled, weight=self.unlabelled_weight)
        if iteration >= self.self_start:
            self_training = pixel_cross_entropy(logits[others], pseudo.labels)
            output = output.plus("self_training", self_training, weight=self.self_weight)
        return output.plus("discriminator", _discriminator_loss(on_true, on_predicted, counted))


def _discriminator_loss(on_true: Tensor, on_predicted: Tensor, counted: Tensor) -> Tensor:
    """Binary cross-entropy at the `counted` pixels of all predicted maps, of which the first have true ones.

    True maps are to score 1, predicted ones 0; both kinds weigh the same.
    """
    of_true = mean_inside(F.softplus(-on_true), counted[: len(on_true)])
    return (of_true + mean_inside(F.softplus(on_predicted), counted)) / 2
