"""The quick learner: a small decoder and a representation head on frozen features, trained on labelled cells.

Cross-entropy on what people marked, the teacher's labels of other cells where it is sure, and regional
contrast on both. Every burst of steps goes on from the weights of the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.evaluate.class_relations import ClassSums, Relations
from recoseg.label.marks import MOST_IDS
from recoseg.losses import RegionalContrast
from recoseg.methods.parts.ema_teacher import Teacher
from recoseg.seeds import seed_for, torch_generator
from recoseg.types import IGNORE

_WIDTH = 128
_REPRESENTATION = 64
_CELLS_PER_STEP = 128
_TRUST_ABOVE = 0.97
_CONSISTENCY, _CONTRAST = 0.3, 0.1  # weights beside the cross-entropy
_PART = 2**14


class CellDecoder(nn.Module):
    """Features of cells (n, D) -> what the heads read (n, 128)."""

    mean: Tensor
    std: Tensor

    def __init__(self, num_channels: int, *, dropout: float = 0.3) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(num_channels))
        self.register_buffer("std", torch.ones(num_channels))
        self.decoder = nn.Sequential(
            nn.Linear(num_channels, _WIDTH),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(_WIDTH, _WIDTH),
            nn.ReLU(),
        )
        self.classifier = nn.Linear(_WIDTH, MOST_IDS)  # a row for every class id that may ever be
        self.representation = nn.Linear(_WIDTH, _REPRESENTATION)
        nn.init.normal_(self.classifier.weight, std=0.01)
        nn.init.zeros_(self.classifier.bias)

    def decode(self, features: Tensor) -> Tensor:
        decoded: Tensor = self.decoder(((features - self.mean) / self.std).clamp(-10, 10))
        return decoded

    def logits(self, decoded: Tensor, classes: Tensor) -> Tensor:
        """(n, K) of the class ids (K,)."""
        return F.linear(decoded, self.classifier.weight[classes], self.classifier.bias[classes])


@dataclass(frozen=True)
class LabelledCells:
    features: Tensor  # (n, D)
    classes: Tensor  # (n,) class ids


class QuickLearner:
    """`learn` from cells, then ask for `probabilities` of others: the teacher's, over `known` classes."""

    def __init__(self, num_channels: int, *, seed: int = 0) -> None:
        self.num_channels, self.seed, self.step = num_channels, seed, 0
        self.known: tuple[int, ...] = ()
        with torch.random.fork_rng():
            torch.manual_seed(seed_for(seed, "quick learner"))
            self.student = CellDecoder(num_channels)
        self.teacher = Teacher(self.student, decay=0.98, warm_up="fast")
        self.contrast = RegionalContrast(num_queries=16, num_keys=32)
        self.optimiser = torch.optim.AdamW(self.student.parameters(), lr=2e-3, weight_decay=1e-2, fused=True)

    def standardise(self, mean: Tensor, std: Tensor) -> None:
        """(D,) each, of cells of all kinds; once, since weights mean nothing under others."""
        for network in (self.student, self._judge):
            network.mean.copy_(mean)
            network.std.copy_(std)

    @property
    def _judge(self) -> CellDecoder:
        network = self.teacher.network
        assert isinstance(network, CellDecoder)
        return network

    @property
    def is_ready(self) -> bool:
        return len(self.known) > 1 and self.step > 0

    def learn(self, labelled: LabelledCells, pool: Tensor, *, steps: int) -> None:
        """`pool` (m, D) are cells that nobody labelled."""
        self.known = tuple(torch.unique(labelled.classes).tolist())
        if len(self.known) < 2:
            return
        classes = torch.tensor(self.known)
        indices = torch.searchsorted(classes, labelled.classes)  # (n,) places among the known
        counts = indices.bincount(minlength=len(classes)).float()
        weights = 1 / counts[indices].sqrt()  # between all cells alike and all classes alike
        generator = torch_generator(self.seed, "cells", self.step)
        with torch.random.fork_rng():  # dropout and contrast
            torch.manual_seed(seed_for(self.seed, "steps", self.step))
            self.student.train()
            for _ in range(steps):
                chosen = torch.multinomial(weights, _CELLS_PER_STEP, replacement=True, generator=generator)
                others = torch.randint(len(pool), (_CELLS_PER_STEP,), generator=generator)
                self._step(labelled.features[chosen], indices[chosen], pool[others].float(), classes)
            self.student.eval()

    def _step(self, features: Tensor, labels: Tensor, others: Tensor, classes: Tensor) -> None:
        pseudo = self._probabilities(others, classes)  # (m, K)
        confidence, pseudo_labels = pseudo.max(1)
        trusted = confidence >= _TRUST_ABOVE
        decoded = self.student.decode(torch.cat((features, others)))
        logits = self.student.logits(decoded, classes)
        supervised = F.cross_entropy(logits[: len(labels)], labels)
        # Every class alike: else what is common drowns what is rare, and no later click would bring it back.
        counts = pseudo_labels[trusted].bincount(minlength=len(classes))
        shares = trusted / counts.clamp(min=1)[pseudo_labels] / (counts > 0).sum().clamp(min=1)
        consistency = F.cross_entropy(logits[len(labels) :], pseudo_labels, reduction="none") @ shares
        all_labels = torch.cat((labels, pseudo_labels.masked_fill(~trusted, IGNORE)))
        contrast = self.contrast(
            self.student.representation(decoded).t()[None, :, None],  # (1, 64, 1, n + m)
            all_labels[None, None],
            logits.detach().softmax(1).t()[None, :, None],
        )
        loss = supervised + _CONSISTENCY * consistency + _CONTRAST * contrast
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        self.teacher.update(self.student, self.step)
        self.step += 1

    @torch.no_grad()
    def _probabilities(self, features: Tensor, classes: Tensor) -> Tensor:
        judge = self._judge
        return judge.logits(judge.decode(features), classes).softmax(1)

    @torch.inference_mode()
    def probabilities(self, features: Tensor) -> Tensor:
        """(n, D) -> (n, K) float32, over `known`."""
        classes = torch.tensor(self.known)
        parts = [self._probabilities(part.float(), classes) for part in torch.split(features, _PART)]
        return torch.cat(parts) if parts else torch.zeros(0, len(self.known))

    @torch.inference_mode()
    def relations(self, labelled: LabelledCells) -> Relations:
        """The graph of the known classes: cosines of their means in the representation."""
        embeddings = self._judge.representation(self._judge.decode(labelled.features))  # (n, 64)
        indices = torch.searchsorted(torch.tensor(self.known), labelled.classes)
        sums = ClassSums(len(self.known))
        sums.add(embeddings.t()[None, :, None], indices[None, None])
        return sums.relations()


def joined(parts: Sequence[LabelledCells], num_channels: int) -> LabelledCells:
    if not parts:
        return LabelledCells(torch.zeros(0, num_channels), torch.zeros(0, dtype=torch.int64))
    return LabelledCells(
        torch.cat([part.features for part in parts]), torch.cat([part.classes for part in parts])
    )
