"""Reading weights files as named tensors, without ever running code from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from recoseg.errors import UserError, is_shortage

WRAPPERS = ("state_dict", "model")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The named tensors of a .pth or .safetensors file, taken out of what training programs wrap them in."""
    content = read_content(path)
    for wrapper in WRAPPERS:
        inner = content.get(wrapper)
        if isinstance(inner, Mapping):
            content = inner
    return {name: tensor for name, tensor in content.items() if isinstance(tensor, Tensor)}


def read_content(path: Path) -> Mapping[str, object]:
    if path.is_dir():
        raise UserError(f"{path} is a folder; give the file itself, such as {path / 'weights.safetensors'}")
    if not path.is_file():
        raise UserError(f"no weights file at {path}")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a broken file makes the readers raise almost anything
        if is_shortage(error):
            raise
        reason = str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
        raise UserError(
            f"{path}: not a readable weights file ({reason}). Only plain tensors are read: files that hold "
            "other Python objects are refused, since loading them could run code"
        ) from error
    if not isinstance(content, Mapping):
        raise UserError(f"{path}: holds a {type(content).__name__}, not named tensors")
    return content
