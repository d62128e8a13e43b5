"""Files that recoseg wrote itself, damaged since: one line that names the file and what is wrong in it.

A new fault is one line: a name, what to do to the world, the command, and what its one line of error says.
"""

from __future__ import annotations

import pytest

REFUSED = [
    (
        "half a config",
        lambda w: (w.run / "config.yaml").write_text("train: {it"),
        "evaluate run",
        "config.yaml",
    ),
]


@pytest.mark.parametrize(("name", "plant", "words", "says"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_damaged_file_of_ours_is_named_in_one_line(name, plant, words, says, refused):
    refused(plant, words, says)
