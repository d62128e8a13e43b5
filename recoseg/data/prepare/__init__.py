"""What `recoseg prepare` does: a dataset at another size, written as an ordinary folder dataset."""

from recoseg.data.prepare.job import Prepared, prepare
from recoseg.data.prepare.resize import PAPER_SIZES, Resize

__all__ = ["PAPER_SIZES", "Prepared", "Resize", "prepare"]
