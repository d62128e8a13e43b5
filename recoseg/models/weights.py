"""Loading weights from files, without ever running code from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from recoseg.errors import UserError

WRAPPERS = ("state_dict", "model")
PREFIXES = ("module.", "backbone.", "encoder.")


@dataclass(frozen=True)
class LoadReport:
    """Which parameters a weights file filled."""

    matched: list[str]
    missing: list[str]
    left_over: list[str]

    def __str__(self) -> str:
        matched, missing, left_over = len(self.matched), len(self.missing), len(self.left_over)
        return f"{matched} tensors matched, {missing} missing, {left_over} left over"


def load_weights(module: nn.Module, path: str | Path, *, strict: bool = False) -> LoadReport:
    """Fill `module` from a .pth or .safetensors file by name.

    Under half matched is an error; with `strict`, so is anything missing or left over.
    """
    given = unwrapped(read_weights(Path(path)))
    wanted = module.state_dict()
    matched = [name for name, tensor in wanted.items() if name in given and given[name].shape == tensor.shape]
    report = LoadReport(
        matched=matched,
        missing=[name for name in wanted if name not in matched],
        left_over=[name for name in given if name not in matched],
    )
    if len(matched) * 2 < len(wanted):
        raise UserError(
            f"{path}: only {len(matched)} of the network's {len(wanted)} tensors are in this file with the "
            f"same shape (the file has e.g. {next(iter(given), 'none')!r}, the network "
            f"{next(iter(wanted))!r}); is it made for this network?"
        )
    if strict and (report.missing or report.left_over):
        names = ", ".join([*report.missing, *report.left_over][:3])
        raise UserError(f"{path}: does not fit this network ({report}), e.g. {names}")
    module.load_state_dict({name: given[name] for name in matched}, strict=False)
    return report


def read_weights(path: Path) -> Mapping[str, object]:
    if not path.is_file():
        raise UserError(f"no weights file at {path}")
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a broken file makes the readers raise almost anything
        reason = str(error).strip().splitlines()[0][:120] if str(error).strip() else type(error).__name__
        raise UserError(
            f"{path}: not a readable weights file ({reason}). Only plain tensors are read: files that hold "
            "other Python objects are refused, since loading them could run code"
        ) from error
    if not isinstance(content, Mapping):
        raise UserError(f"{path}: holds a {type(content).__name__}, not named tensors")
    return content


def unwrapped(content: Mapping[str, object]) -> dict[str, Tensor]:
    """The named tensors inside the wrappers and name prefixes that training programs put around them."""
    for wrapper in WRAPPERS:
        inner = content.get(wrapper)
        if isinstance(inner, Mapping):
            content = inner
    tensors = {name: tensor for name, tensor in content.items() if isinstance(tensor, Tensor)}
    for prefix in PREFIXES:
        if tensors and all(name.startswith(prefix) for name in tensors):
            tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    return tensors
