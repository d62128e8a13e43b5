"""PseudoSeg (Zou et al., 2021): decoder and refined class activation maps together label a strong view."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from recoseg.augment.colour import ColourJitter, as_often, changed
from recoseg.augment.mix import blank, boxes_of_size
from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.config.method_settings import PseudoSegSettings
from recoseg.config.parse import section_of
from recoseg.losses.consistency import cells_inside, mean_inside
from recoseg.losses.cross_entropy import pixel_cross_entropy
from recoseg.losses.shrink_labels import shrink_labels
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.activation_maps import ActivationMaps, map_channels
from recoseg.methods.parts.ema_teacher import by_batch
from recoseg.methods.parts.student_passes import part
from recoseg.models.bilinear import resize
from recoseg.models.layer_taps import undisturbed
from recoseg.models.network import without_features
from recoseg.types import IGNORE, Batch, ModelOutput, PseudoLabels, StepOutput

STRONG_JITTER = ColourJitter(probability=1, brightness=0.5, contrast=0.5, saturation=0.5, hue=0.25)


class PseudoSeg(Method):
    """supervised + attention + classification + consistency, all from the first step, with weight 1.

    Attention: cross-entropy of the refined activation maps with the labels. Classification: binary
    cross-entropy of which classes an image shows. Consistency: soft cross-entropy of the student's answer to
    the strong view, without the box that was cut out, with the target: the mean of the softmax of decoder and
    activation maps, both divided by the root mean square of all their values, sharpened by `temperature`.

    On labelled images activation maps are of the classes in the mask, on others of those that the classifier
    gives a probability of at least `present_above`. The weak view scales and flips. The strong one, of that,
    changes colours and cuts out a box whose sides are `cut` times the crop's: 0.2 is the authors' 100 of 513
    pixels.

    Ours: for targets BatchNorm takes the statistics of the batch, for decoder and maps alike, and dropout is
    off; the root mean square is each image's own; known pixels of partly labelled images are their own
    target; what attention reads are the last two maps of the encoder, whatever their strides. The strong
    view's colours are the authors', whatever labelled images get. The student is evaluated.
    """

    needs_unlabelled = True

    def __init__(
        self,
        student: nn.Module,
        activation_maps: ActivationMaps,
        optimiser: Optimizer,
        views: WeakToStrong,
        **settings: Any,
    ) -> None:
        own = section_of(PseudoSegSettings, settings, of_view=("colours",))
        super().__init__(student, own)
        self.activation_maps, self.optimiser, self.views = activation_maps, optimiser, views
        self.temperature, self.present_above, self.cut = own.temperature, own.present_above, own.cut

    @classmethod
    def build(
        cls, student: nn.Module, parts: MethodParts, *, colours: float = 1, **settings: Any
    ) -> PseudoSeg:
        maps = ActivationMaps(map_channels(student), parts.num_classes, background=parts.background)
        views = parts.weak_to_strong(0, colours=as_often((STRONG_JITTER,), colours))
        return cls(student, maps, parts.optimiser(maps), views, **settings)

    def own_optimisers(self) -> dict[str, Optimizer]:
        return {"activation_maps": self.optimiser}

    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        assert unlabelled is not None
        unlabelled = self.views.weak(unlabelled, generator)
        strong, uncut = self._strongly_seen(unlabelled, generator)
        encoded = self.student.encode(torch.cat([labelled.images, strong]))  # type: ignore[operator]
        both: ModelOutput = self.student.decode(encoded)  # type: ignore[operator]
        count = len(labelled)
        on_labelled, on_strong = part(both, slice(count)), part(both, slice(count, None))
        supervised = self.supervised_loss(on_labelled, labelled)

        maps = [one[:count] for one in encoded.maps]
        present = self.activation_maps.present_in(labelled.labels)
        attended = self.activation_maps(maps, labelled.inside, present)  # (B, K, h, w)
        attention = pixel_cross_entropy(attended, labelled.labels, self.class_weights)
        scores = self.activation_maps.scores(maps[-1], labelled.inside)
        classification = F.binary_cross_entropy_with_logits(scores, present.to(scores))

        target = self._target(unlabelled)  # (B, K, h, w)
        errors = -(target * on_strong.logits.float().log_softmax(1)).sum(1)
        consistency = mean_inside(errors, cells_inside(uncut, (target.shape[2], target.shape[3])))

        output = StepOutput(loss=supervised, parts={"supervised": supervised.detach()})
        output = output.plus("attention", attention).plus("classification", classification)
        output = output.plus("consistency", consistency)
        pseudo = _labels_of(target, uncut)
        pixels = [(on_labelled, PseudoLabels.of_batch(labelled)), (on_strong, pseudo)]
        return replace(output, pixels=pixels, mixed=(strong, pseudo))

    def _strongly_seen(self, unlabelled: Batch, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Images (B, 3, H, W) of other colours with a box cut out, and which pixels (B, H, W) are left."""
        images = unlabelled.images
        with torch.autocast(images.device.type, enabled=False):
            images = changed(images, self.views.colours, generator)
        cut_out = boxes_of_size(images, self.cut, generator)
        return blank(images, cut_out), ~cut_out if unlabelled.inside is None else unlabelled.inside & ~cut_out

    def _target(self, unlabelled: Batch) -> Tensor:
        """(B, K, h, w): what each cell of the decoder should say."""
        with undisturbed(self), by_batch(self), without_features(self.student) as student:
            encoded = student.encode(unlabelled.images)  # type: ignore[operator]
            logits: Tensor = student.decode(encoded).logits.float()  # type: ignore[operator]
            scores = self.activation_maps.scores(encoded.maps[-1], unlabelled.inside)
            present = scores.sigmoid() >= self.present_above
            activations = self.activation_maps(encoded.maps, unlabelled.inside, present)
        size = (logits.shape[2], logits.shape[3])
        inside = cells_inside(unlabelled.inside, size)
        target = sharpened_mean(logits, resize(activations, size), inside, temperature=self.temperature)
        if not unlabelled.sparse:
            return target
        known = shrink_labels(unlabelled.labels, size, sparse=True)[:, None]  # (B, 1, h, w)
        certain = known == torch.arange(target.shape[1], device=known.device)[:, None, None]
        return target.where(known == IGNORE, certain.to(target))


def sharpened_mean(first: Tensor, second: Tensor, inside: Tensor | None, *, temperature: float) -> Tensor:
    """Logits (B, K, h, w) twice, and cells `inside` (B, h, w) -> probabilities (B, K, h, w)."""
    squares = (first.square() + second.square()).mean(1) / 2  # (B, h, w)
    shown = torch.ones_like(squares) if inside is None else inside.to(squares)
    mean_square = (squares * shown).sum((1, 2)) / shown.sum((1, 2)).clamp(min=1)
    scale = mean_square.clamp(min=1e-12).rsqrt()[:, None, None, None]
    mean = ((first * scale).softmax(1) + (second * scale).softmax(1)) / 2
    return (mean.log() / temperature).softmax(1)  # its power, which would be 0 for all at a low temperature


def _labels_of(target: Tensor, shown: Tensor) -> PseudoLabels:
    """(B, K, h, w) -> the likeliest class of the cell that each pixel shown (B, H, W) lies in."""
    confidence, labels = target.max(1)
    size = (shown.shape[1], shown.shape[2])
    confidence, number = (
        F.interpolate(one[:, None].float(), size, mode="nearest-exact")[:, 0] for one in (confidence, labels)
    )
    return PseudoLabels(number.long(), confidence).within(shown)
