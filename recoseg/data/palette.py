"""Colours for classes that come without any."""

from __future__ import annotations


def distinct_colours(num_classes: int) -> tuple[tuple[int, int, int], ...]:
    """As many different RGB colours, well apart for the first few; the first is black.

    The bits of the index are dealt to red, green and blue in turn, highest bit first: the colours that
    Pascal VOC made familiar.
    """
    return tuple(
        (dealt_bits(index), dealt_bits(index >> 1), dealt_bits(index >> 2)) for index in range(num_classes)
    )


def dealt_bits(index: int) -> int:
    """Every third bit of `index`, from the lowest, as the bits of a byte, from the highest."""
    return sum((index >> 3 * place & 1) << (7 - place) for place in range(8))
