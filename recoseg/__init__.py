"""recoseg: semantic segmentation from very few labels."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recoseg.losses.regional_contrast import RegionalContrast
    from recoseg.losses.shrink_labels import shrink_labels
    from recoseg.models.representation import with_representation
    from recoseg.runs.run import load

__all__ = ["RegionalContrast", "load", "shrink_labels", "with_representation"]

# Found on first use, so that `import recoseg` and `recoseg --help` need not wait for torch.
_HOMES = {
    "RegionalContrast": "recoseg.losses.regional_contrast",
    "load": "recoseg.runs.run",
    "shrink_labels": "recoseg.losses.shrink_labels",
    "with_representation": "recoseg.models.representation",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
