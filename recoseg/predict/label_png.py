"""PNG files of labels, grey values and several values a pixel, written band by band.

Pillow's writer keeps Python's lock while it compresses, so that a network in another thread would wait for it
at every layer; zlib does not (benchmarks/own_pieces.py measures both).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

BAND_BYTES = 2**22
_PALETTE, _RGB, _GREY = 3, 2, 0

Pixels = NDArray[np.uint8] | NDArray[np.uint16]


def write_png(
    file: BinaryIO, pixels: Pixels, *, palette: Sequence[tuple[int, int, int]] | None = None
) -> None:
    """(H, W) as a grey PNG of 8 or 16 bits; with a `palette`, 8-bit indices into it. (H, W, 3) as RGB."""
    height, width = pixels.shape[:2]
    kind = _RGB if pixels.ndim == 3 else _GREY if palette is None else _PALETTE
    file.write(b"\x89PNG\r\n\x1a\n")
    _write_chunk(file, b"IHDR", struct.pack(">IIBBBBB", width, height, 8 * pixels.itemsize, kind, 0, 0, 0))
    if palette is not None:
        _write_chunk(file, b"PLTE", bytes(value for colour in palette for value in colour))
    for content in _compressed(pixels):
        _write_chunk(file, b"IDAT", content)
    _write_chunk(file, b"IEND", b"")


def _compressed(pixels: Pixels) -> Iterator[bytes]:
    """The rows, each behind a byte that says "not filtered", high bytes first; in parts of one stream."""
    packer = zlib.compressobj(level=3)
    pixels = pixels.reshape(len(pixels), -1)
    step = max(1, BAND_BYTES // (pixels.shape[1] * pixels.itemsize))
    for top in range(0, len(pixels), step):
        band = pixels[top : top + step]
        values = np.ascontiguousarray(band, dtype=band.dtype.newbyteorder(">")).view(
            np.uint8
        )  # (rows, bytes)
        rows = np.concatenate((np.zeros((len(values), 1), dtype=np.uint8), values), axis=1)
        yield packer.compress(rows.data)
    yield packer.flush()


def _write_chunk(file: BinaryIO, name: bytes, content: bytes) -> None:
    file.write(struct.pack(">I", len(content)) + name)
    file.write(content)
    file.write(struct.pack(">I", zlib.crc32(content, zlib.crc32(name))))
