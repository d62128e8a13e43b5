"""The scores of a grid as dots."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from recoseg.figures.grid_chart import ChartPanel, ChartRow, draw_grid_chart, draw_panel

ROWS = [
    ChartRow("Supervised", (26.0, 27.0), (38.12, 0.08)),
    ChartRow("S4GAN", (), (37.65, 0.62)),
    ChartRow("ClassMix", (27.0, 28.0, 29.5), (45.61, None)),
    ChartRow("ReCo + Supervised", (28.0,)),
]
WHAT = {"title": "A grid (profile tiny)", "about": "what one must know"}


def panel_axes(panel: ChartPanel) -> list:
    axes = Figure(figsize=(9, 4)).subplots(1, 1 + panel.has_paper, squeeze=False)[0]
    draw_panel(list(axes), panel)
    return list(axes)


def points(axes, marker: str) -> list[tuple[float, float]]:
    return [
        tuple(xy)
        for line in axes.get_lines()
        if line.get_marker() == marker
        for xy in line.get_xydata().tolist()
    ]


def test_every_seed_is_a_dot_in_its_row_and_every_mean_a_bar() -> None:
    ours, _ = panel_axes(ChartPanel("Cityscapes", ROWS))
    assert points(ours, "o") == [(26.0, 0.5), (27.0, 0.5), (27.0, 2.5), (28.0, 2.5), (29.5, 2.5), (28.0, 3.5)]
    bars = [line.get_xydata()[:, 0].tolist() for line in ours.get_lines() if line.get_marker() == "None"]
    assert bars == [pytest.approx([mean, mean]) for mean in (26.5, 84.5 / 3, 28.0)]


def test_the_papers_means_are_diamonds_with_lines_as_long_as_its_ranges() -> None:
    _, paper = panel_axes(ChartPanel("Cityscapes", ROWS))
    assert points(paper, "D") == [(38.12, 0.5), (37.65, 1.5), (45.61, 2.5)]
    lines = [line.get_xydata()[:, 0].tolist() for line in paper.get_lines() if line.get_marker() == "None"]
    assert lines == [pytest.approx(ends) for ends in ([38.04, 38.20], [37.03, 38.27], [45.61, 45.61])]


def test_rows_run_from_top_to_bottom() -> None:
    for axes in panel_axes(ChartPanel("Cityscapes", ROWS)):
        assert axes.get_ylim() == (4, 0)


def test_equal_distances_are_equal_differences_in_both_halves_and_all_marks_are_inside() -> None:
    ours, paper = panel_axes(ChartPanel("Cityscapes", ROWS))
    (low, high), (paper_low, paper_high) = ours.get_xlim(), paper.get_xlim()
    assert high - low == pytest.approx(paper_high - paper_low)
    assert ours.get_position().width == pytest.approx(paper.get_position().width)
    assert low < 26.0 < 29.5 < high
    assert paper_low < 37.03 < 45.61 < paper_high


def test_numbers_beside_the_highest_mark_stay_inside() -> None:
    for panel in (ChartPanel("Cityscapes", ROWS), ChartPanel("CamVid", PAIRS)):
        for axes in panel_axes(panel):
            right = axes.get_window_extent().x1
            assert all(text.get_window_extent().x1 <= right for text in axes.texts)


def test_little_noise_does_not_fill_the_panel() -> None:
    (ours,) = panel_axes(ChartPanel("CamVid", [ChartRow("A", (30.0, 30.01))]))
    low, high = ours.get_xlim()
    assert high - low > 2


def test_a_dashed_line_marks_the_baseline_in_both_halves() -> None:
    plain, marked = ChartPanel("a", ROWS), ChartPanel("a", ROWS, baseline=2)
    new = [
        len(b.get_lines()) - len(a.get_lines())
        for a, b in zip(panel_axes(plain), panel_axes(marked), strict=True)
    ]
    assert new == [1, 1]
    assert [axes.get_lines()[0].get_xdata()[0] for axes in panel_axes(marked)] == [
        pytest.approx(84.5 / 3),
        45.61,
    ]
    not_run = panel_axes(ChartPanel("a", ROWS, baseline=1))
    assert len(not_run[0].get_lines()) == len(panel_axes(plain)[0].get_lines())


def test_what_was_not_run_is_said_and_only_there() -> None:
    axes, _ = panel_axes(ChartPanel("a", ROWS))
    assert [text.get_text() for text in axes.texts] == ["26.5", "not run", "28.2", "28.0"]
    assert axes.texts[1].get_position()[1] == 1.5


PAIRS = [
    ChartRow("ClassMix", (54.0, 56.0), with_reco=(57.0,)),
    ChartRow("VAT", (51.0,), with_reco=(49.0, 50.0)),
    ChartRow("DMT", (), with_reco=(55.5,)),
    ChartRow("GCT", (52.0,), with_reco=()),
    ChartRow("S4GAN", (54.1,), with_reco=(54.05,)),
    ChartRow("CCT", (), with_reco=()),
]


def test_a_method_alone_and_with_reco_stand_in_one_row_joined_by_an_arrow() -> None:
    (axes,) = panel_axes(ChartPanel("CamVid", PAIRS, baseline=0))
    assert points(axes, "o") == [
        (54.0, 0.5), (56.0, 0.5), (57.0, 0.5), (51.0, 1.5), (49.0, 1.5), (50.0, 1.5), (55.5, 2.5),
        (52.0, 3.5), (54.1, 4.5), (54.05, 4.5),
    ]  # fmt: skip
    grey, blue, *_ = [line.get_color() for line in axes.get_lines() if line.get_marker() == "o"]
    assert grey != blue
    arrows = [one for one in axes.texts if getattr(one, "arrow_patch", None)]
    assert [(one.xyann, one.xy) for one in arrows] == [
        ((55.0, 0.5), (57.0, 0.5)),  # from the mean alone to the mean with ReCo
        ((51.0, 1.5), (49.5, 1.5)),
    ]  # none where one of them was not run, nor where its head would hide both
    assert [one.get_text() for one in axes.texts if one not in arrows] == [
        "55.0 → 57.0", "51.0 → 49.5", "– → 55.5", "52.0 → –", "54.1 → 54.0", "not run",
    ]  # fmt: skip
    assert axes.get_lines()[0].get_xdata()[0] == 55.0  # the baseline's mean is that of the method alone


def test_a_baseline_that_was_run_with_reco_alone_has_no_line() -> None:
    plain, marked = ChartPanel("CamVid", PAIRS), ChartPanel("CamVid", PAIRS, baseline=2)
    (without,), (within,) = panel_axes(plain), panel_axes(marked)
    assert len(within.get_lines()) == len(without.get_lines())


def test_a_chart_says_title_methods_means_and_the_papers_figures(tmp_path, texts) -> None:
    panel = ChartPanel("Cityscapes, 20 labelled images", ROWS, 2, source="paper, Table 1")
    draw_grid_chart(tmp_path / "a.svg", [panel], **WHAT)
    said = set(texts(tmp_path / "a.svg"))
    assert {"A grid (profile tiny)", "what one must know", "Cityscapes, 20 labelled images"} <= said
    assert {"Supervised", "S4GAN", "ClassMix", "ReCo + Supervised", "paper, Table 1"} <= said
    assert {"26.5", "28.2", "28.0", "not run", "38.12", "37.65", "45.61"} <= said


def test_without_figures_of_the_paper_there_is_no_half_for_them(tmp_path, texts) -> None:
    assert len(panel_axes(ChartPanel("CamVid", [ChartRow("A", (1.0,))]))) == 1
    draw_grid_chart(tmp_path / "a.svg", [ChartPanel("CamVid", [ChartRow("A")])], **WHAT)
    said = texts(tmp_path / "a.svg")
    assert "paper" not in said
    assert "not run" in said


@pytest.mark.parametrize(("num_panels", "num_rows"), [(1, 7), (12, 6), (5, 1)])
def test_grids_of_any_shape_fit_without_panels_over_one_another(
    tmp_path, monkeypatch, num_panels, num_rows
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    rows = [
        ChartRow(f"method {number}", (20.0 + number,), (40.0 + number, 1.0)) for number in range(num_rows)
    ]
    draw_grid_chart(tmp_path / "a.png", [ChartPanel(f"{k}", rows) for k in range(num_panels)], **WHAT)
    drawn[0].draw_without_rendering()
    boxes = [axes.get_position() for axes in drawn[0].axes]
    assert len(boxes) == 2 * num_panels
    for number, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= 1
        assert box.y1 <= 1
        assert not any(box.overlaps(other) for other in boxes[:number])
