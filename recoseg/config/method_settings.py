"""Settings of the methods: `method`, and the contrast on top of them: `contrast`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class SupervisedMethod:
    """Cross-entropy on the labelled images alone."""

    name: Literal["supervised"] = "supervised"
