"""One step of the trainer against its floor, and the share of each of its phases.

    python benchmarks/step.py                ClassMix on the small network and the paper's
    python benchmarks/step.py small vat cct  other methods (METHODS)
    python benchmarks/step.py small vat plain    without the contrast
    python benchmarks/step.py small          MobileNetV2, decoder 128, 2 + 2 crops of 256 x 256
    python benchmarks/step.py paper          ResNet-101, decoder 256, 2 + 2 crops of 512 x 512

The floor is what no implementation of the method can avoid: its networks' own passes, forward and backward,
each on as many crops as in a step. They are recorded in one step and run again on the same inputs, without
anything between them. Floor and step take turns in one process. The step has all that training has: loading,
augmentation, pseudo-labels, mix, losses, contrast, optimiser, moving average. Memory is the peak of the
resident set of a process of its own that does some steps. On a busy machine the ratio means little.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from _side_by_side import milliseconds, ratio, side_by_side
from rich.console import Console
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from recoseg.config import load
from recoseg.config.settings import KINDS
from recoseg.data.dataset import Dataset
from recoseg.kept_memory import keep_freed_memory
from recoseg.methods import METHODS as OURS
from recoseg.methods.parts import second_networks
from recoseg.runs.start import build_trainer
from recoseg.seeds import numpy_generator
from recoseg.splits.label_split import LabelSplit
from recoseg.training.log import RunLog
from recoseg.training.optimisers import set_learning_rate
from recoseg.training.run_folder import RunFolder
from recoseg.training.trainer import Trainer
from recoseg.types import ClassInfo

NUM_CLASSES = 19
SIZES = {
    "small": (256, "--model.encoder mobilenet_v2 --model.decoder_width 128"),
    "small-separable": (
        256,
        "--model.encoder mobilenet_v2 --model.decoder_width 128 --model.separable true",
    ),
    "paper": (512, "--model.encoder resnet101 --model.decoder_width 256"),
}
METHODS = {
    **{name: f"--method {name}" for name in OURS},
    "classmix": "--method mean_teacher",
    "mean_teacher": "--method mean_teacher --method.mix none --method.consistency probabilities",
}
"""A name -> its settings."""
CONTRAST = "--contrast reco --contrast.keys shared"
PASSES = {
    "student_pass": "--method.student_pass=together",
    "supervised_start": "--method.supervised_start=0",
    "self_start": "--method.self_start=0",
}
"""Everything from the first step on, for the methods that have the setting."""
TRAIN = "--train.labelled_per_step 2 --train.log_every 1000000 --augment.scale 1,1"


class Blocks(Dataset):
    """Images in memory whose labels are blocks of all classes, twice as wide as a crop."""

    name = "blocks"

    def __init__(self, side: int, count: int = 8) -> None:
        self.side, self.count = side, count
        colours = numpy_generator(0, "colours").integers(0, 255, (NUM_CLASSES, 3))
        self.classes = ClassInfo(
            tuple(f"class {k}" for k in range(NUM_CLASSES)), tuple(tuple(map(int, c)) for c in colours)
        )
        self.cache = {key: self.draw(number) for number, key in enumerate(self.keys("train"))}

    def draw(self, number: int) -> tuple[Tensor, Tensor]:
        generator = numpy_generator(0, "blocks", number)
        blocks = generator.integers(0, NUM_CLASSES, (8, 16))
        labels = np.kron(blocks, np.ones((self.side // 8, self.side // 8), dtype=int))
        image = np.array(self.classes.palette)[labels] + generator.integers(-20, 20, (*labels.shape, 3))
        image = np.ascontiguousarray(np.moveaxis(image.clip(0, 255), 2, 0))
        return torch.from_numpy(image).to(torch.uint8), torch.from_numpy(labels).to(torch.uint8)

    def keys(self, subset: str) -> list[str]:
        return [f"{n}" for n in range(self.count)] if subset == "train" else ["0"]

    def has_labels(self, key: str) -> bool:
        return True

    def image(self, key: str) -> Tensor:
        return self.cache[key][0]

    def labels(self, key: str) -> Tensor:
        return self.cache[key][1]

    def fingerprint(self) -> str:
        return f"{self.side}"


def new_trainer(size: str, method: str, folder: Path, *, contrast: bool) -> Trainer:
    side, model = SIZES[size]
    words = f"{model} {METHODS[method]} {TRAIN} {CONTRAST if contrast else ''}".split()
    names = KINDS["method"][words[words.index("--method") + 1]].__struct_fields__
    words += [word for name, word in PASSES.items() if name in names]
    config, dataset = load(None, [*words, "--augment.crop", str(side)]), Blocks(side)
    keys = dataset.keys("train")
    split = LabelSplit(tuple(keys[:4]), tuple(keys[4:]), "blocks", dataset.fingerprint(), "benchmark")
    trainer = build_trainer(config, dataset, split, folder=lambda: RunFolder(folder))
    trainer.method.train()
    return trainer


def steps(trainer: Trainer, log: RunLog) -> Iterator[None]:
    """The loop of the trainer without evaluation: one turn a step."""
    iterations = trainer.train.iterations
    pairs = trainer.batches.from_iteration(0, iterations, workers=0)
    for iteration in range(iterations):
        factor = trainer.schedule(iteration, iterations)
        rate, *_ = [set_learning_rate(optimiser, factor) for optimiser in trainer.optimisers.values()]
        log.step(iteration + 1, trainer.step(trainer.method, pairs, iteration, log), rate)
        yield


@dataclass(frozen=True)
class Pass:
    """A call of a network, or of a part that a method calls by itself."""

    module: nn.Module
    inputs: tuple[Any, ...]
    with_gradient: bool
    learns: bool  # the module, not its inputs alone
    two_ways_back: bool  # apart: inputs and module learn from different losses

    def again(self) -> None:
        inputs = tree_map(_leaf, self.inputs)
        with torch.set_grad_enabled(self.with_gradient):
            outputs = [one for one in _tensors(self.module(*inputs)) if one.requires_grad]
        asking = [one for one in _tensors(inputs) if one.requires_grad]
        learning = [one for one in self.module.parameters() if one.requires_grad and self.learns]
        ways = [asking, learning] if self.two_ways_back else [asking + learning]
        given = [torch.full_like(one, 1e-6) for one in outputs]
        for leaves in ways if outputs else ():
            torch.autograd.grad(outputs, leaves, given, retain_graph=self.two_ways_back, allow_unused=True)


def recorded_passes(trainer: Trainer, step: Callable[[], None]) -> list[Pass]:
    """The outermost calls of modules in a step: a network, not its layers; no views and no contrast."""
    found: list[Pass] = []
    depth, for_two = 0, False
    one_pass = second_networks._OnePass.forward

    def noted_pass(*inputs: Any) -> Any:
        nonlocal for_two
        for_two = True
        answers = one_pass(*inputs)
        for_two = False
        return answers

    def enter(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        nonlocal depth
        if depth == 0:
            learns = any(parameter.requires_grad for parameter in module.parameters())
            found.append(Pass(module, tree_map(_leaf, inputs), torch.is_grad_enabled(), learns, for_two))
        depth += 1

    def leave(module: nn.Module, inputs: Any, output: Any) -> None:
        nonlocal depth
        depth -= 1

    method: Any = trainer.method
    parts = (getattr(method, name, None) for name in ("contrast", "view", "views"))
    others = {id(one) for part in parts if isinstance(part, nn.Module) for one in part.modules()}
    hooks = [
        hook
        for module in method.modules()
        if module is not method and id(module) not in others
        for hook in (module.register_forward_pre_hook(enter), module.register_forward_hook(leave))
    ]
    with patch.object(second_networks._OnePass, "forward", staticmethod(noted_pass)):
        step()
    for hook in hooks:
        hook.remove()
    return found


def _leaf(value: Any) -> Any:
    """Of its own, so that the way back ends at it."""
    if hasattr(value, "with_maps"):
        return value.with_maps([_leaf(one) for one in value.maps])
    return value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


def _tensors(value: Any) -> list[Tensor]:
    """In tuples, dictionaries and dataclasses, however deep."""
    if is_dataclass(value):
        value = [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, list | tuple):
        return [tensor for one in value for tensor in _tensors(one)]
    if isinstance(value, dict):
        return _tensors(list(value.values()))
    return [value] if isinstance(value, Tensor) else []


class Phases:
    """Notes how long the phases of a step take, while it is switched on."""

    def __init__(self, trainer: Trainer) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.is_on = False
        method: Any = trainer.method
        teacher = getattr(method, "teacher", None)
        places: list[tuple[Any, str, str]] = [
            (teacher, "logits", "teacher"),
            (method, "perturbed", "direction"),
            (getattr(method, "decoders", None), "forward", "auxiliary decoders"),
            (getattr(method, "view", None), "_altered", "view: mix, colour, flip"),
            (trainer, "weak_view", "colour of labelled crops"),
            (method.student, "forward", "student forward"),
            (getattr(method, "contrast", None), "forward", "contrast forward"),
            (trainer.precision, "backward", "backward"),
            (trainer.precision, "update", "optimiser"),
            (teacher, "update", "moving average"),
        ]
        for owner, name, phase in places:
            if not hasattr(owner, name):
                continue
            object.__setattr__(owner, name, self.noted(getattr(owner, name), phase))

    def noted(self, function: Callable[..., Any], phase: str) -> Callable[..., Any]:
        def run(*values: Any, **named: Any) -> Any:
            start = time.perf_counter()
            result = function(*values, **named)
            if self.is_on:
                self.seconds[phase] += time.perf_counter() - start
            return result

        return run


def compare(size: str, method: str, rounds: int, *, contrast: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trainer = new_trainer(size, method, Path(folder), contrast=contrast)
        walk = steps(trainer, quiet_log(trainer))
        next(walk)
        passes = recorded_passes(trainer, lambda: next(walk))
        phases = Phases(trainer)

        def floor() -> None:
            for one in passes:
                one.again()

        def step() -> None:
            phases.is_on = True
            next(walk)
            phases.is_on = False

        seconds = side_by_side({"floor": floor, "step": step}, rounds=rounds)
    fastest = min(seconds["step"]) / min(seconds["floor"])
    print(
        f"{size}, {method}{' + ReCo' if contrast else ''}: floor {milliseconds(seconds, 'floor'):.0f} ms, "
        f"step {milliseconds(seconds, 'step'):.0f} ms; "
        f"ratio {ratio(seconds, 'step', 'floor'):.3f}, of the fastest {fastest:.3f}"
    )
    total = sum(phases.seconds.values())
    for phase, spent in phases.seconds.items():
        print(f"  {phase:26} {100 * spent / total:5.1f} %")


def quiet_log(trainer: Trainer) -> RunLog:
    return trainer.new_log(0, Console(quiet=True))


def peak_megabytes(size: str, method: str, *, contrast: bool) -> float:
    command = [sys.executable, __file__, "--peak", size, method, "reco" if contrast else "none"]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_peak(size: str, method: str, contrast: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trainer = new_trainer(size, method, Path(folder), contrast=contrast == "reco")
        walk = steps(trainer, quiet_log(trainer))
        for _ in range(3):
            next(walk)
    # Not getrusage: its peak is inherited from the process that started this one.
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM")))


def main(words: list[str]) -> None:
    if words[:1] == ["--peak"]:
        keep_freed_memory()
        print_peak(*words[1:])
        return
    keep_freed_memory()  # as every command does; the floor gains by it as well
    print(f"{NUM_CLASSES} classes, {torch.get_num_threads()} threads")
    methods = [word for word in words if word in METHODS] or ["classmix"]
    sizes = [word for word in words if word in SIZES] or list(SIZES)
    contrast = "plain" not in words
    for size, method in product(sizes, methods):
        compare(size, method, rounds=4 if size == "paper" else 8, contrast=contrast)
        if not contrast:
            continue
        alone, both = (peak_megabytes(size, method, contrast=contrast) for contrast in (False, True))
        print(f"  peak memory: {method} {alone:.0f} MB, + ReCo {both:.0f} MB, ratio {both / alone:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
