"""The one loop over images that are judged: each is seen once, and counters take what they count of it.

Image by image, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar
from typing import Protocol as TypingProtocol

import torch
from torch import Tensor, nn

from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.distributed import rank, sum_over_processes, world_size
from recoseg.evaluate.boundary import BoundaryCounter, BoundaryRule
from recoseg.evaluate.pixel_embeddings import Embedder
from recoseg.evaluate.protocol import WHOLE_IMAGE, Protocol, enlarged_argmax
from recoseg.evaluate.scores import Scores, confusion_matrix
from recoseg.models.network import SegmentationNetwork, without_features
from recoseg.read_ahead import read_ahead
from recoseg.types import Sample

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Seen:
    """What a network made of some images of one size, and the truth."""

    predicted: Tensor  # (B, H, W) uint8
    labels: Tensor  # (B, H, W) uint8, IGNORE where a pixel has none
    logits: Sequence[tuple[slice, slice, Tensor]] = ()  # of parts of the images: rows, columns, (B, K, h, w)
    embeddings: dict[str, Tensor] = field(default_factory=dict)  # "Z" and "R", for counters that need them


class Counter(TypingProtocol):
    """Counts something over all images."""

    needs_embeddings: bool

    def fresh(self) -> Self:
        """One that counts the same and has counted nothing."""

    def add(self, seen: Seen) -> None: ...

    def take(self, other: Self) -> None:
        """Add what another has counted by the same rule."""


class Metric(Counter, TypingProtocol):
    """A counter whose result is shown and kept beside the scores."""

    kind: Any  # the type of its result, by which a file of it is checked

    def __init__(self, num_classes: int, *, device: torch.device | str = "cpu") -> None: ...

    def result(self) -> dict[str, Any]:
        """Plain values, for a file."""

    @staticmethod
    def told(result: dict[str, Any]) -> tuple[str, str]:
        """What is measured, and how much it is: for people."""


class ScoreCounter:
    """The confusion of classes, on its device; with a `boundary` rule also where classes meet.

    With `each_image`, what the IoU of each image follows from is kept too; by one process that sees them all.
    """

    needs_embeddings = False

    def __init__(
        self,
        num_classes: int,
        *,
        boundary: BoundaryRule | None = None,
        each_image: bool = False,
        device: torch.device | str = "cpu",
    ) -> None:
        self.num_classes, self.rule, self.device = num_classes, boundary, device
        self.images: list[Tensor] | None = [] if each_image else None  # (3, K) each
        self.confusion = torch.zeros(num_classes, num_classes, dtype=torch.int64, device=device)
        self.boundary = BoundaryCounter(num_classes, boundary, device=device) if boundary else None

    def fresh(self) -> ScoreCounter:
        each = self.images is not None
        return ScoreCounter(self.num_classes, boundary=self.rule, each_image=each, device=self.device)

    def add(self, seen: Seen) -> None:
        if self.images is None:
            self.confusion += confusion_matrix(seen.predicted, seen.labels, self.num_classes)
        else:
            for predicted, labels in zip(seen.predicted, seen.labels, strict=True):
                found = confusion_matrix(predicted, labels, self.num_classes)
                self.images.append(torch.stack([found.diagonal(), found.sum(1), found.sum(0)]))
                self.confusion += found
        if self.boundary is not None:
            self.boundary.add(seen.predicted, seen.labels)

    def take(self, other: ScoreCounter) -> None:
        self.confusion += other.confusion
        if self.images is not None:
            self.images += other.images or []
        if self.boundary is not None and other.boundary is not None:
            self.boundary.take(other.boundary)

    def scores(self) -> Scores:
        """Of everything added so far, by all processes: all of them must call this."""
        boundary = self.boundary.scores() if self.boundary is not None else None
        images = torch.stack(self.images).cpu() if self.images else None
        return Scores(sum_over_processes(self.confusion).cpu(), boundary, images=images)


def evaluate(
    model: nn.Module,
    dataset: Dataset,
    keys: Sequence[str],
    *,
    device: torch.device,
    batch_size: int | None = None,
    protocol: Protocol = WHOLE_IMAGE,
    boundary: BoundaryRule | None = None,
    metrics: Mapping[str, type[Metric]] | None = None,
    each_image: bool = False,
    progress: Progress | None = None,
) -> Scores:
    """The scores of predictions at the size of the labels; with a `boundary` rule also where classes meet.

    `metrics` are measured besides. With `each_image`, one process keeps the counts of each image.
    Several processes take turns with the images, and all of them get the scores of all images.
    """
    num_classes = len(dataset.classes)
    each_image = each_image and world_size() == 1
    counter = ScoreCounter(num_classes, boundary=boundary, each_image=each_image, device=device)
    measured = {name: metric(num_classes, device=device) for name, metric in (metrics or {}).items()}
    mine = keys[rank() :: world_size()]
    counters: list[Counter] = [counter, *measured.values()]
    count(
        model, dataset, mine, counters, device=device, batch_size=batch_size, protocol=protocol,
        progress=progress,
    )  # fmt: skip
    results = {name: metric.result() for name, metric in measured.items()}
    return replace(counter.scores(), metrics=results)


@torch.inference_mode()
def count(
    model: nn.Module,
    dataset: Dataset,
    keys: Sequence[str],
    counters: Sequence[Counter],
    *,
    device: torch.device,
    batch_size: int | None = None,
    protocol: Protocol = WHOLE_IMAGE,
    progress: Progress | None = None,
) -> None:
    """One pass over the images: all counters see each of them.

    By default a CPU gets one image at a time in each of its threads, and other devices get four together.
    """
    embeds = any(counter.needs_embeddings for counter in counters)
    assert not embeds or protocol == WHOLE_IMAGE, "embeddings are those of whole images"
    see = _embedding_look if embeds else _plain_look
    was_training = model.training
    model.eval()
    together = batch_size or (1 if device.type == "cpu" else 4)
    groups = _same_size_groups((dataset.sample(key) for key in keys), together)
    done = 0
    try:
        with nullcontext() if embeds else without_features(model):
            look = see(model, protocol, device, len(dataset.classes))

            def counted(samples: list[Sample]) -> tuple[list[Counter], int]:
                images = torch.stack([sample.image for sample in samples])
                labels = torch.stack([sample.labels for sample in samples]).to(device)
                found = [counter.fresh() for counter in counters]
                seen = look(images, labels)
                for counter in found:
                    counter.add(seen)
                return found, len(samples)

            at_once = 1 if embeds else how_many_at_once(model, device)  # layers are tapped by one at a time
            for found, number in in_threads(counted, read_ahead(groups), num_threads=at_once):
                for counter, part in zip(counters, found, strict=True):
                    counter.take(part)
                done += number
                if progress is not None:
                    progress(done, len(keys))
    finally:
        model.train(was_training)


Look = Callable[[Tensor, Tensor], Seen]
"""(B, 3, H, W) uint8 images and (B, H, W) labels -> what is seen of them."""


def _plain_look(model: nn.Module, protocol: Protocol, device: torch.device, num_classes: int) -> Look:
    def look(images: Tensor, labels: Tensor) -> Seen:
        predicted, logits = protocol.seen(model, images, device, num_classes=num_classes)
        return Seen(predicted, labels, logits)

    return look


def _embedding_look(model: nn.Module, protocol: Protocol, device: torch.device, num_classes: int) -> Look:
    embedder = Embedder(model, num_classes=num_classes, device=device)

    def look(images: Tensor, labels: Tensor) -> Seen:
        found = embedder(images)
        whole = (slice(None), slice(None), found.output.logits)
        predicted = enlarged_argmax(found.output.logits, labels.shape[1:])
        return Seen(predicted, labels, [whole], found.embeddings)

    return look


def _same_size_groups(samples: Iterable[Sample], most: int) -> Iterator[list[Sample]]:
    """Consecutive samples of one size, at most `most` together."""
    group: list[Sample] = []
    for sample in samples:
        if group and (len(group) == most or group[0].image.shape != sample.image.shape):
            yield group
            group = []
        group.append(sample)
    if group:
        yield group


def how_many_at_once(model: nn.Module, device: torch.device) -> int:
    """As many as torch has threads, on a CPU, for networks whose passes do not disturb each other; else 1.

    Two threads bring one small image through a network in four fifths of the time of one; two images, each
    with a thread of its own, take half the time.
    """
    apart = isinstance(model, SegmentationNetwork) and model.passes_are_apart
    return torch.get_num_threads() if device.type == "cpu" and apart else 1


def in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], *, num_threads: int
) -> Iterator[Result]:
    """function(item) of each, in their order. In each thread torch has no further threads.

    No more items are taken than the threads are busy with, and one.
    """
    if num_threads == 1:
        yield from map(function, items)
        return
    own_threads = torch.get_num_threads()
    waiting: deque[Future[Result]] = deque()
    try:
        with ThreadPoolExecutor(num_threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > num_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    finally:
        torch.set_num_threads(own_threads)
