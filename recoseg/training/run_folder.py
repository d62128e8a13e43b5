"""The folder of a run: what is in it, under which name, who may write to it, and who may go on with it."""

from __future__ import annotations

import fcntl
import io
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from recoseg.errors import UserError
from recoseg.files import UNFINISHED, naming, real, write_whole
from recoseg.plain_scores import PlainScores, require_classes
from recoseg.records import Count, NonNegative, Share, convert, read_records

if TYPE_CHECKING:
    from recoseg.splits.label_split import LabelSplit

_SECONDS_TO_LOOK = 0.5
"""Somebody who only looks whether a folder is in use holds its lock for far less."""


class _SelectionScore(TypedDict):
    on: str
    mean_iou: Share | None


class _MetricsLine(PlainScores):
    iteration: Count
    losses: dict[str, float | None]
    selection: NotRequired[_SelectionScore]


class _LossesLine(TypedDict):
    """Beside these there are the parts of the loss, by their names."""

    iteration: Count
    lr: float
    loss: float | None
    stats: NotRequired[dict[str, float | None]]
    seconds: NonNegative
    waited: NotRequired[NonNegative]


@dataclass(frozen=True)
class RunFolder:
    """Config, split, logs, weights, state to resume from, and the page, each under its name."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def split(self) -> Path:
        return self.path / "split.json"

    @property
    def metrics(self) -> Path:
        """One line an evaluation: scores and mean losses since the one before."""
        return self.path / "metrics.jsonl"

    @property
    def losses(self) -> Path:
        """One line every few iterations: losses, learning rate, seconds."""
        return self.path / "losses.jsonl"

    @property
    def weights(self) -> Path:
        return self.path / "weights.safetensors"

    @property
    def best_weights(self) -> Path:
        """The weights that scored best on the images kept for that choice, where there are such."""
        return self.path / "best.safetensors"

    @property
    def state(self) -> Path:
        return self.path / "state.pt"

    @property
    def survey(self) -> Path:
        """Scores and class relations of the weights, kept for pages and pictures."""
        return self.path / "survey.json"

    @property
    def evaluations(self) -> Path:
        """The folder of the scores that `recoseg evaluate` wrote."""
        return self.path / "evaluation"

    @property
    def page(self) -> Path:
        return self.path / "report" / "index.html"

    @classmethod
    def create(cls, path: Path, *, config_yaml: str, split: LabelSplit) -> RunFolder:
        """A new run. The folder must be new or empty: nobody's results are overwritten.

        Of several processes that begin one at the same time, one does; it may die at any moment.
        """
        folder = cls(path)
        folder.require_free()
        path.mkdir(parents=True, exist_ok=True)
        with closing(folder.lock()):
            folder.require_free()  # another process may have been faster
            split.save(folder.split)
            write_whole(folder.config, config_yaml)  # last: a folder with a config is a run
        return folder

    def require_free(self) -> None:
        if self.is_free():
            return
        if self.is_run():
            raise UserError(
                f"{self.path} already holds a run: go on with --resume {self.path}, or choose another --out"
            )
        raise UserError(f"{self.path} exists and is not an empty folder; choose another --out")

    def is_free(self) -> bool:
        """Whether a run may begin there: there is nothing, or what `create` leaves when it dies half-way.

        A split without a lock beside it is somebody's own.
        """
        try:
            names = {file.name for file in self.path.iterdir() if not UNFINISHED.fullmatch(file.name)}
        except FileNotFoundError:
            return not self.path.is_symlink()  # which would lead nowhere
        except NotADirectoryError:
            if not os.path.lexists(self.path):  # something above it is a file: that is what to say
                raise
            return False
        return names in (set(), {".lock"}, {".lock", self.split.name})

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing run."""
        folder = cls(path)
        if not path.is_dir():
            raise UserError(f"no run folder at {path}")
        if not folder.is_run():
            missing = folder.split if folder.config.is_file() else folder.config
            raise UserError(f"{path} is not a run of recoseg: it has no {missing.name}")
        return folder

    def is_run(self) -> bool:
        """Whether it was made here: other programs have a config.yaml too."""
        return self.config.is_file() and self.split.is_file()

    def lock(self) -> io.BufferedRandom:
        """Claim the folder for this process; the claim ends with the returned file, or with the process."""
        file = open(self.path / ".lock", "a+b")  # noqa: PTH123, SIM115 (held open on purpose)
        end = time.monotonic() + _SECONDS_TO_LOOK
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except OSError as error:
                if time.monotonic() > end:
                    file.close()
                    raise UserError(f"{self.path} is in use by another process that trains there") from error
                time.sleep(0.05)

    def is_in_use(self) -> bool:
        """Whether a process trains there now. Writes nothing: the folder may be somebody else's."""
        try:
            with (self.path / ".lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # never claimed, or not for us to read
            return False
        return False

    def cut_logs(self, iteration: int) -> None:
        """Forget log lines after `iteration`: a resumed run writes them again."""
        for path, lines in ((self.metrics, self.read_metrics()), (self.losses, self.read_losses())):
            kept = [line for line in lines if line["iteration"] <= iteration]
            write_whole(path, "".join(json.dumps(line) + "\n" for line in kept))

    def read_metrics(self) -> list[dict[str, Any]]:
        """The lines of `metrics`, each a `_MetricsLine`; one that a crash cut short is passed over."""
        return _read_log(self.metrics, _MetricsLine, require_classes)

    def read_losses(self) -> list[dict[str, Any]]:
        """The lines of `losses`, each a `_LossesLine`; one that a crash cut short is passed over."""
        return _read_log(self.losses, dict[str, Any], _require_losses)


def _require_losses(line: Mapping[str, Any]) -> None:
    convert(line, _LossesLine)
    parts = {name: value for name, value in line.items() if name not in _LossesLine.__annotations__}
    convert(parts, dict[str, float | None])


def _read_log(path: Path, kind: Any, rule: Callable[[Any], object]) -> list[dict[str, Any]]:
    if not os.path.lexists(path):  # nothing is logged yet
        return []
    return read_records(
        path, kind, rule=rule, what="log", remedy="delete that line, or bring it back", is_log=True
    )


def append_line(path: Path, values: Mapping[str, object]) -> None:
    with naming(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(values) + "\n")
        file.flush()
        os.fsync(file.fileno())


HARMLESS = {"train.workers", "train.cache_gb", "train.device", "train.log_every", "data.root"}
"""Settings that change how a run is done, not what comes out of it."""


ITERATIONS = "train.iterations"


def require_same(begun: Mapping[str, object], now: Mapping[str, object]) -> None:
    """Settings by their dotted names: any difference that changes results is an error that lists them all.

    A setting that its section did not have yet when the run began came later, with what was done then as its
    default. A run may become longer.
    """
    before, after = begun.get(ITERATIONS), now.get(ITERATIONS)
    longer = isinstance(before, int) and isinstance(after, int) and after > before
    sections = {section(name) for name in begun}
    later = {name for name in now.keys() - begun.keys() if section(name) in sections}
    differences = [
        f"{name} {show(begun.get(name))} -> {show(now.get(name))}"
        for name in sorted(
            (begun.keys() | now.keys()) - HARMLESS - later - ({ITERATIONS} if longer else set())
        )
        if begun.get(name) != now.get(name)
    ]
    if differences:
        raise UserError(
            f"the run was begun with other settings: {'; '.join(differences)}. Start a new one with --out, "
            f"or leave them as they were; {', '.join(sorted(HARMLESS))} may change, and {ITERATIONS} may grow"
        )


def section(name: str) -> str:
    """What is before the dot; of a section that is left out, such as `contrast`, nothing."""
    return name.rpartition(".")[0]


def show(value: object) -> str:
    return "none" if value is None else str(value)


def run_names(paths: Sequence[str | Path]) -> list[str]:
    """The folders' names; with as many folders above as it takes to tell equal ones apart."""
    places = [real(Path(path)) for path in paths]
    for depth in range(1, 1 + max(len(place.parts) for place in places)):
        names = ["/".join(place.parts[-depth:]) for place in places]
        if len(set(names)) == len(set(places)):
            break
    return names
