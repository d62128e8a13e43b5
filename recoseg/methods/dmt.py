"""DMT, dynamic mutual training (Feng et al., 2020): two networks label images for each other, in rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from recoseg.augment.strong import StrongView
from recoseg.config.method_settings import DMTSettings
from recoseg.config.parse import section_of
from recoseg.distributed import mean_over_processes, world_size
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.ramp import Ramp
from recoseg.methods.parts.second_networks import require_two_starts
from recoseg.methods.parts.student_passes import together
from recoseg.methods.parts.surest_labels import SurestLabels
from recoseg.models.bilinear import resize
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels, StepOutput


class DMT(Method):
    """The student and a second network like it; each has the loss below, with the labels of the other.

    Both learn from labels alone first, for `supervised_start` iterations; the rest of a run is `rounds` equal
    rounds. When round r begins, a copy of each network is taken, which labels unlabelled images until the
    round ends; of the pixels given to a class, the surest r / rounds count. Which those are is known from a
    histogram of the confidences in the round so far.

    Loss of a network: cross-entropy over the labelled pixels of both kinds of images, over their number. A
    pixel that a person labelled weighs 1. Another, with label k, weighs p_k ^ `agree_power` where the
    network that learns agrees; 0 where it disagrees and is surer than the one that labelled; else
    p_k ^ `disagree_power`. Weights are constants.

    Ours: rounds are parts of one run, at its learning rate, and begin with the networks as they are (the
    authors choose the best snapshot on the evaluation set); both start from the same kind of weights. The
    student is evaluated; the second network serves training alone.
    """

    needs_unlabelled = True
    trains_second_network = True

    def __init__(
        self,
        student: nn.Module,
        second: nn.Module,
        view: StrongView,
        optimiser: Callable[[nn.Module], Optimizer],
        num_classes: int,
        iterations: int,
        **settings: Any,
    ) -> None:
        own = section_of(DMTSettings, settings)
        super().__init__(student, own)
        require_two_starts("dmt", student, second)
        self.second, self.view, self.optimiser = second, view, optimiser(second)
        self.agree_power, self.disagree_power = own.agree_power, own.disagree_power
        self.rounds, self.iterations = own.rounds, iterations
        self.ramp = Ramp(supervised_start=own.supervised_start or 0)
        self.by_student, self.by_second = (
            SurestLabels(student, num_classes),
            SurestLabels(second, num_classes),
        )

    @classmethod
    def build(cls, student: nn.Module, parts: MethodParts, **settings: Any) -> DMT:
        own = (parts.another_network(), parts.strong_view("none"), parts.optimiser)
        return cls(student, *own, parts.num_classes, parts.iterations, **settings)

    @property
    def least_unlabelled(self) -> int:
        return self.view.least_images

    def uses_unlabelled(self, iteration: int) -> bool:
        return self.ramp.has_begun(iteration)

    def own_optimisers(self) -> dict[str, Optimizer]:
        return {"second": self.optimiser}

    def round_of(self, iteration: int) -> int:
        """From 1 on; 0 before the first."""
        since, length = iteration - self.ramp.supervised_start, self.iterations - self.ramp.supervised_start
        return min(self.rounds, since * self.rounds // max(1, length) + 1) if since >= 0 else 0

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        if unlabelled is None:
            output = self.supervised_step(labelled)
            return output.plus("second", self.supervised_loss(self.second(labelled.images), labelled))
        share = self.round_of(iteration) / self.rounds
        images, pseudo = self._shown(self.by_second, unlabelled, share, generator)
        both = together(self.student, labelled.images, images)
        supervised, unsupervised, loss = self._losses(both.on_labelled, labelled, both.on_mixed, pseudo)
        other_images, other_pseudo = self._shown(self.by_student, unlabelled, share, generator)
        others = together(self.second, labelled.images, other_images)
        *_, second = self._losses(others.on_labelled, labelled, others.on_mixed, other_pseudo)
        return StepOutput(
            loss=loss + second,
            parts={
                "supervised": supervised.detach(),
                "unsupervised": unsupervised.detach(),
                "second": second.detach(),
            },
            pixels=both.pixels(PseudoLabels.of_batch(labelled), pseudo),
            mixed=(images, pseudo),
        )

    def _shown(
        self, labeller: SurestLabels, unlabelled: Batch, share: float, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels]:
        """What a network sees of the unlabelled images, and what the other one's copy says of them."""
        pseudo = labeller.surest(unlabelled, share)
        return self.view(unlabelled.images, pseudo, unlabelled.labels, generator)

    def _losses(
        self, on_labelled: ModelOutput, labelled: Batch, on_others: ModelOutput, pseudo: PseudoLabels
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Means over the pixels of labelled and of unlabelled images, and over those of both."""
        supervised = self.supervised_loss(on_labelled, labelled)
        losses = agreement_losses(on_others.logits, pseudo, self.agree_power, self.disagree_power)
        by_person = mean_over_processes(_weight_of(labelled.labels, self.class_weights))
        by_network = mean_over_processes((pseudo.labels != IGNORE).sum())
        total = (by_person + by_network).clamp(min=1 / world_size())
        unsupervised = losses.sum() / by_network.clamp(min=1 / world_size())
        return supervised, unsupervised, (by_person * supervised + by_network * unsupervised) / total

    def after_update(self, iteration: int) -> None:
        """Where the next iteration begins a round, copies are taken and counting begins anew."""
        super().after_update(iteration)
        if self.round_of(iteration + 1) == self.round_of(iteration):
            return
        self.by_student.begin_round(self.student, iteration)
        self.by_second.begin_round(self.second, iteration)


def agreement_losses(
    logits: Tensor, pseudo: PseudoLabels, agree_power: float, disagree_power: float
) -> Tensor:
    """(B, K, h, w) and labels (B, H, W) -> weighted cross-entropy (B, H, W), 0 where there is no label.

    What has a confidence of 1, which no network has, is a person's label.
    """
    logs = resize(logits, pseudo.labels.shape[1:]).float().log_softmax(1)
    losses = F.nll_loss(logs, pseudo.labels, ignore_index=IGNORE, reduction="none")
    with torch.no_grad():
        highest, of_label = logs.amax(1), losses.neg()
        agrees = of_label >= highest
        weights = (torch.where(agrees, agree_power, disagree_power) * of_label).exp()
        weights = weights.masked_fill(
            ~agrees & (highest.exp() > pseudo.confidence), 0
        )  # surer, and disagrees
        weights = weights.masked_fill(pseudo.confidence == 1, 1)
    return losses * weights


def _weight_of(labels: Tensor, class_weights: Tensor | None) -> Tensor:
    """How many pixels (B, H, W) have a label, each counted as much as its class."""
    if class_weights is None:
        return (labels != IGNORE).sum().float()
    return torch.cat([class_weights, class_weights.new_zeros(IGNORE + 1 - len(class_weights))])[labels].sum()
