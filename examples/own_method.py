"""A method of your own that trains on unlabelled images: the network learns its own confident predictions.

cd examples
recoseg train --config scenes --split.labels 20 --method.factory own_method:self_training
"""

from dataclasses import replace

import torch
import torch.nn.functional as F

from recoseg.losses import confident_cross_entropy
from recoseg.methods import Method
from recoseg.types import PseudoLabels


class SelfTraining(Method):
    needs_unlabelled = True  # without this line, `unlabelled` is None in every step

    def __init__(self, student, strong_view, *, trust_above=0.9):
        super().__init__(student)
        self.strong_view, self.trust_above = strong_view, trust_above

    @property
    def least_unlabelled(self):
        return self.strong_view.least_images  # ClassMix joins two

    def step(self, labelled, unlabelled, *, iteration, generator):
        output = self.supervised_step(labelled)
        pseudo = self.pseudo_labels(unlabelled)
        images, pseudo = self.strong_view(unlabelled.images, pseudo, unlabelled.labels, generator)
        predicted = self.student(images)
        loss = confident_cross_entropy(predicted.logits, pseudo, trust_above=0, pixel_above=self.trust_above)
        output = output.plus("unlabelled", loss)
        return replace(output, pixels=[*output.pixels, (predicted, pseudo)])  # for --contrast reco

    @torch.no_grad()
    def pseudo_labels(self, batch):
        logits = F.interpolate(self.student(batch.images).logits, batch.images.shape[2:], mode="bilinear")
        confidence, labels = logits.softmax(1).max(1)  # (B, H, W) each
        return PseudoLabels(labels, confidence).within(batch.inside).overridden_by(batch.labels)


def self_training(student, parts):
    """What `--method.factory own_method:self_training` calls."""
    return SelfTraining(student, parts.strong_view("classmix"))
