"""Clicks of a simulated annotator, and the mean IoU of the quick learner of `recoseg label` after them.

    python benchmarks/clicks.py DATA                       appends to results/label.jsonl
    python benchmarks/clicks.py DATA --out clicks.jsonl    appends to this file
    python benchmarks/clicks.py DATA --draw 0              on 18 images of three classes

DATA is a folder dataset with labelled images for training and for validation. The masks of its training
images answer; scores are of a thousand cells of each validation image. With `--draw` three classes are drawn
and six training images of each; all other classes are one, and scores are of the clicked images themselves,
as for a small folder of photographs. Four strategies choose pixels: `random`, the smallest margin alone
(`uncertainty`), a random pixel of each class in turn (`classes`, which knows the answers), and the queue of
`recoseg label`. Trials that the file has are not repeated. results/write_pages.py makes the table and the
chart of RESULTS.md from its lines.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
from recoseg.label.candidate_pool import MOST_CELLS, CandidatePool, spread_cells
from recoseg.label.click_suggestions import Knowledge, suggest_spots
from recoseg.label.features import FrozenFeatures, pretrained_encoder
from recoseg.label.messages import RADIUS
from recoseg.label.quick_learner import LabelledPixels, QuickLearner
from recoseg.seeds import numpy_generator, permutation
from recoseg.types import IGNORE

FILE = Path(__file__).parents[1] / "results" / "label.jsonl"
CLICKS = (15, 30, 60, 100, 200, 300, 400, 500)
"""After how many clicks there is a score."""

_CLICKS_PER_UPDATE = 3
_IMAGES_PER_CLASS, _CLASSES_PER_DRAW = 6, 3
_LEAST_SHARE = 0.05
"""Of an image, for a drawn class to count as what it shows."""

_CELLS_TO_JUDGE = 1_000
_MOST_CELLS_PER_IMAGE = 200


@dataclass(frozen=True)
class HiddenAnswers:
    """A dataset whose labels are hidden: a pool of training cells, and cells to score."""

    pool: CandidatePool
    answers: NDArray[np.uint8]  # (N,) the true class of each cell of the pool; IGNORE for void
    scored: Tensor  # (V, C) float16, features
    truth: Tensor  # (V,) their classes
    num_classes: int
    level_channels: tuple[int, ...]


def hidden_answers(
    dataset: FileDataset,
    features: FrozenFeatures,
    *,
    images: int,
    draw: int | None = None,
    progress: Progress | None = None,
) -> HiddenAnswers:
    """`images` training images and all validation images; features are computed unless they are kept."""
    train = [key for key in dataset.keys("train") if dataset.has_labels(key)]
    val = [key for key in dataset.keys("val") if dataset.has_labels(key)]
    if not train or not val:
        raise UserError("simulated clicks take labelled images for training and for validation")
    table, num_classes = np.arange(256, dtype=np.uint8), len(dataset.classes)
    if draw is None:
        train = [train[place] for place in sorted(permutation(len(train), 0, "simulated images")[:images])]
    else:
        classes, train = draw_photographs(dataset, train, seed=draw)
        table = np.zeros(256, dtype=np.uint8)
        table[classes], table[IGNORE] = np.arange(1, len(classes) + 1), IGNORE
        val, num_classes = train, len(classes) + 1
    pool = CandidatePool(cells_per_image=min(_MOST_CELLS_PER_IMAGE, max(1, MOST_CELLS // len(train))))
    answers, scored, truth = [], [], []
    total = len(train) + len(val)
    for number, key in enumerate(train):
        pool.add(key, features.maps(dataset.entry(key).image))
        answers.append(table[labels_at(dataset, key, pool.places_of(number))])
        _report(progress, number + 1, total)
    for number, key in enumerate(val):
        maps = features.maps(dataset.entry(key).image)
        cells = spread_cells(maps.shape, _CELLS_TO_JUDGE, seed=1, place=number)
        x, y = maps.places_of(cells)
        scored.append(maps.at(x, y).half())
        truth.append(table[labels_at(dataset, key, np.stack((x, y), axis=1))])
        _report(progress, len(train) + number + 1, total)
    return HiddenAnswers(
        pool, np.concatenate(answers), torch.cat(scored), torch.from_numpy(np.concatenate(truth)),
        num_classes, features.level_channels,
    )  # fmt: skip


def draw_photographs(dataset: FileDataset, keys: Sequence[str], *, seed: int) -> tuple[list[int], list[str]]:
    """Three classes, and six images of each that show neither of the other two."""
    shares = []
    for key in keys:
        counts = np.bincount(dataset.labels(key).numpy().ravel(), minlength=256)
        shares.append(counts[: len(dataset.classes)] / counts.sum())
    found = np.stack(shares)  # (images, K)
    random = numpy_generator(seed, "photographs")
    for _ in range(1_000):
        classes = random.permutation(len(dataset.classes))[:_CLASSES_PER_DRAW].tolist()
        chosen: list[str] = []
        for one in classes:
            others = found[:, [other for other in classes if other != one]].sum(1)
            shown = np.flatnonzero((found[:, one] > _LEAST_SHARE) & (others == 0))
            chosen += [keys[place] for place in random.permutation(shown)[:_IMAGES_PER_CLASS]]
        if len(chosen) == _CLASSES_PER_DRAW * _IMAGES_PER_CLASS:
            return classes, chosen
    raise UserError("--draw needs a dataset with three classes that six images each show alone")


def labels_at(dataset: FileDataset, key: str, places: NDArray[np.float64]) -> NDArray[np.uint8]:
    """(n, 2) x and y in (0, 1) -> (n,) classes."""
    labels = dataset.labels(key).numpy()
    height, width = labels.shape
    x, y = (places * (width, height)).astype(np.int64).T
    found: NDArray[np.uint8] = labels[y, x]
    return found


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


# Strategies: which cells of the pool are clicked next


@dataclass(frozen=True)
class _State:
    """What a strategy may use."""

    hidden: HiddenAnswers
    knowledge: Knowledge
    seed: int
    clicks: int  # made so far

    @property
    def free(self) -> NDArray[np.bool_]:
        return ~self.hidden.pool.near(self.knowledge.places, RADIUS)


def _random(state: _State, count: int) -> list[int]:
    free = np.flatnonzero(state.free)
    order = numpy_generator(state.seed, "random clicks", state.clicks).permutation(len(free))
    found: list[int] = free[order[:count]].tolist()
    return found


def _uncertainty(state: _State, count: int) -> list[int]:
    """The smallest margins of all, in any image."""
    if state.knowledge.probabilities is None:
        return _random(state, count)
    first, second = state.knowledge.probabilities.topk(2, dim=1).values.unbind(1)
    margins = np.where(state.free, (first - second).numpy(), 2.0)
    found: list[int] = np.argsort(margins, kind="stable")[:count].tolist()
    return found


def _classes(state: _State, count: int) -> list[int]:
    """A random pixel of each class in turn."""
    answers, free = state.hidden.answers, state.free
    present = np.unique(answers[answers != IGNORE])
    found: list[int] = []
    for number in range(count):
        one = present[(state.clicks + number) % len(present)]
        cells = np.flatnonzero((answers == one) & free)
        random = numpy_generator(state.seed, "clicks by class", state.clicks + number)
        found.append(int(random.choice(cells if len(cells) else np.flatnonzero(answers == one))))
    return found


def _queue(state: _State, count: int) -> list[int]:
    spots = suggest_spots(state.hidden.pool, state.knowledge, count=count, seed=state.seed)
    return [spot.cell for spot in spots]


STRATEGIES: dict[str, Callable[[_State, int], list[int]]] = {
    "random": _random,
    "uncertainty": _uncertainty,
    "classes": _classes,
    "queue": _queue,
}


def simulate(
    hidden: HiddenAnswers, strategy: str, *, seed: int, clicks: Sequence[int] = CLICKS
) -> Iterator[tuple[int, float]]:
    """Clicks, and the mean IoU on scored cells after them. An answer of void is a click too."""
    pool, learner = hidden.pool, QuickLearner(hidden.level_channels)
    images, places = pool.images, pool.places
    clicked: list[int] = []
    empty = torch.zeros(0, sum(hidden.level_channels)), torch.zeros(0, dtype=torch.int64)
    knowledge = Knowledge({}, *empty)
    for wanted in sorted(clicks):
        while len(clicked) < wanted:
            count = min(_CLICKS_PER_UPDATE, wanted - len(clicked))
            clicked += STRATEGIES[strategy](_State(hidden, knowledge, seed, len(clicked)), count)
            known = [cell for cell in clicked if hidden.answers[cell] != IGNORE]
            answers = torch.from_numpy(hidden.answers[known].astype(np.int64))
            labelled = LabelledPixels(pool.features[known].float(), answers)
            learner.fit(labelled, pool.spread)
            by_image: dict[str, list[tuple[float, float]]] = {}
            for cell in clicked:
                x, y = places[cell].tolist()
                by_image.setdefault(pool.keys[images[cell]], []).append((x, y))
            knowledge = Knowledge(by_image, labelled.features, labelled.classes)
            if learner.is_ready:
                probabilities = learner.logits(pool.features.float()).softmax(1)
                knowledge = replace(knowledge, probabilities=probabilities, known=learner.known)
        yield wanted, _mean_iou(learner, hidden)


def _mean_iou(learner: QuickLearner, hidden: HiddenAnswers) -> float:
    """Classes without a click count as missed; before two have a click, all are."""
    if not learner.is_ready:
        return 0.0
    parts = [learner.logits(part.float()).argmax(1) for part in torch.split(hidden.scored, 2**13)]
    predicted = torch.tensor(learner.known)[torch.cat(parts)]
    counted = hidden.truth != IGNORE
    pairs = hidden.truth[counted].long() * hidden.num_classes + predicted[counted]
    return Scores(pairs.bincount(minlength=hidden.num_classes**2).view(hidden.num_classes, -1)).mean_iou


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path, help="a labelled folder dataset")
    parser.add_argument("--out", type=Path, default=FILE, help="the file to append to")
    parser.add_argument("--features", type=Path, default=Path("features"), help="where features are kept")
    parser.add_argument("--clicks", type=int, default=CLICKS[-1], help="the most clicks")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--images", type=int, default=400, help="training images")
    parser.add_argument("--draw", type=int, metavar="SEED", help="18 images of three classes instead")
    asked = parser.parse_args(words)
    clicks = sorted({count for count in CLICKS if count < asked.clicks} | {asked.clicks})
    torch.set_num_threads(1)
    name, encoder = pretrained_encoder()
    dataset = open_dataset("folder", str(asked.data))
    with progress_of(new_console(stderr=True), doing="computing features") as progress:
        features = FrozenFeatures(encoder, name=name, folder=asked.features)
        hidden = hidden_answers(dataset, features, images=asked.images, draw=asked.draw, progress=progress)
    lines = asked.out.read_text(encoding="utf-8").splitlines() if asked.out.exists() else []
    done = [json.loads(line) for line in lines]
    data = asked.data.resolve().name + ("" if asked.draw is None else f", draw {asked.draw}")
    for seed in range(asked.seeds):
        for strategy in STRATEGIES:
            trial = {"data": data, "strategy": strategy, "seed": seed}
            if any(trial.items() <= one.items() and set(clicks) <= set(one["clicks"]) for one in done):
                continue
            scores = dict(simulate(hidden, strategy, seed=seed, clicks=clicks))
            line = {**trial, "clicks": clicks, "mean_iou": [round(score, 5) for score in scores.values()]}
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{strategy}, seed {seed}: mean IoU {scores[clicks[-1]]:.1%} after {clicks[-1]} clicks")


if __name__ == "__main__":
    main()
