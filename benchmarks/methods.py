"""What a step of each method costs, in time and memory, against a supervised step on the same labelled crops.

    python benchmarks/methods.py            prints a table
    python benchmarks/methods.py --write    keeps it where recoseg methods reads it

MobileNetV2, 2 labelled and 2 unlabelled crops of 256 x 256, one thread. Every method takes turns with
Supervised in one process, and processor time is counted; memory is the peak of a process of its own. A second
row has the contrast on top. On a busy machine ratios of processor time still hold to some per cent.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from _side_by_side import ratio, side_by_side
from step import new_trainer, peak_megabytes, quiet_log, steps

from recoseg.methods import METHODS, costs

ROUNDS = 4


def new_step(method: str, folder: Path, *, contrast: bool) -> Callable[[], None]:
    trainer = new_trainer("small", method, folder, contrast=contrast)
    walk = steps(trainer, quiet_log(trainer))
    return lambda: next(walk)


def measured(method: str, *, contrast: bool) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        actions = {
            "supervised": new_step("supervised", Path(folder), contrast=False),
            "method": new_step(method, Path(folder), contrast=contrast),
        }
        seconds = side_by_side(actions, rounds=ROUNDS, clock=time.process_time)
    memory = peak_megabytes("small", method, contrast=contrast) / peak_megabytes(
        "small", "supervised", contrast=False
    )
    return {"time": round(ratio(seconds, "method", "supervised"), 2), "memory": round(memory, 2)}


def main(words: list[str]) -> None:
    torch.set_num_threads(1)
    found = {}
    for name in METHODS:
        found[name] = measured(name, contrast=False)
        found[f"reco-{name}"] = measured(name, contrast=True)
        for row in (name, f"reco-{name}"):
            print(f"{row:18} time {found[row]['time']:.2f}, memory {found[row]['memory']:.2f}", flush=True)
    if "--write" in words:
        costs.FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
