"""How images are shown to a network, with networks whose answers are known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.evaluate.protocol import SMALLEST_SIDE, WHOLE_IMAGE, Protocol, logits_at
from recoseg.models.bilinear import resize
from recoseg.types import ModelOutput

CPU = torch.device("cpu")


def photos(height: int, width: int, count: int = 2) -> Tensor:
    generator = torch.Generator().manual_seed(height * 1000 + width)
    coarse = torch.rand(count, 3, -(-height // 4), -(-width // 4), generator=generator)
    return resize(coarse * 255, (height, width)).to(torch.uint8)


class Strided(nn.Module):
    """Three classes by the mean colour of blocks of four pixels; remembers what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[tuple[int, ...]] = []

    def forward(self, images: Tensor) -> ModelOutput:
        self.shown.append(tuple(images.shape))
        assert min(images.shape[2:]) >= SMALLEST_SIDE
        assert images.min() >= 0
        assert images.max() <= 1
        return ModelOutput(logits=nn.functional.avg_pool2d(images, 4, ceil_mode=True) * 10)


class LeftIsBetter(nn.Module):
    """Logits that depend on the column: not the same for a flipped image."""

    def forward(self, images: Tensor) -> ModelOutput:
        column = torch.linspace(1, 0, images.shape[3]).expand(len(images), 1, *images.shape[2:])
        return ModelOutput(logits=torch.cat([column * 4, torch.full_like(column, 1.0)], dim=1))


def whole(protocol: Protocol, model: nn.Module, images: Tensor, num_classes: int) -> Tensor:
    logits = torch.full((len(images), num_classes, *images.shape[2:]), torch.nan)
    for block in protocol.blocks(model, images, CPU, num_classes=num_classes):
        logits[:, :, block.rows, block.columns] = block.logits
    assert not logits.isnan().any()
    return logits


@pytest.mark.parametrize("size", [(64, 96), (61, 33), (20, 50), (1, 1), (5, 100)])
@pytest.mark.parametrize(
    "protocol",
    [
        WHOLE_IMAGE,
        Protocol(window=40),
        Protocol(window=32, overlap=0.5, flip=True),
        Protocol(flip=True, scales=(0.5, 1.0, 2.0)),
        Protocol(window=500, scales=(0.1,)),
    ],
    ids=lambda protocol: protocol.name,
)
def test_labels_are_the_most_likely_classes_of_the_blocks(size, protocol) -> None:
    images, model = photos(*size), Strided()
    labels = protocol.labels(model, images, CPU, num_classes=3)
    logits = whole(protocol, model, images, 3)
    assert (labels.dtype, tuple(labels.shape)) == (torch.uint8, (2, *size))
    chosen = logits.gather(1, labels.long()[:, None])[:, 0]
    assert (logits.amax(1) - chosen).max() < 1e-4


def test_the_whole_image_is_one_look() -> None:
    model = Strided()
    WHOLE_IMAGE.labels(model, photos(64, 96), CPU, num_classes=3)
    assert model.shown == [(2, 3, 64, 96)]


def test_windows_flips_and_scales_multiply_the_looks() -> None:
    model = Strided()
    protocol = Protocol(window=64, overlap=0.5, flip=True, scales=(1.0, 2.0))
    protocol.labels(model, photos(64, 128), CPU, num_classes=3)
    assert len(model.shown) == 3 * 2 * 2
    assert set(model.shown) == {(2, 3, 64, 64), (2, 3, 128, 128)}


def test_flipping_changes_nothing_for_a_network_that_treats_both_sides_alike() -> None:
    images, model = photos(64, 96), Strided()
    plain, flipped = (whole(Protocol(flip=flip), model, images, 3) for flip in (False, True))
    torch.testing.assert_close(flipped, plain.log_softmax(1), rtol=0, atol=1e-5)


def test_flipping_averages_the_probabilities_of_both_looks() -> None:
    images, model = photos(40, 60), LeftIsBetter()
    plain = whole(WHOLE_IMAGE, model, images, 2).softmax(1)
    # The network ignores the image: flipped, it says of each pixel what it says of its mirror image.
    expected = (plain + plain.flip(3)) / 2
    torch.testing.assert_close(whole(Protocol(flip=True), model, images, 2).exp(), expected)


def test_scales_average_the_probabilities_of_looks_at_other_sizes() -> None:
    images, model = photos(64, 96), Strided()
    looks = [whole(Protocol(scales=(scale,)), model, images, 3).exp() for scale in (0.75, 1.5)]
    together = whole(Protocol(scales=(0.75, 1.5)), model, images, 3).exp()
    torch.testing.assert_close(together, (looks[0] + looks[1]) / 2)
    assert set(model.shown) == {(2, 3, 48, 72), (2, 3, 96, 144)}


@pytest.mark.parametrize("size", [(1, 1), (3, 40), (31, 31), (20, 7)])
def test_small_images_grow_by_their_last_row_and_column_and_are_cut_back(size) -> None:
    """Pooling by four sees a small image as it sees that corner of a large one."""
    images = photos(*size).float() / 255
    grown = images[:, :, :, [min(x, size[1] - 1) for x in range(max(32, size[1]))]]
    grown = grown[:, :, [min(y, size[0] - 1) for y in range(max(32, size[0]))]]
    expected = resize(Strided()(grown).logits, grown.shape[2:])[:, :, : size[0], : size[1]]
    torch.testing.assert_close(logits_at(Strided(), images, images.shape[2:]), expected)


def test_a_batch_is_its_images_one_by_one() -> None:
    images, protocol = photos(50, 70, count=3), Protocol(window=32, flip=True)
    together = protocol.labels(Strided(), images, CPU, num_classes=3)
    alone = [protocol.labels(Strided(), image[None], CPU, num_classes=3) for image in images]
    assert together.equal(torch.cat(alone))


def test_a_wide_image_is_done_in_strips_with_the_same_result(monkeypatch) -> None:
    images, protocol = photos(60, 200), Protocol(window=32)
    expected = whole(protocol, Strided(), images, 3)
    monkeypatch.setattr("recoseg.evaluate.protocol.BAND_BYTES", 4 * 2 * 3 * 32 * 70)
    blocks = list(protocol.blocks(Strided(), images, CPU, num_classes=3))
    assert max(block.logits.shape[3] for block in blocks) <= 70
    torch.testing.assert_close(whole(protocol, Strided(), images, 3), expected)


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        (WHOLE_IMAGE, "whole image"),
        (Protocol(flip=True), "whole image, flipped"),
        (Protocol(window=512, overlap=0.5), "windows of 512, overlap 0.5"),
        (
            Protocol(window=512, flip=True, scales=(0.75, 1, 1.25)),
            "windows of 512, overlap 0.25, flipped, scales 0.75 1 1.25",
        ),
    ],
)
def test_a_protocol_is_named(protocol, name) -> None:
    assert protocol.name == name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 31}, "window: got 31, needs a whole number of at least 32 pixels"),
        ({"window": 64.5}, "window: got 64.5, needs a whole number"),
        ({"window": "64"}, "window: got '64', needs a whole number"),
        ({"window": True}, "window: got True, needs a whole number"),
        ({"window": 64, "overlap": 1.0}, "overlap: got 1, needs a share"),
        ({"window": 64, "overlap": -0.1}, "overlap: got -0.1, needs a share"),
        ({"scales": ()}, "scales: got"),
        ({"scales": (1.0, 0.0)}, "scales: got"),
        ({"scales": (float("nan"),)}, "scales: got"),
    ],
)
def test_settings_that_make_no_protocol_are_refused(settings, message) -> None:
    with pytest.raises(UserError, match=message):
        Protocol(**settings)


def test_logits_cover_the_images_and_are_kept_only_if_wanted() -> None:
    model, images = Strided(), photos(96, 128)
    for protocol, count in ((WHOLE_IMAGE, 1), (Protocol(window=64, overlap=0.5), 2)):
        labels, logits = protocol.seen(model, images, CPU, num_classes=3)
        assert torch.equal(labels, protocol.labels(model, images, CPU, num_classes=3))
        assert len(logits) == count
        covered = torch.zeros(images.shape[2:])
        for rows, columns, part in logits:
            covered[rows, columns] += 1
            height, width = covered[rows, columns].shape
            assert part.shape[2:] == (height // 4, width // 4)
        assert (covered == 1).all()
