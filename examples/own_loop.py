"""The regional contrast in a training loop of your own, with any network that gives features."""

import torch
import torch.nn.functional as F
from torch import nn

from recoseg import RegionalContrast, shrink_labels

encoder = nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU())
classifier, representation = nn.Conv2d(64, 4, 1), nn.Conv2d(64, 64, 1)
network = nn.ModuleList([encoder, classifier, representation])
optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
contrast = RegionalContrast(num_queries=64, num_keys=128)

for step in range(10):
    labels = torch.randint(0, 4, (2, 4, 4)).repeat_interleave(16, 1).repeat_interleave(16, 2)  # 255: no label
    images = torch.eye(4)[labels].movedim(3, 1)[:, :3] + 0.3 * torch.randn(2, 3, 64, 64)

    encoded = encoder(images)  # (B, 64, h, w), a quarter of the size of the images
    logits, features = classifier(encoded), representation(encoded)
    small = shrink_labels(labels, features.shape[2:])
    loss = F.cross_entropy(logits, small, ignore_index=255) + contrast(features, small, logits.softmax(1))

    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    print(f"step {step}: loss {loss.item():.3f}")
