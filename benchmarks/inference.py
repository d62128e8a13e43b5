"""A trained network without its representation head beside one that never had a head: no difference at all.

    python benchmarks/inference.py

Parameters, floating point operations and output must be equal. The ratio of the times, taken side by side in
one run, is 1.00 but for noise; beside it, what the head would cost if it stayed.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from _side_by_side import milliseconds, ratio, ratio_of_fastest, side_by_side
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from recoseg.models.deeplab_v2 import DeepLabV2
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus
from recoseg.models.encoders import ENCODERS
from recoseg.models.network import SegmentationNetwork

ROUNDS, SIZE, NUM_CLASSES, FEATURE_CHANNELS = 30, 256, 19, 256


def deeplab_v3_plus(encoder: str, feature_channels: int | None) -> SegmentationNetwork:
    return DeepLabV3Plus(
        encoder=ENCODERS[encoder](output_stride=16),
        num_classes=NUM_CLASSES,
        feature_channels=feature_channels,
    )


def deeplab_v2(encoder: str, feature_channels: int | None) -> SegmentationNetwork:
    return DeepLabV2(
        encoder=ENCODERS[encoder](output_stride=8), num_classes=NUM_CLASSES, feature_channels=feature_channels
    )


NETWORKS: dict[str, tuple[Callable[[str, int | None], SegmentationNetwork], str]] = {
    "DeepLabV3+ MobileNetV2": (deeplab_v3_plus, "mobilenet_v2"),
    "DeepLabV3+ ResNet-50": (deeplab_v3_plus, "resnet50"),
    "DeepLabV2 MobileNetV2": (deeplab_v2, "mobilenet_v2"),
}


def num_parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def operations(network: nn.Module, images: Tensor) -> int:
    with FlopCounterMode(display=False) as counter:
        network(images)
    return counter.get_total_flops()


@torch.inference_mode()
def compare(name: str) -> None:
    build, encoder = NETWORKS[name]
    trained, plain = build(encoder, FEATURE_CHANNELS), build(encoder, None)
    shared = {key: value for key, value in trained.state_dict().items() if key in plain.state_dict()}
    plain.load_state_dict(shared)
    networks = {
        "without its head": trained.inference(),
        "never had one": plain.eval(),
        "with its head": trained,
    }
    trained.eval()
    images = torch.rand(1, 3, SIZE, SIZE)
    logits = {key: network(images).logits for key, network in networks.items()}
    seconds = side_by_side(
        {key: lambda network=network: network(images) for key, network in networks.items()}, rounds=ROUNDS
    )
    print(f"\n{name}, one image of {SIZE}x{SIZE}")
    print(f"{'':18}  parameters     GFLOP  largest difference        ms   ratio of time   of the fastest")
    for key, network in networks.items():
        difference = (logits[key] - logits["never had one"]).abs().max()
        print(
            f"{key:18} {num_parameters(network):11,} {operations(network, images) / 1e9:9.3f}"
            f" {difference:19g}"
            f" {milliseconds(seconds, key):9.1f} {ratio(seconds, key, 'never had one'):15.3f}"
            f" {ratio_of_fastest(seconds, key, 'never had one'):16.3f}"
        )


if __name__ == "__main__":
    torch.manual_seed(0)
    print(f"{torch.get_num_threads()} threads, median of {ROUNDS} rounds")
    for each in NETWORKS:
        compare(each)
