"""Show images, their truth and what each run predicts, side by side.

Below them the classes that occur, in the dataset's colours; pixels without a label are white. --arrows and
--zoom show where the runs differ most (or where one run alone is wrong), found by counting differing
pixels in a window, those that some run gets right above all.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.picture_words import image_and_labels, open_runs, require_image
from recoseg.cli.run_words import add_trust_argument
from recoseg.errors import UserError
from recoseg.words import printable

if TYPE_CHECKING:
    from recoseg.builders.trained import TrainedRun
    from recoseg.figures.predictions import PredictedImage

BESIDE: tuple[str, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--images", metavar="KEY", nargs="+", help="the images")
    which.add_argument(
        "--count",
        type=int,
        default=4,
        metavar="N",
        help="so many validation images, evenly spaced (default 4)",
    )
    parser.add_argument("--arrows", action="store_true", help="point at where the runs differ most")
    parser.add_argument("--zoom", action="store_true", help="enlarge where the runs differ most")
    add_trust_argument(parser)


def draw(arguments: argparse.Namespace, out: Path) -> None:
    from recoseg.figures.predictions import draw_predictions
    from recoseg.report.pictures import spread

    if arguments.count < 1:
        raise UserError(f"--count must be at least 1, not {arguments.count}")
    runs = open_runs(arguments.runs, trust=arguments.trust)
    first = next(iter(runs.values()))
    for key in arguments.images or ():
        require_image(first.dataset, key, option="--images")
    keys = arguments.images or spread(first.val_keys, arguments.count)
    images = [predicted_image(runs, key) for key in keys]
    draw_predictions(out, images, first.dataset.classes, arrows=arguments.arrows, zoom=arguments.zoom)
    print(f"images: {printable(' '.join(keys))}")


def predicted_image(runs: dict[str, TrainedRun], key: str) -> PredictedImage:
    """The image of the first run's data, as every run sees it."""
    import torch

    from recoseg.evaluate.protocol import WHOLE_IMAGE
    from recoseg.figures.predictions import PredictedImage
    from recoseg.models.without_features import without_features
    from recoseg.types import IGNORE

    dataset = next(iter(runs.values())).dataset
    image, labels = image_and_labels(dataset, key)
    predictions = {}
    for name, run in runs.items():
        with without_features(run.model) as model:
            found = WHOLE_IMAGE.labels(model, image[None], run.device, num_classes=len(dataset.classes))
        predictions[name] = found[0].cpu().numpy()
    truth = torch.full(image.shape[1:], IGNORE, dtype=torch.uint8) if labels is None else labels
    return PredictedImage(image.permute(1, 2, 0).numpy(), truth.numpy(), predictions)
