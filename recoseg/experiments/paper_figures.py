"""The paper's figures: mean IoU in per cent, by table, row and column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("paper_figures.yaml")
MAIN_TABLE = "full-labels"


@dataclass(frozen=True)
class PaperFigure:
    """As printed; `spread` is the range over three runs, where the paper gives one."""

    mean: float
    spread: float | None
    table: str  # where it stands, such as "Table 1"


@cache
def tables() -> dict[str, dict[str, Any]]:
    content: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return content


def paper_figure(table: str | None, row: str, column: str) -> PaperFigure | None:
    """Of a grid's own table, or of the main one, which has what ablations share; none if it is ours."""
    for name in (table, MAIN_TABLE) if table else ():
        printed = tables()[name].get(row, {}).get(column)
        if printed is not None:
            mean, spread = printed if isinstance(printed, list) else (printed, None)
            return PaperFigure(float(mean), spread, tables()[name]["title"].partition(",")[0])
    return None
