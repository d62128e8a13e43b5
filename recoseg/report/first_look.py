"""The first look at several runs: who leads and by how much, and the images that set them apart most."""

from __future__ import annotations

from collections.abc import Sequence

from recoseg.evaluate.disagreement import difference_weights
from recoseg.report.label_images import label_map_uri, photo_uri, share_right, size_on_page
from recoseg.report.markup import Markup, joined, run_colour, tag
from recoseg.report.run_view import Picture, RunView
from recoseg.text import how_many, listed, percent

CLOSE = 0.01
"""Runs of one method with other seeds are often as far apart as that."""
MOST_IMAGES = 2
MOST_RUNS = 4  # whose pictures fit beside each other; the gallery has all


def first_look(runs: Sequence[RunView]) -> Markup:
    """A sentence, and below it pictures where there are any."""
    return joined([tag("p", standing(runs), class_="lead"), _pictures(runs)])


def standing(runs: Sequence[RunView]) -> str:
    """Who leads, how far behind the others are, and whether that means anything."""
    scored = [(run.scores["mean_iou"], run.name) for run in runs if run.scores]
    scored = [(score, name) for score, name in scored if score is not None]
    if not scored:
        return "No run has been evaluated yet."
    best = max(score for score, _ in scored)
    leaders = [name for score, name in scored if score == best]
    others = sorted(((best - score, name) for score, name in scored if score != best), key=lambda one: one[0])
    if len(leaders) > 1:
        return f"{listed(leaders)} share the highest mean IoU, {percent(best)}."
    lead = f"{leaders[0]} has the highest mean IoU, {percent(best)}"
    if not others:
        return f"{lead}."
    gaps = listed(
        [
            f"{100 * gap:.1f} {'points ' if not i else ''}above {name}"
            for i, (gap, name) in enumerate(others[:MOST_RUNS])
        ]
    )
    close = [name for gap, name in others if gap < CLOSE]
    if not close:
        return f"{lead}: {gaps}."
    doubt = f"Less than a point ahead of {listed(close)} may be chance: another seed may turn it round."
    return f"{lead}: {gaps}. {doubt}"


def _pictures(runs: Sequence[RunView]) -> Markup:
    shown = [(number, run) for number, run in enumerate(runs) if run.pictures][:MOST_RUNS]
    if len(shown) < 2:
        return Markup()
    of_run = [{picture.key: picture for picture in run.pictures} for _, run in shown]
    rows = [[pictures[key] for pictures in of_run] for key in of_run[0] if all(key in p for p in of_run)]
    rows.sort(key=_apartness, reverse=True)
    chosen = rows[:MOST_IMAGES]
    if not chosen:
        return Markup()
    told = (
        f"Of the {how_many(len(rows), 'picture')} below, the {len(chosen)} in which these runs differ most."
        if len(rows) > len(chosen)
        else "What each run sees in the same image."
    )
    columns = f"--columns:{len(shown) + 2}"
    strips = (tag("div", *_strip(row, shown), class_="strip", style=columns) for row in chosen)
    return tag("div", *strips, tag("p", told, class_="muted"), class_="first-look")


def _apartness(row: Sequence[Picture]) -> float:
    """How much the predictions of an image differ."""
    return float(difference_weights(row[0].truth, [picture.prediction for picture in row]).mean())


def _strip(row: Sequence[Picture], shown: Sequence[tuple[int, RunView]]) -> list[Markup]:
    """The image, its truth and one prediction a run."""
    first, classes = row[0], shown[0][1].classes
    figures = [
        _figure(photo_uri(first.image), f"Image {first.key}", first, ["Image"], sharp=False),
        _figure(label_map_uri(first.truth, classes), f"True labels of {first.key}", first, ["Truth"]),
    ]
    for picture, (number, run) in zip(row, shown, strict=True):
        name = tag("span", tag("span", class_="dash"), run.name, class_=f"run-name {run_colour(number)}")
        right = tag(
            "span", f"{percent(share_right(picture.truth, picture.prediction))} right", class_="muted"
        )
        alt = f"What {run.name} sees in {picture.key}"
        figures.append(_figure(label_map_uri(picture.prediction, classes), alt, picture, [name, right]))
    return figures


def _figure(uri: str, alt: str, picture: Picture, caption: Sequence[str], *, sharp: bool = True) -> Markup:
    wide, high = size_on_page(*picture.truth.shape)
    image = tag("img", src=uri, alt=alt, width=wide, height=high, class_="sharp" if sharp else None)
    return tag("figure", image, tag("figcaption", *caption))
