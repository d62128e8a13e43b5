"""Methods by name; a method is one file."""

from recoseg.methods.base import Method
from recoseg.methods.supervised import Supervised

METHODS: dict[str, type[Supervised]] = {"supervised": Supervised}

__all__ = ["METHODS", "Method"]
