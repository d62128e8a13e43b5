"""UniMatch V2 (Yang et al., 2024): an EMA teacher labels, and two strong views see complementary channels."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.config.method_settings import UNIMATCH_V2_DECAY, UniMatchV2Settings
from recoseg.config.parse import section_of
from recoseg.methods.parts.channel_dropout import complementary_channels
from recoseg.methods.parts.ema_teacher import Teacher
from recoseg.methods.parts.matching import Matching, labels_in, views_loss, with_halves
from recoseg.models.network import SegmentationNetwork
from recoseg.types import Batch, StepOutput


class UniMatchV2(Matching):
    """(CE(x) + (L(s1) + L(s2)) / 2) / 2, with the L of FixMatch.

    The teacher, an EMA of weights and buffers, labels the weak view in eval mode, for what CutMix pastes too.
    The decoder sees channels of the first strong view that it does not see of the second, on every
    level of the encoder. The teacher is evaluated.

    Ours: what is pasted comes from the next image of the batch, where the authors reverse the batch, so that
    the middle one of an odd number meets itself. DAW's threshold is fitted to what the student says of
    labelled images, since the teacher does not look at them.
    """

    student: SegmentationNetwork
    teacher: Teacher

    def __init__(
        self,
        student: nn.Module,
        views: WeakToStrong,
        num_classes: int,
        **settings: Any,
    ) -> None:
        own = section_of(UniMatchV2Settings, settings, of_view=("colours", "cutmix"))
        super().__init__(with_halves(student), views, num_classes, own)
        self.evaluate_average(UNIMATCH_V2_DECAY if own.decay is None else own.decay)

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        if unlabelled is None:
            return self.supervised_step(labelled)
        weak = self.views.weak(unlabelled, generator)
        strong = self.views.strong(weak.images, generator, views=2)
        pseudo = strong.labels(labels_in(weak, self.teacher.logits(weak.images)))
        on_labelled = self.student(labelled.images)
        self.threshold.fit(on_labelled.logits, labelled.labels)
        encoded = self.student.encode(strong.images)
        on_strong = self.student.decode(encoded.with_maps(complementary_channels(encoded.maps, generator)))

        supervised = self.supervised_loss(on_labelled, labelled)
        unsupervised = views_loss(on_strong.logits, pseudo, self.threshold.value)
        return self.step_output(
            (supervised + unsupervised) / 2,
            {"supervised": supervised, "strong": unsupervised},
            labelled,
            on_labelled,
            strong,
            on_strong,
            pseudo,
        )
