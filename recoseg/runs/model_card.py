"""The card of a run for the Hugging Face Hub: what it is, how to use it, its scores, split and settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from recoseg.config.help_text import describe_method, describe_model, describe_weights
from recoseg.config.model_settings import FactoryModel
from recoseg.config.settings import RunConfig
from recoseg.runs.build import uses_unlabelled
from recoseg.splits.label_split import LabelSplit
from recoseg.text import count, how_many, hundredths, percent, printable

_USE = """\
```bash
pip install 'recoseg[hub]'
recoseg predict hf://{name} photos -o masks{trust_option}
```

```python
import recoseg

model = recoseg.load("hf://{name}"{trust_argument})
prediction = model("photo.jpg")
prediction.labels, prediction.confidence  # (height, width) each
```
"""


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
    """Markdown with the hub's front matter. `scores` is the line of the run's log for these weights."""
    parts = [
        _front_matter(license, datasets, has_scores=scores is not None),
        f"# {name.partition('/')[2]}",
        f"A network for semantic segmentation into {how_many(len(classes), 'class')}, trained with recoseg: "
        f"{_cell(describe_method(config))}.",
        "## Use",
        _use(name, config),
        "## Scores",
        _scores(classes, iteration, scores),
        "## Training",
        _table(("", ""), _training(config, split, iteration, datasets)),
        "`config.yaml` has every setting, `split.json` the names of the images whose labels were seen.",
        "## License",
        f"{_cell(license)}." if license else "None was given: ask before you use or pass on these weights.",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _front_matter(license: str | None, datasets: Sequence[str], *, has_scores: bool) -> str:
    values = {
        "library_name": "recoseg",
        "pipeline_tag": "image-segmentation",
        "tags": ["recoseg", "semantic-segmentation"],
        "license": license,
        "datasets": list(datasets),
        "metrics": ["mean_iou"] if has_scores else [],
    }
    given = {key: value for key, value in values.items() if value}
    return f"---\n{yaml.safe_dump(given, sort_keys=False, allow_unicode=True)}---"


def _use(name: str, config: RunConfig) -> str:
    if not isinstance(config.model, FactoryModel):
        return _USE.format(name=name, trust_option="", trust_argument="")
    own_code = (
        f"Its network is made by `{config.model.factory}`, Python code that is not part of this repository: "
        "have that module at hand, and load it only if you trust whoever wrote it."
    )
    return own_code + "\n\n" + _USE.format(name=name, trust_option=" --trust", trust_argument=", trust=True")


def _scores(classes: Sequence[str], iteration: int, scores: Mapping[str, Any] | None) -> str:
    if scores is None:
        return f"Of these weights, after {count(iteration)} iterations, there are none."
    mean, right = (percent(scores[name], sign=" %") for name in ("mean_iou", "accuracy"))
    told = (
        f"On the validation images after {count(iteration)} iterations: mean IoU {mean}, and {right} of all "
        "pixels are right."
    )
    shares = zip(scores["iou"], scores["class_accuracy"], strict=True)
    rows = (
        (_cell(name), hundredths(iou), hundredths(accuracy))
        for name, (iou, accuracy) in zip(classes, shares, strict=True)
    )
    return told + "\n\n" + _table(("class", "IoU, %", "accuracy, %"), rows)


def _training(
    config: RunConfig, split: LabelSplit, iteration: int, datasets: Sequence[str]
) -> Iterable[tuple[str, str]]:
    yield "dataset", ", ".join(map(_cell, datasets)) or _cell(split.dataset)
    pixels = f", of each class {_cell(split.pixels)} pixels in an image" if split.pixels else ""
    yield "labelled images", f"{count(len(split.labelled))}{pixels}"
    yield "unlabelled images", count(len(split.unlabelled) if uses_unlabelled(config) else 0)
    yield "split", _cell(split.builder) + ("" if split.seed is None else f", seed {split.seed}")
    yield "method", _cell(describe_method(config))
    yield "weights", describe_weights(config)
    yield "network", _cell(describe_model(config.model))
    yield "crop", " x ".join(map(str, config.augment.crop))
    yield "iterations", f"{count(iteration)} of {count(config.train.iterations)}"
    yield "optimiser", config.optimiser.name
    yield "seed", str(config.train.seed)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(text: str) -> str:
    """Names from outside stay text: no cell ends in them, and nothing of them is markup."""
    return "".join(f"\\{one}" if one in "\\`*_[]<>|#~" else one for one in printable(text))
