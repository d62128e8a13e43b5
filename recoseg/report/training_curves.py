"""The section on training: mean IoU and the parts of the loss over iterations, every run in each chart.

A chart is inline SVG that stretches to its column while text and strokes keep their size. Places are
percentages of the plot and colours are CSS variables, so one chart serves phones, wide screens, paper, light
and dark. Labels hang outside the plot, in the margins that the style sheet leaves around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recoseg.report.markup import Markup, legend, run_colour, tag
from recoseg.report.run_view import RunView
from recoseg.text import count, percent, plain
from recoseg.training.log_curves import Point, curve, loss_parts, stats, thinned

_CHANCE_LEVEL = "contrast_chance_level"
_SHARES = {
    "contrast_accuracy": "Contrast accuracy",
    "contrast_hard_share": "Hard pixels",
}
"""Stats that are shares, and the headings of their charts."""


def training(runs: Sequence[RunView]) -> Markup:
    names = legend(run.name for run in runs) if len(runs) > 1 else Markup()
    small = [_loss_chart(runs, part, f"Loss: {part}") for part in loss_parts([run.losses for run in runs])]
    small += [_share_chart(runs, name, heading) for name, heading in _SHARES.items() if _has_stat(runs, name)]
    return tag(
        "div",
        names,
        tag("div", _score_chart(runs), _loss_chart(runs, "loss", "Loss"), class_="plots"),
        tag("div", *small, class_="plots small") if small else Markup(),
    )


def _score_chart(runs: Sequence[RunView]) -> Markup:
    lines = [Line(run.name, number, curve(run.metrics, "mean_iou")) for number, run in enumerate(runs)]
    return line_chart(lines, heading="Mean IoU", show=_percent_of_axis, until=_last_iteration(runs))


def _loss_chart(runs: Sequence[RunView], part: str, heading: str) -> Markup:
    lines = [Line(run.name, number, curve(run.losses, part)) for number, run in enumerate(runs)]
    marks = _chance_level(runs) if part == "contrast" else {}
    return line_chart(lines, heading=heading, show=plain, until=_last_iteration(runs), marks=marks)


def _share_chart(runs: Sequence[RunView], name: str, heading: str) -> Markup:
    lines = [Line(run.name, number, curve(stats(run.losses), name)) for number, run in enumerate(runs)]
    return line_chart(lines, heading=heading, show=_percent_of_axis, until=_last_iteration(runs))


def _chance_level(runs: Sequence[RunView]) -> dict[str, float]:
    """What the contrast's loss is when keys cannot be told apart; runs with other numbers of keys differ."""
    levels = sorted({y for run in runs for _, y in curve(stats(run.losses), _CHANCE_LEVEL)})
    return {"chance level" if len(levels) == 1 else f"chance level {plain(y)}": y for y in levels}


def _has_stat(runs: Sequence[RunView], name: str) -> bool:
    return any(curve(stats(run.losses), name) for run in runs)


def _last_iteration(runs: Sequence[RunView]) -> int:
    """Where all charts end, so that they can be read against each other."""
    return max(run.iterations for run in runs)


def _percent_of_axis(share: float) -> str:
    """Round numbers without decimals, others with one."""
    hundredfold = round(100 * share, 1)
    return f"{hundredfold:.0f}%" if hundredfold.is_integer() else percent(share)


# A chart.

_MOST_DOTS = 12
"""A line with more has a dot at its end alone."""


@dataclass(frozen=True)
class Line:
    """What one run did: (iteration, value), in order. `run` is the run's number, which gives the colour."""

    name: str
    run: int
    points: Sequence[Point]


@dataclass(frozen=True)
class Frame:
    """What the plot spans, and where a value is drawn in it."""

    right: float
    bottom: float
    top: float
    up_ticks: Sequence[float]
    across_ticks: Sequence[float]

    @classmethod
    def around(cls, points: Sequence[Point], *, until: float) -> Frame:
        """From 0, so that heights compare: across to `until` or the last point, up to a round number."""
        right = max(1.0, until, *(x for x, _ in points))
        lowest, highest = min(0.0, *(y for _, y in points)), max(0.0, *(y for _, y in points))
        step = round_step(highest - lowest, most=5)
        below, above = math.floor(lowest / step + 1e-9), math.ceil(highest / step - 1e-9)
        up_ticks = [number * step for number in range(below, max(above, below + 1) + 1)]
        across = max(round_step(right, most=5), 1.0)
        across_ticks = [number * across for number in range(int(right / across) + 1)]
        return cls(right, up_ticks[0], up_ticks[-1], up_ticks, across_ticks)

    def x(self, value: float) -> float:
        return round(100 * value / self.right, 2)

    def y(self, value: float) -> float:
        return round(100 * (self.top - value) / (self.top - self.bottom), 2)


def round_step(span: float, *, most: int) -> float:
    """The smallest of 1, 2, 5, 10, ... (and their tenths) that cuts `span` into at most `most` pieces."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= most + 1e-9)


def line_chart(
    lines: Iterable[Line],
    *,
    heading: str,
    show: Callable[[float], str],
    until: float = 0,
    marks: Mapping[str, float] | None = None,
) -> Markup:
    """A figure of `lines`, at least to iteration `until`; `show` writes a value of the vertical axis.

    `marks` are values with a name, drawn as dashed lines across.
    """
    drawn = [Line(line.name, line.run, thinned(line.points)) for line in lines if line.points]
    caption = tag("figcaption", tag("h3", heading), tag("span", "by iteration", class_="muted"))
    if not drawn:
        return tag("figure", caption, tag("p", "Nothing recorded yet.", class_="muted"), class_="plot")
    marks = marks or {}
    spanned = [
        *(point for line in drawn for point in line.points),
        *((0.0, value) for value in marks.values()),
    ]
    frame = Frame.around(spanned, until=until)
    last = "; ".join(f"{line.name} {show(line.points[-1][1])}" for line in drawn)
    picture = tag(
        "svg",
        *_axes(frame, show),
        *(part for name, value in marks.items() for part in _mark(name, value, frame)),
        tag(
            "svg",
            *(_stroke(line, frame) for line in drawn),
            viewBox="0 0 100 100",
            preserveAspectRatio="none",
        ),
        *(dot for line in drawn for dot in _dots(line, frame)),
        *_strips(drawn, frame, show),
        class_="chart",
        role="img",
        aria_label=f"{heading} by iteration; last: {last}",
    )
    return tag("figure", caption, picture, class_="plot")


def _axes(frame: Frame, show: Callable[[float], str]) -> Iterable[Markup]:
    for tick in frame.up_ticks:
        y = f"{frame.y(tick)}%"
        yield tag("line", x1="0", x2="100%", y1=y, y2=y, class_="base" if tick == 0 else "grid")
        yield tag("text", show(tick), x="-8", y=y, dy=".32em", text_anchor="end")
    for tick in frame.across_ticks:
        x = f"{frame.x(tick)}%"
        yield tag("line", x1=x, x2=x, y1="100%", y2="100%", class_="tick")
        yield tag("text", count(tick), x=x, y="100%", dy="1.7em", text_anchor="middle")


def _mark(name: str, value: float, frame: Frame) -> Iterable[Markup]:
    y = f"{frame.y(value)}%"
    yield tag("line", x1="0", x2="100%", y1=y, y2=y, class_="mark")
    yield tag("text", name, x="100%", y=y, dy="-.4em", text_anchor="end", class_="mark-name")


def _stroke(line: Line, frame: Frame) -> Markup:
    path = "M" + "L".join(f"{frame.x(x)} {frame.y(y)}" for x, y in line.points)
    return tag("path", d=path, class_=run_colour(line.run), vector_effect="non-scaling-stroke")


def _dots(line: Line, frame: Frame) -> Iterable[Markup]:
    """All points of a short line; only the last of one with many."""
    marked = line.points if len(line.points) <= _MOST_DOTS else line.points[-1:]
    for x, y in marked:
        yield tag("circle", cx=f"{frame.x(x)}%", cy=f"{frame.y(y)}%", r="3", class_=run_colour(line.run))


def _strips(lines: Sequence[Line], frame: Frame, show: Callable[[float], str]) -> Iterable[Markup]:
    """Where one points at: an upright strip for each iteration, whose title tells all lines' values there."""
    values: dict[float, list[str]] = {}
    for line in lines:
        for x, y in line.points:
            values.setdefault(x, []).append(f"{line.name}: {show(y)}")
    places = sorted(values)
    borders = [(a + b) / 2 for a, b in pairwise(places)]
    for x, left, right in zip(places, [0.0, *borders], [*borders, frame.right], strict=True):
        at, start = f"{frame.x(x)}%", frame.x(left)
        yield tag(
            "g",
            tag("title", "\n".join([f"iteration {count(x)}", *values[x]])),
            tag("rect", x=f"{start}%", width=f"{frame.x(right) - start:.2f}%", height="100%"),
            tag("line", x1=at, x2=at, y1="0", y2="100%"),
            class_="strip",
        )
