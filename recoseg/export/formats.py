"""The formats that a network can be exported to, each as a writer and a reader that runs what was written."""

from __future__ import annotations

import importlib
import io
import json
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.fx.config
from torch import Tensor
from torch.export import Dim

from recoseg.errors import UserError, is_shortage
from recoseg.export.deployable import INPUT, OUTPUT, About, Deployable, Exported

METADATA = "recoseg.json"
EXAMPLE = (2, 3, 192, 256)  # two images and unequal sides, so that no size is taken for a constant


@dataclass(frozen=True)
class Format:
    ending: str
    write: Callable[[torch.export.ExportedProgram, About], bytes]
    run: Callable[[bytes], Exported]
    packages: tuple[str, ...] = ()

    def require_packages(self) -> None:
        for package in self.packages:
            try:
                importlib.import_module(package)
            except ImportError as error:
                raise UserError(
                    f"exporting to ONNX needs the package {package}: pip install 'recoseg[onnx]'"
                ) from error


def _write_torch(exported: torch.export.ExportedProgram, about: About) -> bytes:
    """A torch.export program: any PyTorch runs it, without recoseg."""
    buffer = io.BytesIO()
    torch.export.save(exported, buffer, extra_files={METADATA: json.dumps(about.values())})
    return buffer.getvalue()


def _run_torch(content: bytes) -> Exported:
    module: Exported = torch.export.load(io.BytesIO(content)).module()
    return module


def _write_onnx(exported: torch.export.ExportedProgram, about: About) -> bytes:
    """An ONNX model, with what is known of it as metadata."""
    with tempfile.TemporaryDirectory() as folder, quiet():
        path = Path(folder) / "model.onnx"
        written = torch.onnx.export(
            exported, input_names=[INPUT], output_names=[OUTPUT], dynamo=True, verbose=False
        )
        assert written is not None
        written.model.metadata_props.update({name: _as_text(value) for name, value in about.values().items()})
        written.save(path, external_data=False)
        return path.read_bytes()


def run_onnx(content: bytes) -> Exported:
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])

    def run(images: Tensor) -> Tensor:
        return torch.from_numpy(session.run([OUTPUT], {INPUT: images.numpy()})[0])

    return run


FORMATS = {
    "onnx": Format(".onnx", _write_onnx, run_onnx, packages=("onnx", "onnxscript", "onnxruntime")),
    "torch": Format(".pt2", _write_torch, _run_torch),
}


def program(network: Deployable, size: tuple[int, int] | None) -> torch.export.ExportedProgram:
    """The network's operations, for any number of images, and of any size unless one is given."""
    height, width = size or EXAMPLE[2:]
    images = torch.zeros(EXAMPLE[0], 3, height, width, dtype=torch.uint8)
    free: dict[int, Any] = {0: Dim.DYNAMIC}
    if size is None:
        free |= {2: Dim.DYNAMIC, 3: Dim.DYNAMIC}
    try:
        with quiet(), torch.no_grad():
            exported = torch.export.export(network, (images,), dynamic_shapes={"images": free})
    except Exception as error:  # torch.export fails in many ways, all others of them about the network
        if is_shortage(error):
            raise
        reason = " ".join(str(error).split())[:300]
        advice = "" if size else "; --size HEIGHTxWIDTH exports it for images of one size"
        raise UserError(
            f"this network cannot be exported: {type(error).__name__}: {reason}{advice}"
        ) from error
    return _without_traces(exported)


def _without_traces(exported: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Without the stack traces of its operations: they hold the paths of this machine."""
    for module in exported.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            node.meta.pop("stack_trace", None)
    return exported


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@contextmanager
def quiet() -> Iterator[None]:
    """Exporters tell of their steps and of their own deprecations; neither is for our users.

    Nor do they record a stack trace for every operation, which takes as long as all the rest.
    """
    logger = logging.getLogger("torch.onnx")
    level, without = logger.level, getattr(torch.fx.config, "do_not_emit_stack_traces", False)
    logger.setLevel(logging.ERROR)
    torch.fx.config.do_not_emit_stack_traces = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
        torch.fx.config.do_not_emit_stack_traces = without
