"""The scores of a grid as dots, a panel for each column of its table, the paper's figures beside ours.

Where every method was run with the contrast too, both stand in one row, joined by an arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoseg.figures.sheet import INK, LINES, MUTED, PAGE, PAPER, annotate, sheet, shortened
from recoseg.text import DASH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _PAPERS, _ALONE = LINES[0][0], LINES[1][0], "#7a7a7a"
_BACKGROUNDS = ("#f4f4f4", PAPER)  # of the first row, the second, the third as the first, ...
_SMALLEST_SPAN = 2.0  # per cent: less would make much of noise
_SHORTEST_ARROW = 0.02  # of the width: its head needs that


@dataclass(frozen=True)
class ChartRow:
    """A method: the scores of its seeds in per cent, none if not run, and the paper's mean and spread.

    `with_reco`: those of the same method with the contrast on top; None where these are a row of their own.
    """

    title: str
    scores: Sequence[float] = ()
    paper: tuple[float, float | None] | None = None
    with_reco: Sequence[float] | None = None

    @property
    def marks(self) -> list[float]:
        return [*self.scores, *(self.with_reco or ())]

    @property
    def paper_marks(self) -> list[float]:
        if self.paper is None:
            return []
        mean, spread = self.paper
        return [mean - (spread or 0), mean + (spread or 0)]


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


def draw_grid_chart(path: Path, panels: Sequence[ChartPanel], *, title: str, about: str) -> None:
    """A band for each panel or, where the paper has no figures, for each two, in the order of the table."""
    has_paper = any(panel.has_paper for panel in panels)
    columns = 1 if has_paper else min(2, len(panels))
    bands = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    counts = [max(len(panel.rows) for panel in band) for band in bands]
    width = PAGE if has_paper or columns > 1 else 0.6 * PAGE
    with sheet(path, width=width, height=0.25 * sum(counts) + 0.75 * len(bands) + 1.0) as figure:
        figure.set_layout_engine("constrained", h_pad=0.1)
        num_axes = 2 if has_paper else columns
        grid = figure.subplots(len(bands), num_axes, squeeze=False, height_ratios=counts)
        for band, axes_of_band in zip(bands, grid, strict=True):
            for axes in axes_of_band[2 if has_paper and band[0].has_paper else len(band) :]:
                axes.remove()
            if has_paper:
                draw_panel(list(axes_of_band), band[0])
            else:
                for axes, panel in zip(axes_of_band, band, strict=False):
                    draw_panel([axes], panel)
        annotate(figure, title=title, about=about)


def draw_panel(axes: Sequence[Axes], panel: ChartPanel) -> None:
    """Ours, and on the second axes the paper's. Both span as many points: equal distances are equal
    differences."""
    sides = [[row.marks for row in panel.rows]]
    titles = [f"{panel.title}\n{'alone, and with ReCo' if panel.has_pairs else 'ours'}"]
    if panel.has_paper:
        sides.append([row.paper_marks for row in panel.rows])
        titles.append(panel.source)
    spans = [_span([mark for marks in side for mark in marks]) for side in sides]
    room = max(*(high - low for low, high in spans), _SMALLEST_SPAN) * 1.1
    for number, (one, (low, high)) in enumerate(zip(axes, spans, strict=False)):
        _dress(one, panel, low - (room - high + low) / 2, room, has_marks=any(sides[number]))
        one.set_title(titles[number], loc="left", color=INK if number == 0 else MUTED)
    axes[0].set_yticks([number + 0.5 for number in range(len(panel.rows))])
    axes[0].set_yticklabels([shortened(row.title, 30) for row in panel.rows], color=INK, fontsize=8.5)
    draw_ours(axes[0], panel)
    if panel.has_paper:
        _draw_paper(axes[1], panel)


def _span(marks: Sequence[float]) -> tuple[float, float]:
    return (min(marks), max(marks)) if marks else (0.0, 0.0)


def _dress(axes: Axes, panel: ChartPanel, left: float, room: float, *, has_marks: bool) -> None:
    """`room` points for the marks, and space at their right for the numbers beside them."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(left, left + room * (1.45 if panel.has_pairs else 1.25))
    axes.set_ylim(len(panel.rows), 0)
    for number in range(len(panel.rows)):
        axes.axhspan(number, number + 1, color=_BACKGROUNDS[number % 2], linewidth=0, zorder=0)
    axes.spines[["left", "right", "top"]].set_visible(False)
    axes.set_yticks([])
    axes.tick_params(axis="x", length=2, labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    if not has_marks:
        axes.set_xticks([])


def draw_ours(axes: Axes, panel: ChartPanel) -> None:
    """A dot for each seed, a bar at their mean."""
    if panel.baseline is not None and panel.rows[panel.baseline].scores:
        _mark_baseline(axes, _mean(panel.rows[panel.baseline].scores))
    for number, row in enumerate(panel.rows):
        middle = number + 0.5
        if not row.marks:
            how: Any = {"color": "#8a8a8a", "fontsize": 8, "fontstyle": "italic", "va": "center"}
            axes.text(0.02, middle, "not run", transform=axes.get_yaxis_transform(), **how)
        elif row.with_reco is None:
            _draw_seeds(axes, row.scores, middle, _OURS)
            _put_number(axes, row.marks, middle, f"{_mean(row.scores):.1f}")
        else:
            _draw_pair(axes, row.scores, row.with_reco, middle)
            numbers = (f"{_mean(one):.1f}" if one else DASH for one in (row.scores, row.with_reco))
            _put_number(axes, row.marks, middle, " → ".join(numbers))


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


def _draw_paper(axes: Axes, panel: ChartPanel) -> None:
    """A diamond at the mean, and a line as long as the range that the paper gives."""
    if panel.baseline is not None and (baseline := panel.rows[panel.baseline].paper):
        _mark_baseline(axes, baseline[0])
    for number, row in enumerate(panel.rows):
        if row.paper:
            middle = number + 0.5
            axes.plot(row.paper_marks, [middle] * 2, color=_PAPERS, linewidth=1.2)
            axes.plot([row.paper[0]], [middle], "D", color=_PAPERS, markersize=4.5)
            _put_number(axes, row.paper_marks, middle, f"{row.paper[0]:.2f}")


def _mark_baseline(axes: Axes, mean: float) -> None:
    axes.axvline(mean, color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)), zorder=1)


def _put_number(axes: Axes, marks: Sequence[float], middle: float, text: str) -> None:
    """Right of all marks of its row, where it covers none, and over the baseline's line."""
    look: Any = {"va": "center_baseline", "fontsize": 8, "color": INK}
    behind = {"facecolor": _BACKGROUNDS[int(middle) % 2], "edgecolor": "none", "pad": 0.5}
    axes.annotate(text, (max(marks), middle), (5, 0), textcoords="offset points", bbox=behind, **look)


def _mean(scores: Sequence[float]) -> float:
    return fsum(scores) / len(scores)
