"""How a run starts, and goes on: config -> trainer."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from msgspec.structs import replace
from rich.console import Console

from recoseg.batches import StepBatches
from recoseg.config.data_settings import FolderData
from recoseg.config.help_text import describe_method, describe_model
from recoseg.config.load import flat, load, load_for, to_yaml
from recoseg.config.settings import RunConfig
from recoseg.data.bit_depth import depth_in_words
from recoseg.data.build import (
    build_data_of_run,
    build_dataset,
    require_readable,
    require_training_labels,
    require_two_classes,
    val_keys,
    with_bit_depth,
)
from recoseg.data.dataset import Cached, Dataset
from recoseg.data.folder import Folder
from recoseg.errors import UserError
from recoseg.files import as_path, write_whole
from recoseg.methods.method import Method
from recoseg.models.build import build_starting_model, feature_channels
from recoseg.models.network import SegmentationNetwork
from recoseg.probe import fit_probe
from recoseg.runs.build import (
    build_batches,
    build_method,
    build_weak_view,
    choose_workers,
    class_weights,
)
from recoseg.runs.pages import ProgressOf, no_progress, write_report
from recoseg.runs.run import Run
from recoseg.splits.draw import build_split
from recoseg.splits.label_split import LabelSplit, VisibleLabels
from recoseg.text import printable
from recoseg.training.optimisers import build_optimiser, build_schedule, has_encoder
from recoseg.training.precision import Precision, choose_device, require_gpu
from recoseg.training.processes import by_first, by_torchrun, from_first, is_first, processes
from recoseg.training.run_folder import RunFolder, require_same
from recoseg.training.trainer import Trainer
from recoseg.training.validation import Validation, build_selection


def train(
    data: str | Path | Mapping[str, object] | None = None,
    *,
    config: str | Path | None = None,
    out: str | Path | None = None,
    quiet: bool = False,
    **settings: object,
) -> Run:
    """Train a network, as the command `recoseg train` does (section 3.3 and appendix A of the paper).

    Args:
        data: Folder of images, name of a dataset, or a dict of its settings.
        config: YAML file, or name of a shipped config; own_images by default if `data` is a folder.
        out: Run folder to make; by default the next free number in runs/.
        quiet: Print nothing.
        **settings: Settings by section: a value for its name, or a dict. `recoseg train --help` lists them.

    Returns:
        The run, with its scores, network and page.

    Raises:
        UserError: A setting, the data or the folder is wrong.

    Example:
        >>> import recoseg
        >>> small = {"name": "scenes", "height": 32, "width": 64, "num_train": 4, "num_val": 2}
        >>> steps = {"iterations": 2, "labelled_per_step": 2}
        >>> run = recoseg.train(
        ...     small, out="runs/second", quiet=True, method="mean_teacher", contrast="reco",
        ...     split={"labels": 2}, augment={"crop": 32}, train=steps, model={"encoder": "resnet10_small"},
        ... )
        >>> run.iteration
        2
    """
    words = []
    for section, given in settings.items() if data is None else {"data": data, **settings}.items():
        items = given.items() if isinstance(given, Mapping) else [("", given)]
        words += [f"--{section}{'.' if name else ''}{name}={_word(value)}" for name, value in items]
    console = Console(quiet=quiet, markup=False, emoji=False, highlight=False)
    folder = run_to_end(
        load_for(config, words), None if out is None else as_path(out, what="out"), console=console
    )
    return Run.open(folder, trust=True)  # trained here


def _word(value: object) -> str:
    """A value as one would type it."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def run_to_end(
    config: RunConfig,
    out: Path | None,
    *,
    resume: RunFolder | None = None,
    console: Console,
    progress: ProgressOf = no_progress,
    page: bool = True,
) -> RunFolder:
    """Train a new run in the folder `out`, or go on with the one in `resume`, and write its `page`."""
    with processes(config.train.device):
        console.quiet = console.quiet or not is_first()
        trainer = resumed_run(config, resume) if resume else _begun_by_first(config, out, progress)
        trainer.run(console)
        writes = is_first()
    if writes:  # on its own: the other processes are done
        if warning := _below_start(trainer.folder):
            console.print(warning, soft_wrap=True)
        console.print(printable(f"run folder: {trainer.folder.path}"), soft_wrap=True)
    if writes and page:
        file = write_report([trainer.folder.path], progress_of=progress, trust=True)  # trained here
        console.print(printable(f"page:       {file}"), soft_wrap=True)
    return trainer.folder


def _below_start(folder: RunFolder) -> str | None:
    """A line where training ended below the probe that it started from."""
    metrics = folder.read_metrics()
    if not metrics or metrics[0]["iteration"] > 0 or metrics[-1]["mean_iou"] is None:
        return None
    start, end = metrics[0]["mean_iou"], metrics[-1]["mean_iou"]
    if start is None or end >= start:
        return None
    return (
        f"warning: training ended below its start: mean IoU {end:.1%}, and {start:.1%} for the probe of the "
        "frozen features; use --method probe, or train with a lower --optimiser.lr"
    )


def _begun_by_first(config: RunConfig, out: Path | None, progress: ProgressOf) -> Trainer:
    """A new run, made by the first process; the others open what it made."""
    trainer = by_first(lambda: _begun(config, out, progress))
    path = from_first(str(trainer.folder.path) if trainer else "")
    return trainer or resumed_run(config, RunFolder.open(Path(path)))


def _begun(config: RunConfig, out: Path | None, progress_of: ProgressOf) -> Trainer:
    """A new run; or the one that is there, where torchrun gives the same command again to go on with it."""
    if by_torchrun() and out is None:
        raise UserError("give --out RUN with torchrun: processes that it starts anew must find their run")
    path = out or next_run_path()
    if by_torchrun() and RunFolder(path).is_run():
        return resumed_run(config, RunFolder.open(path))
    return new_run(config, path, progress_of)


def next_run_path(parent: Path = Path("runs")) -> Path:
    """runs/001, runs/002, ...: the first number after those that exist."""
    numbers = [int(path.name) for path in parent.glob("[0-9]*") if path.name.isdecimal()]
    return parent / f"{max(numbers, default=0) + 1:03d}"


def new_run(config: RunConfig, path: Path, progress_of: ProgressOf = no_progress) -> Trainer:
    """A run in a new folder. Everything that can fail is built before the folder is made."""
    dataset = build_dataset(config.data)
    require_training_labels(dataset)
    require_two_classes(dataset)
    with progress_of("reading images", "read") as progress:
        data = with_bit_depth(config.data, dataset, progress=progress)
    if data != config.data:
        config = replace(config, data=data)
        dataset = build_dataset(data)
    if isinstance(dataset, Folder):
        dataset.keep_draw()
    with progress_of("reading labels", "read") as progress:
        split = build_split(config.split, dataset, progress=progress)
    with progress_of("reading validation images", "validation images: read") as progress:
        require_readable(dataset, val_keys(dataset), progress=progress)
    return build_trainer(
        config,
        dataset,
        split,
        folder=lambda: RunFolder.create(path, config_yaml=to_yaml(config), split=split),
        progress_of=progress_of,
    )


def resumed_run(config: RunConfig, folder: RunFolder) -> Trainer:
    """The run of an existing folder, with the split that it was begun with.

    `config` may make it longer, and say where its data are now: the folder remembers both.
    """
    begun = load(folder.config)
    config = _with_measured(config, begun)
    require_same(flat(begun), flat(config))
    dataset = build_data_of_run(config.data, folder.path)
    split = LabelSplit.load(folder.split)
    split.check_fits(dataset)
    trainer = build_trainer(config, dataset, split, resumed=folder.state.is_file(), folder=lambda: folder)
    before, after = begun.train.iterations, config.train.iterations
    now = replace(begun, data=config.data, train=replace(begun.train, iterations=after))
    if now != begun and is_first():  # last of all, as a new run's folder is made
        write_whole(folder.config, to_yaml(now))
    if before == after:
        return trainer
    share = trainer.schedule(before, after)
    told = (
        f"longer:  {after:,} iterations instead of {before:,}; from there on the learning rate is that of a "
        f"run of {after:,}: {share:.0%} of the first, and falling"
    )
    return dataclasses.replace(trainer, about=[*trainer.about, told])


def _with_measured(config: RunConfig, begun: RunConfig) -> RunConfig:
    """The config with what the run measured when it began, where the config leaves that open."""
    data, before = config.data, begun.data
    if isinstance(data, FolderData) and isinstance(before, FolderData) and data.bit_depth is None:
        return replace(config, data=replace(data, bit_depth=before.bit_depth))
    return config


def build_trainer(
    config: RunConfig,
    dataset: Dataset,
    split: LabelSplit,
    *,
    folder: Callable[[], RunFolder],
    resumed: bool = False,
    progress_of: ProgressOf = no_progress,
) -> Trainer:
    """`resumed` where a saved state will be put into it; `folder` is asked for when all else is built."""
    train = config.train
    device = choose_device(train.device)
    precision = Precision(train.precision, device)
    require_gpu(precision)
    num_loaders = choose_workers(train, dataset)
    cached = Cached(dataset, budget_bytes=int(train.cache_gb * 1e9) // max(1, num_loaders))
    visible = VisibleLabels(cached, split)
    model, start = build_starting_model(
        config.model,
        len(dataset.classes),
        feature_channels=feature_channels(config),
        seed=train.seed,
        resumed=resumed,
    )
    weights = class_weights(config, dataset, visible, split)
    used = weights if train.class_weights == "root" else None
    sparse = split.pixels is not None or dataset.partial
    to_validate = val_keys(dataset)
    selection = build_selection(train, cached, to_validate, visible, split)
    held_back = list(selection.keys) if selection and selection.dataset is visible else []
    assert isinstance(model, SegmentationNetwork)
    starts_at_probe = model.probe is not None
    if starts_at_probe and not resumed and config.model.weights is None:
        with progress_of("reading features", "labelled images: features read") as progress:
            fit = fit_probe(
                model,
                visible,
                [key for key in split.labelled if key not in held_back],
                len(dataset.classes),
                sparse=sparse,
                class_weights=used,
                device=device,
                progress=progress,
            )
        start.append(f"start:   {fit}")
    method = build_method(
        config,
        model,
        len(dataset.classes),
        background=dataset.classes.background,
        class_weights=used,
        device=device,
        resumed=resumed,
    )
    weak_view = build_weak_view(config.augment, sparse=sparse, class_weights=weights)
    batches = build_batches(config, visible, split, method, weak_view.crop, held_back)
    return Trainer(
        method=method,
        optimisers={"student": build_optimiser(config.optimiser, model), **method.own_optimisers()},
        batches=batches,
        weak_view=weak_view,
        validation=Validation(cached, to_validate, selection),
        train=train,
        schedule=build_schedule(config.optimiser),
        precision=precision,
        device=device,
        num_loaders=num_loaders,
        scores_start=starts_at_probe,
        settings=flat(config),
        about=_about(config, dataset, split, method, start, batches, device),
        folder=folder(),
    )


def _about_depth(config: RunConfig) -> list[str]:
    depth = config.data.bit_depth if isinstance(config.data, FolderData) else None
    return [] if depth is None else [f"images:  {depth_in_words(depth)}"]


def _about(
    config: RunConfig,
    dataset: Dataset,
    split: LabelSplit,
    method: Method,
    start: list[str],
    batches: StepBatches,
    device: torch.device,
) -> list[str]:
    """What a run is, in a few lines for the terminal."""
    unit = "" if split.pixels is None or split.pixels.endswith("%") else " pixel"
    partly = f" ({split.pixels}{unit} of each class)" if split.pixels else ""
    labelled = f"{len(split.labelled)} labelled images{partly}, {len(split.unlabelled)} unlabelled"
    classes, validation = len(dataset.classes), len(dataset.keys("val"))
    millions = sum(parameter.numel() for parameter in method.student.parameters()) / 1e6
    lines = [
        f"data:    {dataset.name}, {classes} classes; {labelled}, {validation} to validate",
        *_about_depth(config),
        f"network: {describe_model(config.model)}, {millions:.1f} million parameters, {device}",
        *start,
        f"method:  {describe_method(config)}, {config.train.iterations} iterations",
        *(f"note:    {note}" for note in method.notes),
    ]
    factor = config.optimiser.head_lr_factor
    if factor != 1 and not has_encoder(method.student):
        lines.append(
            f"note:    optimiser.head_lr_factor {factor:g} counts as 1: the network has no part named encoder"
        )
    for crops, count in (
        (batches.labelled, batches.labelled_per_step),
        (batches.unlabelled, batches.unlabelled_per_step),
    ):
        if crops is not None and len(crops.keys) < count and config.train.iterations:
            lines.append(
                f"note:    a step takes {count} {crops.purpose} images and there are {len(crops.keys)}: "
                "some are in it more than once, as other crops"
            )
    return lines
