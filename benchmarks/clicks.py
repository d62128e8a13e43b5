"""Clicks of a simulated annotator, and the mean IoU of the quick learner of `recoseg label` after them.

    python benchmarks/clicks.py DATA                       appends to results/label.jsonl
    python benchmarks/clicks.py DATA --out clicks.jsonl    appends to this file

DATA is a folder dataset with labelled images for training and for validation. The masks of its
training images answer; scores are those of a thousand cells of each validation image. Three strategies choose
pixels: `random`, the smallest margin alone (`uncertainty`), and the queue of `recoseg label`. Trials that the
file has are not repeated. results/write_pages.py makes the table and the chart of RESULTS.md from its lines.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from recoseg.cli.arguments import open_dataset
from recoseg.cli.terminal import new_console, progress_of
from recoseg.data.file_dataset import FileDataset
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.evaluate.scores import Scores
from recoseg.label.cell_pool import MOST_CELLS, CellPool, spread_cells
from recoseg.label.features import FrozenFeatures, pretrained_encoder
from recoseg.label.messages import RADIUS
from recoseg.label.next_clicks import Opinion, Seen, doubt, next_spots
from recoseg.label.quick import LabelledCells, QuickLearner
from recoseg.seeds import numpy_generator, permutation
from recoseg.types import IGNORE

FILE = Path(__file__).parents[1] / "results" / "label.jsonl"
CLICKS = (10, 20, 50, 100, 150, 200, 300, 400, 500)
"""After how many clicks there is a score."""

_CLICKS_PER_UPDATE = 5
_STEPS_PER_CLICK = 5
_CELLS_TO_JUDGE = 1_000
_MOST_CELLS_PER_IMAGE = 200


@dataclass(frozen=True)
class HiddenAnswers:
    """A dataset whose labels are hidden: a pool of training cells, and validation cells to judge by."""

    pool: CellPool
    answers: NDArray[np.uint8]  # (N,) the true class of each cell of the pool; IGNORE for void
    judged: Tensor  # (V, D) float16, features of validation cells
    truth: Tensor  # (V,) their classes
    num_classes: int
    num_channels: int


def hidden_answers(
    dataset: FileDataset,
    features: FrozenFeatures,
    *,
    images: int,
    progress: Progress | None = None,
) -> HiddenAnswers:
    """`images` training images and all validation images; features are computed unless they are kept."""
    train = [key for key in dataset.keys("train") if dataset.has_labels(key)]
    val = [key for key in dataset.keys("val") if dataset.has_labels(key)]
    if not train or not val:
        raise UserError("simulated clicks take labelled images for training and for validation")
    train = [train[place] for place in sorted(permutation(len(train), 0, "simulated images")[:images])]
    pool = CellPool(cells_per_image=min(_MOST_CELLS_PER_IMAGE, max(1, MOST_CELLS // len(train))))
    answers, judged, truth = [], [], []
    for number, key in enumerate(train):
        maps = features.maps(dataset.entry(key).image)
        pool.add(key, maps)
        places = pool.places_of(number)
        answers.append(labels_at(dataset, key, places))
        _tell(progress, number + 1, len(train) + len(val))
    for number, key in enumerate(val):
        maps = features.maps(dataset.entry(key).image)
        cells = spread_cells(maps.shape, _CELLS_TO_JUDGE, seed=0, place=number)
        judged.append(maps.of_cells(cells).half())
        truth.append(labels_at(dataset, key, np.stack(maps.places_of(cells), axis=1)))
        _tell(progress, len(train) + number + 1, len(train) + len(val))
    return HiddenAnswers(
        pool, np.concatenate(answers), torch.cat(judged), torch.from_numpy(np.concatenate(truth)),
        len(dataset.classes), features.num_channels,
    )  # fmt: skip


def labels_at(dataset: FileDataset, key: str, places: NDArray[np.float64]) -> NDArray[np.uint8]:
    """(n, 2) x and y in (0, 1) -> (n,) classes."""
    labels = dataset.labels(key).numpy()
    height, width = labels.shape
    x, y = (places * (width, height)).astype(np.int64).T
    found: NDArray[np.uint8] = labels[y, x]
    return found


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


# Strategies: which cells of the pool are clicked next


@dataclass(frozen=True)
class _Ask:
    """What a strategy may look at."""

    pool: CellPool
    seen: Seen
    opinion: Opinion | None
    seed: int
    clicks: int  # made so far


def _random(ask: _Ask, count: int) -> list[int]:
    free = np.flatnonzero(~ask.pool.near(ask.seen.places, RADIUS))
    order = numpy_generator(ask.seed, "random clicks", ask.clicks).permutation(len(free))
    found: list[int] = free[order[:count]].tolist()
    return found


def _uncertainty(ask: _Ask, count: int) -> list[int]:
    """The smallest margins of all, whatever images they are in."""
    if ask.opinion is None:
        return _random(ask, count)
    free = ~ask.pool.near(ask.seen.places, RADIUS)
    found: list[int] = np.argsort(-np.where(free, doubt(ask.opinion), -1.0), kind="stable")[:count].tolist()
    return found


def _queue(ask: _Ask, count: int) -> list[int]:
    spots = next_spots(ask.pool, ask.seen, ask.opinion, count=count, seed=ask.seed)
    return [spot.cell for spot in spots]


STRATEGIES: dict[str, Callable[[_Ask, int], list[int]]] = {
    "random": _random,
    "uncertainty": _uncertainty,
    "queue": _queue,
}


def simulate(
    hidden: HiddenAnswers, strategy: str, *, seed: int, clicks: Sequence[int] = CLICKS
) -> Iterator[tuple[int, float]]:
    """Clicks, and the mean IoU on validation cells after them. An answer of void is a click too."""
    learner = QuickLearner(hidden.num_channels, seed=seed)
    learner.standardise(*hidden.pool.spread)
    images, places = hidden.pool.images, hidden.pool.places
    asked: list[int] = []
    seen = Seen({}, torch.zeros(0, hidden.num_channels), {})
    for wanted in sorted(clicks):
        while len(asked) < wanted:
            count = min(_CLICKS_PER_UPDATE, wanted - len(asked))
            ask = _Ask(hidden.pool, seen, _opinion(learner, hidden, asked), seed, len(asked))
            asked += STRATEGIES[strategy](ask, count)
            labelled = _labelled(hidden, asked)
            learner.learn(labelled, hidden.pool.features, steps=_STEPS_PER_CLICK * count)
            by_image: dict[str, list[tuple[float, float]]] = {}
            for cell in asked:
                by_image.setdefault(hidden.pool.keys[images[cell]], []).append(tuple(places[cell]))
            points = np.bincount(labelled.classes.numpy(), minlength=hidden.num_classes)
            seen = Seen(by_image, labelled.features, dict(enumerate(points.tolist())))
        yield wanted, _mean_iou(learner, hidden)


def _labelled(hidden: HiddenAnswers, asked: Sequence[int]) -> LabelledCells:
    known = [cell for cell in asked if hidden.answers[cell] != IGNORE]
    features = hidden.pool.features[known].float()
    return LabelledCells(features, torch.from_numpy(hidden.answers[known].astype(np.int64)))


def _opinion(learner: QuickLearner, hidden: HiddenAnswers, asked: Sequence[int]) -> Opinion | None:
    if not learner.is_ready:
        return None
    relations = learner.relations(_labelled(hidden, asked))
    return Opinion(learner.probabilities(hidden.pool.features), learner.known, relations)


def _mean_iou(learner: QuickLearner, hidden: HiddenAnswers) -> float:
    """Classes that nobody clicked yet count as missed; before two have a click, all are."""
    if not learner.is_ready:
        return 0.0
    said = torch.tensor(learner.known)[learner.probabilities(hidden.judged).argmax(1)]
    counted = hidden.truth != IGNORE
    pairs = hidden.truth[counted].long() * hidden.num_classes + said[counted]
    return Scores(pairs.bincount(minlength=hidden.num_classes**2).view(hidden.num_classes, -1)).mean_iou


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="a labelled folder dataset")
    parser.add_argument("--out", type=Path, default=FILE, help="the file to append to")
    parser.add_argument("--features", type=Path, default=Path("features"), help="where features are kept")
    parser.add_argument("--clicks", type=int, default=CLICKS[-1], help="the most clicks")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--images", type=int, default=400, help="training images")
    asked = parser.parse_args(words)
    clicks = sorted({count for count in CLICKS if count < asked.clicks} | {asked.clicks})
    torch.set_num_threads(1)
    name, encoder = pretrained_encoder()
    dataset = open_dataset("folder", str(asked.data))
    with progress_of(new_console(stderr=True), doing="computing features") as progress:
        features = FrozenFeatures(encoder, name=name, folder=asked.features)
        hidden = hidden_answers(dataset, features, images=asked.images, progress=progress)
    lines = asked.out.read_text(encoding="utf-8").splitlines() if asked.out.exists() else []
    done = [json.loads(line) for line in lines]
    for seed in range(asked.seeds):
        for strategy in STRATEGIES:
            trial = {"data": asked.data.resolve().name, "strategy": strategy, "seed": seed}
            if any(trial.items() <= one.items() and set(clicks) <= set(one["clicks"]) for one in done):
                continue
            scores = dict(simulate(hidden, strategy, seed=seed, clicks=clicks))
            line = {**trial, "clicks": clicks, "mean_iou": [round(score, 5) for score in scores.values()]}
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{strategy}, seed {seed}: mean IoU {scores[clicks[-1]]:.1%} after {clicks[-1]} clicks")


if __name__ == "__main__":
    main()
