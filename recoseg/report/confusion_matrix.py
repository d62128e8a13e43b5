"""What each class is taken for: the confusion matrix by rows, and the worst of it in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recoseg.evaluate.class_scores import confused_pairs, row_shares
from recoseg.report.heat_map import heat_key, heat_map
from recoseg.report.markup import Markup, joined, run_heading, tag
from recoseg.report.run_view import RunView
from recoseg.text import percent

_MOST_PAIRS = 8
_WORTH_SAYING = 0.01
"""A smaller share of a class that is taken for another is not put into words."""


def confusion(runs: Sequence[RunView]) -> Markup:
    """A heat map and a list for each run that was evaluated."""
    if not any(run.scores for run in runs):
        return tag("p", "No run has been evaluated yet.", class_="muted")
    about = tag(
        "p",
        "A row is a true class, a column what its pixels were called, in per cent of the row. "
        "A perfect network has a diagonal and nothing else.",
        class_="about",
    )
    key = tag("p", heat_key("0%", "25%", "100%"), class_="about")
    figures = (_run_confusion(run, number, runs) for number, run in enumerate(runs) if run.scores)
    return joined([about, key, tag("div", *figures, class_="heats" if len(runs) > 1 else "heats alone")])


def _run_confusion(run: RunView, number: int, runs: Sequence[RunView]) -> Markup:
    assert run.scores is not None
    shares = row_shares(run.scores["confusion"])
    names = run.classes.names
    picture = heat_map(
        shares,
        names,
        label=f"Confusion matrix of {run.name}",
        says="{value}% of {row} is called {column}",
        decimals=1,
        unit=100,
        strength=np.sqrt(shares),  # what is rare but wrong should be seen
    )
    heading = run_heading(run.name, number) if len(runs) > 1 else Markup()
    return tag("div", heading, picture, _most_confused(shares, names), class_="heat-figure")


def _most_confused(shares: NDArray[np.float64], names: Sequence[str]) -> Markup:
    """The pairs with the largest share, the worst first."""
    pairs = confused_pairs(shares, most=_MOST_PAIRS, at_least=_WORTH_SAYING)
    if not pairs:
        return tag("p", f"No class has {percent(_WORTH_SAYING)} of its pixels called another.", class_="note")
    items = (
        tag(
            "li", tag("strong", percent(shares[true, called])), f" of {names[true]} is called {names[called]}"
        )
        for true, called in pairs
    )
    return tag("div", tag("h4", "Most confused"), tag("ol", *items), class_="pairs")
