"""The table of methods: all of them, with what they cost as it was measured."""

from __future__ import annotations

from recoseg.methods import METHODS
from recoseg.methods.costs import step_costs


def test_every_method_is_listed_with_its_costs_in_eighty_columns(recoseg) -> None:
    outcome = recoseg("methods")
    assert outcome.code == 0, outcome.err
    for name in METHODS:
        assert any(line.strip().startswith(f"{name} ") for line in outcome.out.splitlines()), name
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert outcome.out.count("2 networks") == 3
    rows = [line for line in outcome.out.splitlines() if line.startswith((" gct ", " dmt ", " ecs "))]
    below = [outcome.out.splitlines()[outcome.out.splitlines().index(row) + 1] for row in rows]
    assert len(below) == 3
    assert all("2 networks" in line for line in below)


def test_all_methods_were_measured_and_supervised_is_the_unit() -> None:
    costs = step_costs()
    assert set(costs) == {row for name in METHODS for row in (name, f"reco-{name}")}
    assert abs(costs["supervised"]["time"] - 1) < 0.15
    assert all(costs[name]["time"] > 1.2 for name, method in METHODS.items() if method.needs_unlabelled)
    assert all(costs[f"reco-{name}"]["time"] >= costs[name]["time"] * 0.9 for name in METHODS)
