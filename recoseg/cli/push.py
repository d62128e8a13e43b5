"""Put a run on the Hugging Face Hub: weights, config, split, scores and a card.

Opened from there with recoseg.load("hf://USER/NAME"). It is private unless
you say --public. What else is in the run folder stays on this machine, and
of the paths in its config only their last part is pushed; the split holds the
names of your training images.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from recoseg.errors import UserError
from recoseg.text import printable

EXAMPLES = (
    "recoseg push runs/first anna/leaves",
    "recoseg push runs/first anna/leaves --public --license cc-by-4.0",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (__doc__ or "").partition("\n\n")[2]
    add = parser.add_argument
    add("folder", metavar="RUN", help="a run folder")
    add("name", metavar="USER/NAME", help="the model on the hub; push creates a new one")
    add("--weights", choices=("last", "best"), default="last", help="default: last")
    add("--public", action="store_true", help="let everyone see it (default: private)")
    add("--license", metavar="ID", help="license of the weights, by its name on the hub, such as mit")
    add("--dataset-name", metavar="NAME", action="append", default=[], help="training data, for the card")
    add("--force", action="store_true", help="add a commit to a model that has files already")


def run(arguments: argparse.Namespace) -> int:
    from recoseg.config.load import load as load_config
    from recoseg.config.load import to_yaml
    from recoseg.config.model_settings import FactoryModel, TransformersModel
    from recoseg.runs import hub
    from recoseg.runs.model_card import model_card
    from recoseg.runs.run_weights import weights_about, weights_file
    from recoseg.splits.label_split import LabelSplit
    from recoseg.training.run_folder import RunFolder

    if arguments.name.count("/") != 1:
        raise UserError(f"got {arguments.name!r}, needs USER/NAME")
    folder = RunFolder.open(Path(arguments.folder))
    weights = weights_file(folder, arguments.weights)
    about = weights_about(weights)
    config = load_config(folder.config)
    pushed = hub.without_folders(config)
    lines = [line for line in folder.read_metrics() if line["iteration"] <= about["iteration"]]
    card = model_card(
        arguments.name,
        config=pushed,
        split=LabelSplit.load(folder.split),
        classes=about["classes"],
        iteration=about["iteration"],
        scores=lines[-1] if lines and lines[-1]["iteration"] == about["iteration"] else None,
        license=arguments.license,
        datasets=arguments.dataset_name,
    )
    if isinstance(config.model, FactoryModel):
        _warn(f"the code of model.factory {config.model.factory!r}, and must trust it")
    if isinstance(pushed.model, TransformersModel) and pushed.model != config.model:
        _warn(f"config.json of model.checkpoint, as {pushed.model.checkpoint}/ in the current folder")
    files: dict[str, str | Path] = {
        "README.md": card,
        folder.config.name: to_yaml(pushed),
        folder.split.name: folder.split,
        folder.metrics.name: "".join(json.dumps(line) + "\n" for line in lines),
        folder.weights.name: weights,
    }
    address = hub.push(files, arguments.name, public=arguments.public, force=arguments.force)
    print(f"pushed:  {', '.join(files)}")
    print(f"address: {printable(address)} ({'public' if arguments.public else 'private'})")
    print(f'use:     recoseg.load("hf://{arguments.name}")')
    return 0


def _warn(needs: str) -> None:
    print(f"recoseg: not pushed: to open this run, others need {printable(needs)}", file=sys.stderr)
