"""A line chart as inline SVG: it stretches to its column while text and strokes keep their size.

Places are percentages of the plot and colours are CSS variables, so one chart serves phones, wide screens,
paper, light and dark. Labels hang outside the plot, in the margins that the style sheet leaves around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from recoseg.report.markup import Markup, run_colour, tag
from recoseg.report.numbers import count

MOST_POINTS = 120
"""A line with more is drawn through the means of neighbours."""

MOST_DOTS = 12
"""A line with more has a dot at its end alone."""

Point = tuple[float, float]


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


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most `most` points: groups of neighbours become their mean, placed at the group's end."""
    size = max(1, math.ceil(len(points) / most))
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [(group[-1][0], sum(y for _, y in group) / len(group)) for group in groups]


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
        *axes(frame, show),
        *(part for name, value in marks.items() for part in mark(name, value, frame)),
        tag(
            "svg", *(stroke(line, frame) for line in drawn), viewBox="0 0 100 100", preserveAspectRatio="none"
        ),
        *(dot for line in drawn for dot in dots(line, frame)),
        *strips(drawn, frame, show),
        class_="chart",
        role="img",
        aria_label=f"{heading} by iteration; last: {last}",
    )
    return tag("figure", caption, picture, class_="plot")


def axes(frame: Frame, show: Callable[[float], str]) -> Iterable[Markup]:
    for tick in frame.up_ticks:
        y = f"{frame.y(tick)}%"
        yield tag("line", x1="0", x2="100%", y1=y, y2=y, class_="base" if tick == 0 else "grid")
        yield tag("text", show(tick), x="-8", y=y, dy=".32em", text_anchor="end")
    for tick in frame.across_ticks:
        x = f"{frame.x(tick)}%"
        yield tag("line", x1=x, x2=x, y1="100%", y2="100%", class_="tick")
        yield tag("text", count(tick), x=x, y="100%", dy="1.7em", text_anchor="middle")


def mark(name: str, value: float, frame: Frame) -> Iterable[Markup]:
    y = f"{frame.y(value)}%"
    yield tag("line", x1="0", x2="100%", y1=y, y2=y, class_="mark")
    yield tag("text", name, x="100%", y=y, dy="-.4em", text_anchor="end", class_="mark-name")


def stroke(line: Line, frame: Frame) -> Markup:
    path = "M" + "L".join(f"{frame.x(x)} {frame.y(y)}" for x, y in line.points)
    return tag("path", d=path, class_=run_colour(line.run), vector_effect="non-scaling-stroke")


def dots(line: Line, frame: Frame) -> Iterable[Markup]:
    """All points of a short line; only the last of one with many."""
    marked = line.points if len(line.points) <= MOST_DOTS else line.points[-1:]
    for x, y in marked:
        yield tag("circle", cx=f"{frame.x(x)}%", cy=f"{frame.y(y)}%", r="3", class_=run_colour(line.run))


def strips(lines: Sequence[Line], frame: Frame, show: Callable[[float], str]) -> Iterable[Markup]:
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
