"""Runs killed at random moments: each goes on to the very end that it would have had, and leaves nothing.

A slow test; RECOSEG_KILLS says how many kills (200), RECOSEG_KILLS_SEED which ones. By hand:
python tests/faults/test_kills.py FOLDER KILLS SEED
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

NETWORK = """
from torch import nn

def small(num_classes):
    convolution = nn.Conv2d(3, 8, 3, stride=4, padding=1)
    body = nn.Sequential(convolution, nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.1))
    return nn.Sequential(body, nn.Conv2d(8, num_classes, 1))
"""
SETTINGS = (
    "--no-page --data.height=32 --data.width=32 --data.num-train=8 --data.num-val=2 --split.labels=3 "
    "--split.random=true --augment.crop=32 --model.factory=network:small --train.iterations=12 "
    "--train.labelled-per-step=2 --train.evaluate-every=2 --train.log-every=1 --train.best-on=val"
)
METHODS = {
    "supervised": "--optimiser=adamw",
    "reco": "--method=mean_teacher --method.mix=classmix --method.trust-above=0.05 --contrast=reco "
    "--contrast.trust-above=0.05 --contrast.num-queries=8 --contrast.num-keys=16 "
    "--contrast.feature-channels=8",
}


@pytest.mark.slow
def test_kills_at_random_moments_give_equal_ends_and_leave_nothing(tmp_path) -> None:
    kills, seed = os.environ.get("RECOSEG_KILLS", "200"), os.environ.get("RECOSEG_KILLS_SEED", "0")
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path), kills, seed], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kills"] == told["equal ends"] == int(kills)


class Driver:
    """Starts commands in forks of a process that has imported everything, so that a kill costs no seconds.

    What a killed process leaves on the disk does not depend on how it was started.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draws = folder, random.Random(seed)
        self.seconds = dict.fromkeys(METHODS, 0.0)
        self.moments: Counter[str] = Counter()

    def start(self, path: Path, method: str) -> int:
        """A process that begins the run in `path`, or goes on with it if it is there."""
        from recoseg.cli.main import main
        from recoseg.training.run_folder import RunFolder

        words = f"--resume {path} --no-page" if RunFolder(path).is_run() else f"--out {path} {SETTINGS}"
        more = "" if RunFolder(path).is_run() else METHODS[method]
        process = os.fork()
        if process == 0:
            code = 70
            try:
                os.dup2(os.open(self.folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
                os.dup2(1, 2)
                code = main(["train", *words.split(), *more.split()])
                sys.stdout.flush()
            finally:
                os._exit(code)
        return process

    def finish(self, path: Path, method: str) -> None:
        _, status = os.waitpid(self.start(path, method), 0)
        assert status == 0, (self.folder / "said.txt").read_text()

    def whole(self) -> None:
        """The runs that nobody disturbs."""
        for method in METHODS:
            begun = time.monotonic()
            self.finish(self.folder / method, method)
            self.seconds[method] = time.monotonic() - begun

    def kill_once(self, path: Path, method: str) -> bool:
        """Begin the run or go on with it, and kill that at a random moment; False if it was done before."""
        process = self.start(path, method)
        time.sleep(self.draws.uniform(0, self.seconds[method]))
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        assert status in (0, signal.SIGKILL), (self.folder / "said.txt").read_text()
        return status == signal.SIGKILL

    def moment(self, path: Path) -> str:
        """Where a kill found the run, for the count."""
        from recoseg.training.run_folder import RunFolder

        if list(path.glob(".*.part")):
            return "while a file was written"
        if not RunFolder(path).is_run():
            return "before it was a run"
        return "with a state" if (path / "state.pt").is_file() else "before the first state"

    def require_equal(self, path: Path, method: str) -> None:
        """The end of an undisturbed run, and no file more."""
        from recoseg.training.run_folder import RunFolder

        wanted, found = self.folder / method, path
        for name in ("metrics.jsonl", "weights.safetensors", "best.safetensors", "config.yaml", "split.json"):
            assert (wanted / name).read_bytes() == (found / name).read_bytes(), f"{found / name} differs"
        assert losses(wanted) == losses(found), f"{found}/losses.jsonl differs"
        assert names(wanted) == names(found), f"{found} holds {names(found)}"
        assert not RunFolder(found).is_in_use()

    def run(self, kills: int) -> None:
        self.whole()
        done, number = 0, 0
        while done < kills:
            number += 1
            method = list(METHODS)[number % len(METHODS)]
            path = self.folder / f"run{number}"
            while done < kills and self.kill_once(path, method):
                done += 1
                self.moments[self.moment(path)] += 1
                end = self.folder / "end"  # of this kill, while the run itself is killed again
                if path.exists():
                    shutil.copytree(path, end)
                self.finish(end, method)
                self.require_equal(end, method)
                shutil.rmtree(end)
            self.finish(path, method)
            self.require_equal(path, method)
            shutil.rmtree(path)
        print(json.dumps({"kills": done, "equal ends": done, "runs": number, **self.moments}))


def names(path: Path) -> set[str]:
    """All that lies in a run folder; every start writes a file of events of its own."""
    return {file.name for file in path.rglob("*") if not file.name.startswith("events.out")}


def losses(path: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (path / "losses.jsonl").read_text().splitlines()]
    return [{name: line[name] for name in line if name not in ("seconds", "waited")} for line in lines]


def drive(folder: Path, kills: int, seed: int) -> None:
    import torch
    import torch._dynamo  # which the first optimiser imports, for seconds

    import recoseg.cli.train  # noqa: F401

    torch.set_num_threads(1)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    (folder / "network.py").write_text(NETWORK)
    Driver(folder, seed).run(kills)


if __name__ == "__main__":
    drive(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
