"""A plain U-Net that knows nothing of recoseg, and a loop that trains it with the regional contrast.

python examples/unet.py                                     the loop below
cd examples
recoseg train --config scenes --model.factory unet:unet    a whole run with scores and a page
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from recoseg import RegionalContrast, shrink_labels, with_representation
from recoseg.losses.cross_entropy import pixel_cross_entropy


class UNet(nn.Module):
    """Images (B, 3, H, W) -> logits (B, K, H, W); H and W must be multiples of 2 ** depth."""

    def __init__(self, num_classes: int, *, width: int = 16, depth: int = 3) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(depth + 1)]
        self.down = nn.ModuleList(block(a, b) for a, b in pairwise([3, *widths]))
        self.up = nn.ModuleList(block(a + b, a) for a, b in pairwise(widths))
        self.classifier = nn.Conv2d(width, num_classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        x, skipped = self.down[0](images), []
        for down in self.down[1:]:
            skipped.append(x)
            x = down(nn.functional.max_pool2d(x, 2))
        for up, skip in zip(reversed(self.up), reversed(skipped), strict=True):
            x = up(torch.cat([skip, nn.functional.interpolate(x, scale_factor=2)], dim=1))
        return self.classifier(x)


def block(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())


def unet(num_classes: int) -> nn.Module:
    """What `--model.factory unet:unet` calls."""
    return UNet(num_classes)


def main() -> None:
    network = with_representation(UNet(num_classes=4), num_classes=4, feature_channels=64)
    contrast = RegionalContrast(num_queries=64, num_keys=128)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    for step in range(10):
        labels = torch.randint(0, 4, (2, 4, 4)).repeat_interleave(16, 1).repeat_interleave(16, 2)
        images = (torch.eye(4)[labels].movedim(3, 1)[:, :3] + 0.3 * torch.randn(2, 3, 64, 64)).clamp(0, 1)

        output = network(images)  # logits (B, 4, 64, 64), features (B, 64, 16, 16)
        size = output.features.shape[2:]
        probabilities = nn.functional.interpolate(output.logits.detach(), size, mode="bilinear").softmax(1)
        loss = pixel_cross_entropy(output.logits, labels)
        loss = loss + contrast(output.features, shrink_labels(labels, size), probabilities)

        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
