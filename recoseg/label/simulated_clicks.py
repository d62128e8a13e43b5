"""What simulations gave: lines of a file, a table, and a chart of mean IoU over clicks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from recoseg.figures.line_charts import ScoreChart, draw_score_curves, mean_line
from recoseg.figures.sheet import Heading
from recoseg.records import Count, Share, read_records
from recoseg.text import hundredths


@dataclass(frozen=True)
class Trial:
    """One strategy with one seed."""

    data: str
    strategy: str
    seed: Count
    clicks: list[Count]
    mean_iou: list[Share]

    def covers(self, clicks: Sequence[int]) -> bool:
        return set(clicks) <= set(self.clicks)

    def append_to(self, path: Path) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self)) + "\n")

    @property
    def points(self) -> list[tuple[float, float]]:
        return list(zip(map(float, self.clicks), self.mean_iou, strict=True))


def read_trials(path: Path) -> list[Trial]:
    if not path.exists():
        return []
    return read_records(path, Trial, what="simulated clicks", remedy="remove it", is_log=True)


def grouped(trials: Sequence[Trial]) -> dict[str, dict[str, list[Trial]]]:
    """By dataset, then by strategy, in the order of their coming."""
    result: dict[str, dict[str, list[Trial]]] = {}
    for trial in trials:
        result.setdefault(trial.data, {}).setdefault(trial.strategy, []).append(trial)
    return result


def tables(trials: Sequence[Trial], clicks: Sequence[int]) -> list[Table]:
    """One for each dataset: means over seeds."""
    result = []
    for data, strategies in grouped(trials).items():
        table = Table("clicks", *map(str, clicks), title=f"{data}: mean IoU (%) after so many clicks")
        for strategy, seeds in strategies.items():
            means = dict(mean_line([trial.points for trial in seeds]))
            table.add_row(strategy, *(hundredths(means.get(count)) for count in clicks))
        result.append(table)
    return result


def as_markdown(trials: Sequence[Trial]) -> str:
    """The same table for a page, with all numbers of clicks that there are."""
    clicks = sorted({count for trial in trials for count in trial.clicks})
    lines = [f"| data | clicks | {' | '.join(map(str, clicks))} |", f"|---|---|{'---:|' * len(clicks)}"]
    for data, strategies in grouped(trials).items():
        for strategy, seeds in strategies.items():
            means = dict(mean_line([trial.points for trial in seeds]))
            cells = [hundredths(means.get(count)) for count in clicks]
            lines.append(f"| {data} | {strategy} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw_trials(path: Path, trials: Sequence[Trial]) -> None:
    """A panel for each dataset."""
    found = grouped(trials)
    strategies = list(dict.fromkeys(trial.strategy for trial in trials))
    charts = [
        ScoreChart(data, [[trial.points for trial in by.get(name, ())] for name in strategies])
        for data, by in found.items()
    ]
    heading = Heading("Mean IoU over clicks", "of a simulated annotator; pale lines are seeds")
    draw_score_curves(path, strategies, charts, heading=heading, across="clicks")
