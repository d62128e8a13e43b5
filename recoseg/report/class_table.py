"""A row for each class: its share of the pixels, and the IoU and accuracy of every run."""

from __future__ import annotations

from collections.abc import Sequence

from recoseg.report.markup import Markup, joined, legend, run_colour, tag, unseen
from recoseg.report.numbers import hundredths
from recoseg.report.run_view import RunView

ABSENT = "absent, left out of the mean"
WAITING = "not evaluated yet"

COLUMNS = (("class", "Class"), ("share", "Pixels, %"), ("iou", "IoU, %"), ("accuracy", "Accuracy, %"))
"""Sort key and heading."""


def class_table(runs: Sequence[RunView]) -> Markup:
    """The table, or a word that there is nothing to show yet."""
    if not any(run.scores for run in runs):
        return tag("p", "No run has been evaluated yet.", class_="muted")
    heads = (tag("th", text, scope="col", data_key=key, class_=f"{key}-column") for key, text in COLUMNS)
    rows = (class_row(index, runs) for index in range(len(runs[0].classes)))
    content = tag("thead", tag("tr", *heads)), tag("tbody", *rows)
    if len(runs) == 1:
        return tag("table", *content, class_="classes")
    return joined([choice_of_run(runs), tag("table", *content, class_="classes several")])


def choice_of_run(runs: Sequence[RunView]) -> Markup:
    """Legend, and by which run's numbers the rows are sorted."""
    gain = f"gain of {runs[-1].name} over {runs[0].name}"
    choices = [*((str(i), run.name) for i, run in enumerate(runs)), ("gain", gain)]
    options = (tag("option", name, value=value) for value, name in choices)
    chooser = tag(
        "label", "Sort by ", tag("select", *options, id="sort-run"), class_="needs-script", hidden=True
    )
    return tag("div", legend(run.name for run in runs), chooser, class_="controls")


def class_row(index: int, runs: Sequence[RunView]) -> Markup:
    """A class; the row carries its numbers for sorting, as `iou-0` of the first run and so on."""
    classes = runs[0].classes
    share = pixel_share(index, runs)
    name = tag("th", colour_box(classes.palette[index]), classes.names[index], scope="row")
    bars = (bar(run, number, index, alone=len(runs) == 1) for number, run in enumerate(runs))
    accuracies = (tag("div", hundredths(value)) for value in numbers(index, runs, "class_accuracy"))
    values = sort_values("iou", numbers(index, runs, "iou"))
    values |= sort_values("accuracy", numbers(index, runs, "class_accuracy"))
    cells = [tag("td", hundredths(share), class_="number share-column"), tag("td", *bars)]
    return tag(
        "tr",
        name,
        *cells,
        tag("td", *accuracies, class_="number"),
        data_class=classes.names[index],
        data_share=share,
        **values,
    )


def sort_values(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    first, last = values[0], values[-1]
    gain = last - first if first is not None and last is not None else None
    return {f"data_{name}_{i}": value for i, value in enumerate(values)} | {f"data_{name}_gain": gain}


def numbers(index: int, runs: Sequence[RunView], score: str) -> list[float | None]:
    """The `score` of class `index` in every run."""
    return [run.scores[score][index] if run.scores else None for run in runs]


def bar(run: RunView, number: int, index: int, *, alone: bool) -> Markup:
    """The IoU as a bar and a number, or why there is none."""
    value = run.scores["iou"][index] if run.scores else None
    whose = Markup() if alone else unseen(f"{run.name}: ")
    if value is None:
        reason = ABSENT if run.scores else WAITING
        content = (tag("span", reason, class_="reason"), tag("span", hundredths(None), class_="value"))
    else:
        filled = tag("span", style=f"width:{100 * value:.2f}%")
        content = (tag("span", filled, class_="track"), tag("span", hundredths(value), class_="value"))
    return tag("div", whose, *content, class_=f"bar {run_colour(number)}")


def pixel_share(index: int, runs: Sequence[RunView]) -> float | None:
    """Of the pixels that have a label, the share that are of class `index`."""
    confusion = next(run.scores["confusion"] for run in runs if run.scores)
    total = sum(map(sum, confusion))
    return sum(confusion[index]) / total if total else None


def colour_box(colour: tuple[int, int, int]) -> Markup:
    return tag("span", class_="box", style=f"background:rgb{colour}".replace(" ", ""))
