"""A run folder -> its network and classes, without the data that it was trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NotRequired, TypedDict

from safetensors import SafetensorError, safe_open

from recoseg.builders.models import build_model
from recoseg.builders.runs import feature_channels
from recoseg.builders.training import choose_device
from recoseg.config.load import load as load_config
from recoseg.config.model_settings import FactoryModel
from recoseg.config.settings import RunConfig
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.models.base import SegmentationNetwork
from recoseg.models.weights import load_weights
from recoseg.predict.looks import OVERLAP, Looks
from recoseg.predict.predictor import Predictor
from recoseg.records import from_json
from recoseg.train.run_folder import RunFolder
from recoseg.typed_values import Count, Limits
from recoseg.types import ClassInfo

WEIGHTS = ("last", "best")
COPY_AGAIN = "copy the file again"
Byte = Annotated[int, Limits(0, 255)]


def load(
    run: str | Path,
    *,
    weights: str = "last",
    device: str = "auto",
    window: int | None = None,
    overlap: float = OVERLAP,
    flip: bool = False,
    scales: Sequence[float] = (1.0,),
    trust: bool = False,
) -> Predictor:
    """The trained network of a run folder, to be called on images: `recoseg.load("runs/a")("photo.jpg")`.

    The data that it was trained on need not be there. `weights` are the last or, where a run kept them, the
    best; `device` is cpu, cuda, mps or auto. Images of up to 2 megapixels are shown whole, larger ones by
    blended windows; a `window` (in pixels) is used for all images that are larger than it, and `overlap` is
    the share of a window that the next one has in common with it. With `flip` and several `scales`, the
    probabilities of flipped and resized looks are averaged. A run whose network is made by a function of its
    author's (`model.factory`) needs `trust`: opening it runs that function.
    """
    looks = Looks(window=window, overlap=overlap, flip=flip, scales=tuple(scales))
    chosen = choose_device(device, setting="device")
    trained = trained_network(RunFolder.open(Path(run)), weights=weights, trust=trust)
    return Predictor(trained.network.inference(), trained.classes, device=chosen, looks=looks)


class WeightsAbout(TypedDict):
    """What the header of a weights file says."""

    classes: list[str]
    palette: list[tuple[Byte, Byte, Byte]]
    iteration: Count
    best_on: NotRequired[str]


@dataclass(frozen=True)
class TrainedNetwork:
    """A network with the weights of a run, on the CPU and in eval mode, and what its classes are."""

    config: RunConfig
    network: SegmentationNetwork
    classes: ClassInfo
    iteration: int
    file: Path


def trained_network(folder: RunFolder, *, weights: str = "last", trust: bool = False) -> TrainedNetwork:
    """All that is needed is in the folder: its config, and its weights with the names of their classes.

    Without `trust`, nothing is imported that the config names.
    """
    file = weights_file(folder, weights)
    config = load_config(folder.config)
    require_trust(config, folder.config, trust=trust)
    about = weights_about(file)
    try:
        classes = ClassInfo(tuple(about["classes"]), tuple(about["palette"]))
    except UserError as error:
        raise UserError(f"{file}: {error}; {COPY_AGAIN}") from error
    network = build_model(
        config.model, len(classes), feature_channels=feature_channels(config), seed=config.train.seed
    )
    assert isinstance(network, SegmentationNetwork)
    try:
        load_weights(network, file, strict=True)
    except FileError:
        raise
    except UserError as error:
        raise UserError(
            f"not the weights of a network of {len(classes)} classes as in {folder.config}: {error}"
        ) from error
    return TrainedNetwork(config, network.eval(), classes, about["iteration"], file)


def require_trust(config: RunConfig, path: Path, *, trust: bool) -> None:
    """Refuse to run what a config of unknown origin names; whoever trains with it has chosen to."""
    if isinstance(config.model, FactoryModel) and not trust:
        raise UserError(
            f"{path}: model.factory {config.model.factory!r} runs Python code to make its network, from a "
            "module in the current folder or an installed one, and code may do anything; if you know it, and "
            "whoever wrote this config, give --trust (in Python trust=True)"
        )


def weights_file(folder: RunFolder, weights: str) -> Path:
    if weights not in WEIGHTS:
        raise UserError(f"weights: got {weights!r}, needs {' or '.join(WEIGHTS)}")
    if weights == "best":
        if not folder.best_weights.is_file():
            raise UserError(f"{folder.path} kept no best weights (train.best_on does): use the last ones")
        return folder.best_weights
    if not folder.weights.is_file():
        raise UserError(f"{folder.path} has no weights yet: train it to its first evaluation")
    return folder.weights


def weights_about(file: Path) -> WeightsAbout:
    try:
        with safe_open(file, framework="pt") as content:
            header = (content.metadata() or {}).get("recoseg")
    except (SafetensorError, ValueError) as error:
        raise UserError(f"{file}: not a readable weights file ({error}); {COPY_AGAIN}") from error
    if header is None:
        raise UserError(f"{file}: does not name its classes; only weights that recoseg trained do")
    about: WeightsAbout = from_json(header, WeightsAbout, where=f"{file}: header", remedy=COPY_AGAIN)
    return about
