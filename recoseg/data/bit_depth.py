"""The bits of 16-bit images that hold data: those of a 12-bit camera fill a sixteenth of the range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from recoseg.data.image_files import FULL_DEPTH, Brightness, read_brightness
from recoseg.data.problem import FileError, Problem
from recoseg.data.worker_processes import Progress, in_processes_if_slow

_FEWEST_LEVELS = 64
"""Of the 256 that the upper 8 bits of a colour channel can have."""


def measure_bit_depth(
    images: Sequence[Path], *, num_workers: int, progress: Progress | None = None
) -> int | None:
    """Return the bits that the images of more than 8 bits use together; None if there are no such images.

    Images that cannot be read are left out here: whatever uses them names them.
    """
    values = in_processes_if_slow(_brightness, images, num_workers=num_workers, progress=progress)
    measured = dict(zip(images, values, strict=True))
    problem = narrow_colour_problem(measured)
    if problem:
        raise FileError(problem.file, problem.what, problem.remedy)
    return bit_depth_of(measured.values())


def _brightness(path: Path) -> Brightness | None:
    try:
        return read_brightness(path)
    except FileError:
        return None


def bit_depth_of(values: Iterable[Brightness | None]) -> int | None:
    """The bits of the largest grey value, 8 to 16; None if there is none."""
    largest = max((one.largest for one in values if one and not one.is_colour), default=None)
    return None if largest is None else max(8, largest.bit_length())


def narrow_colour_problem(measured: Mapping[Path, Brightness | None]) -> Problem | None:
    """Say that colour images with 16 bits a channel use so few of them that 8 bits would show few levels."""
    colours = {path: one.largest for path, one in measured.items() if one and one.is_colour}
    largest = max(colours.values(), default=_FEWEST_LEVELS)
    if largest >= _FEWEST_LEVELS:
        return None
    white = 2 ** (largest.bit_length() + 8) - 1
    what = (
        f"colour with 16 bits a channel, of which the upper 8 are read; in all {len(colours)} such images "
        f"these are at most {largest}"
    )
    remedy = f"save them with 8 bits a channel: 0-{white} becomes 0-255"
    return Problem(str(next(iter(colours))), what, remedy)


def depth_in_words(bit_depth: int) -> str:
    """How images of more than 8 bits become images of 8 bits."""
    of = "" if bit_depth == FULL_DEPTH else f" of {FULL_DEPTH}"
    return f"{bit_depth}{of} bits hold data: 0-{2**bit_depth - 1} becomes 0-255, in all images alike"


def clipping_problem(path: Path, bit_depth: int) -> Problem | None:
    """Say that an image is brighter than any image of a run was."""
    value = _brightness(path)
    white = 2**bit_depth - 1
    if value is None or value.is_colour or value.largest <= white:
        return None
    what = f"values up to {value.largest}; this run has {bit_depth} bits (data.bit_depth), up to {white}"
    remedy = "all above is white: scale the image as those that the run was trained on"
    return Problem(str(path), what, remedy, fatal=False)
