"""A row for each class: its share of the pixels, and the scores of every run."""

from __future__ import annotations

from collections.abc import Sequence

from recoseg.report.markup import (
    Markup,
    breakable,
    colour_box,
    for_screen_readers,
    joined,
    legend,
    run_colour,
    tag,
)
from recoseg.report.run_view import RunView
from recoseg.score_names import SCORE_NAMES
from recoseg.text import hundredths

_ABSENT = "absent, left out of the mean"
_WAITING = "not evaluated yet"

_COLUMNS = ("iou", "accuracy", "boundary_iou", "boundary_f")
"""Of `SCORE_NAMES`. The first is drawn as a bar."""


def class_table(runs: Sequence[RunView]) -> Markup:
    """The table, or a word that there is nothing to show yet."""
    if not any(run.scores for run in runs):
        return tag("p", "No run has been evaluated yet.", class_="muted")
    scores = _scores_to_show(runs)
    columns = {"class": "Class", "share": "Pixels, %"} | {
        _sort_key(name): f"{SCORE_NAMES[name].title}, %" for name in scores
    }
    heads = (
        tag("th", text, scope="col", data_key=key, class_=f"{key}-column") for key, text in columns.items()
    )
    rows = (_class_row(index, runs, scores) for index in range(len(runs[0].classes)))
    content = tag("thead", tag("tr", *heads)), tag("tbody", *rows)
    if len(runs) == 1:
        return tag("table", *content, class_="classes sortable")
    table = tag("table", *content, class_="classes sortable several", data_chooser="sort-run")
    return joined([_choice_of_run(runs), table])


def _scores_to_show(runs: Sequence[RunView]) -> list[str]:
    """Those at boundaries only where some run has them."""
    return [name for name in _COLUMNS if any(run.class_scores(name) for run in runs)]


def _sort_key(score: str) -> str:
    return score.replace("_", "-")


def _choice_of_run(runs: Sequence[RunView]) -> Markup:
    """Legend, and by which run's numbers the rows are sorted."""
    gain = f"gain of {runs[-1].name} over {runs[0].name}"
    choices = [*((str(i), run.name) for i, run in enumerate(runs)), ("gain", gain)]
    options = (tag("option", name, value=value) for value, name in choices)
    chooser = tag(
        "label", "Sort by ", tag("select", *options, id="sort-run"), class_="needs-script", hidden=True
    )
    return tag("div", legend(run.name for run in runs), chooser, class_="controls")


def _class_row(index: int, runs: Sequence[RunView], scores: Sequence[str]) -> Markup:
    """A class; the row carries its numbers for sorting, as `iou-0` of the first run and so on."""
    classes = runs[0].classes
    share = _pixel_share(index, runs)
    name = tag("th", colour_box(classes.palette[index]), breakable(classes.names[index]), scope="row")
    sort_by: dict[str, float | None] = {}
    cells = [tag("td", hundredths(share), class_="number share-column", data_label="Pixels")]
    for score in scores:
        values = [run.class_score(score, index) for run in runs]
        sort_by |= _sort_values(score, values)
        if score == "iou":
            bars = (
                _bar(run, number, values[number], alone=len(runs) == 1) for number, run in enumerate(runs)
            )
            cells.append(tag("td", *bars, class_="bars"))
        else:
            texts = (tag("div", hundredths(value)) for value in values)
            cells.append(tag("td", *texts, class_="number", data_label=SCORE_NAMES[score].title))
    return tag("tr", name, *cells, data_class=classes.names[index], data_share=share, **sort_by)


def _sort_values(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    first, last = values[0], values[-1]
    gain = last - first if first is not None and last is not None else None
    return {f"data_{name}_{i}": value for i, value in enumerate(values)} | {f"data_{name}_gain": gain}


def _bar(run: RunView, number: int, value: float | None, *, alone: bool) -> Markup:
    """The IoU as a bar and a number, or why there is none."""
    whose = Markup() if alone else for_screen_readers(f"{run.name}: ")
    if value is None:
        reason = _ABSENT if run.scores else _WAITING
        content = (tag("span", reason, class_="reason"), tag("span", hundredths(None), class_="value"))
    else:
        filled = tag("span", style=f"width:{100 * value:.2f}%")
        content = (tag("span", filled, class_="track"), tag("span", hundredths(value), class_="value"))
    return tag("div", whose, *content, class_=f"bar {run_colour(number)}")


def _pixel_share(index: int, runs: Sequence[RunView]) -> float | None:
    """Of the pixels that have a label, the share that are of class `index`."""
    confusion = next(run.scores["confusion"] for run in runs if run.scores)
    total = sum(map(sum, confusion))
    return sum(confusion[index]) / total if total else None
