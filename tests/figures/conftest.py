"""Reading pictures back."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def texts() -> Callable[[Path], list[str]]:
    """What an SVG says, text by text."""

    def read(path: Path) -> list[str]:
        found = re.findall(r"<text[^>]*>(.*?)</text>", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        return [unescape(re.sub(r"<[^>]*>", "", text)).strip() for text in found]

    return read
