"""Write a network as one file that runs without recoseg: ONNX or torch.export."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from recoseg.cli.arguments import add_trust_argument
from recoseg.errors import UserError
from recoseg.text import printable, shortened

if TYPE_CHECKING:
    from torch import Tensor

    from recoseg.config import RunConfig
    from recoseg.export.deployable import Difference

_NUM_REAL_IMAGES = 4
_LARGEST_SIDE = 16_384

SAVES_MEMORY = "a size of its own needs less: --size 256x256"


EXAMPLES = ("recoseg export runs/first --format onnx",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", help="a run folder")
    parser.add_argument("--format", choices=("onnx", "torch"), default="onnx", help="default: onnx")
    parser.add_argument("--out", "-o", metavar="FILE", help="default: model.onnx or model.pt2 in the run")
    parser.add_argument("--weights", choices=("last", "best"), default="last", help="default: last")
    parser.add_argument(
        "--size", metavar="HEIGHTxWIDTH", help="for images of this size only (default: of any size)"
    )
    parser.add_argument("--force", action="store_true", help="replace a file of that name")
    add_trust_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    from recoseg.cli.main import version
    from recoseg.cli.terminal import new_console, stage
    from recoseg.data.bit_depth import depth_in_words
    from recoseg.data.image_files import FULL_DEPTH
    from recoseg.export.deployable import About, Deployable, compare, random_images
    from recoseg.export.formats import FORMATS, program
    from recoseg.files import write_whole
    from recoseg.runs.run import Run
    from recoseg.training.run_folder import RunFolder

    chosen, size = FORMATS[arguments.format], _parse_size(arguments.size)
    folder = RunFolder.open(Path(arguments.folder))
    path = Path(arguments.out) if arguments.out else folder.path / f"model{chosen.ending}"
    if path.suffix != chosen.ending:
        raise UserError(f"--out: got {path.name}, needs a name that ends in {chosen.ending}")
    if path.exists() and not arguments.force:
        raise UserError(f"{path} exists: give --force to replace it, or another --out")
    trained = Run.open(folder, weights=arguments.weights, trust=arguments.trust)
    chosen.require_packages()
    network, console = Deployable(trained.network), new_console(stderr=True)
    about_network = About(trained.classes, trained.iteration, version(), trained.bit_depth)
    with stage(console, f"exporting {folder.path}, 1 of 3: tracing the network, which may take minutes"):
        traced = program(network, size)
    with stage(console, f"2 of 3: writing the {arguments.format} file"):
        content = chosen.write(traced, about_network)
    with stage(console, "3 of 3: comparing its results with those of the original"):
        exported = chosen.run(content)
        on_noise = compare(network, exported, random_images(size))
        on_images = compare(network, exported, _real_images(trained.config, size))
    for difference in (on_noise, on_images):
        if not difference.is_small:
            raise UserError(
                f"the exported network differs from the original: {told(difference)}; not written"
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)
    sizes = "any height and width" if size is None else f"{size[0]} x {size[1]} pixels"
    about = f"{len(content) / 1e6:.1f} MB, {len(trained.classes)} classes, any batch, {sizes}"
    print(f"{printable(str(path))}: {about}")
    if trained.bit_depth != FULL_DEPTH:
        print(f"16-bit images: {depth_in_words(trained.bit_depth)}; give it images that are scaled so")
    print(f"against the original, on noise:      {told(on_noise)}")
    if on_images.num_images:
        print(f"on {on_images.num_images} validation images:              {told(on_images)}")
    else:
        print("not checked on real images: the run's dataset is not at its place")
    return 0


def told(difference: Difference) -> str:
    """What was found, in half a line."""
    other = f"; {difference.num_other_class} pixels of another class" if difference.num_other_class else ""
    return f"largest difference {difference.largest:.0e}, logits to {difference.largest_logit:.3g}{other}"


def _parse_size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    height, _, width = text.partition("x")
    if not all(
        side.isdecimal() and len(side) < 6 and 1 <= int(side) <= _LARGEST_SIDE for side in (height, width)
    ):
        raise UserError(
            f"--size: got {shortened(repr(text))}, needs HEIGHTxWIDTH in pixels such as 512x1024, up to "
            f"{_LARGEST_SIDE} each"
        )
    return int(height), int(width)


def _real_images(config: RunConfig, size: tuple[int, int] | None) -> Iterator[Tensor]:
    """Some validation images (1, 3, H, W), brought to `size`; none where the data is not here."""
    from recoseg.data.build import build_dataset, val_keys
    from recoseg.evaluate.protocol import SMALLEST_SIDE
    from recoseg.models.bilinear import resize
    from recoseg.report.run_view import spread

    try:
        dataset = build_dataset(config.data)
        keys = val_keys(dataset)
    except UserError:
        return
    for key in spread(keys, _NUM_REAL_IMAGES):
        image = dataset.image(key)[None]
        height, width = size or (max(SMALLEST_SIDE, side) for side in image.shape[2:])
        yield resize(image.float(), (height, width)).round_().byte()
