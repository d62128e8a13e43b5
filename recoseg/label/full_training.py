"""Full training on what was labelled: the ordinary engine in a process of its own, on a copy of labels."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.config.load import load as load_config
from recoseg.data.image_files import FULL_DEPTH
from recoseg.data.list_files import list_text
from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.label.actions import NotNowError
from recoseg.label.label_folder import LabelFolder, png_of
from recoseg.label.messages import Evaluated, TrainedRun
from recoseg.training.run_folder import RunFolder
from recoseg.types import IGNORE

CONFIG = "clicked_images"
_CHILD = Path(__file__).resolve().parents[1] / "cli" / "child.py"
_SECONDS_TO_END = 30
_NICENESS = 10


@dataclass(frozen=True)
class _Kept:
    """The latest training, as a restart needs it."""

    phase: str = "none"  # none, running, stopped, finished, failed
    message: str = ""
    number: int = 0  # of the run
    classes: tuple[int, ...] = ()  # ids, in the order of the network's outputs
    evaluated: bool = False
    quick: float | None = None  # accuracy on held-back points
    full: float | None = None
    shown: tuple[int, tuple[int, ...]] | None = None  # number and classes of the run that predicts


class FullTraining:
    """At most one at a time. One thread may start and stop it; another calls `poll` while it `is_active`."""

    def __init__(self, folder: LabelFolder, *, settings: tuple[str, ...] = ()) -> None:
        self.folder, self.settings = folder, settings
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped: subprocess.Popen[bytes] | None = None  # it still saves its state
        self._closed = False
        self._lock = threading.Lock()
        self._kept = self._read()
        self._steps = 0
        with suppress(UserError, OSError):
            self._steps = load_config(CONFIG, list(settings)).train.iterations

    def _run(self, number: int) -> RunFolder:
        return RunFolder(self.folder.path("training", f"run_{number:03d}"))

    @property
    def run(self) -> RunFolder:
        return self._run(self._kept.number)

    @property
    def is_active(self) -> bool:
        return self._kept.phase == "running"

    @property
    def _trained(self) -> TrainedRun:
        return TrainedRun(str(self.run.path), self._kept.classes)

    @property
    def shown(self) -> TrainedRun | None:
        """The run that the learner predicts with."""
        if self._kept.shown is None:
            return None
        number, classes = self._kept.shown
        return TrainedRun(str(self._run(number).path), classes)

    @property
    def unevaluated(self) -> TrainedRun | None:
        """A run that ended and that the learner still has to evaluate."""
        kept = self._kept
        has_ended = kept.phase in ("finished", "stopped") and self.run.weights.is_file()
        return self._trained if has_ended and not kept.evaluated else None

    def start(self) -> None:
        """Start a run; resume it after `stop`, unless classes were added or deleted meanwhile."""
        kept = self._kept
        if kept.phase == "running":
            raise NotNowError("full training runs already; stop it first, or wait")
        classes = tuple(one.id for one in self.folder.state.classes())
        if kept.phase == "stopped" and kept.classes == classes:
            begun = replace(kept, phase="running", message="", evaluated=False)
        else:
            self._copy_labels()
            numbers = [int(path.name[4:]) for path in self.run.path.parent.glob("run_[0-9]*")]
            number = max(numbers, default=0) + 1  # also where training.json is lost
            begun = _Kept("running", number=number, classes=classes, shown=kept.shown)
        with self._lock:
            self._keep(begun)
        self.poll()

    def stop(self) -> None:
        with self._lock:
            if self._kept.phase != "running":
                raise NotNowError("no full training runs")
            self._keep(replace(self._kept, phase="stopped"))
            self._stopped, self._process = self._process or self._stopped, None
            if self._stopped is not None:
                self._stopped.terminate()  # it saves its state

    def discard(self) -> None:
        """Delete a training that does not run, and its predictions; labels and earlier trainings stay."""
        with self._lock:
            kept = self._kept
            if kept.phase in ("none", "running"):
                raise NotNowError("there is no stopped or finished training to discard")
            if self._stopped is not None:  # it still saves its state
                self._stopped.kill()
                self._stopped.wait()
                self._stopped = None
            shutil.rmtree(self.run.path, ignore_errors=True)
            is_shown = kept.shown is not None and kept.shown[0] == kept.number
            self._keep(_Kept(shown=None if is_shown else kept.shown))

    def poll(self) -> None:
        """Start the process that should run, also after a restart of the server; take note of its end."""
        with self._lock:
            if self._closed or self._kept.phase != "running":
                return
            if self._process is None:
                is_ending = self._stopped is not None and self._stopped.poll() is None
                if not is_ending and not self.run.is_in_use():  # by the process of a server that was killed
                    self._stopped, self._process = None, self._begin()
            elif (code := self._process.poll()) is not None:
                self._process = None
                phase = "finished" if code == 0 else "failed"
                self._keep(replace(self._kept, phase=phase, message=self._error_message(code)))

    def close(self) -> None:
        """End the process. The next start of the server resumes it."""
        with self._lock:
            self._closed = True
        process = self._process or self._stopped
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_END)

    def evaluated(self, result: Evaluated) -> None:
        """Show the run if it is better than the quick learner, or if no points were held back."""
        with self._lock:
            kept = self._kept
            if result.run == self._trained and not result.error:
                quick, full = result.quick, result.full
                is_better = quick is None or full is None or full > quick
                shown = (kept.number, kept.classes) if is_better else None
                self._keep(replace(kept, evaluated=True, quick=quick, full=full, shown=shown))
                return
            if result.run == self._trained:
                kept = replace(kept, phase="failed", message=result.error, evaluated=True)
            self._keep(replace(kept, shown=None) if result.error and result.run == self.shown else kept)

    def as_plain(self) -> dict[str, Any]:
        kept = self._kept
        held_back = None
        if kept.quick is not None and kept.full is not None:
            held_back = {"quick": kept.quick, "full": kept.full}
        return {
            "phase": kept.phase,
            "message": kept.message,
            "step": self._step(),
            "steps": self._steps,
            "held_back": held_back,
            "used": kept.shown is not None and kept.shown[0] == kept.number,
        }

    def _step(self) -> int:
        with suppress(OSError, ValueError, IndexError, KeyError):
            last = self.run.losses.read_bytes().rstrip(b"\n").rsplit(b"\n", 1)[-1]
            return int(json.loads(last)["iteration"])
        return 0

    # The process

    def _begin(self) -> subprocess.Popen[bytes]:
        if self.run.state.is_file():
            words = ["--resume", str(self.run.path)]
        else:
            shutil.rmtree(self.run.path, ignore_errors=True)
            data = self.folder.path("training", "data")
            depth = f"--data.bit_depth={FULL_DEPTH}"  # as the page shows 16-bit images
            words = ["--config", CONFIG, "--data", str(data), depth, "--out", str(self.run.path)]
        with self._log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-P", str(_CHILD), "train", *words, "--no-page", *self.settings],
                stdin=subprocess.PIPE,  # closed when we end, however that is: then it saves and ends too
                stdout=output,
                stderr=subprocess.STDOUT,
                env={"OMP_NUM_THREADS": "1", **os.environ},
                start_new_session=True,
                preexec_fn=lambda: os.nice(_NICENESS) and None,
            )

    @property
    def _log(self) -> Path:
        return self.folder.path("training", "log.txt")

    def _error_message(self, code: int) -> str:
        if code == 0:
            return ""
        with suppress(OSError):
            lines = self._log.read_text(errors="replace").strip().splitlines()
            return lines[-1][:300] if lines else ""
        return f"it ended with exit code {code}"

    # Its data

    def _copy_labels(self) -> None:
        """A folder dataset with the images and the current labels, without held-back points."""
        data = self.folder.path("training", "data")
        shutil.rmtree(data, ignore_errors=True)
        (data / "labels").mkdir(parents=True)
        (data / "images").symlink_to((self.folder.root / "images").resolve(), target_is_directory=True)
        labelled = []
        for key in self.folder.labelled():
            indices = self.folder.class_indices(key)
            indices = np.where(self.folder.labels(key).held_back, np.uint8(IGNORE), indices)
            if (indices != IGNORE).any():
                path = data / "labels" / f"{key}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png_of(indices))
                labelled.append(key)
        if not labelled:
            raise NotNowError("nothing is labelled yet, so there is nothing to learn from")
        write_whole(data / "classes.json", self.folder.class_file())
        readable = [key for key in self.folder.images if all(self.folder.size(key))]
        write_whole(data / "train.txt", list_text(readable))
        write_whole(data / "val.txt", list_text(labelled))  # its score is not honest, and not used

    @property
    def _file(self) -> Path:
        return self.folder.path("training", "training.json")

    def _keep(self, kept: _Kept) -> None:
        self._kept = kept
        self._file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self._file, json.dumps(asdict(kept)))

    def _read(self) -> _Kept:
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
            shown = content["shown"]
            shown = shown and (int(shown[0]), tuple(shown[1]))
            return _Kept(**content | {"classes": tuple(content["classes"]), "shown": shown})
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return _Kept()
