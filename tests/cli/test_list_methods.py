"""The table of methods: all of them, with what they cost as it was measured."""

from __future__ import annotations

import re

from recoseg.cli.list_methods import LABELS_SUFFICE, SECOND_NETWORK
from recoseg.config.settings import KINDS
from recoseg.experiments.plan.grids import GRIDS, ROWS
from recoseg.experiments.tables.results import measured_costs
from recoseg.methods import METHODS


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


def test_every_method_but_the_baseline_names_its_paper_and_year() -> None:
    kinds = KINDS["method"]
    for name in METHODS.keys() - {"supervised", "probe"}:
        assert re.search(r"\([A-Z]\w+ (et al\.|and [A-Z]\w+), 20\d\d\)", kinds[name].__doc__ or ""), name


def test_times_are_those_of_runs_against_supervised(recoseg) -> None:
    costs = measured_costs().rows
    lines = [line.split() for line in recoseg("methods").out.splitlines()]
    for name, row in (("supervised", "supervised"), ("mean_teacher", "classmix"), ("gct", "gct")):
        place = next(place for place, words in enumerate(lines) if words[:1] == [name])
        for words, measured in ((lines[place], costs[row]), *_with_reco(lines[place:], costs[f"reco-{row}"])):
            unit = costs["supervised"]
            time, memory = measured.minutes / unit.minutes, measured.gigabytes / unit.gigabytes
            assert words[-2:] == [f"{time:.1f}", f"{memory:.1f}"], name


def _with_reco(lines, measured):
    """The first line after a method's that tells of ReCo on top."""
    return [(next(words for words in lines if "ReCo" in words), measured)]


def test_every_row_of_the_methods_was_measured() -> None:
    costs = measured_costs()
    assert costs.machine.endswith(", 1 thread")
    assert set(costs.rows) == {*GRIDS["methods"].rows, *GRIDS["feature-bank"].rows}
    assert {ROWS[row].method for row in costs.rows} == METHODS.keys() - {"probe"}  # which takes seconds
    unit = costs.rows["supervised"]
    for row, cost in costs.rows.items():
        if METHODS[ROWS[row].method].needs_unlabelled:
            assert cost.minutes > 1.2 * unit.minutes, row
        if row in GRIDS["methods"].rows and ROWS[row].contrast:
            assert cost.minutes > 0.95 * costs.rows[row.removeprefix("reco-")].minutes, row


def test_what_was_not_measured_has_no_cost() -> None:
    costs = measured_costs()
    assert costs.of("classmix", costs.column, costs.profile) == costs.rows["classmix"]
    assert costs.of("classmix", costs.column, "paper") is None
    assert costs.of("classmix", "cityscapes-20", costs.profile) is None
    assert costs.of("keys-64", costs.column, costs.profile) is None


def test_what_methods_need_is_what_their_classes_say() -> None:
    assert {name for name, method in METHODS.items() if not method.needs_unlabelled} == set(LABELS_SUFFICE)
    assert {name for name, method in METHODS.items() if method.trains_second_network} == set(SECOND_NETWORK)
