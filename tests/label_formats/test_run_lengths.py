"""Run lengths against numbers by hand, slow readings of the formats, and pycocotools."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pycocotools import mask as coco

from recoseg.label_formats.run_lengths import (
    counts_from,
    counts_of,
    mask_of,
    pack_brush,
    pack_counts,
    unpack_brush,
    unpack_counts,
)

MASKS = arrays.arrays(np.bool_, arrays.array_shapes(min_dims=2, max_dims=2, max_side=12))


def test_counts_begin_with_pixels_outside() -> None:
    assert counts_of(np.array([0, 0, 1, 1, 1, 0], dtype=bool)).tolist() == [2, 3, 1]
    assert counts_of(np.array([1, 1, 0], dtype=bool)).tolist() == [0, 2, 1]
    assert mask_of(np.array([0, 2, 1]), 3).tolist() == [True, True, False]


def test_counts_that_do_not_add_up_are_refused() -> None:
    for counts in ([2, 3], [2, -1, 5], [], [2**62] * 4 + [6], [2**63 - 1, 2**63 - 1, 8]):
        with pytest.raises(ValueError, match="do not add up to 6"):
            mask_of(np.array(counts, dtype=np.int64), 6)


@pytest.mark.parametrize("values", [5, "123", [[1, 2]], [1.5], [True], [None], {}, [2**64], [[]]], ids=repr)
def test_counts_are_a_list_of_whole_numbers(values) -> None:
    with pytest.raises(ValueError, match="no list of whole numbers"):
        counts_from(values)


def test_a_compressed_string_by_hand() -> None:
    # 6 is one letter, 48 + 6; 40 = 8 + 32 * 1 two, the first with the bit for more: 48 + 32 + 8, 48 + 1;
    # the fourth number is written as its difference to the second: 38 - 40 = -2, 48 + 30.
    assert unpack_counts("6X15N").tolist() == [6, 40, 5, 38]
    assert pack_counts(np.array([6, 40, 5, 38]), 1, 89) == "6X15N"


@given(st.lists(st.integers(0, 2**31), min_size=1, max_size=40))
def test_any_counts_survive_compression(counts) -> None:
    assert unpack_counts(pack_counts(np.array(counts), 1, sum(counts))).tolist() == counts


@given(MASKS)
def test_compression_is_that_of_pycocotools(mask) -> None:
    theirs = coco.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode()
    assert pack_counts(counts_of(mask.ravel(order="F")), *mask.shape) == theirs
    ours = mask_of(unpack_counts(theirs), mask.size).reshape(mask.shape, order="F")
    assert (ours == mask).all()


@pytest.mark.parametrize("text", ["é", "6X", " ", "Z" * 20 + "0", "o" * 10**6])
def test_letters_that_are_no_counts_are_refused(text) -> None:
    with pytest.raises(ValueError):
        unpack_counts(text)


def slow_brush(code: list[int]) -> list[int]:
    """The format as it is documented, a bit at a time."""
    bits = "".join(f"{byte:08b}" for byte in code)
    at = 0

    def read(size: int) -> int:
        nonlocal at
        at += size
        return int(bits[at - size : at], 2)

    count, word = read(32), read(5) + 1
    sizes = [read(4) + 1 for _ in range(4)]
    values: list[int] = []
    while len(values) < count:
        is_run = read(1)
        length = read(sizes[read(2)]) + 1
        values += [read(word)] * length if is_run else [read(word) for _ in range(length)]
    return values


@given(MASKS)
def test_a_brush_is_255_inside_in_all_four_channels(mask) -> None:
    code = pack_brush(mask.ravel())
    expected = np.repeat(np.where(mask.ravel(), 255, 0), 4).tolist()
    assert slow_brush(code) == expected
    assert unpack_brush(bytes(code), num_values=4 * mask.size).tolist() == expected


def test_a_run_longer_than_any_field_is_several() -> None:
    mask = np.zeros(100_000, dtype=bool)
    mask[20_000:90_000] = True
    code = pack_brush(mask)
    assert (unpack_brush(bytes(code), num_values=400_000)[3::4] > 0).tolist() == mask.tolist()


@given(st.lists(st.integers(0, 255), min_size=1, max_size=60), st.integers(1, 7))
def test_values_one_by_one_are_read_too(values, length) -> None:
    """As Label Studio writes brushes of a colour, whose channels differ."""
    parts = [values[start : start + length] for start in range(0, len(values), length)]
    bits = f"{len(values):032b}" + f"{7:05b}" + "".join(f"{size - 1:04b}" for size in (3, 4, 8, 16))
    for part in parts:
        bits += "0" + "00" + f"{len(part) - 1:03b}" + "".join(f"{value:08b}" for value in part)
    bits += "0" * (-len(bits) % 8)
    code = [int(bits[start : start + 8], 2) for start in range(0, len(bits), 8)]
    assert slow_brush(code) == values
    assert unpack_brush(bytes(code), num_values=len(values)).tolist() == values


def test_a_brush_of_another_size_or_cut_short_is_refused() -> None:
    code = bytes(pack_brush(np.ones(30, dtype=bool)))
    with pytest.raises(ValueError, match="120 values"):
        unpack_brush(code, num_values=124)
    with pytest.raises(ValueError, match="cut short"):
        unpack_brush(code[:-2], num_values=120)
