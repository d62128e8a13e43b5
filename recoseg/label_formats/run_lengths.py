"""Run lengths: masks as COCO, CVAT and Label Studio write them, and back.

Counts alternate between pixels outside and inside, beginning outside. The caller chooses the order of pixels
(COCO: column by column, CVAT: row by row). Label Studio packs the bytes of an RGBA image.

pycocotools packs COCO's strings. It does not check the counts that it unpacks, so we unpack them ourselves.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]

_OFFSET, _MORE, _SIGN, _BITS = 48, 0x20, 0x10, 5
_MOST_LETTERS = 8
"""Of a count: 40 bits; no image has more pixels."""


def counts_from(values: Any) -> Counts:
    """Return the counts of a list; a ValueError for anything except whole numbers."""
    counts = np.asarray(values)
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise ValueError("run lengths that are no list of whole numbers")
    return counts.astype(np.int64)


def mask_of(counts: Counts, num_pixels: int) -> Mask:
    """Return the flat mask, (num_pixels,); a ValueError if the counts do not add up to it."""
    # Check each count first: a sum of large numbers could wrap around to the right one.
    fits = len(counts) > 0 and counts.min() >= 0 and counts.max() <= num_pixels
    if not fits or counts.sum() != num_pixels:
        raise ValueError(f"run lengths that do not add up to {num_pixels} pixels")
    return np.repeat(np.arange(len(counts)) % 2 == 1, counts)


def counts_of(mask: Mask, *, before: int = 0, after: int = 0) -> Counts:
    """Return the counts of a flat mask with so many more pixels outside before and after it."""
    changes = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    counts = np.diff(np.concatenate(([-before], changes, [len(mask) + after])))
    return counts if counts[-1] else counts[:-1]


def unpack_counts(text: str) -> Counts:
    """Read COCO's string: five bits a letter; from the fourth count on, differences to the last but one."""
    counts: list[int] = []
    number = letters = 0
    for letter in text.encode():
        code = letter - _OFFSET
        if not 0 <= code < 2 * _MORE or letters == _MOST_LETTERS:
            raise ValueError("not the letters of run lengths")
        number |= (code & (_MORE - 1)) << (_BITS * letters)
        letters += 1
        if not code & _MORE:
            number -= (code & _SIGN) << (_BITS * (letters - 1) + 1)
            counts.append(number + (counts[-2] if len(counts) > 2 else 0))
            number = letters = 0
    if letters:
        raise ValueError("run lengths that are cut short")
    return np.array(counts, dtype=np.int64)


def pack_counts(counts: Counts, height: int, width: int) -> str:
    """Return COCO's string for a mask of this size."""
    from pycocotools import mask

    run_lengths = {"size": [height, width], "counts": counts.tolist()}
    packed: bytes = mask.frPyObjects(run_lengths, height, width)["counts"]
    return packed.decode()


# Label Studio's brush: a count of values and sizes of fields, then runs of one value, or values one by one

_FIELD_BITS = (3, 4, 8, 16)
"""Sizes of the field for the length of a run, as Label Studio writes them."""
_WORD_BITS = 8


def unpack_brush(code: bytes, *, num_values: int) -> NDArray[np.uint8]:
    """Return the packed values, flat; a ValueError unless there are `num_values`."""
    at = 0

    def read(size: int) -> int:
        """Return the number in the next bits, highest first."""
        nonlocal at
        start, at = at, at + size
        if at > 8 * len(code):
            raise ValueError("a brush that is cut short")
        return int.from_bytes(code[start >> 3 : (at + 7) >> 3], "big") >> (-at & 7) & ((1 << size) - 1)

    found, word = read(32), read(5) + 1
    fields = [read(4) + 1 for _ in range(4)]
    if found != num_values or word > _WORD_BITS:
        raise ValueError(f"a brush of {found} values of {word} bits, but the image needs {num_values}")
    values = np.zeros(num_values, dtype=np.uint8)
    done = 0
    while done < num_values:
        is_run = read(1)
        length = read(fields[read(2)]) + 1
        if done + length > num_values:
            raise ValueError("a brush that runs over its end")
        values[done : done + length] = read(word) if is_run else [read(word) for _ in range(length)]
        done += length
    return values


def pack_brush(mask: Mask) -> list[int]:
    """Pack a flat mask for Label Studio: 255 in all four channels inside, 0 outside."""
    sizes = "".join(f"{size - 1:04b}" for size in _FIELD_BITS)
    bits = [f"{4 * len(mask):032b}{_WORD_BITS - 1:05b}{sizes}"]
    for number, count in enumerate((4 * counts_of(mask)).tolist()):
        value = f"{number % 2 * 255:08b}"
        while count > 0:  # a run longer than the largest field is split
            length = min(count, 1 << _FIELD_BITS[-1])
            field = bisect_left(_FIELD_BITS, (length - 1).bit_length())
            bits.append(f"1{field:02b}{length - 1:0{_FIELD_BITS[field]}b}{value}")
            count -= length
    text = "".join(bits)
    num_bytes = -(-len(text) // 8)
    return list(int(text.ljust(8 * num_bytes, "0"), 2).to_bytes(num_bytes, "big"))
