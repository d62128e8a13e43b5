"""Show where a network is sure: easy and hard queries of an image.

The probability that the network gives to the label of each pixel, and the pixels that the contrast could
choose as easy or as hard queries, by the rule of the loss and at the resolution of its features. An image
without labels has the network's own, where it is sure enough, as in training.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recoseg.cli.picture_words import image_and_labels, open_runs, require_image, richest_image
from recoseg.cli.run_words import add_trust_argument
from recoseg.words import printable

BESIDE: tuple[str, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--image", metavar="KEY", help="the image (default: a validation image with most classes)"
    )
    parser.add_argument(
        "--hard-below",
        type=float,
        metavar="P",
        help="queries are hard up to this probability (default: the run's contrast.hard_below, or 0.97)",
    )
    add_trust_argument(parser)


def draw(arguments: argparse.Namespace, out: Path) -> None:
    from recoseg.builders.queries import query_map
    from recoseg.figures.queries import draw_queries

    runs = open_runs(arguments.runs, trust=arguments.trust)
    first = next(iter(runs.values()))
    if arguments.image is not None:
        require_image(first.dataset, arguments.image, option="--image")
    key = arguments.image or richest_image(first.dataset, first.val_keys)
    image, labels = image_and_labels(first.dataset, key)
    maps = [
        query_map(run, name, image, labels, hard_below=arguments.hard_below) for name, run in runs.items()
    ]
    whose = "own label" if labels is None else "true class"
    draw_queries(out, image.permute(1, 2, 0).numpy(), maps, whose=whose)
    print(f"image: {printable(key)}")
