"""FixMatch for segmentation (Sohn et al., 2020; Yang et al., 2023): confident labels train a strong view."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.config.method_settings import FixMatchSettings
from recoseg.config.parse import section_of
from recoseg.methods.parts.matching import Matching, labels_in, view_loss
from recoseg.methods.parts.student_passes import together
from recoseg.types import Batch, StepOutput


class FixMatch(Matching):
    """(CE(x) + L(s)) / 2, where s is the strong view of an unlabelled image.

    L(s) is the sum of the cross-entropies of pixels whose label has a confidence of at least the threshold,
    over the number of *all* shown pixels. There is no teacher: the student labels the weak view, in its pass
    over labelled and weak images together, without a gradient; what CutMix pastes is labelled in eval mode.
    Where a few labels are known, these override the student's.

    Ours: what is pasted comes from the next image of the batch, where the authors take another crop of
    the same image; and labelled images have the changes of colour that they have in all methods.
    """

    def __init__(self, student: nn.Module, views: WeakToStrong, num_classes: int, **settings: Any) -> None:
        super().__init__(
            student, views, num_classes, section_of(FixMatchSettings, settings, of_view=("colours", "cutmix"))
        )

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        if unlabelled is None:
            return self.supervised_step(labelled)
        weak = self.views.weak(unlabelled, generator)
        strong = self.views.strong(weak.images, generator)
        to_paste = self.labels_to_paste(weak)
        both = together(self.student, labelled.images, weak.images)
        self.threshold.fit(both.on_labelled.logits, labelled.labels)
        pseudo = strong.labels(labels_in(weak, both.on_mixed.logits), to_paste)
        on_strong = self.student(strong.images)

        supervised = self.supervised_loss(both.on_labelled, labelled)
        unsupervised = view_loss(on_strong.logits, pseudo, self.threshold.value)
        return self.step_output(
            (supervised + unsupervised) / 2,
            {"supervised": supervised, "strong": unsupervised},
            labelled,
            both.on_labelled,
            strong,
            on_strong,
            pseudo,
        )
