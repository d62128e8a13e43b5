"""Run lengths: masks as COCO, CVAT and Label Studio write them, and back.

Counts alternate between pixels outside and inside, beginning outside; what order the pixels come in (COCO:
column by column, CVAT: row by row) is the caller's business. Label Studio packs the bytes of an RGBA image.

pycocotools packs COCO's strings. It trusts those that it unpacks, so they are unpacked here: every count has
to be known before a mask is made of it.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoseg.exchange.rasterise import Mask, expanded

Counts = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_OFFSET, _MORE, _SIGN, _BITS = 48, 0x20, 0x10, 5
_MOST_LETTERS = 8  # of a count: 40 bits; no image has more pixels


def counts_from(values: Any) -> Counts:
    """The counts of a list; a ValueError for anything else than whole numbers."""
    counts = np.asarray(values)
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        raise ValueError("run lengths that are no list of whole numbers")
    return counts.astype(np.int64)


def mask_of(counts: Counts, num_pixels: int) -> Mask:
    """(num_pixels,) from alternating counts; a ValueError if they do not add up to it."""
    # One by one first: a sum of large numbers could wrap around to the right one.
    fits = len(counts) > 0 and counts.min() >= 0 and counts.max() <= num_pixels
    if not fits or counts.sum() != num_pixels:
        raise ValueError(f"run lengths that do not add up to {num_pixels} pixels")
    return expanded(counts)


def counts_of(mask: Mask) -> Counts:
    """The alternating counts of a flat mask, the first of them of pixels outside."""
    changes = np.flatnonzero(mask[1:] != mask[:-1]) + 1
    edges = np.concatenate(([0], changes, [len(mask)]))
    counts = np.diff(edges)
    return np.concatenate(([0], counts)) if len(mask) and mask[0] else counts


def unpack_counts(text: str) -> Counts:
    """COCO's compressed counts: five bits a letter, from the fourth on as differences to the last but one."""
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
    """The compressed string of counts of a mask of this size."""
    from pycocotools import mask

    run_lengths = {"size": [height, width], "counts": counts.tolist()}
    packed: bytes = mask.frPyObjects(run_lengths, height, width)["counts"]
    return packed.decode()


# Label Studio's brush: a count of values and sizes of fields, then runs of one value, or values one by one

_HEADER_BITS = 32 + 5 + 4 * 4
_FIELD_BITS = (3, 4, 8, 16)  # what a run's length may take; as Label Studio's own writer has it
_WORD_BITS = 8


def unpack_brush(code: bytes, *, num_values: int) -> Bytes:
    """The values that were packed, flat; a ValueError unless there are `num_values`."""
    found = _read_bits(code, 0, 32)
    word = _read_bits(code, 32, 5) + 1
    fields = [_read_bits(code, 37 + 4 * field, 4) + 1 for field in range(4)]
    if found != num_values or word > _WORD_BITS:
        raise ValueError(f"a brush of {found} values of {word} bits, where {num_values} are meant")
    bits = np.unpackbits(np.frombuffer(code, dtype=np.uint8))
    values = np.zeros(num_values, dtype=np.uint8)
    done, at = 0, _HEADER_BITS
    while done < num_values:  # a turn a run, not a pixel
        head = _read_bits(code, at, 3)
        size = fields[head & 3]
        length = _read_bits(code, at + 3, size) + 1
        at += 3 + size
        if done + length > num_values:
            raise ValueError("a brush that runs over its end")
        if head & 4:
            values[done : done + length] = _read_bits(code, at, word)
            at += word
        else:
            literal = bits[at : at + word * length].reshape(length, word)
            values[done : done + length] = literal @ (1 << np.arange(word - 1, -1, -1))
            at += word * length
        done += length
    return values


def _read_bits(code: bytes, at: int, size: int) -> int:
    """The number in `size` bits from bit `at` on, highest first."""
    end = at + size
    if end > 8 * len(code):
        raise ValueError("a brush that is cut short")
    return int.from_bytes(code[at >> 3 : (end + 7) >> 3], "big") >> (-end & 7) & ((1 << size) - 1)


def pack_brush(mask: Mask) -> list[int]:
    """A flat mask as Label Studio keeps it: 255 in all four channels inside, 0 outside."""
    sizes = "".join(f"{size - 1:04b}" for size in _FIELD_BITS)
    bits = [f"{4 * len(mask):032b}{_WORD_BITS - 1:05b}{sizes}"]
    for number, count in enumerate((4 * counts_of(mask)).tolist()):
        value = f"{number % 2 * 255:08b}"
        while count > 0:  # a run longer than any field is several
            length = min(count, 1 << _FIELD_BITS[-1])
            field = bisect_left(_FIELD_BITS, (length - 1).bit_length())  # the smallest that holds it
            bits.append(f"1{field:02b}{length - 1:0{_FIELD_BITS[field]}b}{value}")
            count -= length
    text = "".join(bits)
    num_bytes = -(-len(text) // 8)
    return list(int(text.ljust(8 * num_bytes, "0"), 2).to_bytes(num_bytes, "big"))
