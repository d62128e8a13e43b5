"""A folder of images labelled, beside the same forward passes alone: what reading and writing add.

    python benchmarks/predict.py [FOLDER]

Without a folder of images, drawn scenes of 512x1024 pixels are labelled. Each round does all of: reading the
images; the network on images that are in memory; both and the writing one after the other in one thread; and
`recoseg predict`, which reads ahead and writes behind while the network runs. If these were free, the last
would take as long as the network alone. "cores" is CPU time by time: how many of them are busy on average.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

from recoseg.data.cityscapes import Cityscapes
from recoseg.data.image_files import read_image
from recoseg.data.scenes import Scenes
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.predict.image_list import ImageFile, find_images
from recoseg.predict.many import predict_many
from recoseg.predict.output_folder import OutputFolder
from recoseg.predict.predictor import Predictor

ROUNDS, NUM_IMAGES, MOST_IMAGES = 3, 12, 40


def drawn_images(folder: Path) -> Path:
    scenes = Scenes(height=512, width=1024, num_train=NUM_IMAGES, num_val=1)
    for key in scenes.keys("train"):
        pixels = scenes.image(key).permute(1, 2, 0).contiguous().numpy()
        Image.fromarray(pixels).save(folder / f"{key.replace('/', '_')}.jpg")
    return folder


def network() -> DeepLabV3Plus:
    encoder = ENCODERS["mobilenet_v2"](output_stride=16)
    return DeepLabV3Plus(encoder=encoder, num_classes=len(Cityscapes.classes), decoder_width=128).eval()


@torch.inference_mode()
def forward_alone(predictor: Predictor, decoded: list[Tensor]) -> None:
    for image in decoded:
        predictor.network(image[None].float().div_(255))


def one_after_the_other(predictor: Predictor, images: list[ImageFile], output: OutputFolder) -> None:
    for image in images:
        output.write(image.name, predictor.predict(read_image(image.path), confidence=output.confidence))


def in_threads(predictor: Predictor, images: list[ImageFile], output: OutputFolder) -> None:
    for problem in predict_many(predictor, images, output, progress=lambda done: None):
        raise SystemExit(str(problem))


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and seconds of CPU time."""
    start, start_cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - start, time.process_time() - start_cpu


def compare(folder: Path, scratch: Path, *, confidence: bool) -> None:
    output = OutputFolder(path=scratch / "out", confidence=confidence)
    images = find_images([folder], out=output.path)[:MOST_IMAGES]
    decoded = [read_image(image.path) for image in images]
    predictor = Predictor(network(), Cityscapes.classes, device=torch.device("cpu"))
    actions: dict[str, Callable[[], object]] = {
        "reading alone": lambda: [read_image(image.path) for image in images],
        "network alone": lambda: forward_alone(predictor, decoded),
        "one after the other": lambda: one_after_the_other(predictor, images, output),
        "recoseg predict": lambda: in_threads(predictor, images, output),
    }
    rounds = [{name: timed(action) for name, action in actions.items()} for _ in range(ROUNDS + 1)][1:]
    height, width = decoded[0].shape[1:]
    kinds = "labels, overlays, confidence" if confidence else "labels, overlays"
    print(f"\n{len(images)} images, the first of {height}x{width}: {kinds}")
    print(f"{'':20}  ms/image  cores  time by that of the network  CPU time by that of the network")
    for name in actions:
        seconds = statistics.median(one[name][0] for one in rounds)
        cores = statistics.median(one[name][1] / one[name][0] for one in rounds)
        ratios = [
            statistics.median(one[name][kind] / one["network alone"][kind] for one in rounds)
            for kind in (0, 1)
        ]
        print(
            f"{name:20} {1000 * seconds / len(images):9.1f} {cores:6.2f} {ratios[0]:28.2f} {ratios[1]:32.2f}"
        )


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as scratch:
        given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
        (Path(scratch) / "images").mkdir()
        folder = given or drawn_images(Path(scratch) / "images")
        print(f"{torch.get_num_threads()} threads, median of {ROUNDS} rounds")
        for confidence in (False, True):
            compare(folder, Path(scratch), confidence=confidence)
