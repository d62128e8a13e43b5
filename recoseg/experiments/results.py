"""The result of a cell, as it is kept: in its run folder, and with others in one file of results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from recoseg.errors import UserError
from recoseg.files import write_whole

FILE = "result.json"
"""In the run folder of a cell that is done."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """Scores are shares from 0 to 1; those of a class are none where it is neither there nor predicted."""

    profile: str
    column: str
    row: str
    seed: int
    subset: str  # the images that were scored
    pixels: int  # of them that have a label: other sizes of the data are other tasks
    mean_iou: float
    accuracy: float
    boundary_iou: float | None
    boundary_f_score: float | None
    iou: Mapping[str, float | None]  # class -> IoU
    curve: tuple[tuple[int, float], ...]  # (iteration, mean IoU on validation images) while it was trained
    iterations: int
    seconds: float  # of training, with the evaluations on the way
    machine: str
    versions: str
    settings: Mapping[str, Any] = field(default_factory=dict)  # all of the run's, by dotted names

    @property
    def place(self) -> tuple[str, str, str, int]:
        return self.profile, self.column, self.row, self.seed

    def save(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self)) + "\n")

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Result:
        curve = tuple((int(iteration), float(score)) for iteration, score in plain["curve"])
        return cls(**{**plain, "curve": curve})


def load_result(path: Path) -> Result:
    return read_results(path)[0]


def read_results(path: Path) -> list[Result]:
    """The results in a file, one a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [Result.from_plain(json.loads(line)) for line in lines if line.strip()]
    except FileNotFoundError as error:
        raise UserError(f"no results at {path}") from error
    except (ValueError, TypeError, KeyError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not a file of results ({error})") from error


def add_results(path: Path, results: Iterable[Result]) -> None:
    """Put results into a file, in place of those of the same cells that it has; in the order of cells."""
    kept = {result.place: result for result in (read_results(path) if path.exists() else [])}
    kept |= {result.place: result for result in results}
    write_whole(path, "".join(json.dumps(asdict(kept[place])) + "\n" for place in sorted(kept)))
