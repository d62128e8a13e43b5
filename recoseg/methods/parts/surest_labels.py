"""The labels of a network as it was, of those pixels of each class that it is surest of over many batches."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from recoseg.distributed import sum_over_processes
from recoseg.methods.parts.ema_teacher import Teacher
from recoseg.types import IGNORE, Batch, PseudoLabels

_BINS = 1024
_LEAST, _MOST = -6.0, 17.0  # log-odds: from less than one in 255 classes to the last bit of a float


_SUREST = 1 - 2**-24
"""The most that a network counts as sure, the number before 1: that is left to people."""


class SurestLabels(nn.Module):
    """A copy of a network, which labels for one round, and a histogram of how sure it is."""

    def __init__(self, network: nn.Module, num_classes: int) -> None:
        super().__init__()
        self.copy = Teacher(network, decay=0)  # a moving average that forgets all: as old as its last update
        self.histogram = ConfidenceHistogram(num_classes)

    def begin_round(self, network: nn.Module, iteration: int) -> None:
        self.copy.update(network, iteration)
        self.histogram.forget()

    def surest(self, unlabelled: Batch, share: float) -> PseudoLabels:
        """The labels of those pixels that are, of their class, among the surest share of the round so far."""
        pseudo = self.copy.pseudo_label(unlabelled.images).within(unlabelled.inside)
        pseudo = replace(pseudo, confidence=pseudo.confidence.clamp(max=_SUREST))
        self.histogram.add(pseudo)
        return self.histogram.surest(pseudo, share)


class ConfidenceHistogram(nn.Module):
    """Counts of pixels by predicted class and confidence, of all processes together.

    Bins are even in log-odds, since most confidences lie close to 1. It is a buffer, so that it is saved.
    """

    counts: Tensor

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.register_buffer("counts", torch.zeros(num_classes, _BINS, dtype=torch.long))

    def forget(self) -> None:
        self.counts.zero_()

    @torch.no_grad()
    def add(self, pseudo: PseudoLabels) -> None:
        """Count the labelled pixels. Of several processes each must call this."""
        places = (
            (pseudo.labels * _BINS + _bins(pseudo.confidence))
            .where(pseudo.labels != IGNORE, self.counts.numel())
            .flatten()
        )
        # Unlike bincount, this needs no look at the largest place.
        new = places.new_zeros(self.counts.numel() + 1).scatter_add_(0, places, torch.ones_like(places))[:-1]
        self.counts += sum_over_processes(new).view_as(self.counts)

    def least_bins(self, share: float) -> Tensor:
        """(K,) from which bin on the surest `share` of a class's pixels lie, to the width of a bin."""
        at_least = self.counts.flip(1).cumsum(1).flip(1)  # (K, bins): pixels in a bin or a higher one
        enough = at_least >= share * at_least[:, :1]  # true up to some bin, and in the first in any case
        return enough.sum(1) - 1

    def surest(self, pseudo: PseudoLabels, share: float) -> PseudoLabels:
        """The labels of those pixels alone that are, of their class, among the surest `share` so far."""
        least = torch.cat([self.least_bins(share), self.counts.new_zeros(IGNORE + 1 - len(self.counts))])
        kept = _bins(pseudo.confidence) >= least[pseudo.labels]
        return replace(pseudo, labels=pseudo.labels.where(kept, IGNORE))


def _bins(confidence: Tensor) -> Tensor:
    """(...) from 0 to 1 -> (...) int64."""
    odds = confidence.float().logit(eps=1e-7).clamp(_LEAST, _MOST)
    return ((odds - _LEAST) * ((_BINS - 1) / (_MOST - _LEAST))).long()
