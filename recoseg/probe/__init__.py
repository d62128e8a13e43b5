"""A linear classifier on the frozen features of a pretrained encoder, fitted in seconds.

It is a baseline of its own (`--method probe`), the start of every training with `model.start: probe`, and
what `recoseg init` measures before it writes a config.
"""

from recoseg.probe.cells import Cells, labelled_cells
from recoseg.probe.fitting import ProbeFit, cross_validate, fit_probe, set_probe
from recoseg.probe.regression import Classifier, fit_classifier

__all__ = [
    "Cells",
    "Classifier",
    "ProbeFit",
    "cross_validate",
    "fit_classifier",
    "fit_probe",
    "labelled_cells",
    "set_probe",
]
