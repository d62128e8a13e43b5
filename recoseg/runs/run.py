"""A run that was trained, opened: its network and classes, its settings, and its data when asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path

import torch
from msgspec import structs, to_builtins
from torch import nn

from recoseg.config.data_settings import FolderData
from recoseg.config.help_text import describe_method
from recoseg.config.load import load as load_config
from recoseg.config.model_settings import FactoryModel
from recoseg.config.settings import RunConfig
from recoseg.data.build import build_data_of_run, build_dataset, val_keys
from recoseg.data.dataset import SUBSETS, Dataset
from recoseg.data.image_files import FULL_DEPTH
from recoseg.data.problem import FileError
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError, require_number, require_whole
from recoseg.evaluate import METRICS
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.loop import evaluate
from recoseg.evaluate.protocol import Protocol
from recoseg.evaluate.resampling import MOST_IMAGES, mean_iou_interval
from recoseg.evaluate.scores import Scores
from recoseg.evaluate.scores_file import Evaluation
from recoseg.evaluate.survey import Survey, SurveyFile, require_survey_of, survey
from recoseg.files import as_path, digest, write_whole
from recoseg.models.build import build_model, feature_channels
from recoseg.models.network import SegmentationNetwork
from recoseg.models.weights import load_weights
from recoseg.predict.predictor import OVERLAP, Predictor, SizeProtocol
from recoseg.records import read_record
from recoseg.runs.hub import local_folder
from recoseg.runs.run_weights import COPY_AGAIN, weights_about, weights_file
from recoseg.splits.label_split import LabelSplit
from recoseg.text import did_you_mean, percent
from recoseg.training.precision import choose_device
from recoseg.training.run_folder import RunFolder
from recoseg.types import ClassInfo

ALL = "all"
"""The labelled images of all subsets."""
_SURVEY_FORMAT = 4
"""Counted up when a survey holds something new: older files are then made again."""


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
    """Load the trained network of a run, to predict the classes of images.

    The network has no representation head: it adds no cost at inference (section 3.3 of the paper). The data
    that it was trained on is not needed.

    Args:
        run: Run folder, or `hf://user/name` or `hf://user/name@revision` on the Hugging Face Hub.
        weights: "last", or "best" if the run kept them.
        device: "cpu", "cuda" or "auto".
        window: Side in pixels of the sliding window for all larger images. By default, images of up to 2
            megapixels are predicted whole, larger ones by windows.
        overlap: Share of a window that the next one overlaps.
        flip: Average with the probabilities of flipped images.
        scales: Average the probabilities of images resized by these factors.
        trust: Allow Python code of the run's author that makes the network (`model.factory`).

    Returns:
        A `Predictor`: called with an image or a list of images, it returns a `Prediction` or a list.

    Raises:
        UserError: There is no such run or weights, an argument is wrong, or `trust` is needed.

    Example:
        >>> import recoseg
        >>> predict = recoseg.load("runs/first", device="cpu")
        >>> prediction = predict("photo.jpg")
        >>> prediction.labels.shape, prediction.confidence.shape  # (H, W)
        ((30, 40), (30, 40))
    """
    require_number("overlap", overlap)
    if window is not None:
        require_whole("window", window)
    if not isinstance(scales, Sequence) or isinstance(scales, str | bytes):
        raise UserError(f"scales: got {scales!r:.100}, needs a list of numbers such as (0.75, 1, 1.25)")
    for scale in scales:
        require_number("scales", scale)
    protocol = SizeProtocol(window=window, overlap=overlap, flip=flip, scales=tuple(scales))
    chosen = choose_device(device, setting="device")
    opened = Run.open(run, weights=weights, trust=trust)
    return opened.predictor(device=chosen, protocol=protocol)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Trained run, opened from its folder; its data is read only when needed.

    Open one with `Run.open(path, weights="last", trust=False)`, whose arguments are those of `recoseg.load`.
    `scores` holds the mean IoU of the paper's tables (section 4.2), `predict` predicts images, and `report`
    writes the page.

    Args:
        folder: Folder of the run.
        config: Settings of the run.
        network: Network with its weights, on the CPU and in eval mode.
        classes: Names and colours of the classes.
        iteration: Iterations done when the weights were saved.
        weights: "last" or "best".

    Raises:
        UserError: `open` finds no run or no weights, or they do not fit the config.

    Example:
        >>> import recoseg
        >>> run = recoseg.Run.open("runs/first")
        >>> run.iteration, len(run.classes)
        (2, 16)
        >>> 0 <= run.scores.mean_iou <= 1
        True
    """

    folder: RunFolder
    config: RunConfig
    network: SegmentationNetwork  # with its weights, on the CPU and in eval mode
    classes: ClassInfo
    iteration: int
    weights: str = "last"  # or "best"

    @classmethod
    def open(cls, path: str | Path | RunFolder, *, weights: str = "last", trust: bool = False) -> Run:
        """All that is needed is in the folder: its config, and its weights with the names of their classes.

        Without `trust`, nothing is imported that the config names.
        """
        folder = path if isinstance(path, RunFolder) else RunFolder.open(local_folder(path))
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
        return cls(
            folder=folder,
            config=config,
            network=network.eval(),
            classes=classes,
            iteration=about["iteration"],
            weights=weights,
        )

    def __repr__(self) -> str:
        told = f"<Run {self.folder.path}: {describe_method(self.config)}, {self.iteration:,} iterations"
        lines = self.folder.read_metrics()
        score = f", mean IoU {percent(lines[-1]['mean_iou'], sign=' %')}" if lines else ""
        return f"{told}{score}, {len(self.classes)} classes>"

    @property
    def scores(self) -> Scores:
        """On the validation images, of each class and over all: `run.scores.mean_iou`, `run.scores.iou`."""
        return self.survey().scores

    @cached_property
    def predict(self) -> Predictor:
        """To be called on images: `run.predict("photo.jpg")` gives a `Prediction`, as `recoseg.load` does."""
        return self.predictor(device=self.device, protocol=SizeProtocol())

    def predictor(self, *, device: torch.device, protocol: SizeProtocol) -> Predictor:
        return Predictor(
            self.network.inference(),
            self.classes,
            device=device,
            protocol=protocol,
            bit_depth=self.bit_depth,
        )

    @property
    def bit_depth(self) -> int:
        """Bits that 16-bit grey images use, as they were when the run was trained."""
        data = self.config.data
        return (data.bit_depth if isinstance(data, FolderData) else None) or FULL_DEPTH

    def report(self, page: str | Path | None = None) -> Path:
        """Write the page about it, by default into its folder; returns where it is."""
        from recoseg.runs.pages import write_report

        return write_report(
            [self.folder.path], as_path(page, what="page") if page else None, trust=True
        )  # it is open

    def with_data(self, words: Sequence[str]) -> Run:
        """Return the run with other data: `words` are settings such as --data FOLDER.

        Settings that divide the run's own folder into training and validation do not apply to another folder.
        """
        moved = replace(self, config=load_config(self.folder.config, words))
        before, data = self.config.data, moved.config.data
        if not isinstance(data, FolderData) or moved._is_trained_on_data():
            return moved
        if isinstance(before, FolderData) and data.root == before.root:
            return moved
        other = load_config(None, ["--data.name=folder", *words]).data
        if isinstance(other, FolderData) and other.bit_depth is None:
            other = structs.replace(other, bit_depth=self.bit_depth)
        return replace(self, config=structs.replace(self.config, data=other))

    def _is_trained_on_data(self) -> bool:
        """Whether the data has the images, labels and lists with which the run was trained."""
        try:
            fingerprint = build_dataset(self.config.data).fingerprint()
        except UserError:  # settings of the run may not fit other data
            return False
        return fingerprint == LabelSplit.load(self.folder.split).fingerprint

    def default_subset(self) -> str:
        """Return "val", or "all" for other data in which nothing says which image is for what."""
        return "val" if self.dataset.is_divided or self._is_trained_on_data() else ALL

    @cached_property
    def device(self) -> torch.device:
        return choose_device(self.config.train.device)

    @cached_property
    def model(self) -> nn.Module:
        """The network, on the device that the run was trained on."""
        return self.network.to(self.device)

    @cached_property
    def dataset(self) -> Dataset:
        """The data of the config, which must have the classes that the network knows."""
        dataset = build_data_of_run(self.config.data, self.folder.path)
        _require_same_classes(self.classes, dataset.classes)
        return dataset

    @cached_property
    def val_keys(self) -> Sequence[str]:
        return val_keys(self.dataset)

    def evaluate(
        self,
        subset: str,
        protocol: Protocol,
        boundary: BoundaryRule | None,
        *,
        progress: Progress | None = None,
    ) -> Evaluation:
        """Score the labelled images of a subset, or of all subsets; returns all that the scores depend on."""
        require_subset(subset)
        keys = labelled_keys(self.dataset, subset)
        scores = evaluate(
            self.model,
            self.dataset,
            keys,
            device=self.device,
            protocol=protocol,
            boundary=boundary,
            metrics=METRICS,
            each_image=len(keys) <= MOST_IMAGES,
            progress=progress,
        )
        about = {
            "recoseg": version("recoseg"),
            "weights": self.weights,
            "iteration": self.iteration,
            "data": to_builtins(self.config.data),
            "subset": subset,
            "num_images": len(keys),
            "mean_iou_interval": mean_iou_interval(scores.images) if scores.images is not None else None,
            "protocol": protocol.name,
            "boundary_rule": boundary.as_plain() if boundary else None,
        }
        return Evaluation(scores=scores, class_names=self.dataset.classes.names, about=about)

    def survey(self, *, progress: Progress | None = None) -> Survey:
        """Of the validation images: from survey.json if it was made of the same weights and images.

        Else it is made now, and kept there.
        """
        made_from = self._survey_origin()
        kept = self._read_survey(made_from)
        if kept is not None:
            return kept
        made = survey(self.model, self.dataset, self.val_keys, device=self.device, progress=progress)
        with suppress(OSError):  # somebody else's folder, or a full disk: then it is made again next time
            write_whole(self.folder.survey, json.dumps({"made_from": made_from, **made.as_plain()}) + "\n")
        return made

    def _survey_origin(self) -> dict[str, object]:
        """What a survey depends on."""
        keys = "\n".join(self.val_keys)
        return {
            "format": _SURVEY_FORMAT,
            "weights": digest(weights_file(self.folder, self.weights)),
            "dataset": self.dataset.fingerprint(),
            "subset": "val",
            "images": hashlib.sha256(keys.encode()).hexdigest(),
        }

    def _read_survey(self, made_from: dict[str, object]) -> Survey | None:
        """The survey in the file; None if there is none, it is of something else, or cannot be read."""
        fits, path = partial(require_survey_of, num_classes=len(self.classes)), self.folder.survey
        try:
            plain = read_record(path, SurveyFile, what="survey", remedy="it is made again", rule=fits)
        except (OSError, UserError):
            return None
        return Survey.from_plain(plain) if plain["made_from"] == made_from else None


def require_trust(config: RunConfig, path: Path, *, trust: bool) -> None:
    """Refuse to run what a config of unknown origin names; whoever trains with it has chosen to."""
    if isinstance(config.model, FactoryModel) and not trust:
        raise UserError(
            f"{path}: model.factory {config.model.factory!r} runs Python code to make its network, from a "
            "module in the current folder or an installed one, and code may do anything; if you know it, and "
            "whoever wrote this config, give --trust (in Python trust=True)"
        )


def _require_same_classes(trained: ClassInfo, data: ClassInfo) -> None:
    """The numbers of the classes must mean the same."""
    if trained.names == data.names:
        return
    if len(trained) != len(data):
        raise UserError(
            f"the network was trained on {len(trained)} classes and the data has {len(data)}: "
            "evaluate it on data with the same classes"
        )
    number, (one, other) = next(
        (number, pair)
        for number, pair in enumerate(zip(trained.names, data.names, strict=True))
        if pair[0] != pair[1]
    )
    raise UserError(
        f"class {number} is {one!r} for the network and {other!r} in the data: "
        "evaluate it on data with the same classes, in the same order"
    )


def require_subset(subset: str) -> None:
    if subset not in (*SUBSETS, ALL):
        raise UserError(f"unknown subset {subset!r}{did_you_mean(subset, (*SUBSETS, ALL))}")


def labelled_keys(dataset: Dataset, subset: str) -> list[str]:
    """The images of the subset that can be scored, each once."""
    subsets = SUBSETS if subset == ALL else (subset,)
    keys = list(dict.fromkeys(key for one in subsets for key in dataset.keys(one)))
    labelled = [key for key in keys if dataset.has_labels(key)]
    if labelled:
        return labelled
    others = [name for name in SUBSETS if any(dataset.has_labels(key) for key in dataset.keys(name))]
    what = (
        f"none of the {len(keys)} images of subset {subset} has labels" if keys else f"no images in {subset}"
    )
    raise UserError(f"{dataset.name}: {what}; subsets with labels: {', '.join(others) or 'none'}")
