"""Minutes and memory of a run of each method in the profile small, with and without ReCo.

    python benchmarks/methods.py CAMVID            prints a table
    python benchmarks/methods.py CAMVID --write    keeps it where tables and recoseg methods read it
    python benchmarks/methods.py CAMVID gct reco-gct --write    of these rows; others stay as they are

CAMVID is the folder that `recoseg prepare camvid` makes. Each row of the grids `methods` and `feature-bank`
has a process of its own with one thread, one after the other. Steps at the end of the schedule are timed,
where all parts of a loss take part, and images that are scored; minutes are those of all steps and images of
a run. Memory is the peak of the process. All rows are measured in each of three rounds, of which the quickest
counts, since what else a machine does comes and goes. On a busy machine this means little.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from recoseg.experiments.plan.cells import cell_at
from recoseg.experiments.plan.grids import GRIDS
from recoseg.experiments.plan.profiles import load_profile
from recoseg.experiments.running.execute import machine
from recoseg.experiments.running.timing import probe
from recoseg.experiments.tables.results import COSTS_FILE, Cost, Costs, measured_costs
from recoseg.files import write_whole
from recoseg.kept_memory import keep_freed_memory

PROFILE, COLUMN, ROUNDS = "small", "camvid-20", 3


def in_this_process(row: str, camvid: Path) -> Cost:
    keep_freed_memory()  # as every command does
    cell = cell_at(
        load_profile(PROFILE), COLUMN, row, 0, out=Path(), data={"camvid": str(camvid)}, lists=None
    )
    seconds = probe(cell, threads=1).seconds
    # Not getrusage: its peak is inherited from the process that started this one.
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return Cost(minutes=round(seconds / 60, 1), gigabytes=round(peak * 1024 / 1e9, 2))


def measured(row: str, camvid: Path) -> Cost:
    command = [sys.executable, __file__, str(camvid), "--row", row]
    return Cost(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main(words: list[str]) -> None:
    camvid = Path(words[0]).resolve()
    if "--row" in words:
        print(json.dumps(asdict(in_this_process(words[-1], camvid))))
        return
    every = dict.fromkeys([*GRIDS["methods"].rows, *GRIDS["feature-bank"].rows])
    only = [word for word in words[1:] if not word.startswith("--")] or list(every)
    unknown = ", ".join(row for row in only if row not in every)
    if unknown:
        raise SystemExit(f"no such rows: {unknown}")
    here, known = machine(1, torch.device("cpu")), measured_costs()
    rows = dict(known.rows) if known.machine == here else {}
    rounds: dict[str, list[Cost]] = {row: [] for row in only}
    for _ in range(ROUNDS):
        for row, costs in rounds.items():
            costs.append(measured(row, camvid))
            print(f"{row:20} {costs[-1].minutes:5.1f} minutes, {costs[-1].gigabytes:.2f} GB", flush=True)
    for row, costs in rounds.items():
        rows[row] = Cost(min(cost.minutes for cost in costs), max(cost.gigabytes for cost in costs))
    missing = ", ".join(row for row in every if row not in rows)
    if missing and "--write" in words:
        raise SystemExit(
            f"not written: this is another machine than before, and these were not measured: {missing}"
        )
    if "--write" in words:
        in_order = {row: rows[row] for row in every}
        write_whole(COSTS_FILE, json.dumps(asdict(Costs(PROFILE, COLUMN, here, in_order)), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
