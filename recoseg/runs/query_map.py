"""A run and an image -> which of its pixels its contrast could choose."""

from __future__ import annotations

from msgspec.structs import replace
from torch import Tensor

from recoseg.config.contrast_settings import ContrastSettings
from recoseg.evaluate.pixel_embeddings import Embedder
from recoseg.figures.query_maps import QueryMap
from recoseg.models.bilinear import resize
from recoseg.runs.build import build_contrast
from recoseg.runs.run import Run
from recoseg.types import ModelOutput, PseudoLabels


def query_map(
    run: Run, name: str, image: Tensor, labels: Tensor | None, *, hard_below: float | None = None
) -> QueryMap:
    """As in a step of training, by the run's settings, or the defaults if it has no contrast.

    `image` (3, H, W) uint8; `labels` (H, W) uint8, or None: then the network's own count where it is sure.
    """
    section = run.config.contrast or ContrastSettings(ramp=0)
    section = section if hard_below is None else replace(section, hard_below=hard_below)
    term = build_contrast(replace(section, bank=None), len(run.dataset.classes))
    assert term is not None
    output = Embedder(run.model, num_classes=len(run.dataset.classes), device=run.device)(image[None]).output
    if output.features is None:  # nothing to compare: then pixels are those of the logits
        output = ModelOutput(output.logits, output.logits)
    if labels is None:
        confidence, own = resize(output.logits, image.shape[1:]).softmax(1).max(1)
        wanted = PseudoLabels(own, confidence)
    else:
        wanted = PseudoLabels.certain(labels[None].to(run.device).long())
    _, cells, probabilities = term.cells(output, wanted)
    return QueryMap.of(name, cells, probabilities, hard_below=term.contrast.hard_below)
