"""A pretended GPU: its tensors hold CPU values, and it counts what a real GPU would refuse or wait for.

`install` registers the device for the whole process and changes a few functions of torch, so only a process
that has no other use imports this module.
"""

from __future__ import annotations

import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map

import recoseg

NAME = "pretend"
PACKAGE = Path(recoseg.__file__).parent
CPU = torch.device("cpu")
WAIT, MISMATCH, DOUBLE, UPLOAD = "wait", "mismatch", "float64", "upload"
"""Kinds of events: the host waits for the device; a GPU would raise an error; a tensor of float64 is made on
the device; a tensor goes to the device without a wait."""

# What a GPU computes only after the host has read a size from it.
SIZE_ON_HOST = {
    "_local_scalar_dense", "nonzero", "masked_select", "bincount", "_unique2", "unique_dim",
    "unique_consecutive", "is_nonzero", "equal", "repeat_interleave",
}  # fmt: skip
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}

events: Counter[tuple[str, str]] = Counter()
"""Counts by kind and by place: the operation, and the line of the package that calls it."""


def note(kind: str, operation: str) -> None:
    for frame in reversed(traceback.extract_stack()):
        if Path(frame.filename).is_relative_to(PACKAGE):
            place = f"{Path(frame.filename).relative_to(PACKAGE)}:{frame.lineno}"
            break
    else:
        place = "torch"
    events[kind, f"{operation} in {place}"] += 1


device_generators: dict[int, torch.Generator] = {}


class PretendTensor(torch.Tensor):
    """A tensor on the pretended device."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> PretendTensor:
        return torch.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=torch.device(NAME, 0),
        )

    def __init__(self, inner: Tensor) -> None:
        self.inner = inner

    def __repr__(self, **_: Any) -> str:
        return f"PretendTensor({self.inner!r})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(function, args, kwargs or {})


class PretendGenerator(torch.Generator):
    """A CPU generator that claims to be on the device, so that both draw the same numbers.

    Operations get it as a plain generator, so each is kept by the address of its state.
    """

    def __init__(self) -> None:
        device_generators[self._cdata] = self

    @property
    def device(self) -> torch.device:
        return torch.device(NAME, 0)


class GeneratorType(type):
    """Makes `isinstance(x, torch.Generator)` true of generators of both devices."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _CPU_GENERATOR)

    def __call__(cls, device: Any = "cpu") -> torch.Generator:
        return PretendGenerator() if torch.device(device).type == NAME else _CPU_GENERATOR(device)


class AnyGenerator(metaclass=GeneratorType):
    """Takes the place of `torch.Generator`."""


_CPU_GENERATOR, _tensor, _tolist = torch.Generator, torch.tensor, torch.Tensor.tolist


class DeviceMode(TorchDispatchMode):
    """Sends calls that make tensors on the device to `compute`."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        device = kwargs.get("device")
        on_device = device is not None and torch.device(device).type == NAME
        if on_device or any(is_of_device(leaf) for leaf in tree_leaves((args, kwargs))):
            return compute(function, args, kwargs)
        return function(*args, **kwargs)


def wrap(value: Any) -> Any:
    return PretendTensor(value) if type(value) is torch.Tensor else value


def unwrap(value: Any) -> Any:
    return value.inner if isinstance(value, PretendTensor) else value


def compute(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Call the operation on the values, and note what a GPU would do."""
    name = function._schema.name.partition("::")[2]
    leaves = tree_leaves((args, kwargs))
    on_device = any(isinstance(leaf, PretendTensor) for leaf in leaves)
    device = kwargs.get("device")
    makes_on_device = on_device if device is None else torch.device(device).type == NAME
    if name == "_to_copy":
        return copy_to(args[0], makes_on_device, kwargs)
    if name == "copy_":
        return copy_into(args[0], args[1], len(args) > 2 and args[2])
    note_mismatches(name, args, leaves, makes_on_device)
    if on_device and name in SIZE_ON_HOST:
        note(WAIT, name)
    if on_device and name in INDEXING and any(is_mask(index) for index in args[1]):
        note(WAIT, f"{name} by a mask")
    on_cpu = {key: CPU if key == "device" and value is not None else value for key, value in kwargs.items()}
    if "pin_memory" in on_cpu:
        on_cpu["pin_memory"] = None
    plain_args, plain_kwargs = tree_map(unwrap, (args, on_cpu))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = function(*plain_args, **plain_kwargs)
    if not makes_on_device:
        return result
    if any(isinstance(leaf, Tensor) and leaf.dtype == torch.float64 for leaf in tree_leaves(result)):
        note(DOUBLE, name)
    result = tree_map(wrap, result)
    return return_and_correct_aliasing(function, args, kwargs, result) if on_device else result


def is_of_device(value: Any) -> bool:
    if isinstance(value, _CPU_GENERATOR):
        return value._cdata in device_generators
    return isinstance(value, PretendTensor)


def is_mask(index: Any) -> bool:
    return isinstance(index, PretendTensor) and index.dtype in (torch.bool, torch.uint8)


def copy_to(source: Tensor, to_device: bool, kwargs: dict[str, Any]) -> Tensor:
    """`source.to(...)`, which waits unless it goes to the device without blocking."""
    from_device = isinstance(source, PretendTensor)
    if from_device != to_device:
        waits = from_device or not kwargs.get("non_blocking")
        note(WAIT if waits else UPLOAD, "copy to the host" if from_device else "copy to the device")
    settings = {key: value for key, value in kwargs.items() if key not in ("non_blocking", "pin_memory")}
    if "device" in settings:
        settings["device"] = CPU
    copied = torch.ops.aten._to_copy(unwrap(source), **settings)
    if to_device and copied.dtype == torch.float64:
        note(DOUBLE, "_to_copy")
    return wrap(copied) if to_device else copied


def copy_into(target: Tensor, source: Tensor, non_blocking: bool) -> Tensor:
    from_device, to_device = isinstance(source, PretendTensor), isinstance(target, PretendTensor)
    if from_device != to_device:
        note(UPLOAD if to_device and non_blocking else WAIT, "copy_ across devices")
    unwrap(target).copy_(unwrap(source))
    return target


def note_mismatches(name: str, args: Any, leaves: list[Any], makes_on_device: bool) -> None:
    """Tensors on two devices in one operation, and generators of another device."""
    for leaf in leaves:
        if isinstance(leaf, _CPU_GENERATOR) and is_of_device(leaf) != makes_on_device:
            note(MISMATCH, f"{name} with a generator of another device")
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    on_cpu = [tensor for tensor in tensors if not isinstance(tensor, PretendTensor) and tensor.ndim]
    if not on_cpu or len(on_cpu) == len(tensors):
        return
    if name in INDEXING and isinstance(args[0], PretendTensor):
        note(WAIT, f"{name} by indices on the CPU")
    else:
        note(MISMATCH, f"{name} of tensors on two devices")


def tensor_on(data: Any, *, dtype: Any = None, device: Any = None, **settings: Any) -> Tensor:
    """`torch.tensor`: the values are made on the CPU and copied."""
    made: Tensor = _tensor(data, dtype=dtype, **settings)
    return made if device is None else made.to(device)


def new_tensor(self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    return tensor_on(data, dtype=dtype or self.dtype, device=device or self.device)


def tolist(self: Tensor) -> Any:
    if isinstance(self, PretendTensor):
        note(WAIT, "tolist")
    return _tolist(unwrap(self))


class DeviceModule(backend_registration._DummyBackendModule):
    """What torch asks of a module named after the device."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]

    def get_rng_state(self, *_: Any) -> Tensor:
        return torch.zeros(8, dtype=torch.uint8)

    def set_rng_state(self, *_: Any) -> None:
        pass

    def manual_seed_all(self, *_: Any) -> None:
        pass

    def _is_in_bad_fork(self) -> bool:
        return False

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def is_available(self) -> bool:
        return True


def install() -> None:
    """Register the device with torch, once and for this process alone."""
    backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=DeviceModule())
    torch.__future__.set_swap_module_params_on_conversion(True)
    torch.Generator = AnyGenerator  # type: ignore[assignment,misc]
    torch.tensor = tensor_on
    torch.Tensor.new_tensor = new_tensor  # type: ignore[assignment]
    torch.Tensor.tolist = tolist  # type: ignore[assignment,method-assign]


@contextmanager
def in_use() -> Iterator[None]:
    """Within it, tensors can be made on the device."""
    with DeviceMode():
        yield
