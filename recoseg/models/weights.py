"""Weights files: read without running code from them, put into a network by name, and written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from safetensors.torch import save as to_safetensors
from torch import Tensor, nn

from recoseg.data.problem import FileError
from recoseg.errors import UserError, is_shortage
from recoseg.files import write_whole

_PREFIXES = ("module.", "backbone.", "encoder.")
_COUNTER = "num_batches_tracked"
"""BatchNorm's number of batches, which nothing of ours reads and older files lack."""


@dataclass(frozen=True)
class LoadReport:
    """Which tensors of a network a weights file filled; as text, one line for the terminal."""

    path: Path
    matched: list[str]
    missing: list[str]  # in the network only: they keep their fresh start
    left_over: list[str]  # in the file only, by its names
    not_needed: list[str]  # left over too, but as expected: the classifier of an encoder's file
    reinitialised: list[str]  # of layers whose shape differs: on request they keep their fresh start

    def __str__(self) -> str:
        num_wanted = len(self.matched) + len(self.missing) + len(self.reinitialised)
        is_whole = len(self.matched) == num_wanted
        parts = [f"{'all' if is_whole else f'{len(self.matched)} of'} {num_wanted} tensors matched"]
        if self.reinitialised:
            parts.append(f"started afresh for their shape: {', '.join(_layers_of(self.reinitialised))}")
        if self.missing:
            parts.append(f"{len(self.missing)} missing{examples(self.missing)}")
        if self.left_over:
            parts.append(f"{len(self.left_over)} left over{examples(self.left_over)}")
        if self.not_needed:
            parts.append("its classifier is not needed")
        return f"{self.path.name}: {'; '.join(parts)}"


def load_weights(
    module: nn.Module,
    path: str | Path,
    *,
    strict: bool = False,
    reinitialise: bool = False,
    not_needed: tuple[str, ...] = (),
) -> LoadReport:
    """Fill `module` from a .pth or .safetensors file by name, past `module.`, `backbone.` and `encoder.`.

    Under half matched is an error, and a number that is not finite. So is a layer of another shape, as a
    classifier of other classes has; with `reinitialise`, such layers keep the start they have in `module`.
    With `strict`, anything missing or left over is an error. What the file has below one of the names in
    `not_needed` may be left over.
    """
    path, given, wanted = Path(path), _read_tensors(Path(path)), module.state_dict()
    names = _best_names(given, wanted)
    differing = [name for name in names if given[names[name]].shape != wanted[name].shape]
    report = reported(path, given, wanted, names, differing, not_needed)
    _require_half(report, given, wanted)
    if differing and (strict or not reinitialise):
        shapes = {name: (given[names[name]].shape, wanted[name].shape) for name in differing}
        raise UserError(f"{path}: {_other_shapes(shapes)}")
    if strict and (report.missing or report.left_over):
        raise UserError(f"{path}: does not fit this network ({report})")
    filling = {name: given[names[name]] for name in report.matched}
    _require_numbers(filling, wanted, path)
    module.load_state_dict(filling, strict=False)
    return report


def _require_numbers(given: Mapping[str, Tensor], fresh: Mapping[str, Tensor], path: Path) -> None:
    """Refuse whole numbers for weights, NaN and infinity, which a network turns into nonsense silently.

    A mask of a network's own may hold infinity: then it does so in the `fresh` network too.
    """
    for name, tensor in given.items():
        own = fresh[name]
        if own.is_floating_point() and not tensor.is_floating_point():
            kind = str(tensor.dtype).removeprefix("torch.")
            what = f"holds {kind} in {name}, which needs a floating point type"
            raise FileError(path, what, "export the weights again without quantisation")
        if not torch.isfinite(tensor.to(own.dtype)).all() and torch.isfinite(own).all():
            what = f"holds numbers that are not finite (NaN or infinity), in {name}"
            raise FileError(path, what, "restore the file from a copy, or train again")


def reported(
    path: Path,
    given: Mapping[str, Tensor],
    wanted: Mapping[str, Tensor],
    names: Mapping[str, str],
    differing: Sequence[str],
    not_needed: tuple[str, ...],
) -> LoadReport:
    fresh_layers, used = _layers_of(differing), set(names.values())
    unused = [name for name in given if name not in used]
    expected = [name for name in unused if any(f".{part}" in f".{name}" for part in not_needed)]
    return LoadReport(
        path=path,
        matched=[name for name in names if _layer_of(name) not in fresh_layers],
        missing=[name for name in wanted if name not in names and not name.endswith(_COUNTER)],
        left_over=[name for name in unused if name not in expected],
        not_needed=expected,
        reinitialised=[name for name in names if _layer_of(name) in fresh_layers],
    )


def _best_names(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> dict[str, str]:
    """Name in the network -> name in the file, for the way of taking off prefixes that matches most."""
    found = [{name: names[name] for name in wanted if name in names} for names in readings(given)]
    return max(found, key=len)


def readings(given: Mapping[str, Tensor]) -> Iterator[dict[str, str]]:
    """What names may mean: as they are, or those below a prefix such as `module.backbone.` alone."""
    remaining = [""]
    while remaining:
        start = remaining.pop(0)
        names = {name.removeprefix(start): name for name in given if name.startswith(start)}
        yield names
        remaining += [
            start + prefix for prefix in _PREFIXES if any(name.startswith(prefix) for name in names)
        ]


def _require_half(report: LoadReport, given: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    if len(report.matched) * 2 < len(wanted):
        raise UserError(
            f"{report.path}: only {len(report.matched)} of the network's {len(wanted)} tensors are in this "
            f"file with the same shape (the file has e.g. {next(iter(given), 'none')!r}, the network "
            f"{next(iter(wanted))!r}); is it made for this network?"
        )


def _other_shapes(shapes: Mapping[str, tuple[torch.Size, torch.Size]]) -> str:
    """The part of an error message that names the layers that do not fit; shapes in file and network."""
    layers: dict[str, str] = {}  # one tensor a layer tells enough: its weight comes first
    for name, (in_file, in_network) in shapes.items():
        sizes = f"{_by_x(in_file)} in the file, {_by_x(in_network)} in the network"
        layers.setdefault(_layer_of(name), f"{_layer_of(name)} ({sizes})")
    more = f" and {len(layers) - 4} more" if len(layers) > 4 else ""
    return (
        f"these layers have another shape: {', '.join(list(layers.values())[:4])}{more}; was it made for "
        "other classes or another network? For a whole network, reinitialise starts such layers afresh"
    )


def _layer_of(name: str) -> str:
    """The layer that a tensor belongs to: `classifier.1` for `classifier.1.weight`."""
    return name.rpartition(".")[0] or name


def _layers_of(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(_layer_of(name) for name in names))


def _by_x(shape: torch.Size) -> str:
    return "x".join(str(size) for size in shape) or "one number"


def examples(names: Sequence[str]) -> str:
    return f" ({', '.join(names[:2])}{', ...' if len(names) > 2 else ''})"


def save_weights(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, object]) -> None:
    """`about` goes into the file's header, as JSON under one name so that equal runs give equal bytes."""
    # Clones, since the format refuses two names for one tensor, which tied weights are.
    plain = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    write_whole(path, to_safetensors(plain, metadata={"recoseg": json.dumps(about)}))


_WRAPPERS = ("state_dict", "model")


def _read_tensors(path: Path) -> dict[str, Tensor]:
    """The named tensors of a .pth or .safetensors file, taken out of what training programs wrap them in."""
    content = _read_content(path)
    for wrapper in _WRAPPERS:
        inner = content.get(wrapper)
        if isinstance(inner, Mapping):
            content = inner
    return {name: tensor for name, tensor in content.items() if isinstance(tensor, Tensor)}


def _read_content(path: Path) -> Mapping[str, object]:
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
