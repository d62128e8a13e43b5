"""Put a run on the Hugging Face Hub: weights, config, split, scores and a card.

Opened from there with recoseg.load("hf://USER/NAME"). It is private unless
you say --public. What else is in the run folder stays on this machine, and
of the paths in its config only their last part is pushed; the split holds the
names of your training images.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.text import printable

if TYPE_CHECKING:
    from recoseg.config import RunConfig

EXAMPLES = (
    "recoseg push runs/first anna/leaves",
    "recoseg push runs/first anna/leaves --public --license cc-by-4.0",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (__doc__ or "").partition("\n\n")[2]
    parser.add_argument("folder", metavar="RUN", help="a run folder")
    parser.add_argument("name", metavar="USER/NAME", help="the model on the hub, made if there is none")
    parser.add_argument("--weights", choices=("last", "best"), default="last", help="default: last")
    parser.add_argument("--public", action="store_true", help="for all to see (default: private)")
    parser.add_argument(
        "--license", metavar="ID", help="of the weights, as your images allow; one of the hub's, such as mit"
    )
    parser.add_argument(
        "--dataset-name",
        metavar="NAME",
        action="append",
        default=[],
        help="what it learned from, for the card",
    )
    parser.add_argument(
        "--force", action="store_true", help="put it into a model that has files already, as a new commit"
    )


def run(arguments: argparse.Namespace) -> int:
    from recoseg.config.load import load as load_config
    from recoseg.runs import hub
    from recoseg.runs.model_card import model_card
    from recoseg.runs.run import weights_about, weights_file
    from recoseg.splits.label_split import LabelSplit
    from recoseg.training.run_folder import RunFolder

    hub.require_name(arguments.name, what=arguments.name, form="USER/NAME")
    folder = RunFolder.open(Path(arguments.folder))
    weights = weights_file(folder, arguments.weights)
    about = weights_about(weights)
    config = load_config(folder.config)
    pushed = hub.without_places(config)
    lines = [line for line in folder.read_metrics() if line["iteration"] == about["iteration"]]
    card = model_card(
        arguments.name,
        config=pushed,
        split=LabelSplit.load(folder.split),
        classes=about["classes"],
        iteration=about["iteration"],
        scores=lines[-1] if lines else None,
        license=arguments.license,
        datasets=arguments.dataset_name,
    )
    _warn(config, pushed)
    files = hub.files_of(folder, pushed, weights, iteration=about["iteration"], card=card)
    address = hub.push(files, arguments.name, public=arguments.public, force=arguments.force)
    print(f"pushed:  {', '.join(files)}")
    print(f"address: {printable(address)} ({'public' if arguments.public else 'private'})")
    print(f'use:     recoseg.load("hf://{arguments.name}")')
    return 0


def _warn(config: RunConfig, pushed: RunConfig) -> None:
    """What whoever opens it needs besides."""
    from recoseg.config.model_settings import FactoryModel, TransformersModel

    needs = None
    if isinstance(config.model, FactoryModel):
        needs = f"the code of model.factory {config.model.factory!r}, and must trust it"
    elif isinstance(config.model, TransformersModel) and config.model != pushed.model:
        assert isinstance(pushed.model, TransformersModel)
        needs = f"config.json of model.checkpoint, as {pushed.model.checkpoint}/ in the current folder"
    if needs:
        print(f"recoseg: not pushed: whoever opens this run needs {printable(needs)}", file=sys.stderr)
