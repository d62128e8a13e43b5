"""Full training on what was labelled: the ordinary engine in a process of its own, on a copy of labels."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
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
from recoseg.runs.run_folder import RunFolder
from recoseg.types import IGNORE

CONFIG = "clicked_images"
_CHILD = Path(__file__).resolve().parents[1] / "cli" / "child.py"
_SECONDS_BETWEEN_LOOKS = 1.0
_NICENESS = 10

Changed = Callable[[tuple[Path, list[int]] | None], None]


@dataclass(frozen=True)
class _Kept:
    """What is known of the latest training after a restart."""

    phase: str = "none"  # none, running, stopped, finished, failed
    message: str = ""
    number: int = 0  # of the run
    classes: tuple[int, ...] = ()  # ids, in the order of the network's outputs
    quick: float | None = None  # agreement on points held back
    full: float | None = None
    used: bool = False


class FullTraining:
    """At most one at a time. `changed` is called from a thread: with the run when it ends, else with None."""

    def __init__(self, folder: LabelFolder, changed: Changed, *, settings: tuple[str, ...] = ()) -> None:
        self.folder, self.changed, self.settings = folder, changed, settings
        self._process: subprocess.Popen[bytes] | None = None
        self._ending = False
        self._lock = threading.Lock()
        self._kept = self._read()

    @property
    def run(self) -> RunFolder:
        return RunFolder(self.folder.path("training", f"run_{self._kept.number:03d}"))

    @property
    def network(self) -> tuple[Path, list[int]] | None:
        """The run whose predictions are shown, and its classes."""
        return (self.run.path, list(self._kept.classes)) if self._kept.used else None

    def start(self) -> None:
        with self._lock:
            if self._kept.phase == "running":
                raise NotNowError("full training runs already; stop it first, or wait")
            classes = tuple(one.id for one in self.folder.state.classes())
            data = self._copied_labels()
            self._keep(_Kept("running", number=self._kept.number + 1, classes=classes))
            self._begin(["train", *self._words(data)])

    def stop(self) -> None:
        with self._lock:
            if self._process is None:
                raise NotNowError("no full training runs")
            self._keep(replace(self._kept, phase="stopped"))
            self._process.terminate()  # it saves its state

    def go_on(self) -> None:
        """After a restart: with what ran when the server ended."""
        with self._lock:
            if self._kept.phase == "running":
                begun = self.run.state.is_file()
                data = self.folder.path("training", "data")
                words = self._words(data)
                if not begun:
                    shutil.rmtree(self.run.path, ignore_errors=True)
                self._begin(["train", *(["--resume", str(self.run.path)] if begun else words)])

    def close(self) -> None:
        """It is asked to end, and goes on at the next start."""
        self._ending = True
        process = self._process
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(30)

    def judged(self, scores: dict[str, Any]) -> None:
        """What the learner says of the run that just ended."""
        if "error" in scores:
            self._keep(replace(self._kept, phase="failed", message=scores["error"]))
        else:
            quick, full = scores["quick"], scores["full"]
            better = quick is None or full is None or full > quick
            self._keep(replace(self._kept, quick=quick, full=full, used=better))
        self.changed(None)

    def as_plain(self) -> dict[str, Any]:
        kept, steps = self._kept, 0
        with suppress(UserError, OSError):
            steps = load_config(CONFIG, list(self.settings)).train.iterations
        held_back = None
        if kept.quick is not None and kept.full is not None:
            held_back = {"quick": kept.quick, "full": kept.full}
        return {
            "phase": kept.phase,
            "message": kept.message,
            "step": self._step(),
            "steps": steps,
            "held_back": held_back,
            "used": kept.used,
        }

    def _step(self) -> int:
        with suppress(OSError, ValueError, IndexError, KeyError):
            last = self.run.losses.read_bytes().rstrip(b"\n").rsplit(b"\n", 1)[-1]
            return int(json.loads(last)["iteration"])
        return 0

    # The process

    def _words(self, data: Path) -> list[str]:
        """Of a new run; it reads 16-bit images as the page does, which shows their whole range."""
        depth = f"--data.bit_depth={FULL_DEPTH}"
        return ["--config", CONFIG, "--data", str(data), depth, "--out", str(self.run.path)]

    def _begin(self, words: list[str]) -> None:
        log = self.folder.path("training", "log.txt")
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_CHILD), *words, "--no-page", *self.settings],
                stdin=subprocess.PIPE,  # closed when we end, however that is: then it saves and ends too
                stdout=output,
                stderr=subprocess.STDOUT,
                env={"OMP_NUM_THREADS": "1", **os.environ},
                start_new_session=True,
                preexec_fn=lambda: os.nice(_NICENESS) and None,
            )
        threading.Thread(target=self._watch, args=(self._process,), name="full training", daemon=True).start()

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        shown = -1
        while True:
            try:
                code = process.wait(_SECONDS_BETWEEN_LOOKS)
                break
            except subprocess.TimeoutExpired:
                step = self._step()
                if step != shown:
                    shown = step
                    self.changed(None)
        if self._ending:
            return
        with self._lock:
            self._process = None
            if self._kept.phase == "running":
                self._keep(
                    replace(
                        self._kept,
                        phase="finished" if code == 0 else "failed",
                        message=self._last_words(code),
                    )
                )
        ended = self._kept.phase in ("finished", "stopped") and self.run.weights.is_file()
        self.changed((self.run.path, list(self._kept.classes)) if ended else None)

    def _last_words(self, code: int) -> str:
        if code == 0:
            return ""
        with suppress(OSError):
            lines = self.folder.path("training", "log.txt").read_text(errors="replace").strip().splitlines()
            return lines[-1][:300] if lines else ""
        return f"it ended with exit code {code}"

    # Its data

    def _copied_labels(self) -> Path:
        """A folder dataset with the images of ours, and with today's labels but for the points held back."""
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
        write_whole(data / "train.txt", list_text(list(self.folder.images)))
        write_whole(data / "val.txt", list_text(labelled))  # its score is not honest, and not used
        return data

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
            return _Kept(**content | {"classes": tuple(content["classes"])})
        except (OSError, ValueError, KeyError, TypeError):
            return _Kept()
