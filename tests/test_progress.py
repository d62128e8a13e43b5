"""The display of progress, on a terminal of usual width and elsewhere."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from recoseg import progress
from recoseg.progress import ProgressBar
from recoseg.text import clock

PARTS = "loss 7.500  supervised 1.250  unsupervised 0.500  contrast 5.750"


def shown(*, terminal: bool) -> str:
    text = StringIO()
    console = Console(width=80, force_terminal=terminal, file=text, color_system=None)
    with ProgressBar(console, unit="iterations") as bar:
        bar.advance(29_999, 40_000)
        bar.show(30_000, 40_000, note="12.3 images/s  3.4 GB", detail=PARTS, left=5000.0)
    return text.getvalue()


def test_eighty_columns_hold_count_speed_memory_time_left_and_all_parts() -> None:
    rows = shown(terminal=True).replace("\r", "\n").splitlines()
    counted = [row for row in rows if "30000/40000" in row]
    assert "12.3 images/s  3.4 GB  1:23:20 left" in counted[-1]
    parts = [row for row in rows if "loss 7.500" in row]
    assert PARTS in parts[-1]
    assert "\N{HORIZONTAL ELLIPSIS}" not in parts[-1]


def test_where_there_is_no_terminal_a_line_comes_now_and_then(monkeypatch) -> None:
    assert shown(terminal=False) == ""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    line = f"30000 of 40000 iterations, 12.3 images/s  3.4 GB, 1:23:20 left  {PARTS}\n"
    assert shown(terminal=False) == line


def test_parts_of_images_are_not_counted(monkeypatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    console = Console(file=StringIO())
    with ProgressBar(console, did="read") as bar:
        bar.show(6.0, 60)
        bar.show(6.7, 60)  # the seventh is a large one
    lines = console.file.getvalue().splitlines()
    assert [line.partition(",")[0] for line in lines] == ["read 6 of 60 images"] * 2


@pytest.mark.parametrize(("done", "left"), [(30, "0:10 left"), (0, None)])
def test_the_time_left_follows_from_the_pace(monkeypatch, done, left) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    times = iter([100.0, 130.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    console = Console(file=StringIO())
    with ProgressBar(console) as bar:
        bar.show(done, 40)
    said = console.file.getvalue()
    assert said == f"{done} of 40 images{f', {left}' if left else ''}\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.6, "1:00"), (75, "1:15"), (3599.7, "1:00:00"), (90_061, "25:01:01")],
)
def test_a_clock_has_hours_only_when_there_are_some(seconds, text) -> None:
    assert clock(seconds) == text
