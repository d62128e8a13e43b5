"""What a step of each method costs against Supervised, as benchmarks/methods.py measured it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from recoseg.records import read_record

FILE = Path(__file__).with_name("costs.json")


@cache
def step_costs() -> dict[str, dict[str, float]]:
    """Method, or reco- and its name -> time and memory of a step, in those of a supervised one."""
    costs: dict[str, dict[str, float]] = read_record(
        FILE, dict[str, dict[str, float]], what="file of costs", remedy="install recoseg again"
    )
    return costs
