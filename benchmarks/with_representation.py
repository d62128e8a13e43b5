"""What `with_representation` costs besides the head itself: the same layers called in sequence, side by side.

    python benchmarks/with_representation.py

Both do the same arithmetic: normalise, network, head on what the classifier reads; forward and backward, in
training mode. A second instance of the plain network shows how far such a ratio strays by itself. What the
wrapping adds does not depend on the size, so it is also measured alone, in microseconds a call, around a
network of a single layer, where it can be seen.
"""

from __future__ import annotations

from functools import partial

import torch
from _side_by_side import milliseconds, ratio, ratio_of_fastest, side_by_side
from torch import Tensor, nn

from recoseg.models.bilinear import resize
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2
from recoseg.models.layers import Normalise, conv_norm_relu
from recoseg.models.representation import with_representation

NUM_CLASSES, WIDTH, CHANNELS = 19, 64, 256
SIZES = {64: 100, 128: 40, 256: 12}  # side of the images -> rounds


class Decoder(nn.Module):
    """MobileNetV2 and one convolution at a quarter of the image's size."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = MobileNetV2()
        self.join = conv_norm_relu(self.encoder.high_channels + self.encoder.low_channels, WIDTH)

    def forward(self, images: Tensor) -> Tensor:
        encoded = self.encoder(images)
        high = resize(encoded.high, encoded.low.shape[2:])
        joined: Tensor = self.join(torch.cat([encoded.low, high], dim=1))
        return joined


class Plain(nn.Module):
    """Decoder, classifier and head, each called by name: what one would write by hand."""

    def __init__(self, decoder: nn.Module, classifier: nn.Module, head: nn.Module | None) -> None:
        super().__init__()
        assert head is not None
        self.normalise, self.decoder, self.classifier, self.head = Normalise(), decoder, classifier, head

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        decoded = self.decoder(self.normalise(images))
        return self.classifier(decoded), self.head(decoded)


def step(model: nn.Module, images: Tensor) -> None:
    output = model(images)
    logits, features = output if isinstance(output, tuple) else (output.logits, output.features)
    (logits.mean() + features.mean()).backward()


def compare(side: int, rounds: int, added: float) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(Decoder(), nn.Conv2d(WIDTH, NUM_CLASSES, 1))
    wrapped = with_representation(network, num_classes=NUM_CLASSES, feature_channels=CHANNELS)
    plain, again = (Plain(network[0], network[1], wrapped.representation) for _ in range(2))
    images = torch.rand(4, 3, side, side)
    models = {"plain": plain, "wrapped": wrapped, "again": again}
    seconds = side_by_side(
        {name: partial(step, model, images) for name, model in models.items()}, rounds=rounds
    )
    row = [
        f"{how(seconds, name, 'plain'):8.3f}"
        for name in ("wrapped", "again")
        for how in (ratio, ratio_of_fastest)
    ]
    spent = milliseconds(seconds, "plain")
    print(f"{side:4}x{side:<4}{spent:9.1f}  {'  '.join(row)}{added / 1000 / spent:13.3%}", flush=True)


@torch.no_grad()
def added_microseconds() -> float:
    """Best time of a wrapped call less that of a plain one, with next to nothing to compute."""
    network = nn.Sequential(nn.Identity(), nn.Conv2d(3, 2, 1))
    wrapped = with_representation(network, num_classes=2, feature_channels=2).eval()
    plain = Plain(network[0], network[1], wrapped.representation).eval()
    models, images = {"plain": plain, "wrapped": wrapped}, torch.rand(1, 3, 4, 4)
    seconds = side_by_side({name: partial(model, images) for name, model in models.items()}, rounds=2000)
    return 1e6 * (min(seconds["wrapped"]) - min(seconds["plain"]))


if __name__ == "__main__":
    added = added_microseconds()
    print(f"4 images, {NUM_CLASSES} classes, {CHANNELS} features, {torch.get_num_threads()} threads")
    print(f"with_representation adds {added:.0f} microseconds to a call")
    print("                    wrapped / plain     plain / plain")
    print("   side  plain ms    median   fastest    median   fastest  added share")
    for side, rounds in SIZES.items():
        compare(side, rounds, added)
