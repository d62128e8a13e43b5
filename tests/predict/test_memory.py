"""An image of a hundred megapixels takes less than 2 GB, however many classes there are."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from recoseg.predict.image_list import large_images_allowed
from recoseg.predict.output_folder import ProbabilitiesFile

SIDE = 10_000
LIMIT = 2.0  # GB

LABEL_ONE_IMAGE = """
import sys
from pathlib import Path
import torch
from torch import nn
from recoseg.colours import distinct_colours
from recoseg.predict.image_list import find_images
from recoseg.predict.many import predict_many
from recoseg.predict.output_folder import OutputFolder
from recoseg.predict.predictor import Predictor
from recoseg.types import ClassInfo, ModelOutput

class Cheap(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.layer = nn.Conv2d(3, num_classes, 4, stride=4)

    def forward(self, images):
        return ModelOutput(self.layer(images))

image, out, num_classes, *kinds = sys.argv[1:]
torch.manual_seed(0)
torch.set_num_threads(2)
names = tuple(f"class {number}" for number in range(int(num_classes)))
classes = ClassInfo(names, distinct_colours(len(names)))
predictor = Predictor(Cheap(len(names)), classes, device=torch.device("cpu"))
output = OutputFolder(path=Path(out), **{kind: True for kind in kinds})
images = output.prepare(find_images([image], out=output.path), classes, {})
assert not list(predict_many(predictor, images, output, progress=lambda done: None))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.fixture(scope="module")
def large_image(tmp_path_factory) -> Path:
    """As a phone would save it: its EXIF data say that it is to be turned."""
    generator = np.random.default_rng(0)
    small = Image.fromarray(generator.integers(0, 256, (40, 40, 3), dtype=np.uint8))
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path_factory.mktemp("large") / "large.jpg"
    small.resize((SIDE, SIDE), Image.Resampling.BILINEAR).save(path, exif=exif)
    return path


LINUX_ONLY = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="asks Linux how much memory was taken"
)


@LINUX_ONLY
@pytest.mark.slow
@pytest.mark.parametrize("num_classes", [19, 150])
def test_a_hundred_megapixels_take_less_than_two_gigabytes(large_image, tmp_path, num_classes) -> None:
    words = [str(large_image), str(tmp_path / "out"), str(num_classes), "confidence"]
    ended = subprocess.run(
        [sys.executable, "-c", LABEL_ONE_IMAGE, *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == "", "Pillow warns of large files"
    assert int(ended.stdout) * 1024 / 1e9 < LIMIT
    for kind in ("labels", "confidence"):
        with large_images_allowed(), Image.open(tmp_path / "out" / kind / "large.png") as result:
            assert result.size == (SIDE, SIDE)


def resident_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


@LINUX_ONLY
def test_probabilities_are_written_without_staying_in_memory(tmp_path) -> None:
    """160 MB in ten parts: what was written no longer counts."""
    shape = (8, 1000, 10_000)
    file = ProbabilitiesFile(tmp_path / "a.npy", shape)
    part = np.full((8, 100, 10_000), 0.5, dtype=np.float32)
    file[:, 0:100, 0:10_000] = part
    before = resident_bytes()
    for top in range(0, 1000, 100):
        file[:, top : top + 100, 0:10_000] = part
    assert resident_bytes() - before < 40e6
    written = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert written.shape == shape
    assert written.dtype == np.float16
    assert (written[:, ::97, ::91] == 0.5).all()


def test_a_disk_without_room_for_probabilities_is_told_at_once(tmp_path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OSError, match="No space left"):
        ProbabilitiesFile(tmp_path / "a.npy", (2, 3, 4))
