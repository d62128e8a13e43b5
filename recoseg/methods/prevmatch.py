"""PrevMatch (Shin et al., 2024): UniMatch, in which earlier states of the student give labels too."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.config.method_settings import PrevMatchSettings, UniMatchSettings
from recoseg.config.parse import section_of
from recoseg.errors import UserError
from recoseg.methods.method import MethodParts
from recoseg.methods.parts.ema_teacher import Teacher
from recoseg.methods.parts.matching import labels_in
from recoseg.methods.unimatch import UniMatch
from recoseg.types import Batch, StepOutput


class PrevMatch(UniMatch):
    """(CE(x) + M + lambda * M') / (2 + lambda), where M is L(s1) / 4 + L(s2) / 4 + L(fp) / 2 of UniMatch.

    M' is the same of other labels: those of 1 to `most_at_once` earlier networks in eval mode, whose logits
    are averaged with random weights, Dirichlet(1), and which count from a confidence of `previous_above`
    on; with None, as the authors have it for Cityscapes, all count, and an image weighs by their mean
    confidence (in the authors' code also by the number of images, by mistake). Lambda grows from 0 to 1
    until half of training is done, and falls to 0 again. While there is no earlier network, it is 0.

    Ours: the student is stored every `store_every` iterations, where the authors store it when its score on
    the evaluation images improves: no score has a say in training here. The last `num_previous` are kept.
    Which these are follows from the iteration, so their weights are all that a resumed run needs.
    """

    def __init__(
        self,
        student: nn.Module,
        views: WeakToStrong,
        num_classes: int,
        iterations: int,
        **settings: Any,
    ) -> None:
        """`iterations` of the whole run: lambda is a matter of them."""
        of_view = ("colours", "cutmix")
        own = section_of(PrevMatchSettings, settings, of_view=of_view)
        shared = {
            name: getattr(own, name) for name in UniMatchSettings.__struct_fields__ if name not in of_view
        }
        super().__init__(student, views, num_classes, **shared)
        store_every = own.store_every or max(1, iterations // 16)
        if store_every >= max(2, iterations):
            raise UserError(
                f"store_every: with {store_every} iterations no network is stored in {iterations}, and "
                "prevmatch would be unimatch: lower it"
            )
        self.iterations, self.store_every = iterations, store_every
        self.most_at_once, self.previous_above = own.most_at_once, own.previous_above
        # A moving average without memory is a copy, which stays in eval mode and learns nothing.
        self.previous = nn.ModuleList(Teacher(student, decay=0) for _ in range(own.num_previous))

    @classmethod
    def _of_run(cls, parts: MethodParts) -> tuple[int, ...]:
        return parts.num_classes, parts.iterations

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        if unlabelled is None:
            return self.supervised_step(labelled)
        weak = self.views.weak(unlabelled, generator)
        seen = self.see(labelled, weak, generator)
        supervised = self.supervised_loss(seen.on_labelled, labelled)
        matched = seen.losses(seen.own, seen.to_paste, self.threshold.value)
        total, weight, previous = supervised + matched.total, 0.0, torch.zeros_like(supervised)
        if self.num_stored(iteration) > 0:
            weight = self.previous_weight(iteration)
            earlier = labels_in(weak, self.previous_logits(weak.images, iteration, generator))
            previous = seen.losses(earlier, earlier, self.previous_above).total
            total = total + weight * previous
        return self.step_output(
            total / (2 + weight),
            {"supervised": supervised, **matched.parts, "previous": previous},
            labelled,
            seen.on_labelled,
            seen.strong,
            seen.on_strong,
            matched.pseudo,
        )

    def previous_weight(self, iteration: int) -> float:
        """Lambda: 0 at both ends of training, 1 in the middle."""
        return 1 - abs(1 - 2 * iteration / self.iterations)

    def num_stored(self, iteration: int) -> int:
        """How many earlier networks there are at the beginning of that iteration."""
        return min(iteration // self.store_every, len(self.previous))

    def previous_logits(self, images: Tensor, iteration: int, generator: torch.Generator) -> Tensor:
        """(B, 3, H, W) -> (B, K, h, w): a few earlier networks, drawn anew, and their weighted mean."""
        stored = self.num_stored(iteration)
        count = min(int(torch.randint(1, self.most_at_once + 1, (1,), generator=generator)), stored)
        chosen = torch.randperm(stored, generator=generator)[:count].tolist()
        shares = -torch.rand(count, generator=generator, dtype=torch.float64).clamp(min=1e-300).log()
        shares = shares / shares.sum()  # exponential ones, over their sum: Dirichlet(1)
        logits = [
            share * self.previous[place].logits(images)
            for share, place in zip(shares.tolist(), chosen, strict=True)
        ]
        return torch.stack(logits).sum(0)

    def after_update(self, iteration: int) -> None:
        super().after_update(iteration)
        if (iteration + 1) % self.store_every == 0:
            place = iteration // self.store_every % len(self.previous)  # the oldest makes room
            self.previous[place].update(self.student, iteration)  # type: ignore[operator]
