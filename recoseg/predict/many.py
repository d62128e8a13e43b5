"""Many images, one after the other: read ahead and written behind in threads while the network runs."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from torch import Tensor

from recoseg.data.bit_depth import clipping_problem
from recoseg.data.image_files import num_pixels, read_image
from recoseg.data.problem import FileError, Problem
from recoseg.predict.image_list import ImageFile, large_images_allowed
from recoseg.predict.output_folder import OutputFolder
from recoseg.predict.prediction import Prediction
from recoseg.predict.predictor import Predictor

_NUM_THREADS = min(os.cpu_count() or 1, 4)
MOST_IMAGES, MOST_PIXELS = 4 * _NUM_THREADS, 40e6
"""In memory at a time, read ahead or being written; an image of more pixels is there alone."""

Progress = Callable[[float], None]
"""Called with how many images are done; the part of a large one that is done counts."""


def predict_many(
    predictor: Predictor, images: Sequence[ImageFile], output: OutputFolder, *, progress: Progress
) -> Iterator[Problem]:
    """Write the results of all images that can be read; yield what is wrong with images, fatal where one is
    left out.
    """
    takes = {image: output.takes(image.name) for image in images}
    for image in images:
        if not takes[image]:
            what = "the names of its results would be longer than names can be"
            yield Problem(str(image.path), what, "give it a shorter name")
    fitting = [image for image in images if takes[image]]
    with large_images_allowed(), closing(_Pipeline(fitting, output, predictor.bit_depth)) as pipeline:
        for number, image in enumerate(fitting, start=len(images) - len(fitting)):
            progress(number)
            try:
                planes = pipeline.next_image()
            except FileError as error:
                yield error.problem
                continue
            clipping = clipping_problem(image.path, predictor.bit_depth)
            if clipping:
                yield clipping
            shape = (len(predictor.classes), planes.shape[1], planes.shape[2])
            with output.probabilities_of(image.name, shape) as target:
                prediction = predictor.predict(
                    planes,
                    confidence=output.needs_confidence,
                    probabilities=target,
                    progress=lambda share, number=number: progress(number + share),  # type: ignore[misc]
                )
            pipeline.write(image, prediction)
        pipeline.finish()


class _Pipeline:
    """Threads that read the next images and write the results of the last, as many as memory allows."""

    def __init__(self, images: Sequence[ImageFile], output: OutputFolder, bit_depth: int) -> None:
        self.read = partial(read_image, bit_depth=bit_depth)
        self.pool, self.output = ThreadPoolExecutor(_NUM_THREADS), output
        self.waiting = deque(image.path for image in images)
        self.reading: deque[tuple[int, Future[Tensor]]] = deque()  # with the number of pixels
        self.writing: deque[tuple[int, Future[None]]] = deque()

    def next_image(self) -> Tensor:
        """(3, H, W) uint8; a `FileError` if it cannot be read."""
        self.read_ahead()
        while not self.reading:  # results that are not yet written take all the memory
            self.finish_oldest()
            self.read_ahead()
        return self.reading.popleft()[1].result()

    def read_ahead(self) -> None:
        while self.writing and self.writing[0][1].done():
            self.finish_oldest()
        while self.waiting and self.has_room(pixels := _pixels_ahead(self.waiting[0])):
            self.reading.append((pixels, self.pool.submit(self.read, self.waiting.popleft())))

    def has_room(self, pixels: int) -> bool:
        held = [count for count, _ in (*self.reading, *self.writing)]
        return not held or (len(held) < MOST_IMAGES and sum(held) + pixels <= MOST_PIXELS)

    def write(self, image: ImageFile, prediction: Prediction) -> None:
        written = self.pool.submit(self.output.write, image.name, prediction, image=image.path)
        self.writing.append((prediction.labels.size, written))

    def finish_oldest(self) -> None:
        self.writing.popleft()[1].result()  # raises what went wrong

    def finish(self) -> None:
        while self.writing:
            self.finish_oldest()

    def close(self) -> None:
        """Ends when what has been begun is done."""
        self.pool.shutdown(cancel_futures=True)


def _pixels_ahead(path: Path) -> int:
    """By the file's header; 0 where it has none, which reading will tell."""
    try:
        return num_pixels(path)
    except FileError:
        return 0
