"""Whether the contrast drowns the other losses: the norm of both gradients in the encoder of a trained run.

    python benchmarks/gradient_norms.py RUN      a run of a method with unlabelled images and the contrast

The run's last weights serve as student and as teacher, for a few batches of the end of its schedule.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from recoseg.config import load
from recoseg.runs.start import resumed_run
from recoseg.seeds import torch_generator
from recoseg.training.run_folder import RunFolder

BATCHES = 10


def norm(loss: Tensor, part: nn.Module) -> float:
    gradients = torch.autograd.grad(loss, list(part.parameters()), retain_graph=True, allow_unused=True)
    return torch.stack([one.square().sum() for one in gradients if one is not None]).sum().sqrt().item()


def main(path: str) -> None:
    folder = RunFolder.open(Path(path))
    trainer = resumed_run(load(folder.config), folder)
    method, iterations = trainer.method, trainer.train.iterations
    weights = load_file(folder.weights)
    for network in {method.student, method.evaluation_model}:
        network.load_state_dict(weights)
    assert method.contrast is not None, "a run without the contrast"
    trainer.place()
    method.train()
    pairs = trainer.batches.from_iteration(iterations - BATCHES, iterations, workers=0)
    found: dict[str, list[float]] = {"cross-entropies": [], "contrast": []}
    for iteration, (raw_labelled, raw_unlabelled) in enumerate(pairs, iterations - BATCHES):
        generator = torch_generator(0, "gradient norms", iteration)
        labelled = trainer.weak_view(
            raw_labelled.to(trainer.device, channels_last=trainer.channels_last), generator
        )
        unlabelled = raw_unlabelled and raw_unlabelled.to(trainer.device, channels_last=trainer.channels_last)
        plain = method.step(labelled, unlabelled, iteration=iteration, generator=generator)
        both = method.contrast(plain, generator, iteration=iteration, labelled=labelled)
        for name, loss in zip(found, (plain.loss, both.loss - plain.loss), strict=True):
            found[name].append(norm(loss, method.student.encoder))
    for name, norms in found.items():
        print(f"{name:16} {min(norms):.2f} to {max(norms):.2f}, mean {sum(norms) / len(norms):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
