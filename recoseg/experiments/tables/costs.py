"""Minutes and memory of a run of each method in the profile small, as benchmarks/methods.py measured them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from recoseg.records import NonNegative, read_record

FILE = Path(__file__).with_name("costs.json")


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
    costs: Costs = read_record(FILE, Costs, what="file of costs", remedy="install recoseg again")
    return costs
