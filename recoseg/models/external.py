"""Foreign networks: made by a user's function, or by the library transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from recoseg.errors import UserError
from recoseg.models.layers import Normalise
from recoseg.own_code import answer_of
from recoseg.text import without_tokens


def network_from_factory(factory: str, num_classes: int, **options: object) -> nn.Module:
    """Call the function with `num_classes=K` and the options; return its network of K classes."""
    network = answer_of(factory, num_classes=num_classes, **options)
    if not isinstance(network, nn.Module):
        raise UserError(f"factory {factory!r} returned a {type(network).__name__}, needs a torch.nn.Module")
    return network


def transformers_network(checkpoint: str, num_classes: int, *, pretrained: bool = True) -> nn.Module:
    """The network of a checkpoint, with a classifier of K classes.

    `checkpoint` is a folder or a name on the hub. Its weights are read from safetensors only, which cannot
    run code. With `pretrained=False` only its config.json is read, for weights that are loaded later.
    A classifier of another number of classes starts at random; any other difference in shape is an error.
    """
    transformers = _import_transformers()
    auto = transformers.AutoModelForSemanticSegmentation
    with _one_line_errors(checkpoint):
        config = _fetch(transformers.AutoConfig.from_pretrained, checkpoint, trust_remote_code=False)
        if config.num_labels != num_classes:
            config.num_labels = num_classes
        if hasattr(config, "use_auxiliary_head"):
            config.use_auxiliary_head = False  # only for a loss that is not ours
        network: nn.Module
        if not pretrained:
            network = auto.from_config(config)
            return network
        settings = {"ignore_mismatched_sizes": True, "use_safetensors": True, "output_loading_info": True}
        network, report = _fetch(auto.from_pretrained, checkpoint, config=config, **settings)
    _require_weights(checkpoint, network, report, num_classes)
    return network.train()


def transformers_normalise(checkpoint: str) -> nn.Module:
    """The normalisation in the checkpoint's preprocessor_config.json; ImageNet's without one."""
    processor = _import_transformers().image_processing_base.ImageProcessingMixin
    try:
        settings, _ = _fetch(processor.get_image_processor_dict, checkpoint)
    except OSError:  # there is none
        return Normalise()
    steps: list[nn.Module] = [_ReversedChannels()] if settings.get("do_flip_channel_order") else []
    if settings.get("do_normalize", True) and "image_mean" in settings:
        steps.append(Normalise(mean=settings["image_mean"], std=settings["image_std"]))
    return steps[0] if len(steps) == 1 else nn.Sequential(*steps)


class _ReversedChannels(nn.Module):
    """RGB -> BGR, which some checkpoints were trained with."""

    def forward(self, images: Tensor) -> Tensor:
        return images.flip(1)


def _import_transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise UserError(
            "networks of transformers need the package transformers; install it with: "
            "pip install 'recoseg[transformers]'"
        ) from error
    return transformers


def _fetch(load: Callable[..., Any], checkpoint: str, **settings: Any) -> Any:
    """Call `load(checkpoint, ...)` of transformers: from disk if possible, else from the hub."""
    try:
        return load(checkpoint, local_files_only=True, **settings)  # its cache needs no network, no waiting
    except (OSError, ValueError):
        if _is_folder(checkpoint):
            raise
    return load(checkpoint, **settings)


def _is_folder(checkpoint: str) -> bool:
    """Whether this can only be a path: names on the hub are `name` or `owner/name`."""
    return Path(checkpoint).exists() or checkpoint.startswith(("/", ".", "~")) or checkpoint.count("/") > 1


@contextmanager
def _one_line_errors(checkpoint: str) -> Iterator[None]:
    """Raise transformers' objection to a checkpoint as one line with what to do."""
    try:
        yield
    except UserError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        text = without_tokens(str(error))
        reason = next(iter(text.strip().splitlines()), type(error).__name__)[:200].rstrip(".")
        to_do = "it must hold config.json and model.safetensors of a segmentation network"
        if not _is_folder(checkpoint):
            to_do = (
                f"run 'hf download {checkpoint} --local-dir FOLDER' on a machine with a network connection, "
                "and give that folder as checkpoint"
            )
        elif not Path(checkpoint).is_dir():
            reason = "there is no such folder"
            to_do = "give a folder, or a name on the hub such as owner/name"
        # A traceback would show any token in the error.
        cause = error if text == str(error) else None
        raise UserError(f"checkpoint {checkpoint!r} cannot be used: {reason}; {to_do}") from cause


def _require_weights(checkpoint: str, network: nn.Module, report: dict[str, Any], num_classes: int) -> None:
    """Refuse a checkpoint that fills less than half of the network, or differs in more than its classes."""
    for name, given, needed in report["mismatched_keys"]:
        if needed[0] != num_classes or tuple(given[1:]) != tuple(needed[1:]):
            raise UserError(
                f"checkpoint {checkpoint!r}: {name} has the shape {tuple(given)}, the network's is "
                f"{tuple(needed)}; its config.json and its weights do not belong together"
            )
    total = len(network.state_dict())
    missing = len(report["missing_keys"]) + len(report["mismatched_keys"])
    if 2 * missing > total:
        raise UserError(
            f"checkpoint {checkpoint!r} has weights for {total - missing} of the network's {total} tensors "
            "only; is it made for another network?"
        )
