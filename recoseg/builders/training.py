"""Config -> what the training loop is made of."""

from __future__ import annotations

import os
from bisect import bisect_left

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from recoseg.augment.geometry import RandomCrop
from recoseg.augment.mix import OF_TWO_IMAGES
from recoseg.builders.data import class_counter
from recoseg.config.method_settings import MeanTeacherMethod
from recoseg.config.settings import RunConfig
from recoseg.config.train_settings import AdamWOptimiser, SGDOptimiser, TrainSettings
from recoseg.data.base import Dataset
from recoseg.distributed import rank, world_size
from recoseg.errors import UserError
from recoseg.loaders import Crops, Pieces
from recoseg.losses.pixel import root_inverse_frequency
from recoseg.methods.base import Method
from recoseg.splits.split_file import LabelSplit
from recoseg.splits.visible import VisibleLabels
from recoseg.train.memory import machine_bytes
from recoseg.train.parameter_groups import parameter_groups
from recoseg.train.selection import Selection, hold_back

MOST_WORKERS = 8
PIXEL_BYTES = 3 * 4 + 8  # of an image in float, and of its label


def build_optimiser(section: SGDOptimiser | AdamWOptimiser, model: nn.Module) -> Optimizer:
    if section.weight_decay == 0 and not section.decay_norms_and_biases:
        raise UserError("optimiser.decay_norms_and_biases has no effect without optimiser.weight_decay")
    groups = parameter_groups(
        model,
        lr=section.lr,
        weight_decay=section.weight_decay,
        head_lr_factor=section.head_lr_factor,
        decay_norms_and_biases=section.decay_norms_and_biases,
    )
    # Fused: one pass over the weights, a quarter of the time on a CPU.
    if isinstance(section, AdamWOptimiser):
        return torch.optim.AdamW(groups, fused=True)
    if section.nesterov and section.momentum == 0:
        raise UserError("optimiser.nesterov has no effect without optimiser.momentum: set it to false")
    return torch.optim.SGD(groups, momentum=section.momentum, nesterov=section.nesterov, fused=True)


def class_weights(
    config: RunConfig, dataset: Dataset, visible: VisibleLabels, split: LabelSplit
) -> Tensor | None:
    """(K,): by the labelled pixels that training may see; None where nothing asks for them."""
    if config.train.class_weights == "none" and not config.augment.rare:
        return None
    source = dataset if split.pixels is None else visible  # whole labels are counted once and remembered
    index = class_counter()(source, split.labelled)
    return root_inverse_frequency(torch.from_numpy(index.counts.sum(0)))


def build_pieces(
    config: RunConfig,
    visible: VisibleLabels,
    split: LabelSplit,
    method: Method,
    held_back: list[str],
    weights: Tensor | None = None,
) -> Pieces:
    """The images of every step. Training has no way to labels but `visible`."""
    augment, train = config.augment, config.train
    require_room(config, needs_unlabelled=method.needs_unlabelled)
    partly = split.pixels is not None
    crop = RandomCrop(
        size=augment.crop,
        scale=augment.scale,
        flip=augment.flip,
        sparse=partly,
        rare=augment.rare,
        class_weights=() if weights is None else tuple(weights.tolist()),
    )
    keys = [key for key in split.labelled if key not in set(held_back)]
    labelled = Crops(visible, keys, crop=crop, seed=train.seed, labelled=True)
    if not method.needs_unlabelled:
        if train.unlabelled_per_step is not None:
            raise UserError(f"train.unlabelled_per_step has no effect with method {config.method.name}")
        return Pieces(
            labelled=labelled,
            labelled_per_step=train.labelled_per_step,
            parts=train.accumulate,
            rank=rank(),
            world=world_size(),
        )
    plain = RandomCrop(size=augment.crop, scale=(1.0, 1.0), flip=0.0, sparse=partly)
    others = unlabelled_keys(split, keys, config.method.name)
    pieces = Pieces(
        labelled=labelled,
        unlabelled=Crops(visible, others, crop=plain, seed=train.seed, labelled=False, partly_known=partly),
        labelled_per_step=train.labelled_per_step,
        unlabelled_per_step=train.unlabelled_per_step or train.labelled_per_step,
        unlabelled_from=first_unlabelled(method, train.iterations),
        parts=train.accumulate,
        rank=rank(),
        world=world_size(),
    )
    refuse_another_method(config, pieces)
    return pieces


def require_room(config: RunConfig, *, needs_unlabelled: bool) -> None:
    """Said at once, where loading the images of a step would take hours until it fails."""
    train, (height, width) = config.train, config.augment.crop
    count = train.labelled_per_step
    count += (train.unlabelled_per_step or count) if needs_unlabelled else 0
    crops = count // (train.accumulate * world_size())  # at a time
    there, needed = machine_bytes(), crops * height * width * PIXEL_BYTES
    if needed > there:
        raise UserError(
            f"{crops} crops of {height}x{width} at a time take {needed / 1e9:.3g} GB, and this machine has "
            f"{there / 1e9:.3g}: lower train.labelled_per_step or augment.crop, or raise "
            "train.accumulate"
        )


def unlabelled_keys(split: LabelSplit, labelled: list[str], method: str) -> list[str]:
    """Images without labels; with partial labels also those that have some: most of their pixels do not."""
    keys = [*split.unlabelled, *(labelled if split.pixels is not None else ())]
    if not keys:
        raise UserError(
            f"method {method} learns from unlabelled images too, and this split has none: every training "
            "image is labelled. Use fewer labels (split.labels 20), or method supervised"
        )
    return keys


def first_unlabelled(method: Method, iterations: int) -> int:
    """The first iteration that looks at unlabelled images."""
    return bisect_left(range(iterations), True, key=method.uses_unlabelled)  # from then on all of them do


def refuse_another_method(config: RunConfig, pieces: Pieces) -> None:
    """Raises where the method would, under its own name, do the same as a simpler one."""
    method, train = config.method, config.train
    if pieces.unlabelled_from == train.iterations:
        raise UserError(
            f"method {method.name} would look at no unlabelled image in {train.iterations} iterations: lower "
            "method.supervised_start, raise train.iterations, or take method supervised"
        )
    shares = pieces.parts * pieces.world
    mix = method.mix if isinstance(method, MeanTeacherMethod) else "none"
    if mix in OF_TWO_IMAGES and pieces.unlabelled_per_step == shares:
        raise UserError(
            f"method.mix {mix} joins two unlabelled images, and every process and part of a step has "
            f"one alone: raise train.unlabelled_per_step from {shares} to {2 * shares}, or take another mix"
        )


def build_selection(
    train: TrainSettings, dataset: Dataset, val_keys: list[str], visible: VisibleLabels, split: LabelSplit
) -> Selection | None:
    """The images that choose the best weights, if any shall."""
    if train.best_on != "labelled" and train.best_share != TrainSettings().best_share:
        raise UserError("train.best_share has no effect without train.best_on labelled")
    if train.best_on == "val":
        return Selection("the validation images", dataset, val_keys)
    if train.best_on == "labelled":
        _, held = hold_back(split.labelled, train.best_share, train.seed)
        return Selection(f"labelled images held back from training ({len(held)})", visible, held)
    return None


def choose_device(name: str, *, setting: str = "train.device") -> torch.device:
    """By its name; `setting` is where a person gave it."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"{setting}: {name!r} cannot be used here: {str(error).splitlines()[0]}") from error
    return device


def choose_workers(train: TrainSettings, dataset: Dataset) -> int:
    """Loading processes: none where the training images fit into the cache, judged by the first of them."""
    if train.workers is not None:
        return train.workers
    keys = dataset.keys("train")
    if not keys or dataset.image(keys[0]).nbytes * 4 / 3 * len(keys) <= train.cache_gb * 1e9:  # with labels
        return 0
    return min(os.cpu_count() or 1, MOST_WORKERS)
