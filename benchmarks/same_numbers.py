"""Whether this version computes what another one did: small runs of both, compared to the last bit.

    python benchmarks/same_numbers.py --against HEAD~1

Every run is made by the same commands in both work trees: losses, scores, weights, splits and the settings
that the run keeps must be equal; what only this version writes is named. For changes that move code about and
shall change nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
SCENES = ["--data", "scenes", "--data.height", "64", "--data.width", "96", "--data.num_train", "12",
          "--data.num_val", "4"]  # fmt: skip
COMMON = ["--config", "tiny_scenes", *SCENES, "--augment.crop", "48x64", "--train.iterations", "12",
          "--train.evaluate_every", "6", "--train.log_every", "1",
          "--train.labelled_per_step", "2"]  # fmt: skip
TEACHER = ["--method", "mean_teacher", "--method.supervised_start", "3"]
CONTRAST = ["--contrast", "reco", "--contrast.num_queries", "16", "--contrast.num_keys", "32"]
SETTING = "setting "
ORIGINS = ("made_from", "recoseg")  # what a file was made from, and by which version
RUNS = {
    "supervised": ["--split.labels", "4", "--augment.scale", "0.5,1.5", "--train.best_on", "labelled"],
    "averaged": ["--split.labels", "4", "--method.average", "0.9", "--train.class_weights", "root"],
    "cutout": ["--split.labels", "4", *TEACHER, "--method.mix", "cutout", "--augment.rare", "0.5"],
    "cutmix": ["--split.labels", "4", *TEACHER, "--method.mix", "cutmix", "--train.accumulate", "2",
               "--train.labelled_per_step", "4"],
    "classmix": ["--split.labels", "4", *TEACHER, "--method.pixel_above", "0.2"],
    "s4gan": ["--split.labels", "4", "--method", "s4gan", "--method.supervised_start", "3"],
    "contrast": ["--split.labels", "4", *TEACHER, *CONTRAST, "--contrast.keys", "per_query"],
    "shared": ["--split.labels", "4", *TEACHER, *CONTRAST, "--contrast.keys", "shared",
               "--method.student_pass", "together", "--contrast.hard_share", "0.25"],
    "points": ["--split.pixels", "1", *TEACHER, *CONTRAST, "--augment.scale", "0.75,1.25"],
    "adamw": ["--split.labels", "4", *CONTRAST, "--optimiser", "adamw", "--optimiser.lr", "0.001",
              "--model.encoder", "mobilenet_v2", "--model.rates", "fit", "--model.pooling_norm", "false"],
    "deeplab-v2": ["--split.labels", "4", "--model", "deeplab_v2", "--model.encoder", "resnet10_small",
                   "--train.workers", "2"],
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--against", metavar="REVISION", required=True)
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        git("worktree", "add", "--detach", str(out / "before"), arguments.against)
        try:
            differences = [line for name in arguments.only for line in compare(name, out)]
        finally:
            git("worktree", "remove", "--force", str(out / "before"))
    print("\n".join(differences) or f"{len(arguments.only)} runs: all equal")
    sys.exit(bool(differences))


def compare(name: str, out: Path) -> list[str]:
    """A line for each thing that differs."""
    runs = {}
    for version, tree in (("before", out / "before"), ("now", REPOSITORY)):
        runs[version] = run = out / version / "runs" / name
        run.parent.mkdir(parents=True, exist_ok=True)
        command(tree, run.parent, "train", *COMMON, *RUNS[name], "--out", str(run), "--no-page")
        command(tree, run.parent, "evaluate", str(run))
        command(tree, run.parent, "report", str(run))  # opens what was trained
    before, now = numbers(runs["before"]), numbers(runs["now"])
    new = [key for key in now if key not in before]
    print(f"{name}: {len(before)} things compared{'; new: ' + ', '.join(new) if new else ''}", flush=True)
    compared = [key for key in before | now if key not in new]
    return [f"{name}: {key} differs" for key in compared if before.get(key) != now.get(key)]


def numbers(run: Path) -> dict[str, Any]:
    """What a run folder holds, without times, places and versions."""
    found: dict[str, Any] = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.suffix == ".jsonl":
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
                found[f"{name} line {number + 1}"] = without_times(json.loads(line))
        elif path.suffix == ".json":
            content = json.loads(path.read_text(encoding="utf-8"))
            found |= {f"{name} {key}": value for key, value in content.items() if key not in ORIGINS}
        elif path.name == "config.yaml":
            found |= {
                f"{SETTING}{key}": value for key, value in flat(yaml.safe_load(path.read_text())).items()
            }
        elif path.suffix == ".safetensors":
            found |= {f"{name} {key}": value for key, value in tensors(path).items()}
    return found


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def tensors(path: Path) -> dict[str, bytes]:
    from safetensors.numpy import load_file

    return {key: value.tobytes() for key, value in load_file(path).items()}


def without_times(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if key not in ("seconds", "waited")}


def command(tree: Path, place: Path, *words: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "recoseg", *words], env=environment, cwd=place, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{tree}: recoseg {' '.join(words)} failed:\n{done.stdout}")


def git(*words: str) -> None:
    subprocess.run(["git", "-C", str(REPOSITORY), *words], check=True, capture_output=True)


if __name__ == "__main__":
    main()
