"""What a run shows of its progress, on a terminal of usual width and elsewhere."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from recoseg.text import clock
from recoseg.training import log as progress
from recoseg.training.log import ProgressDisplay

PARTS = {"loss": 7.5, "supervised": 1.25, "unsupervised": 0.5, "contrast": 5.75}


def shown(*, terminal: bool) -> str:
    text = StringIO()
    console = Console(width=80, force_terminal=terminal, file=text, color_system=None)
    display = ProgressDisplay(console, start=0, iterations=40_000)
    display.start()
    display.advance(30_000)
    display.show(30_000, PARTS, 12.34, 5000.0, 3_400_000_000)
    display.stop()
    return text.getvalue()


def test_eighty_columns_hold_count_speed_memory_time_left_and_all_parts() -> None:
    rows = [row for row in shown(terminal=True).replace("\r", "\n").splitlines() if "30000/40000" in row]
    assert rows
    assert "12.3 images/s  3.4 GB  1:23:20 left" in rows[-1]
    parts = [row for row in shown(terminal=True).splitlines() if "loss 7.500" in row]
    assert "loss 7.500  supervised 1.250  unsupervised 0.500  contrast 5.750" in parts[-1]
    assert "\N{HORIZONTAL ELLIPSIS}" not in parts[-1]


def test_where_there_is_no_terminal_a_line_comes_now_and_then(monkeypatch) -> None:
    assert shown(terminal=False) == ""
    monkeypatch.setattr(progress, "PLAIN_LINE_SECONDS", 0.0)
    assert shown(terminal=False) == (
        "30000/40000  loss 7.500  supervised 1.250  unsupervised 0.500  contrast 5.750  "
        "12.3 images/s  3.4 GB  1:23:20 left\n"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.6, "1:00"), (75, "1:15"), (3599.7, "1:00:00"), (90_061, "25:01:01")],
)
def test_a_clock_has_hours_only_when_there_are_some(seconds, text) -> None:
    assert clock(seconds) == text
