"""What evaluation adds to the forward passes that it needs: reading, labels at full size, counting.

    python benchmarks/evaluate.py [DATA] [--run RUN] [--images 32]

DATA is a folder dataset, of which validation images are used. Without it, street scenes of 256 x 512 are
drawn and kept as PNG files for the time of the benchmark. The network is DeepLabV3+ on MobileNetV2 with a
decoder of 128; --run takes that of a trained run, whose label maps are as smooth as real ones.

The forward passes alone get decoded float images, and nothing is done with their logits. They and the
evaluations take turns in one process. The aims: at most 5 % more without boundary scores, at most 20 % with
them. The second table is the CPU time of one thread, which other processes change less.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from _side_by_side import milliseconds, ratio, ratio_of_fastest, side_by_side
from PIL import Image
from torch import Tensor, nn

from recoseg.data.dataset import Dataset
from recoseg.data.folder import Folder
from recoseg.data.scenes import Scenes
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.loop import evaluate
from recoseg.kept_memory import keep_freed_memory
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.runs.run import Run
from recoseg.training.run_folder import RunFolder

ROUNDS = 5
ALONE = "forward passes"
AIMS = {"evaluation": 0.05, "with boundary scores": 0.20}
CPU = torch.device("cpu")


def drawn(root: Path) -> Folder:
    """Street scenes as files, so that reading them is part of the work."""
    scenes = Scenes(height=256, width=512, num_train=1, num_val=16)
    for kind in ("images", "labels"):
        (root / kind).mkdir()
    keys = [*scenes.keys("train"), *scenes.keys("val")]
    for number, key in enumerate(keys):
        Image.fromarray(scenes.image(key).permute(1, 2, 0).numpy()).save(root / "images" / f"{number}.png")
        Image.fromarray(scenes.labels(key).numpy()).save(root / "labels" / f"{number}.png")
    names = '", "'.join(scenes.classes.names)
    (root / "classes.json").write_text(f'{{"names": ["{names}"]}}')
    (root / "train.txt").write_text("0\n")
    (root / "val.txt").write_text("".join(f"{number}\n" for number in range(1, len(keys))))
    return Folder(root=root)


def network(run: str | None, num_classes: int) -> nn.Module:
    if run is not None:
        return Run.open(RunFolder.open(Path(run))).network.inference()
    torch.manual_seed(0)
    encoder = ENCODERS["mobilenet_v2"](output_stride=16)
    return DeepLabV3Plus(encoder=encoder, num_classes=num_classes, decoder_width=128).eval()


def actions(model: nn.Module, dataset: Dataset, keys: list[str]) -> dict[str, Callable[[], object]]:
    """What takes turns, over the same images."""
    images = torch.stack([dataset.image(key) for key in keys]).float().div(255)

    def forward() -> Tensor:
        with torch.inference_mode():
            return torch.cat([model(batch).logits[:, :, :1, :1] for batch in images.split(1)])

    def scored(rule: BoundaryRule | None) -> Callable[[], object]:
        return lambda: evaluate(model, dataset, keys, device=CPU, boundary=rule)

    return {
        ALONE: forward,
        "evaluation": scored(None),
        "with boundary scores": scored(BoundaryRule()),
    }


def report(title: str, seconds: dict[str, list[float]], num_images: int) -> None:
    print(f"\n{title}")
    print(f"{'':22} ms an image   adds (median)   fastest rounds     aim")
    for name in seconds:
        line = f"{name:22} {milliseconds(seconds, name) / num_images:11.2f}"
        if name in AIMS:
            line += (
                f"{ratio(seconds, name, ALONE) - 1:15.1%} {ratio_of_fastest(seconds, name, ALONE) - 1:16.1%}"
            )
            line += f"{f'≤ {AIMS[name]:.0%}':>9}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", metavar="DATA", nargs="?", help="a folder dataset")
    parser.add_argument("--run", metavar="RUN", help="a trained run on the same classes")
    parser.add_argument("--images", type=int, default=32, metavar="N", help="how many (default 32)")
    given = parser.parse_args()
    keep_freed_memory()  # as the command does; the forward passes alone gain by it too
    with tempfile.TemporaryDirectory() as scratch:
        dataset = Folder(root=given.data) if given.data else drawn(Path(scratch))
        every = list(dataset.keys("val"))
        keys = [every[int(place)] for place in np.linspace(0, len(every) - 1, min(given.images, len(every)))]
        height, width = dataset.labels(keys[0]).shape
        print(f"{len(keys)} images of {height}x{width}, {len(dataset.classes)} classes, {ROUNDS} rounds")
        things = actions(network(given.run, len(dataset.classes)), dataset, keys)
        title = f"wall time, {torch.get_num_threads()} threads"
        report(title, side_by_side(things, rounds=ROUNDS), len(keys))
        torch.set_num_threads(1)
        seconds = side_by_side(things, rounds=ROUNDS, clock=time.process_time)
        report("CPU time, 1 thread", seconds, len(keys))


if __name__ == "__main__":
    main()
