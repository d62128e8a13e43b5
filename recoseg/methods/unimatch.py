"""UniMatch (Yang et al., 2023): FixMatch with two strong views, and a third of disturbed features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from recoseg.augment.weak_to_strong import StrongImages, WeakToStrong
from recoseg.config.method_settings import UniMatchSettings
from recoseg.config.parse import section_of
from recoseg.methods.parts.channel_dropout import without_channels
from recoseg.methods.parts.matching import Matching, labels_in, view_loss, views_loss, with_halves
from recoseg.methods.parts.student_passes import part
from recoseg.models.bilinear import resize
from recoseg.models.network import SegmentationNetwork
from recoseg.types import Batch, ModelOutput, PseudoLabels, StepOutput


@dataclass(frozen=True)
class Seen:
    """What the student says in a step, of B weak images and two strong views of each."""

    on_labelled: ModelOutput
    disturbed: Tensor  # (B, K, H, W) logits of the weak images, without some channels
    own: PseudoLabels  # of the weak images
    to_paste: PseudoLabels | None  # of the same, in eval mode
    strong: StrongImages
    on_strong: ModelOutput
    strong_logits: Tensor  # (2 B, K, H, W): brought to the size of labels once, whoever gives these

    def losses(
        self, own: PseudoLabels, to_paste: PseudoLabels | None, above: float | Tensor | None
    ) -> Losses:
        """All views against such labels of the weak images."""
        pseudo = self.strong.labels(own, to_paste)
        return Losses(
            views_loss(self.strong_logits, pseudo, above), view_loss(self.disturbed, own, above), pseudo
        )


@dataclass(frozen=True)
class Losses:
    """(L(s1) + L(s2)) / 2, L(fp), and the labels that the strong views had."""

    strong: Tensor
    features: Tensor
    pseudo: PseudoLabels

    @property
    def total(self) -> Tensor:
        """L(s1) / 4 + L(s2) / 4 + L(fp) / 2."""
        return (self.strong + self.features) / 2

    @property
    def parts(self) -> dict[str, Tensor]:
        return {"strong": self.strong, "features": self.features}


class UniMatch(Matching):
    """(CE(x) + L(s1) / 4 + L(s2) / 4 + L(fp) / 2) / 2; labels, L and what is ours as in FixMatch.

    s1 and s2 are two strong views. For fp the decoder sees the weak view's features without some channels:
    each is dropped with probability `drop`, on every level that the encoder hands over. The decoder
    sees labelled, weak and disturbed features in one pass; of labelled images only as they are, since no
    loss would read them disturbed.
    """

    student: SegmentationNetwork

    def __init__(
        self,
        student: nn.Module,
        views: WeakToStrong,
        num_classes: int,
        **settings: Any,
    ) -> None:
        own = section_of(UniMatchSettings, settings, of_view=("colours", "cutmix"))
        super().__init__(with_halves(student), views, num_classes, own)
        self.drop = own.drop

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        if unlabelled is None:
            return self.supervised_step(labelled)
        seen = self.see(labelled, self.views.weak(unlabelled, generator), generator)
        supervised = self.supervised_loss(seen.on_labelled, labelled)
        matched = seen.losses(seen.own, seen.to_paste, self.threshold.value)
        return self.step_output(
            (supervised + matched.total) / 2,
            {"supervised": supervised, **matched.parts},
            labelled,
            seen.on_labelled,
            seen.strong,
            seen.on_strong,
            matched.pseudo,
        )

    def see(self, labelled: Batch, weak: Batch, generator: torch.Generator) -> Seen:
        """All passes of the student, and what it labels; the threshold learns from labelled images."""
        strong = self.views.strong(weak.images, generator, views=2)
        to_paste = self.labels_to_paste(weak)
        encoded = self.student.encode(torch.cat([labelled.images, weak.images]))
        disturbed = without_channels(
            [one[len(labelled) :] for one in encoded.maps], generator, drop=self.drop
        )
        maps = [torch.cat(pair) for pair in zip(encoded.maps, disturbed, strict=True)]
        whole = self.student.decode(encoded.with_maps(maps))  # labelled, weak, disturbed
        first, second = len(labelled), len(labelled) + len(weak)
        on_labelled = part(whole, slice(first))
        self.threshold.fit(on_labelled.logits, labelled.labels)
        on_strong, size = self.student(strong.images), weak.images.shape[2:]
        return Seen(
            on_labelled=on_labelled,
            disturbed=resize(whole.logits[second:], size),
            own=labels_in(weak, whole.logits[first:second]),
            to_paste=to_paste,
            strong=strong,
            on_strong=on_strong,
            strong_logits=resize(on_strong.logits, size),
        )
