"""recoseg: semantic segmentation from very few labels.

It implements Liu et al., "Bootstrapping Semantic Segmentation with Regional Contrast" (ICLR 2022). Sections
and equations in docstrings are those of this paper. `__version__` is the version of the installed package.

Example:
    >>> import recoseg
    >>> recoseg.__version__.count(".")
    2
    >>> recoseg.RegionalContrast().num_queries
    256
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recoseg import losses, methods, models
    from recoseg.errors import UserError
    from recoseg.losses.regional_contrast import RegionalContrast
    from recoseg.losses.shrink_labels import shrink_labels
    from recoseg.models.representation import with_representation
    from recoseg.runs.run import Run, load
    from recoseg.runs.start import train

__all__ = [
    "RegionalContrast",
    "Run",
    "UserError",
    "__version__",
    "load",
    "losses",
    "methods",
    "models",
    "shrink_labels",
    "train",
    "with_representation",
]

# Found on first use, so that `import recoseg` and `recoseg --help` need not wait for torch.
_HOMES = {
    "RegionalContrast": "recoseg.losses.regional_contrast",
    "Run": "recoseg.runs.run",
    "UserError": "recoseg.errors",
    "load": "recoseg.runs.run",
    "shrink_labels": "recoseg.losses.shrink_labels",
    "train": "recoseg.runs.start",
    "with_representation": "recoseg.models.representation",
}
_NAMESPACES = ("losses", "methods", "models")


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    if name == "__version__":
        return importlib.metadata.version("recoseg")
    if name in _NAMESPACES:
        return importlib.import_module(f"recoseg.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
