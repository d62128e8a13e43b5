"""What CONTRIBUTING says of adding things is all there is to it: toys are added by those lines alone."""

from __future__ import annotations

import json
from typing import Literal

import pytest
import torch
from msgspec import defstruct
from torch.optim import Optimizer

from recoseg.cli.main import main
from recoseg.config import parse, settings
from recoseg.config.method_settings import MethodKind
from recoseg.config.setting import Kind, NonNegative, Positive, fields
from recoseg.config.settings import RunConfig
from recoseg.config.train_settings import Optimiser
from recoseg.methods import METHODS, Method
from recoseg.runs.build import COLOURS
from recoseg.training.optimisers import OPTIMISERS, SCHEDULES

SMALL = [
    "--data.height=32", "--data.width=32", "--data.num-train=4", "--data.num-val=2", "--augment.crop=32",
    "--model.decoder-width=8", "--model.separable=true", "--train.iterations=2", "--train.evaluate-every=2",
    "--train.log-every=1",
]  # fmt: skip


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def add_to_config(monkeypatch, section: str, kind: type[Kind]) -> None:
    """`kind`, added to RunConfig's union."""
    field = next(field for field in fields(RunConfig) if field.name == section)
    larger = defstruct(
        "RunConfig",
        [(section, field.type | kind, field.default)],
        bases=(RunConfig,),
        frozen=True,
        kw_only=True,
    )
    monkeypatch.setattr(parse, "RunConfig", larger)
    monkeypatch.setitem(settings.KINDS[section], kind.__struct_config__.tag, kind)


class ToyMethod(MethodKind, frozen=True, kw_only=True, tag="toy"):
    """Labels, and a loss of its own."""

    #: what is added to the loss
    extra: NonNegative = 1.0


class Toy(Method):
    def __init__(self, student, *, extra):
        super().__init__(student)
        self.extra = extra

    def step(self, labelled, unlabelled, *, iteration, generator):
        return self.supervised_step(labelled).plus("extra", torch.tensor(self.extra))


def test_a_method_is_its_file_its_line_and_its_settings(in_folder, monkeypatch) -> None:
    add_to_config(monkeypatch, "method", ToyMethod)
    monkeypatch.setitem(METHODS, "toy", Toy)
    words = ["--method", "toy", "--method.extra", "0.25", "--contrast", "reco", *SMALL]
    assert main(["train", "--out", "run", "--no-page", *words]) == 0
    losses = [json.loads(line) for line in (in_folder / "run" / "losses.jsonl").read_text().splitlines()]
    assert [line["extra"] for line in losses] == [0.25, 0.25]
    assert all("contrast" in line for line in losses)


class ToyOptimiser(Optimiser, frozen=True, kw_only=True, tag="toy"):
    """Does nothing but shrink the weights."""

    lr: Positive = 0.1
    weight_decay: NonNegative = 0.0
    schedule: Literal["poly", "cosine", "steps"] = "steps"
    #: of steps
    drop: Positive = 0.5
    #: what weights are multiplied by
    by: Positive = 0.5


class Shrink(Optimizer):
    def __init__(self, groups, *, by):
        super().__init__(groups, {"by": by})

    def step(self, closure=None):
        for group in self.param_groups:
            with torch.no_grad():
                torch._foreach_mul_(group["params"], group["by"])


def test_an_optimiser_and_a_schedule_are_a_line_each(in_folder, monkeypatch) -> None:
    add_to_config(monkeypatch, "optimiser", ToyOptimiser)
    monkeypatch.setitem(OPTIMISERS, "toy", Shrink)
    monkeypatch.setitem(
        SCHEDULES, "steps", (lambda iteration, iterations, *, drop: drop**iteration, ("drop",))
    )
    words = ["--optimiser", "toy", "--optimiser.by", "0.5", *SMALL]
    assert main(["train", "--out", "run", "--no-page", *words]) == 0
    losses = [json.loads(line) for line in (in_folder / "run" / "losses.jsonl").read_text().splitlines()]
    assert [line["lr"] for line in losses] == [0.1, 0.05]


def test_a_change_of_colour_is_a_line(in_folder, monkeypatch) -> None:
    calls = []

    def black(images, generator):
        calls.append(images.shape)
        return images * 0

    monkeypatch.setattr("recoseg.runs.build.COLOURS", [*COLOURS, lambda augment: black])
    assert main(["train", "--out", "run", "--no-page", *SMALL]) == 0
    assert len(calls) == 2
