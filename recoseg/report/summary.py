"""The first section, how good each run is and from how many labels; and the last, how to repeat it."""

from __future__ import annotations

from collections.abc import Sequence

from recoseg.evaluate import METRICS
from recoseg.report.first_look import first_look
from recoseg.report.markup import Markup, joined, run_heading, tag
from recoseg.report.run_view import RunView, are_folds, repeated_by, seed_groups
from recoseg.report.standing import may_be_chance
from recoseg.score_names import LAST_WEIGHTS, SCORE_NAMES
from recoseg.text import DASH, count, how_many, percent, percent_range, points

SURENESS = "95% interval, from drawing the validation images anew"


def summary(runs: Sequence[RunView]) -> Markup:
    shown = _facts(runs[0]) if len(runs) == 1 else _comparison(runs)
    notes = [*_weights_note(runs), *_sureness(runs), *_start_notes(runs)]
    return joined([shown, *notes, _class_notes(runs), *_best_notes(runs)])


def _weights_note(runs: Sequence[RunView]) -> list[Markup]:
    """Says where some runs are scored by an average of their weights and others are not."""
    last = [run.name for run in runs if run.weights == LAST_WEIGHTS]
    averaged = [run for run in runs if run.weights.startswith("EMA")]
    if not (last and averaged):
        return []
    others, decay = some([run.name for run in averaged]), averaged[0].weights.removeprefix("EMA ")
    text = (
        f"Not on equal terms: scores of {some(last)} are those of the last weights, scores of {others} those "
        f"of a moving average (EMA). Train the former with --method.average {decay} too."
    )
    return [tag("p", text, class_="note")]


def _sureness(runs: Sequence[RunView]) -> list[Markup]:
    """How far other images could have moved the scores."""
    known = [run.survey for run in runs if run.survey and run.survey.interval]
    if len(runs) > 1:
        text = (
            "Ranges below a score are 95% intervals: how far another choice of images could have moved it. "
            "Differences are surer than that where runs are scored on the same images."
        )
    elif known and known[0].interval:
        number = how_many(known[0].num_images, "image")
        text = (
            f"Mean IoU {percent_range(*known[0].interval)} with a probability of 95%, as far as these "
            f"{number} tell; chance in training comes on top."
        )
    elif runs[0].survey and runs[0].survey.num_images == 1:
        known = [runs[0].survey]
        text = "Scored on one image: how far other images would move the score, nobody can tell."
    return [tag("p", text, class_="note sureness")] if known else []


def _start_notes(runs: Sequence[RunView]) -> list[Markup]:
    """How far training went beyond the probe of the frozen features that it started from."""
    notes = []
    for run in runs:
        if run.start is None or run.mean_iou is None or not run.iterations:
            continue
        whose = f"{run.name}: " if len(runs) > 1 else ""
        gain = run.mean_iou - run.start
        text = f"{whose}Linear probe of the frozen features {percent(run.start)}, training {points(gain)}."
        if gain < 0:
            text += " Use the probe (--method probe), or train with a lower optimiser.lr."
        notes.append(tag("p", text, class_="note"))
    return notes


def _best_notes(runs: Sequence[RunView]) -> list[Markup]:
    """Where best weights were kept besides the last: how they were chosen, so that nobody mistakes them."""
    notes = []
    for run in runs:
        if best := run.best:
            whose = f"{run.name}: " if len(runs) > 1 else ""
            chosen = best["selection"]
            text = (
                f"{whose}scores here are those of the last weights. best.safetensors are those of "
                f"iteration {count(best['iteration'])}, chosen by their mean IoU of "
                f"{percent(chosen['mean_iou'])} on {chosen['on']}; they have {percent(best['mean_iou'])} "
                "on the validation images."
            )
            notes.append(tag("p", text, class_="note"))
    return notes


def _facts(run: RunView) -> Markup:
    """One run: its numbers, the mean IoU large, and what it was."""
    main, *others = _measures(run)
    words = [("Method", run.method), ("Network", run.network), ("Scored weights", run.weights)]
    return tag(
        "dl",
        _fact(*main, class_="main"),
        *(_fact(*other) for other in others),
        *(_fact(*other, class_="words") for other in words),
        class_="facts",
    )


def _fact(name: str, value: str, *, class_: str | None = None) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value), class_=class_)


def _comparison(runs: Sequence[RunView]) -> Markup:
    """Several runs: a first look, and a row each with differences to the first."""
    headings = ["Run", *(name for name, _ in _measures(runs[0]))]
    rows = [_comparison_row(number, runs) for number in range(len(runs))]
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in headings)))
    table = tag("table", head, tag("tbody", *rows), class_="comparison")
    return joined([first_look(runs), table])


def _comparison_row(number: int, runs: Sequence[RunView]) -> Markup:
    (heading, value), *others = _measures(runs[number])
    kind = "strong" if _is_best(number, runs) else "span"
    first = tag("td", tag(kind, value), _gain(number, runs), _interval(runs[number]), data_label=heading)
    what = tag("small", _what_differs(runs[number], runs))
    name = tag("th", run_heading(runs[number].name, number, level="span"), what, scope="row")
    return tag("tr", name, first, *(tag("td", text, data_label=label) for label, text in others))


def _what_differs(run: RunView, runs: Sequence[RunView]) -> str:
    """The method; network and scored weights where runs have different ones."""
    words = [run.method]
    if len({each.network for each in runs}) > 1:
        words.append(run.network)
    if len({each.weights for each in runs}) > 1:
        words.append(f"{run.weights} weights" if run.weights == LAST_WEIGHTS else run.weights)
    return "; ".join(words)


def _gain(number: int, runs: Sequence[RunView]) -> Markup:
    """How many points the run is above the first, which has no such number; folds have none either."""
    mine, first = runs[number].mean_iou, runs[0].mean_iou
    if number == 0 or mine is None or first is None or are_folds(runs):
        return tag("small")  # keeps the numbers in line
    return tag("small", points(mine - first), title=f"points, compared with {runs[0].name}")


def _interval(run: RunView) -> Markup:
    """Between which values the score would be for nearly all choices of images."""
    found = run.survey.interval if run.survey else None
    if found is None:
        return Markup()
    return tag("small", percent_range(*found), title=SURENESS, class_="interval")


def _measures(run: RunView) -> list[tuple[str, str]]:
    """(what, how much), the most important first."""
    scores = run.scores or {}
    names = (SCORE_NAMES[name] for name in ("iou", "boundary_iou", "boundary_f", "accuracy"))
    return [
        *((name.overall_title, percent(name.overall_in(scores))) for name in names),
        *(
            METRICS[name].told(result)
            for name, result in scores.get("metrics", {}).items()
            if name in METRICS
        ),
        ("Iterations", count(run.iterations)),
        ("Labelled images", f"{count(run.num_labelled)}{_partly(run)}"),
        ("Unlabelled images", count(run.num_unlabelled)),
        ("Classes in the mean", f"{_num_counted(run)} of {len(run.classes)}" if run.scores else DASH),
    ]


def _partly(run: RunView) -> str:
    """Where only some pixels of a labelled image are: which."""
    if run.pixels is None:
        return ""
    share = run.pixels if run.pixels.endswith("%") else how_many(int(run.pixels), "pixel")
    return f", {share} of each class"


def _is_best(number: int, runs: Sequence[RunView]) -> bool:
    """Nobody is above it, and its lead over none of the others may be chance."""
    mine = runs[number].mean_iou
    if mine is None or repeated_by([run.settings for run in runs]) or seed_groups(runs):
        return False
    scored = [run for run in runs if run.mean_iou is not None]
    highest = percent(max(run.mean_iou or 0 for run in scored)) == percent(mine)
    return highest and not any(
        may_be_chance(runs[number], run) for run in scored if percent(run.mean_iou) != percent(mine)
    )


def _num_counted(run: RunView) -> int:
    return len(run.classes) - len(_absent(run))


def _absent(run: RunView) -> list[str]:
    """Classes that have no IoU although the run was evaluated."""
    iou = run.scores["iou"] if run.scores else ()
    return [name for name, value in zip(run.classes.names, iou, strict=False) if value is None]


def _never_predicted(run: RunView) -> list[str]:
    """Classes that have pixels, of which the network found none."""
    confusion = run.scores["confusion"] if run.scores else []
    called = [sum(column) for column in zip(*confusion, strict=True)]
    return [
        name
        for name, row, times in zip(run.classes.names, confusion, called, strict=False)
        if sum(row) and not times
    ]


def _class_notes(runs: Sequence[RunView]) -> Markup:
    """Says which classes the mean leaves out and which were never predicted, and what runs lack."""
    waiting = [run.name for run in runs if not run.scores]
    notes = [f"Not evaluated yet: {', '.join(waiting)}."] if waiting else []
    if blind := [run.name for run in runs if run.survey is None]:
        notes.append(f"Without weights, so without pictures and relations of classes: {', '.join(blind)}.")
    for run in runs:
        whose = f"{run.name}: " if len(runs) > 1 else ""
        if names := _never_predicted(run):
            notes.append(f"{whose}{how_many(len(names), 'class')} never predicted: {some(names)}.")
        if names := _absent(run):
            left = f"{how_many(len(names), 'class')} in neither truth nor prediction, left out of the mean"
            notes.append(f"{whose}{left}: {some(names)}.")
    return joined(tag("p", note, class_="note") for note in notes)


def some(names: Sequence[str], most: int = 8) -> str:
    """The first few, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def origin(runs: Sequence[RunView]) -> Markup:
    return joined(_run_origin(run, number, alone=len(runs) == 1) for number, run in enumerate(runs))


def _run_origin(run: RunView, number: int, *, alone: bool) -> Markup:
    heading = Markup() if alone else run_heading(run.name, number)
    command = tag("pre", tag("code", run.command), class_="command", tabindex="0")
    settings = tag(
        "details", tag("summary", "Settings"), tag("pre", tag("code", run.config_yaml), tabindex="0")
    )
    return tag("div", heading, command, settings, class_="origin")
