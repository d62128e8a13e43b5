"""The loop of examples/reco_classmix.py computes what a run with mean_teacher, ClassMix and ReCo computes."""

from __future__ import annotations

import copy
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from rich.console import Console

from recoseg.config import load
from recoseg.data.build import build_dataset
from recoseg.losses import RegionalContrast
from recoseg.runs.start import build_trainer
from recoseg.seeds import seed_for, torch_generator
from recoseg.splits.draw import build_split
from recoseg.training.optimisers import set_learning_rate
from recoseg.training.run_folder import RunFolder
from recoseg.training.trainer import Trainer

ITERATIONS, STEPS, LR = 200, (0, 1, 150), 0.05
"""The decay of the moving average grows up to step 99."""
WORDS = [
    "--data.name=scenes", "--data.height=48", "--data.width=64", "--data.num-train=10", "--data.num-val=2",
    "--split.labels=4", "--split.random=true", "--model.encoder=resnet10_small", "--model.decoder-width=16",
    "--model.separable=true", "--augment.crop=64", "--augment.scale=1", "--method=mean_teacher",
    "--method.decay=0.99", "--method.supervised-start=0", "--method.ramp=0", "--contrast=reco",
    "--contrast.ramp=0", "--contrast.feature-channels=16", f"--train.iterations={ITERATIONS}",
    "--train.labelled-per-step=3", "--train.device=cpu", f"--optimiser.lr={LR}",
]  # fmt: skip
"""Images of 48x64 in crops of 64x64: some pixels are padding."""


@pytest.fixture
def example(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("reco_classmix", repository / "examples/reco_classmix.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@torch.no_grad()
def make_confident(trainer: Trainer) -> None:
    """Confidences of a new network lie below both thresholds: fit its BatchNorm, and scale its logits up."""
    student, teacher = trainer.method.student, trainer.method.evaluation_model
    images = trainer.batches[0][0].to(trainer.device).images
    for _ in range(30):
        student(images)
    student.classifier[-1].weight.mul_(300)
    teacher.load_state_dict(student.state_dict())


def test_its_losses_and_weights_are_those_of_a_run(example: ModuleType, tmp_path: Path) -> None:
    config = load(None, WORDS)
    dataset = build_dataset(config.data)
    split = build_split(config.split, dataset)
    trainer = build_trainer(config, dataset, split, folder=lambda: RunFolder(tmp_path))
    trainer.place()
    make_confident(trainer)
    student = copy.deepcopy(trainer.method.student)
    teacher = copy.deepcopy(student).requires_grad_(False).eval()
    optimiser = torch.optim.SGD(student.parameters(), LR, momentum=0.9, weight_decay=5e-4, nesterov=True)

    with trainer.new_log(0, Console(quiet=True)) as log:
        for step in STEPS:
            raw_labelled, raw_unlabelled = trainer.batches[step]
            set_learning_rate(trainer.optimisers["student"], trainer.schedule(step, ITERATIONS))
            expected = trainer.step(trainer.method, iter([(raw_labelled, raw_unlabelled)]), step, log)

            labelled, unlabelled = raw_labelled.to(trainer.device), raw_unlabelled.to(trainer.device)
            assert not unlabelled.inside.all()
            place = (step, 0, 0)
            torch.manual_seed(seed_for(config.train.seed, "step", *place))  # dropout
            optimiser.param_groups[0]["lr"] = LR * (1 - step / ITERATIONS) ** 0.9
            parts = example.train_step(
                student,
                teacher,
                RegionalContrast(),
                optimiser,
                (labelled.images, labelled.labels, unlabelled.images, unlabelled.inside),
                step,
                torch_generator(config.train.seed, "augment", *place),
                torch_generator(config.train.seed, "contrast", *place),
            )
            assert min(parts) > 0.01
            names = ("supervised", "unsupervised", "contrast")
            assert parts == pytest.approx([expected.parts[name].item() for name in names], rel=1e-6)
            assert sum(parts) == pytest.approx(expected.loss.item(), rel=1e-6)
    for ours, theirs in ((student, trainer.method.student), (teacher, trainer.method.evaluation_model)):
        weights = theirs.state_dict()
        for name, tensor in ours.state_dict().items():
            torch.testing.assert_close(tensor, weights[name], rtol=1e-6, atol=1e-7)


def test_it_trains_on_drawn_scenes_and_prints_its_score(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--labels=100", "--iterations=1", "--crop=32"]
    monkeypatch.setattr(sys, "argv", ["reco_classmix.py", *words])
    example.main()
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("step 0: labelled ")
    assert last.startswith("mean IoU of the teacher on 24 validation images: ")
