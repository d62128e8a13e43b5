"""CCT (Ouali et al., 2020): auxiliary decoders with perturbed input shall agree with the main decoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from recoseg.augment.strong import StrongView
from recoseg.config.method_settings import CCTSettings
from recoseg.config.parse import section_of
from recoseg.errors import UserError
from recoseg.losses.consistency import cells_inside, mean_inside
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.auxiliary_decoders import GUIDED, AuxiliaryDecoders
from recoseg.methods.parts.ema_teacher import labels_of
from recoseg.methods.parts.ramp import Ramp
from recoseg.methods.parts.second_networks import untouched
from recoseg.methods.parts.student_passes import PASSES
from recoseg.models.bilinear import resize
from recoseg.models.network import SegmentationNetwork
from recoseg.types import Batch, PseudoLabels, StepOutput


class CCT(Method):
    """supervised + `consistency_weight` * r * mean over decoders, cells and classes of (softmax - p)^2 on u.

    p is the main decoder's softmax, as a constant: what decoders disagree on teaches them and all that is
    before them, not the main classifier. r grows as a sigmoid over `ramp` iterations. `num_*` says how many
    decoders have which perturbation (`AuxiliaryDecoders`); those that look at objects are left out where no
    class is the `background`. They serve training alone: the main decoder is evaluated.

    Ours: a decoder is one 1x1 convolution on the map that the main classifier reads, 304 channels in
    DeepLabV3+; unlabelled images get colour and geometry as labelled ones do; `supervised_start`, while which
    the decoders rest; `average`. Known labels are for the contrast.
    """

    needs_unlabelled = True

    def __init__(
        self,
        student: nn.Module,
        view: StrongView,
        num_classes: int,
        background: int | None,
        optimiser: Callable[[nn.Module], Optimizer],
        **settings: Any,
    ) -> None:
        own = section_of(CCTSettings, settings)
        super().__init__(student, own)
        if not isinstance(student, SegmentationNetwork):
            raise UserError(
                f"cct taps the map that a network's classifier reads, and {type(student).__name__} does not "
                "show it: wrap it with recoseg.with_representation"
            )
        counts: dict[str, int] = {
            name.removeprefix("num_"): getattr(own, name)
            for name in own.__struct_fields__
            if name.startswith("num_")
        }
        left_out = {kind for kind in counts if background is None and kind in GUIDED and counts[kind]}
        if left_out:
            self.notes = [
                f"cct leaves out {', '.join(sorted(left_out))}, which look at objects: no class is named "
                "background"
            ]
        counts = {kind: count for kind, count in counts.items() if kind not in left_out}
        if not any(counts.values()):
            raise UserError(
                "cct needs an auxiliary decoder at least, and all their numbers are 0"
                f"{' but those that need a class named background' if left_out else ''}: raise "
                "method.num_dropout, or another"
            )
        self.decoders = AuxiliaryDecoders(
            student.decoded_channels(), num_classes, counts=counts, background=background, radius=own.radius
        )
        self.optimiser = optimiser(self.decoders)
        self.view, self.consistency_weight = view, own.consistency_weight
        self.pass_both = PASSES[own.student_pass]
        self.ramp = Ramp(supervised_start=own.supervised_start, ramp=own.ramp or 0, shape="sigmoid")

    @classmethod
    def build(cls, student: nn.Module, parts: MethodParts, **settings: Any) -> CCT:
        view = parts.strong_view("none")
        return cls(student, view, parts.num_classes, parts.background, parts.optimiser, **settings)

    def uses_unlabelled(self, iteration: int) -> bool:
        return self.ramp.has_begun(iteration)

    def own_optimisers(self) -> dict[str, Optimizer]:
        return {"auxiliary_decoders": self.optimiser}

    def after_update(self, iteration: int) -> None:
        super().after_update(iteration)
        if not self.ramp.has_begun(iteration):
            self.optimiser.state.clear()  # Adam counts no step of those in which the decoders rest

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        if unlabelled is None:
            output = self.supervised_step(labelled)
            return replace(output, loss=output.loss + untouched(self.decoders))
        seen = self.view.of_batch(unlabelled, generator)
        size = (seen.images.shape[2], seen.images.shape[3])
        assert isinstance(self.student, SegmentationNetwork)
        with self.student.tapped_decoder() as taken:
            both = self.pass_both(self.student, labelled.images, seen.images)
        decoded = taken(size)[-len(seen) :]  # (B, C, h, w), of the unlabelled images

        logits = both.on_mixed.logits.detach().float()
        cells = (decoded.shape[2], decoded.shape[3])
        target = (logits if logits.shape[2:] == cells else resize(logits, cells)).softmax(1)
        inside = cells_inside(seen.inside, cells)
        assert inside is not None
        answers = self.decoders(decoded, target, inside, generator)  # (B, N, K, h, w)
        errors = (answers.float().softmax(2) - target[:, None]).square().mean((1, 2))  # (B, h, w)

        supervised = self.supervised_loss(both.on_labelled, labelled)
        consistency = mean_inside(errors, inside)
        own = labels_of(logits, size).within(seen.inside).overridden_by(seen.labels)
        return StepOutput(
            loss=supervised + self.ramp.weight(iteration) * self.consistency_weight * consistency,
            parts={"supervised": supervised.detach(), "unsupervised": consistency.detach()},
            pixels=both.pixels(PseudoLabels.of_batch(labelled), own),
            mixed=(seen.images, own),
        )
