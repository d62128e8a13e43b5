"""What our networks cost beside their layers alone, and what channels_last gives; forward and backward.

    python benchmarks/networks.py

DeepLabV3+ on MobileNetV2 with a decoder of 128 channels, four crops of 256x256. "Bare" calls the very same
layers one after another from a flat list, without modules around them, without checks, without types: we hold
ourselves to 1.05 of it. Times are taken side by side in one run; the ratio is the median over the rounds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from _side_by_side import milliseconds, ratio, ratio_of_fastest, side_by_side
from torch import Tensor, nn

from recoseg.models.bilinear import resize
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2

ROUNDS, NUM_IMAGES, SIZE, NUM_CLASSES, WIDTH = 20, 4, 256, 19, 128


def leaves(module: nn.Module) -> list[nn.Module]:
    """The layers of a module that have no layers below them, in order."""
    return [layer for layer in module.modules() if not list(layer.children())]


def run_all(layers: list[nn.Module], x: Tensor) -> Tensor:
    for layer in layers:
        x = layer(x)
    return x


def bare_script(network: DeepLabV3Plus) -> Callable[[Tensor], Tensor]:
    """Images -> logits with the network's own layers, as one would write it in a script for this one case."""
    mean, std = network.normalise.mean, network.normalise.std
    first, *blocks = network.encoder.features
    stem, residuals = leaves(first), [(block.is_residual, leaves(block)) for block in blocks]
    *branches, pooling = [leaves(branch) for branch in network.aspp.branches]
    project, dropout = leaves(network.aspp.project), network.aspp.dropout
    low_layers, classifier = leaves(network.low), leaves(network.classifier)

    def forward(images: Tensor) -> Tensor:
        x = run_all(stem, (images - mean) / std)
        for number, (is_residual, layers) in enumerate(residuals, 1):
            x = x + run_all(layers, x) if is_residual else run_all(layers, x)
            if number == 3:
                low = x
        pooled = run_all(pooling, x.mean((2, 3), keepdim=True)).expand(-1, -1, *x.shape[2:])
        pyramid = torch.cat([*(run_all(branch, x) for branch in branches), pooled], dim=1)
        fine = run_all(low_layers, low)
        high = resize(dropout(run_all(project, pyramid)), fine.shape[2:])
        return run_all(classifier, torch.cat([high, fine], dim=1))

    return forward


def step(network: nn.Module, logits_of: Callable[[Tensor], Tensor], images: Tensor) -> None:
    for parameter in network.parameters():
        parameter.grad = None
    logits_of(images).square().mean().backward()


def against_bare(*, separable: bool) -> None:
    network = DeepLabV3Plus(
        encoder=MobileNetV2(), num_classes=NUM_CLASSES, decoder_width=WIDTH, separable=separable
    )
    images, bare = torch.rand(NUM_IMAGES, 3, SIZE, SIZE), bare_script(network)
    with torch.no_grad():
        network.eval()
        assert torch.equal(bare(images), network(images).logits)  # it is the same computation
        network.train()
    seconds = side_by_side(
        {
            "ours": lambda: step(network, lambda x: network(x).logits, images),
            "bare": lambda: step(network, bare, images),
        },
        rounds=ROUNDS,
    )
    print(
        f"{'separable' if separable else 'plain':10} ours {milliseconds(seconds, 'ours'):7.0f} ms"
        f"   bare {milliseconds(seconds, 'bare'):7.0f} ms"
        f"   ratio {ratio(seconds, 'ours', 'bare'):.3f}"
        f", of the fastest {ratio_of_fastest(seconds, 'ours', 'bare'):.3f}",
        flush=True,
    )


def against_channels_last(encoder: str, *, separable: bool, rounds: int) -> None:
    settings = {"num_classes": NUM_CLASSES, "decoder_width": WIDTH, "separable": separable}
    network = DeepLabV3Plus(encoder=ENCODERS[encoder](), **settings)
    last = copy.deepcopy(network).to(memory_format=torch.channels_last)
    images = torch.rand(NUM_IMAGES, 3, SIZE, SIZE)
    turned = images.to(memory_format=torch.channels_last)
    seconds = side_by_side(
        {
            "contiguous": lambda: step(network, lambda x: network(x).logits, images),
            "channels_last": lambda: step(last, lambda x: last(x).logits, turned),
        },
        rounds=rounds,
    )
    print(
        f"{encoder:13} {'separable' if separable else 'plain':10}"
        f" contiguous {milliseconds(seconds, 'contiguous'):7.0f} ms"
        f"   channels_last {milliseconds(seconds, 'channels_last'):7.0f} ms"
        f"   ratio {ratio(seconds, 'channels_last', 'contiguous'):.3f}"
        f", of the fastest {ratio_of_fastest(seconds, 'channels_last', 'contiguous'):.3f}",
        flush=True,
    )


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"{NUM_IMAGES} images of {SIZE}x{SIZE}, decoder {WIDTH}, {torch.get_num_threads()} threads")
    for is_separable in (True, False):
        against_bare(separable=is_separable)
    print("\nmemory formats")
    for is_separable in (True, False):
        against_channels_last("mobilenet_v2", separable=is_separable, rounds=10)
    against_channels_last("resnet50", separable=False, rounds=5)
