"""The strong view of an unlabelled batch: what the student sees of crops that the teacher saw plain."""

from __future__ import annotations

import torch
from torch import Tensor

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.augment.mix import Mix, classmix
from recoseg.augment.view import RandomFlip, RandomView
from recoseg.types import PseudoLabels

JITTER, BLUR = ColourJitter(), GaussianBlur()


class StrongView:
    """Random scale and crop, mix, colour jitter, blur and flip, in the paper's order.

    Known labels override the teacher's after scaling, which moves them as points so that none gets lost, and
    before the mix, which pastes them like any other label.
    """

    def __init__(
        self,
        *,
        scale: tuple[float, float] = (1.0, 1.0),
        mix: Mix = classmix,
        jitter: ColourJitter = JITTER,
        blur: GaussianBlur = BLUR,
        flip: float = 0.5,
    ) -> None:
        self.view, self.flip = RandomView(scale=scale), RandomFlip(probability=flip)
        self.mix, self.jitter, self.blur = mix, jitter, blur

    def __call__(
        self, images: Tensor, pseudo: PseudoLabels, known: Tensor | None, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels]:
        """Images (B, 3, H, W) in [0, 1], the teacher's labels of them and the `known` ones (B, H, W), which
        are IGNORE where a pixel has none and None where there is none at all -> images and labels to learn.
        """
        with torch.autocast(images.device.type, enabled=False):  # whole precision, as labelled images have
            return self.altered(images, pseudo, known, generator)

    def altered(
        self, images: Tensor, pseudo: PseudoLabels, known: Tensor | None, generator: torch.Generator
    ) -> tuple[Tensor, PseudoLabels]:
        images, pseudo, known = self.view(images, pseudo, known, generator)
        if known is not None:
            pseudo = pseudo.overridden_by(known)
        images, pseudo = self.mix(images, pseudo, generator)
        images = self.blur(self.jitter(images, generator), generator)
        return self.flip(images, pseudo, generator)
