"""Pictures that need networks: relations of classes, queries and predictions, of one run or several."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.cli.arguments import add_trust_argument
from recoseg.errors import UserError
from recoseg.files import real
from recoseg.text import DASH, printable

if TYPE_CHECKING:
    from torch import Tensor

    from recoseg.data.dataset import Dataset
    from recoseg.figures.predictions import PredictedImage
    from recoseg.figures.relation_maps import RelationPanel
    from recoseg.runs.run import Run
    from recoseg.tables import Table


# Opening runs and finding images.


def _open_runs(paths: Sequence[str], *, trust: bool) -> dict[str, Run]:
    """Name -> run with its weights; all of the same classes, which are drawn in the same colours."""
    from recoseg.runs.run import Run
    from recoseg.training.run_folder import RunFolder, run_names
    from recoseg.types import require_same_classes

    if len({real(Path(path)) for path in paths}) < len(paths):
        raise UserError("a run is named twice")
    folders = [RunFolder.open(Path(path)) for path in paths]
    names = run_names(paths)
    runs = {name: Run.open(folder, trust=trust) for name, folder in zip(names, folders, strict=True)}
    classes = [(name, run.dataset.classes) for name, run in runs.items()]
    require_same_classes(classes, remedy="draw them one by one")
    return runs


def _require_image(dataset: Dataset, key: str, *, option: str) -> None:
    from recoseg.data.dataset import SUBSETS

    keys = [known for subset in SUBSETS for known in dataset.keys(subset)]
    if key in keys:
        return
    near = get_close_matches(key, keys, n=1, cutoff=0.3) or keys[:1]
    raise UserError(f"{option} {key}: the dataset has no image of this key; one that it has is {near[0]!r}")


def _image_and_labels(dataset: Dataset, key: str) -> tuple[Tensor, Tensor | None]:
    """(3, H, W) uint8, and (H, W) uint8 where it has any."""
    if not dataset.has_labels(key):
        return dataset.image(key), None
    sample = dataset.sample(key)
    return sample.image, sample.labels


def _richest_image(dataset: Dataset, keys: Sequence[str]) -> str:
    """The image that shows most classes; the first of several."""
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.splits.class_index import class_counter

    with progress_of(new_console(stderr=True), doing="reading labels") as progress:
        index = class_counter(progress=progress)(dataset, list(keys))
    return index.keys[int(index.presence.sum(1).argmax())]


# Relations.


def add_relations_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--order",
        choices=("data", "dendrogram"),
        default="data",
        help="classes as the dataset lists them, or as the leaves of the first tree (default: data)",
    )
    add_trust_argument(parser)


def draw_relations_of(arguments: argparse.Namespace, out: Path) -> None:
    """Show how alike the classes are to a network: heat maps and trees.

    The cosine between the means of any two classes over all validation images, in the embedding Z, which the
    classifier reads, and in R, the output of the representation head, where a run has one. Beside the picture
    the numbers are saved as JSON. What takes time is kept in the run folder as survey.json.
    """
    from recoseg.cli.terminal import new_console
    from recoseg.figures.relation_maps import draw_relations
    from recoseg.files import write_whole
    from recoseg.tables import terminal

    panels, names = _read_panels(arguments.runs, trust=arguments.trust)
    draw_relations(out, panels, names, by_tree=arguments.order == "dendrogram")
    beside = out.with_suffix(".json")
    plain = {"classes": list(names), "graphs": [_as_plain(panel) for panel in panels]}
    write_whole(beside, json.dumps(plain) + "\n")
    new_console().print(terminal(_relations_table(panels, names)))
    print(f"numbers: {printable(str(beside))}")


def _read_panels(paths: Sequence[str], *, trust: bool) -> tuple[list[RelationPanel], tuple[str, ...]]:
    """The graphs of all runs, and the names of their classes."""
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.figures.relation_maps import RelationPanel

    runs = _open_runs(paths, trust=trust)
    panels = []
    for name, run in runs.items():
        with progress_of(
            new_console(stderr=True), doing=f"looking through {name}", did="looked at"
        ) as progress:
            relations = run.survey(progress=progress).relations
        panels += [RelationPanel(name, embedding, one) for embedding, one in relations.items()]
    if not panels:
        raise UserError("no layer of these networks could be found that makes the logits, so there is no Z")
    return panels, next(iter(runs.values())).dataset.classes.names


def _as_plain(panel: RelationPanel) -> dict[str, Any]:
    tree = panel.relations.tree()
    mean = panel.relations.mean_similarity
    return {
        "run": panel.run,
        "embedding": panel.embedding,
        "mean_similarity": None if mean != mean else mean,
        "absent": list(panel.relations.absent),
        "leaves": [] if tree is None else list(tree.leaves),
        "linkage": [] if tree is None else tree.linkage.tolist(),
        "linkage_classes": [] if tree is None else list(tree.classes),
        **panel.relations.as_plain(),
    }


def _relations_table(panels: Sequence[RelationPanel], names: Sequence[str]) -> Table:
    """A row for each graph: the mean similarity of classes, and the closest two."""
    from recoseg.tables import Table

    rows = []
    for panel in panels:
        mean = panel.relations.mean_similarity
        pair = panel.relations.closest()
        closest = DASH
        for one, other in pair:
            closest = f"{names[one]}, {names[other]} ({float(panel.relations.graph[one, other]):.2f})"
        row = (panel.run, panel.embedding, closest, DASH if mean != mean else f"{mean:.3f}")
        rows.append(row)
    return Table(head=("run", "", "closest classes", "mean similarity"), rows=rows, num_names=3)


# Queries.


def add_queries_arguments(parser: argparse.ArgumentParser) -> None:
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


def draw_queries_of(arguments: argparse.Namespace, out: Path) -> None:
    """Show where a network is sure: easy and hard queries of an image.

    The probability that the network gives to the label of each pixel, and the pixels that the contrast could
    choose as easy or as hard queries, by the rule of the loss and at the resolution of its features. An image
    without labels has the network's own, where it is sure enough, as in training.
    """
    from recoseg.figures.query_maps import draw_queries
    from recoseg.runs.query_map import query_map

    runs = _open_runs(arguments.runs, trust=arguments.trust)
    first = next(iter(runs.values()))
    if arguments.image is not None:
        _require_image(first.dataset, arguments.image, option="--image")
    key = arguments.image or _richest_image(first.dataset, first.val_keys)
    image, labels = _image_and_labels(first.dataset, key)
    maps = [
        query_map(run, name, image, labels, hard_below=arguments.hard_below) for name, run in runs.items()
    ]
    whose = "own label" if labels is None else "true class"
    draw_queries(out, image.permute(1, 2, 0).numpy(), maps, whose=whose)
    print(f"image: {printable(key)}")


# Predictions.


def add_predictions_arguments(parser: argparse.ArgumentParser) -> None:
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


def draw_predictions_of(arguments: argparse.Namespace, out: Path) -> None:
    """Show images, their truth and what each run predicts, side by side.

    Below them the classes that occur, in the dataset's colours; pixels without a label are white. --arrows
    and --zoom show where the runs differ most (or where one run alone is wrong), found by counting differing
    pixels in a window, those that some run gets right above all.
    """
    from recoseg.figures.predictions import draw_predictions
    from recoseg.report.run_view import spread

    if arguments.count < 1:
        raise UserError(f"--count must be at least 1, not {arguments.count}")
    runs = _open_runs(arguments.runs, trust=arguments.trust)
    first = next(iter(runs.values()))
    for key in arguments.images or ():
        _require_image(first.dataset, key, option="--images")
    keys = arguments.images or spread(first.val_keys, arguments.count)
    images = [_predicted_image(runs, key) for key in keys]
    draw_predictions(out, images, first.dataset.classes, arrows=arguments.arrows, zoom=arguments.zoom)
    print(f"images: {printable(' '.join(keys))}")


def _predicted_image(runs: dict[str, Run], key: str) -> PredictedImage:
    """The image of the first run's data, as every run sees it."""
    import torch

    from recoseg.evaluate.protocol import WHOLE_IMAGE
    from recoseg.figures.predictions import PredictedImage
    from recoseg.models.network import without_features
    from recoseg.types import IGNORE

    dataset = next(iter(runs.values())).dataset
    image, labels = _image_and_labels(dataset, key)
    predictions = {}
    for name, run in runs.items():
        with without_features(run.model) as model:
            found = WHOLE_IMAGE.labels(model, image[None], run.device, num_classes=len(dataset.classes))
        predictions[name] = found[0].cpu().numpy()
    truth = torch.full(image.shape[1:], IGNORE, dtype=torch.uint8) if labels is None else labels
    return PredictedImage(image.permute(1, 2, 0).numpy(), truth.numpy(), predictions)
