"""The scores of a grid as dots, a panel for each column of its table, the paper's figures beside ours.

Where every method was run with the contrast too, both stand in one row, joined by an arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.figures.line_charts import LINES
from recoseg.figures.sheet import INK, MUTED, PAPER, Heading, Sheet, sheet, shortened, text_width
from recoseg.text import DASH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _PAPERS, _ALONE = LINES[0][0], LINES[1][0], "#7a7a7a"
_BACKGROUNDS = ("#f4f4f4", PAPER)  # of the first row, the second, the third as the first, ...
_LONGEST_TITLE = 30
_SMALLEST_SPAN = 2.0  # per cent: less would make much of noise
_SHORTEST_ARROW = 0.02  # of the width: its head needs that
_NAME_SIZE, _LABEL_SIZE = 8.5, 7.5  # points
_NOT_RUN: Any = {"color": "#8a8a8a", "fontsize": _LABEL_SIZE, "fontstyle": "italic", "va": "center"}

# The layout, in inches.
_PITCH = 0.27  # from row to row
_ABOVE, _FOOT = 0.53, 0.42
_GAP, _MARGIN = 0.22, 0.12
_LABEL, _LONG_LABEL = 0.5, 0.95  # beside the highest dot, for its figure, and for two


@dataclass(frozen=True)
class ChartRow:
    """A method: the scores of its seeds in per cent, none if not run, and the paper's mean and spread.

    `with_reco`: those of the same method with the contrast on top; None where these are a row of their own.
    """

    title: str
    scores: Sequence[float] = ()
    paper: tuple[float, float | None] | None = None
    with_reco: Sequence[float] | None = None


@dataclass(frozen=True)
class ChartPanel:
    """A column of the table; a thin line marks the mean of `baseline`, by its place in `rows`."""

    title: str
    rows: Sequence[ChartRow]
    baseline: int | None = None
    source: str = "paper"  # where the paper's figures stand

    @property
    def has_paper(self) -> bool:
        return any(row.paper for row in self.rows)

    @property
    def has_pairs(self) -> bool:
        return any(row.with_reco is not None for row in self.rows)


_Span = tuple[float, float | None, float]


@dataclass(frozen=True)
class _Side:
    """What one half of a panel shows: for each row its lowest value, mean and highest, or nothing.

    A mean is that of the method alone; None where it was run with the contrast only.
    """

    title: str
    spans: Sequence[_Span | None]
    label: float = _LABEL  # inches, beside the highest mark

    @property
    def ends(self) -> tuple[float, float]:
        there = [span for span in self.spans if span] or [(0.0, 0.0, 0.0)]
        return min(low for low, _, _ in there), max(high for _, _, high in there)

    @property
    def width(self) -> float:
        return self.ends[1] - self.ends[0]


def draw_grid_chart(path: Path, panels: Sequence[ChartPanel], *, heading: Heading) -> None:
    """Panels side by side and below one another, in the order of the table."""
    has_paper = any(panel.has_paper for panel in panels)
    columns = min(len(panels), 2 if has_paper else 3)
    titles = [shortened(row.title, _LONGEST_TITLE) for panel in panels for row in panel.rows]
    names = text_width(max(map(len, titles)), _NAME_SIZE) + 0.1
    beside = 2.3 if any(panel.has_pairs for panel in panels) else 1.85
    side = (2.5 if has_paper else 4.0) if columns == 1 else beside
    pitch = _MARGIN + names + (2 * side + _GAP if has_paper else side) + _MARGIN
    bands = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [_ABOVE + _PITCH * max(len(panel.rows) for panel in band) + _FOOT for band in bands]
    width = max(columns * pitch, 5.0)
    top = heading.height(width)
    with sheet(path, width=width, height=top + sum(heights)) as page:
        heading.draw(page)
        for band, height in zip(bands, heights, strict=True):
            for number, panel in enumerate(band):
                draw_panel(page, panel, number * pitch + _MARGIN, top, names, side)
            top += height


def draw_panel(page: Sheet, panel: ChartPanel, left: float, top: float, names: float, side: float) -> None:
    """Both halves span as many points, so that equal distances are equal differences."""
    page.text(left, top + 0.18, panel.title, fontsize=10)
    top += _ABOVE
    for number, row in enumerate(panel.rows):
        title = shortened(row.title, _LONGEST_TITLE)
        page.text(
            left + names - 0.1,
            top + (number + 0.5) * _PITCH,
            title,
            ha="right",
            va="center_baseline",
            fontsize=_NAME_SIZE,
        )
    halves = [our_side(panel), *([_paper_side(panel)] if panel.has_paper else [])]
    room = max(*(half.width for half in halves), _SMALLEST_SPAN) * 1.1
    for number, (half, draw) in enumerate(zip(halves, (draw_ours, _draw_paper), strict=False)):
        axes = page.axes(left + names + number * (side + _GAP), top, side, _PITCH * len(panel.rows))
        _dress(axes, half, room, share=1 - half.label / side)
        _mark_baseline(axes, half, panel.baseline)
        draw(axes, panel.rows, half)


def our_side(panel: ChartPanel) -> _Side:
    def span(row: ChartRow) -> _Span | None:
        every = [*row.scores, *(row.with_reco or ())]
        return (min(every), _mean(row.scores) if row.scores else None, max(every)) if every else None

    spans = [span(row) for row in panel.rows]
    return _Side("alone, and with ReCo", spans, _LONG_LABEL) if panel.has_pairs else _Side("ours", spans)


def _mean(scores: Sequence[float]) -> float:
    return fsum(scores) / len(scores)


def _paper_side(panel: ChartPanel) -> _Side:
    figures = [(row.paper[0], row.paper[1] or 0.0) if row.paper else None for row in panel.rows]
    return _Side(panel.source, [(f[0] - f[1], f[0], f[0] + f[1]) if f else None for f in figures])


def _dress(axes: Axes, side: _Side, room: float, *, share: float) -> None:
    """`room` points for the marks, in this share of the width, and the rest for the figures beside them."""
    from matplotlib.ticker import MaxNLocator

    left = side.ends[0] - (room - side.width) / 2
    axes.set_xlim(left, left + room / share)
    axes.set_ylim(len(side.spans), 0)
    for number in range(len(side.spans)):
        axes.axhspan(number, number + 1, color=_BACKGROUNDS[number % 2], linewidth=0, zorder=0)
    axes.set_title(side.title, fontsize=8, loc="left", color=MUTED, pad=3)
    for edge in ("left", "right", "top"):
        axes.spines[edge].set_visible(False)
    axes.set_yticks([])
    if any(side.spans):
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], prune="upper"))
    else:
        axes.set_xticks([])
    axes.tick_params(length=2, labelsize=_LABEL_SIZE, colors=MUTED)


def _mark_baseline(axes: Axes, side: _Side, baseline: int | None) -> None:
    span = None if baseline is None else side.spans[baseline]
    if span and span[1] is not None:
        axes.axvline(span[1], color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)


def draw_ours(axes: Axes, rows: Sequence[ChartRow], side: _Side) -> None:
    """A dot for each seed, a bar at their mean."""
    for number, (row, span) in enumerate(zip(rows, side.spans, strict=True)):
        middle = number + 0.5
        if span is None:
            axes.text(0.02, middle, "not run", transform=axes.get_yaxis_transform(), **_NOT_RUN)
        elif row.with_reco is None:
            _draw_seeds(axes, row.scores, middle, _OURS)
            _put_figure(axes, span, middle, f"{_mean(row.scores):.1f}")
        else:
            _draw_pair(axes, row.scores, row.with_reco, middle)
            figures = (f"{_mean(one):.1f}" if one else DASH for one in (row.scores, row.with_reco))
            _put_figure(axes, span, middle, " → ".join(figures))


def _draw_seeds(axes: Axes, scores: Sequence[float], middle: float, colour: str) -> None:
    mean = _mean(scores)
    axes.plot([mean] * 2, [middle - 0.32, middle + 0.32], color=colour, linewidth=1.8, solid_capstyle="butt")
    axes.plot(scores, [middle] * len(scores), "o", color=colour, alpha=0.55, markersize=4.5, mew=0)


def _draw_pair(axes: Axes, alone: Sequence[float], with_reco: Sequence[float], middle: float) -> None:
    """The method alone is grey, and an arrow leads from its mean to that with the contrast."""
    for scores, colour in ((alone, _ALONE), (with_reco, _OURS)):
        if scores:
            _draw_seeds(axes, scores, middle, colour)
    left, right = axes.get_xlim()
    if alone and with_reco and abs(_mean(with_reco) - _mean(alone)) > _SHORTEST_ARROW * (right - left):
        look: Any = {"arrowstyle": "-|>", "color": _OURS, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (_mean(with_reco), middle), (_mean(alone), middle), arrowprops=look, zorder=1.5)


def _draw_paper(axes: Axes, rows: Sequence[ChartRow], side: _Side) -> None:
    """A diamond at the mean, and a line as long as the range that the paper gives."""
    for number, (row, span) in enumerate(zip(rows, side.spans, strict=True)):
        if span and row.paper:
            middle = number + 0.5
            axes.plot([span[0], span[2]], [middle] * 2, color=_PAPERS, linewidth=1.2)
            axes.plot([row.paper[0]], [middle], "D", color=_PAPERS, markersize=4.5)
            _put_figure(axes, span, middle, f"{row.paper[0]:.2f}")


def _put_figure(axes: Axes, span: _Span, middle: float, text: str) -> None:
    """Right of all marks of its row, where it covers none, and over the baseline's line."""
    look: Any = {"va": "center_baseline", "fontsize": _LABEL_SIZE, "color": INK}
    behind = {"facecolor": _BACKGROUNDS[int(middle) % 2], "edgecolor": "none", "pad": 0.5}
    axes.annotate(text, (span[2], middle), (5, 0), textcoords="offset points", bbox=behind, **look)
