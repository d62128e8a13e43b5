"""ECS (Mendel et al., 2020): a second network, the corrector, learns to amend the student's errors.

The student learns to need no correction, and on unlabelled images learns from its corrected answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from recoseg.augment.strong import StrongView
from recoseg.config.method_settings import ECSSettings
from recoseg.config.parse import section_of
from recoseg.losses.consistency import mean_inside
from recoseg.methods.method import Method, MethodParts, require_whole_labels
from recoseg.methods.parts.corrector import Corrector
from recoseg.methods.parts.ramp import Ramp
from recoseg.methods.parts.second_networks import asked_and_taught
from recoseg.methods.parts.student_passes import together
from recoseg.models.bilinear import resize
from recoseg.models.layer_taps import undisturbed
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels, StepOutput


class ECS(Method):
    """supervised + `approval_weight` * approval + correction, and the corrector's loss.

    The corrector reads an image and the student's probabilities. On labelled images it learns to say "right"
    where the student's class is the true one, and the true class elsewhere: cross-entropy, a mean over
    labelled pixels. Approval: cross-entropy of its answer with "right", at labelled pixels. Correction, on
    unlabelled images, from iteration `supervised_start` on: the student's cross-entropy with the class that
    the corrector says, or with its own where that says "right", weighted by the corrector's certainty; a mean
    over all pixels but padding.

    The student's parts see the corrector's weights as constants, the corrector's part sees probabilities as
    constants, and so do labels. The paper has no public code: the idea is its authors', while the network,
    weights, start and means are ours, and so are colour and geometry that unlabelled images get as labelled
    ones do. The student is evaluated.
    """

    needs_unlabelled = True
    trains_second_network = True

    def __init__(
        self,
        student: nn.Module,
        view: StrongView,
        corrector: Corrector,
        optimiser: Callable[[nn.Module], Optimizer],
        **settings: Any,
    ) -> None:
        own = section_of(ECSSettings, settings)
        super().__init__(student, own)
        self.view, self.corrector, self.approval_weight = view, corrector, own.approval_weight
        self.start = Ramp(supervised_start=own.supervised_start or 0)
        self.optimiser = optimiser(corrector.network)

    @classmethod
    def build(cls, student: nn.Module, parts: MethodParts, **settings: Any) -> ECS:
        network = parts.another_network(parts.num_classes + 1)
        corrector = Corrector(network, parts.num_classes)
        return cls(student, parts.strong_view("none"), corrector, parts.optimiser, **settings)

    def require_fitting(self, *, sparse: bool, crop: tuple[int, int]) -> None:
        require_whole_labels("ecs", sparse=sparse)

    def uses_unlabelled(self, iteration: int) -> bool:
        return self.start.has_begun(iteration)

    def own_optimisers(self) -> dict[str, Optimizer]:
        return {"corrector": self.optimiser}

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        require_whole_labels("ecs", sparse=labelled.sparse)
        size = labelled.labels.shape[1:]
        if unlabelled is None:
            output = self.supervised_step(labelled)
            ((on_labelled, _),) = output.pixels
            logits = resize(on_labelled.logits.float(), size)
        else:
            unlabelled = self.view.of_batch(unlabelled, generator)
            both = together(self.student, labelled.images, unlabelled.images)
            logits, others = both.enlarged(size).tensor_split([len(labelled)])  # (B, K, H, W), twice
            supervised = self.supervised_loss(ModelOutput(logits), labelled)
            pseudo = self._corrected(unlabelled.images, others.detach().softmax(1))
            costs = F.cross_entropy(others, pseudo.labels, reduction="none") * pseudo.confidence
            pseudo = pseudo.within(unlabelled.inside)
            output = StepOutput(
                loss=supervised,
                parts={"supervised": supervised.detach()},
                pixels=both.pixels(PseudoLabels.of_batch(labelled), pseudo),
                mixed=(unlabelled.images, pseudo),
            )
            output = output.plus("correction", mean_inside(costs, unlabelled.shown))
        approval, taught = self._on_labelled(labelled, logits)
        return output.plus("approval", approval, weight=self.approval_weight).plus("corrector", taught)

    def _on_labelled(self, labelled: Batch, logits: Tensor) -> tuple[Tensor, Tensor]:
        """What the student (B, K, H, W) learns from the corrector, and what the corrector learns."""
        labels = labelled.labels
        probabilities = logits.softmax(1)
        num_classes, known = probabilities.shape[1], labels != IGNORE
        asked, said = asked_and_taught(self.corrector, labelled.images, probabilities)  # (B, K + 1, h, w)
        approval = resize(asked.float(), labels.shape[1:]).log_softmax(1)[:, num_classes]  # (B, H, W)

        right = _classes_of(probabilities.detach()) == labels  # (B, H, W)
        target = labels.masked_fill(right, num_classes).masked_fill(~known, 0)
        costs = F.cross_entropy(resize(said.float(), labels.shape[1:]), target, reduction="none")
        # Were right and wrong pixels to weigh alike, it would take half of all pixels for wrong, and do harm.
        return -mean_inside(approval, known), mean_inside(costs, known)

    def _corrected(self, images: Tensor, probabilities: Tensor) -> PseudoLabels:
        """The student's classes (B, K, H, W), but for those that the corrector amends; its certainty."""
        with undisturbed(self.corrector):
            said: Tensor = self.corrector(images, probabilities)
        certainty, answer = resize(said.float(), images.shape[2:]).softmax(1).max(1)  # (B, H, W), twice
        own = _classes_of(probabilities)
        return PseudoLabels(answer.where(answer < probabilities.shape[1], own), certainty)


def _classes_of(probabilities: Tensor) -> Tensor:
    """(B, K, H, W) -> (B, H, W). On CPUs argmax takes several times as long as max."""
    return probabilities.max(1).indices
