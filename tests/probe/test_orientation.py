"""Images have an up where their features tell how they were turned."""

from __future__ import annotations

import torch

from recoseg.data.dataset import Dataset
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.probe.orientation import have_no_up, recognised_turns
from recoseg.types import ClassInfo

CPU = torch.device("cpu")


class Pictures(Dataset):
    """Noise, brighter at the top where there is a sky."""

    name = "pictures"
    classes = ClassInfo(("a", "b"), ((0, 0, 0), (255, 255, 255)))

    def __init__(self, *, sky: bool, count: int = 40) -> None:
        self.sky, self.count = sky, count

    def keys(self, subset: str) -> list[str]:
        return [str(number) for number in range(self.count)]

    def has_labels(self, key: str) -> bool:
        return False

    def image(self, key: str) -> torch.Tensor:
        generator = torch.Generator().manual_seed(int(key))
        image = torch.randint(0, 100, (3, 48, 64), generator=generator, dtype=torch.uint8)
        if self.sky:
            image[:, :24] += 150
        return image

    def labels(self, key: str) -> torch.Tensor:
        raise AssertionError("orientation needs no labels")


def network() -> DeepLabV3Plus:
    torch.manual_seed(0)
    return DeepLabV3Plus(encoder=ENCODERS["resnet10_small"](), num_classes=2, probe=True).eval()


def test_a_sky_is_recognised_and_noise_is_not() -> None:
    sky, noise = Pictures(sky=True), Pictures(sky=False)
    assert (recognised_turns(network(), sky, sky.keys("train"), device=CPU) or 0) > 0.9
    assert (recognised_turns(network(), noise, noise.keys("train"), device=CPU) or 1) < 0.4
    assert not have_no_up(network(), sky, sky.keys("train"), device=CPU)
    assert have_no_up(network(), noise, noise.keys("train"), device=CPU)


def test_few_images_say_nothing() -> None:
    noise = Pictures(sky=False, count=39)
    assert recognised_turns(network(), noise, noise.keys("train"), device=CPU) is None
    assert not have_no_up(network(), noise, noise.keys("train"), device=CPU)
