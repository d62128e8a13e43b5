"""Numbers of the tables: results of our cells as files keep them, the paper's figures, measured costs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from recoseg.files import write_whole
from recoseg.records import Count, NonNegative, Share, read_record, read_records

RESULT_FILE = "result.json"
"""In the run folder of a cell that is done."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """Scores are shares from 0 to 1; those of a class are none where it is neither there nor predicted."""

    profile: str
    column: str
    row: str
    seed: Count
    subset: str  # the images that were scored
    pixels: Count  # of them that have a label: other sizes of the data are other tasks
    mean_iou: Share
    accuracy: Share
    boundary_iou: Share | None
    boundary_f_score: Share | None
    iou: dict[str, Share | None]  # class -> IoU
    curve: tuple[tuple[Count, Share], ...]  # (iteration, mean IoU on validation images) while it was trained
    iterations: Count
    seconds: NonNegative  # of training, with the evaluations on the way
    machine: str
    versions: str
    calibration_error: Share | None = None  # ECE
    settings: dict[str, Any] = field(default_factory=dict)  # all of the run's, by dotted names

    @property
    def place(self) -> tuple[str, str, str, int]:
        return self.profile, self.column, self.row, self.seed

    def save(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self)) + "\n")


def load_result(path: Path) -> Result:
    """The result of a cell, which is all that its file holds."""
    remedy = "delete it, and recoseg experiments run makes it again"
    result: Result = read_record(path, Result, what="result", remedy=remedy)
    return result


def read_results(path: Path) -> list[Result]:
    """The results in a file, one a line."""
    remedy = "mend or delete that line; recoseg experiments table --save adds it again"
    return read_records(path, Result, what="results", remedy=remedy)


def add_results(path: Path, results: Iterable[Result]) -> None:
    """Put results into a file, in place of those of the same cells that it has; in the order of cells."""
    kept = {result.place: result for result in (read_results(path) if path.exists() else [])}
    kept |= {result.place: result for result in results}
    write_whole(path, "".join(json.dumps(asdict(kept[place])) + "\n" for place in sorted(kept)))


_FILE = Path(__file__).with_name("paper_figures.yaml")
_MAIN_TABLE = "full-labels"


@dataclass(frozen=True)
class PaperFigure:
    """As printed; `spread` is the range over three runs, where the paper gives one."""

    mean: float
    spread: float | None
    table: str  # where it stands, such as "Table 1"


@cache
def paper_tables() -> dict[str, dict[str, Any]]:
    content: dict[str, dict[str, Any]] = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    return content


def paper_figure(table: str | None, row: str, column: str) -> PaperFigure | None:
    """Of a grid's own table, or of the main one, which has what ablations share; none if it is ours."""
    for name in (table, _MAIN_TABLE) if table else ():
        printed = paper_tables()[name].get(row, {}).get(column)
        if printed is not None:
            mean, spread = printed if isinstance(printed, list) else (printed, None)
            return PaperFigure(float(mean), spread, paper_tables()[name]["title"].partition(",")[0])
    return None


# Minutes and memory of a run of each method, as benchmarks/methods.py measured them.

COSTS_FILE = Path(__file__).with_name("costs.json")


@dataclass(frozen=True)
class Cost:
    """Of a run on one thread; memory is the peak of its process, with Python, torch and the images."""

    minutes: NonNegative
    gigabytes: NonNegative


@dataclass(frozen=True)
class Costs:
    """Where they were measured, and those of each row, such as classmix or reco-classmix."""

    profile: str
    column: str
    machine: str
    rows: dict[str, Cost]

    def of(self, row: str | None, column: str, profile: str) -> Cost | None:
        """None where it was not measured: of variants, on other data and in other profiles."""
        return self.rows.get(row or "") if (column, profile) == (self.column, self.profile) else None


@cache
def measured_costs() -> Costs:
    costs: Costs = read_record(COSTS_FILE, Costs, what="file of costs", remedy="install recoseg again")
    return costs
