"""The card of a run for the Hugging Face Hub: what it is, how to use it, its scores, split and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from recoseg import text
from recoseg.builders.methods import uses_unlabelled
from recoseg.config.help_text import describe_method, describe_model, describe_weights
from recoseg.config.settings import RunConfig
from recoseg.splits.label_split import LabelSplit


def model_card(
    name: str,
    *,
    config: RunConfig,
    split: LabelSplit,
    classes: Sequence[str],
    iteration: int,
    scores: Mapping[str, Any] | None,
    license: str | None,
    datasets: Sequence[str],
) -> str:
    """Fill `model_card.md` with a run. `scores` is the line of its log for these weights."""
    from huggingface_hub import ModelCard, ModelCardData

    card = ModelCard.from_template(
        ModelCardData(
            library_name="recoseg",
            pipeline_tag="image-segmentation",
            tags=["recoseg", "semantic-segmentation"],
            license=license,
            datasets=list(datasets) or None,
            metrics=["mean_iou"] if scores else None,
        ),
        template_str=files("recoseg.runs").joinpath("model_card.md").read_text(encoding="utf-8"),
        name=name,
        config=config,
        split=split,
        dataset=", ".join(datasets) or split.dataset,
        classes=classes,
        iteration=iteration,
        scores=scores,
        license=license,
        method=describe_method(config),
        network=describe_model(config.model),
        weights=describe_weights(config),
        num_unlabelled=len(split.unlabelled) if uses_unlabelled(config) else 0,
        factory=getattr(config.model, "factory", None),
        cell=_cell,
        text=text,
    )
    return str(card.content)


def _cell(words: str) -> str:
    """Text that ends no cell of a table and is no markup."""
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#~" else char for char in text.printable(words))
