"""Some hundred damaged exports of every format: none is a traceback, takes seconds, or ends the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_damaged_exports_are_imported_or_refused_in_one_line(tmp_path) -> None:
    script = Path(__file__).with_name("fuzz.py")
    words = [sys.executable, str(script), "300", "0", str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    number = (tmp_path / "number").read_text()
    assert (ended.returncode, ended.stdout) == (0, ""), f"ended at case {number}: {ended.stderr[-2000:]}"
