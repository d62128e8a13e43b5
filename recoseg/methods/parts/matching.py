"""What FixMatch and its heirs share: labels of weak views, and the loss of strong ones against them."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor, nn

from recoseg.augment.colour import as_often
from recoseg.augment.weak_to_strong import STRONG_COLOURS, StrongImages, WeakToStrong
from recoseg.config.method_settings import MatchingSettings
from recoseg.errors import UserError
from recoseg.losses.cross_entropy import confident_cross_entropy
from recoseg.methods.method import Method, MethodParts
from recoseg.methods.parts.ema_teacher import labels_of
from recoseg.methods.parts.threshold import THRESHOLDS
from recoseg.models.layer_taps import undisturbed
from recoseg.models.network import SegmentationNetwork, without_features
from recoseg.types import Batch, ModelOutput, PseudoLabels, StepOutput


class Matching(Method):
    """A method that learns, in strong views of unlabelled images, confident labels of the weak view.

    The supervised and the unsupervised half weigh alike, from the first iteration on, without a ramp.
    """

    needs_unlabelled = True

    def __init__(
        self,
        student: nn.Module,
        views: WeakToStrong,
        num_classes: int,
        settings: MatchingSettings,
    ) -> None:
        super().__init__(student, settings)
        self.views = views
        self.threshold = THRESHOLDS[settings.threshold](settings.pixel_above, num_classes)

    @classmethod
    def build(
        cls,
        student: nn.Module,
        parts: MethodParts,
        *,
        colours: float = 1,
        cutmix: float = 0.5,
        **settings: Any,
    ) -> Self:
        views = parts.weak_to_strong(cutmix, colours=as_often(STRONG_COLOURS, colours))
        make: Any = cls  # each takes the keywords of its own settings
        method: Self = make(student, views, *cls._of_run(parts), **settings)
        return method

    @classmethod
    def _of_run(cls, parts: MethodParts) -> tuple[int, ...]:
        """What it is made with besides views and settings."""
        return (parts.num_classes,)

    @property
    def least_unlabelled(self) -> int:
        return self.views.least_images

    def labels_to_paste(self, weak: Batch) -> PseudoLabels | None:
        """What the student says of weak images in eval mode, as the authors do; None if none is pasted."""
        if self.views.cutmix == 0:
            return None
        with undisturbed(self.student), without_features(self.student) as student:
            return labels_in(weak, student(weak.images).logits)

    def step_output(
        self,
        loss: Tensor,
        parts: dict[str, Tensor],
        labelled: Batch,
        on_labelled: ModelOutput,
        strong: StrongImages,
        on_strong: ModelOutput,
        pseudo: PseudoLabels,
    ) -> StepOutput:
        """The loss and its parts, with what the student said of labelled images and of strong views."""
        return StepOutput(
            loss=loss,
            parts={name: part.detach() for name, part in parts.items()},
            pixels=[(on_labelled, PseudoLabels.of_batch(labelled)), (on_strong, pseudo)],
            mixed=(strong.images, pseudo),
            stats=self.threshold.stats(),
        )


def with_halves(student: nn.Module) -> SegmentationNetwork:
    """The student as a network that tells its encoder from its decoder; any other is refused."""
    if not isinstance(student, SegmentationNetwork):
        raise UserError(
            f"{type(student).__name__} is no SegmentationNetwork, whose encode and decode this method needs: "
            "wrap it with recoseg.with_representation"
        )
    student.require_halves()
    return student


def labels_in(weak: Batch, logits: Tensor) -> PseudoLabels:
    """(B, K, h, w) -> labels of the weak view: none in padding, and known ones instead of predicted ones."""
    size = (weak.images.shape[2], weak.images.shape[3])
    return labels_of(logits, size).within(weak.inside).overridden_by(weak.labels)


def view_loss(logits: Tensor, pseudo: PseudoLabels, above: float | Tensor | None) -> Tensor:
    """L(view): cross-entropy with labels of at least that confidence, over the number of all shown pixels.

    With None it is that with all labels, and an image weighs by the mean of their confidence.
    """
    if above is None:
        return confident_cross_entropy(logits, pseudo, trust_above=None)
    return confident_cross_entropy(logits, pseudo, trust_above=0, pixel_above=above)


def views_loss(logits: Tensor, pseudo: PseudoLabels, above: float | Tensor | None) -> Tensor:
    """(L(s1) + L(s2)) / 2 of two views, one after the other: (2 B, K, h, w) and (2 B, H, W)."""
    half = len(logits) // 2
    losses = [
        view_loss(logits[part], PseudoLabels(pseudo.labels[part], pseudo.confidence[part]), above)
        for part in (slice(half), slice(half, None))
    ]
    return (losses[0] + losses[1]) / 2
