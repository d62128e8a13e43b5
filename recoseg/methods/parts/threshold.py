"""From which confidence on a pseudo-label is learned: a fixed number, or one that is fitted as DAW does.

DAW: Sun et al., "Exploring the Better Weighting Function for Semi-supervised Semantic Segmentation", 2023.
Its second part, which aligns the classes of predictions, is left out: a threshold stays a threshold.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from recoseg.distributed import gather_over_processes
from recoseg.errors import UserError
from recoseg.methods.parts.ema_teacher import labels_of
from recoseg.types import IGNORE

_MEMORY = 0.99  # of the running Gaussians
_FIRST_VARIANCE = 0.5
_LEAST_PIXELS = 10  # of a kind, for a Gaussian to move


class Threshold(nn.Module):
    """The same number in every step."""

    value: Tensor

    def __init__(self, start: float, num_classes: int) -> None:
        super().__init__()
        if not 0 <= start <= 1:
            raise UserError(f"pixel_above is a probability, got {start:g}")
        self.register_buffer("value", torch.tensor(start))

    def fit(self, logits: Tensor, labels: Tensor) -> None:
        """Learn from what a network says of labelled images: (B, K, h, w) and (B, H, W)."""

    def stats(self) -> dict[str, Tensor]:
        """For the log, if there is anything to tell."""
        return {}


class FittedThreshold(Threshold):
    """DAW's: where the Gaussians of right and of wrong confidences on labelled images cross.

    Means and variances are moving averages over steps, of the joined batch of all processes. They begin at
    1 / K and 0.5, and a kind of which a step has fewer than 10 pixels keeps its own. The threshold lies in
    [1 / K, 1], and stays what it is while both are the same.
    """

    means: Tensor
    variances: Tensor

    def __init__(self, start: float, num_classes: int) -> None:
        super().__init__(start, num_classes)
        self.lowest = 1 / num_classes
        self.register_buffer("means", torch.full((2,), self.lowest))  # of right and of wrong ones
        self.register_buffer("variances", torch.full((2,), _FIRST_VARIANCE))

    @torch.no_grad()
    def fit(self, logits: Tensor, labels: Tensor) -> None:
        said = labels_of(logits, (labels.shape[1], labels.shape[2]))
        kinds = torch.stack([said.labels == labels, said.labels != labels]) & (labels != IGNORE)
        counts, means, variances = _joined_moments(said.confidence, kinds)  # (2,) each
        step = torch.where(counts >= _LEAST_PIXELS, 1 - _MEMORY, 0.0)
        self.means.lerp_(means, step)
        self.variances.lerp_(variances, step)
        self.value.copy_(crossing(self.means, self.variances, otherwise=self.value).clamp(self.lowest, 1))

    def stats(self) -> dict[str, Tensor]:
        return {"threshold": self.value.clone()}


def _joined_moments(values: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How many pixels of all processes are of each kind, and mean and variance of their values.

    Values (B, H, W) and kinds (2, B, H, W) bool -> (2,) each; of no pixel at all 0.
    """
    places = (1, 2, 3)
    count = kinds.sum(places).to(values.dtype)
    mean = (values * kinds).sum(places) / count.clamp(min=1)
    spread = ((values - mean[:, None, None, None]).square() * kinds).sum(places)
    counts, means, spreads = gather_over_processes(torch.stack([count, mean, spread])).unbind(1)  # (world, 2)
    total = counts.sum(0)
    joined = (counts * means).sum(0) / total.clamp(min=1)
    spreads = spreads + counts * (means - joined).square()
    return total, joined, spreads.sum(0) / total.clamp(min=1)


def crossing(means: Tensor, variances: Tensor, *, otherwise: Tensor) -> Tensor:
    """Where the densities of two Gaussians, (2,) and (2,), are equal; `otherwise` if both are the same one.

    They are equal at a x^2 + b x + c = 0; of two places it is the one between the means.
    """
    (right, wrong), (right_var, wrong_var) = means, variances.clamp(min=1e-12)
    a = right_var - wrong_var
    b = 2 * (right * wrong_var - wrong * right_var)
    c = wrong**2 * right_var - right**2 * wrong_var + right_var * wrong_var * (wrong_var / right_var).log()
    root = (b**2 - 4 * a * c).sqrt()
    # Two ways to write (-b + root) / 2a: the first is right for equal variances too, where a is 0.
    place = torch.where(b > 0, 2 * c / (-b - root), (-b + root) / (2 * a))
    place = torch.where(a == 0, -c / b, place)
    return torch.where(place.isfinite(), place, otherwise)


THRESHOLDS: dict[str, Callable[[float, int], Threshold]] = {"fixed": Threshold, "daw": FittedThreshold}
