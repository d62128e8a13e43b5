"""Time to accuracy: mean IoU that a config reaches in so many processor-minutes, now and in another version.

    python benchmarks/minutes.py --config small_camvid --data ../shared/data/camvid --against HEAD~20

Each budget is a run of its own, on one thread, whose number of iterations fills it: a few timed steps of each
version tell how many that is. Both versions train at the same moment, so that whatever else the machine does
falls on both alike. Words after `--` are settings of both: `-- --method mean_teacher --contrast reco`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PROBE = (5, 25)  # iterations of the two runs whose difference tells the time of a step
SETTINGS = ("--split.labels", "20", "--split.seed", "10", "--train.seed", "10")  # not those that are reported


@dataclass(frozen=True)
class Version:
    name: str
    path: Path  # a work tree of it

    def train(self, words: list[str], iterations: int, out: Path) -> float:
        """Processor seconds of a run, without what starting Python takes."""
        command = [sys.executable, "-P", "-m", "recoseg", "train", *words, "--out", str(out), "--no-page"]
        command += ["--train.iterations", str(iterations), "--train.evaluate_every", str(iterations)]
        environment = {**os.environ, "PYTHONPATH": str(self.path), "OMP_NUM_THREADS": "1"}
        with (out.parent / f"{out.name}.log").open("w") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=out.parent)
            _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{self.name}: training failed; see {log.name}")
        return usage.ru_utime + usage.ru_stime

    def seconds_per_step(self, words: list[str], out: Path) -> float:
        seconds = [self.train(words, count, out / f"{self.name}-probe-{count}") for count in PROBE]
        return (seconds[1] - seconds[0]) / (PROBE[1] - PROBE[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--config", default="small_camvid")
    parser.add_argument("--data", default=str(REPOSITORY.parent / "shared" / "data" / "camvid"))
    parser.add_argument("--against", metavar="REVISION", help="a git revision to compare with")
    parser.add_argument("--minutes", type=float, nargs="+", default=[2, 5, 10, 20])
    parser.add_argument("--val", type=int, default=40, metavar="N", help="validation images that are scored")
    parser.add_argument("settings", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        versions = [Version("now", REPOSITORY)]
        if arguments.against:
            versions.append(Version("before", checked_out(arguments.against, out / "before")))
        data = fewer_to_validate(Path(arguments.data), out / "data", arguments.val)
        words = ["--config", arguments.config, "--data", str(data), *SETTINGS, *arguments.settings]
        try:
            compare(versions, words, arguments.minutes, out)
        finally:
            if arguments.against:
                git("worktree", "remove", "--force", str(out / "before"))


def compare(versions: list[Version], words: list[str], budgets: list[float], out: Path) -> None:
    with ThreadPoolExecutor(len(versions)) as pool:
        steps = list(pool.map(lambda version: version.seconds_per_step(words, out), versions))
        for version, seconds in zip(versions, steps, strict=True):
            print(f"{version.name:>7}: {1000 * seconds:.0f} processor ms a step", flush=True)
        print(f"{'minutes':>7} " + " ".join(f"{version.name:>21}" for version in versions))
        for minutes in budgets:
            counts = [max(1, round(60 * minutes / seconds)) for seconds in steps]
            folders = [out / f"{version.name}-{minutes:g}" for version in versions]
            list(pool.map(lambda v, c, f: v.train(words, c, f), versions, counts, folders))
            cells = []
            for count, run in zip(counts, folders, strict=True):
                score = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["mean_iou"]
                cells.append(f"{100 * score:5.1f} % ({count:,} steps)")
            print(f"{minutes:>7g} " + " ".join(f"{cell:>21}" for cell in cells), flush=True)


def fewer_to_validate(source: Path, target: Path, count: int) -> Path:
    """The dataset by links, with every so many of its validation images: scoring is not what is timed."""
    target.mkdir()
    for path in source.resolve().iterdir():
        if path.name != "val.txt":
            (target / path.name).symlink_to(path)
    keys = (source / "val.txt").read_text().splitlines()
    chosen = [keys[number * len(keys) // count] for number in range(min(count, len(keys)))]
    (target / "val.txt").write_text("\n".join(chosen) + "\n")
    return target


def checked_out(revision: str, path: Path) -> Path:
    git("worktree", "add", "--detach", str(path), revision)
    return path


def git(*words: str) -> None:
    subprocess.run(["git", "-C", str(REPOSITORY), *words], check=True, capture_output=True)


if __name__ == "__main__":
    main()
