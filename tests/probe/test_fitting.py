"""Cells of labelled images, folds over them, and a network's probe fitted to a small dataset."""

from __future__ import annotations

import pytest
import torch

from recoseg.data.dataset import Dataset
from recoseg.errors import UserError
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.probe import Cells, cross_validate, fit_probe, labelled_cells
from recoseg.types import IGNORE, ClassInfo

CPU = torch.device("cpu")


class Halves(Dataset):
    """Images whose left half is dark and of class 0, and whose right half is bright and of class 1."""

    name = "halves"

    def __init__(self, count: int = 4, *, side: int = 64, sparse: bool = False) -> None:
        self.classes = ClassInfo(("dark", "bright"), ((0, 0, 0), (255, 255, 255)))
        self.count, self.side, self.sparse = count, side, sparse

    def keys(self, subset: str) -> list[str]:
        return [str(number) for number in range(self.count)]

    def has_labels(self, key: str) -> bool:
        return True

    def image(self, key: str) -> torch.Tensor:
        noise = torch.Generator().manual_seed(int(key))
        image = torch.randint(0, 60, (3, self.side, self.side), generator=noise, dtype=torch.uint8)
        image[:, :, self.side // 2 :] += 180
        return image

    def labels(self, key: str) -> torch.Tensor:
        labels = torch.zeros(self.side, self.side, dtype=torch.uint8)
        labels[:, self.side // 2 :] = 1
        if self.sparse:
            clicked = torch.full_like(labels, IGNORE)
            clicked[30, 7], clicked[5, 50] = 0, 1
            return clicked
        return labels


def network(*, probe: bool = True) -> DeepLabV3Plus:
    torch.manual_seed(0)
    return DeepLabV3Plus(encoder=ENCODERS["resnet10_small"](), num_classes=2, probe=probe).eval()


def test_every_labelled_cell_of_stride_eight_is_taken_with_its_image() -> None:
    data = Halves(3)
    cells = labelled_cells(network(), data, data.keys("train"), device=CPU)
    assert len(cells) == 3 * 8 * 8
    assert cells.images.bincount().tolist() == [64, 64, 64]
    assert cells.labels.bincount().tolist() == [96, 96]
    assert cells.features.shape == (sum(network().encoder.level_channels), 192)


def test_clicks_are_cells_of_their_own_and_all_others_are_left_out() -> None:
    data = Halves(3, sparse=True)
    cells = labelled_cells(network(), data, data.keys("train"), sparse=True, device=CPU)
    assert cells.labels.tolist() == [1, 0] * 3
    assert cells.images.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_limit_of_cells_is_spread_over_the_images() -> None:
    data = Halves(3)
    cells = labelled_cells(network(), data, data.keys("train"), device=CPU, most=30)
    assert cells.images.bincount().tolist() == [10, 10, 10]


def test_a_fitted_network_tells_the_halves_apart_and_its_encoder_did_not_move() -> None:
    data, net = Halves(4), network()
    before = {name: tensor.clone() for name, tensor in net.encoder.state_dict().items()}
    fit = fit_probe(net, data, ["0", "1"], 2, device=CPU)
    assert fit.mean_iou is not None
    assert fit.mean_iou > 0.9
    image = data.image("3")[None].float() / 255
    with torch.no_grad():
        predicted = torch.nn.functional.interpolate(net(image).logits, (64, 64), mode="bilinear").argmax(1)
    assert (predicted[0] == data.labels("3")).float().mean() > 0.9
    for name, tensor in net.encoder.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_the_same_labels_give_the_same_probe() -> None:
    first, other = network(), network()
    for net in (first, other):
        fit_probe(net, Halves(), ["0", "1", "2"], 2, device=CPU)
    assert first.probe is not None
    assert other.probe is not None
    assert torch.equal(first.probe.weight, other.probe.weight)


def test_one_image_has_no_folds_and_is_fitted_all_the_same() -> None:
    net = network()
    fit = fit_probe(net, Halves(), ["0"], 2, device=CPU)
    assert fit.mean_iou is None
    assert "too few labelled images" in str(fit)
    assert net.probe is not None
    assert net.probe.weight.abs().sum() > 0


def test_a_fold_is_scored_by_a_classifier_that_never_saw_its_images() -> None:
    """Each image has a feature of its own that gives its labels away: of no use to the other images."""
    images, each = 5, 40
    labels = torch.arange(images * each) % 2
    number = torch.arange(images * each) // each
    features = torch.zeros(images, images * each)
    features[number, torch.arange(images * each)] = 2.0 * labels - 1
    fit = cross_validate(Cells(features, labels, number), 2)
    assert fit.mean_iou == pytest.approx(0.25, abs=0.1)  # one class everywhere: IoU of 1/2 and 0


def test_a_network_without_a_probe_is_refused() -> None:
    with pytest.raises(UserError, match=r"model\.start probe"):
        fit_probe(network(probe=False), Halves(), ["0"], 2, device=CPU)
