"""Trains on the CPU and on the pretended device, and reports both; a process that answers line by line.

Each line of input is a JSON list of settings; each line of output is a JSON object with what both runs logged
and which events the device counted.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pretend_device
import torch
from rich.console import Console
from torch import Tensor
from torch.utils._pytree import tree_map

import recoseg
from recoseg.config.load import load
from recoseg.runs.start import new_run, resumed_run
from recoseg.training import precision
from recoseg.training.run_folder import RunFolder
from recoseg.training.trainer import Trainer

COMMON = [
    "--data=scenes", "--data.height=32", "--data.width=32", "--data.num_train=8", "--data.num_val=2",
    "--augment.crop=32", "--model.encoder=resnet10_small",
    "--model.decoder_width=8", "--train.iterations=2", "--train.labelled_per_step=2",
    "--train.evaluate_every=2", "--train.log_every=1", "--train.workers=0", "--train.precision=float32",
]  # fmt: skip


def allow_device() -> None:
    """Let training choose the device, count the events of each step, and save the state from the host."""
    precision._DEVICES = (*precision._DEVICES, pretend_device.NAME)
    step, save = Trainer.step, torch.save

    def counted_step(self: Trainer, *args: Any, **settings: Any) -> Any:
        before = Counter(pretend_device.events)
        output = step(self, *args, **settings)
        steps.append(pretend_device.events - before)
        return output

    def save_from_host(values: Any, *args: Any, **settings: Any) -> None:
        on_host = tree_map(lambda value: value.cpu() if isinstance(value, Tensor) else value, values)
        save(on_host, *args, **settings)

    Trainer.step = counted_step  # type: ignore[method-assign]
    torch.save = save_from_host


steps: list[Counter[tuple[str, str]]] = []


def train(words: list[str], device: str, folder: Path) -> dict[str, Any]:
    """Train, resume for two more iterations, and predict an image; returns all numbers."""
    pretend_device.events.clear()
    steps.clear()
    words = [*COMMON, *words, f"--train.device={device}"]
    console = Console(quiet=True)
    new_run(load(None, words), folder).run(console)
    resumed_run(load(None, [*words, "--train.iterations=3"]), RunFolder.open(folder)).run(console)
    by_step = [counted(events) for events in steps]
    recorded = RunFolder(folder)
    run = recoseg.Run.open(folder)
    prediction = recoseg.load(folder, device=device)(run.dataset.image(run.val_keys[0]))
    return {
        "losses": [json.loads(line) for line in recorded.losses.read_text().splitlines()],
        "metrics": [json.loads(line) for line in recorded.metrics.read_text().splitlines()],
        "confidence": prediction.confidence.tolist(),
        "steps": by_step,
        "events": counted(pretend_device.events),
    }


def counted(events: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Counts by kind, then by place."""
    kinds: dict[str, dict[str, int]] = {}
    for (kind, place), count in sorted(events.items()):
        kinds.setdefault(kind, {})[place] = count
    return kinds


def train_on_both(words: list[str], folder: Path) -> dict[str, Any]:
    on_cpu = train(words, "cpu", folder / "cpu")
    with pretend_device.in_use():
        return {"cpu": on_cpu, "device": train(words, pretend_device.NAME, folder / "device")}


def main() -> None:
    torch.set_num_threads(1)
    pretend_device.install()
    allow_device()
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as folder:
            try:
                answer = train_on_both(json.loads(line), Path(folder))
            except Exception:
                answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
