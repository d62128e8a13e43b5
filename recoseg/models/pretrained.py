"""Encoders by name, with the ImageNet weights that their owner publishes, or those of a file."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path

import torch

from recoseg.errors import UserError
from recoseg.files import digest
from recoseg.lookup import lookup
from recoseg.models.encoders import ENCODERS, Encoder
from recoseg.models.weights import LoadReport, load_weights

OWNER = "https://download.pytorch.org/models"
IMAGENET = {
    "mobilenet_v2": f"{OWNER}/mobilenet_v2-b0353104.pth",
    "resnet18": f"{OWNER}/resnet18-f37072fd.pth",
    "resnet34": f"{OWNER}/resnet34-b627a593.pth",
    "resnet50": f"{OWNER}/resnet50-0676ba61.pth",
    "resnet101": f"{OWNER}/resnet101-63fe2227.pth",
}
"""Encoder -> address of torchvision's weights (IMAGENET1K_V1), with the start of their sha256 in the name."""


def load_encoder(
    name: str,
    *,
    pretrained: str | Path | None = None,
    output_stride: int = 16,
    addresses: Mapping[str, str] = IMAGENET,
) -> tuple[Encoder, LoadReport | None]:
    """The encoder, and what its weights file filled.

    `pretrained` is "imagenet" for the weights at its address, downloaded once; or a file; or None for a
    random start, and then there is no report.
    """
    encoder = lookup(ENCODERS, name, what="encoder")(output_stride=output_stride)
    if pretrained is None:
        return encoder, None
    return encoder, load_pretrained(encoder, name, pretrained, addresses=addresses)


def load_pretrained(
    encoder: Encoder, name: str, pretrained: str | Path, *, addresses: Mapping[str, str] = IMAGENET
) -> LoadReport:
    """Fill an encoder that is there already; `name` is what it is called in `ENCODERS`."""
    path = imagenet_file(name, addresses=addresses) if pretrained == "imagenet" else Path(pretrained)
    return load_weights(encoder, path, not_needed=encoder.published_classifier)


def imagenet_file(name: str, *, addresses: Mapping[str, str] = IMAGENET) -> Path:
    """The file of an encoder's ImageNet weights in torch.hub's cache; downloaded if it is not there."""
    if name not in addresses:
        raise UserError(
            f"nobody publishes ImageNet weights of {name!r} with torchvision's names (there are some of "
            f"{', '.join(addresses)}); if you have some, give the file: pretrained=PATH"
        )
    address = addresses[name]
    path = Path(torch.hub.get_dir()) / "checkpoints" / address.rpartition("/")[2]
    if path.is_file():
        require_published(path, address)
    else:
        download(address, path)
    return path


def require_published(path: Path, address: str) -> None:
    """Refuse a file of the cache whose content is not what its name promises."""
    found = digest(path)
    if not found.startswith(hash_of(path)):
        raise UserError(
            f"{path}: broken, or not the published file (its sha256 begins with {found[:8]}, not with "
            f"{hash_of(path)}); delete it, and it is downloaded again from {address}"
        )


def download(address: str, path: Path) -> None:
    """Download with progress on the terminal; `path` comes into being only whole and with the right hash."""
    by_hand = f"download it by hand and place it at {path}"
    print(f"downloading {address}", file=sys.stderr)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.hub.download_url_to_file(address, str(path), hash_prefix=hash_of(path))
    except (OSError, HTTPException) as error:
        raise UserError(f"cannot download {address} ({error or type(error).__name__}); {by_hand}") from error
    except RuntimeError as error:  # torch.hub's word for another hash
        raise UserError(f"{address} did not arrive as published: {error}; try again, or {by_hand}") from error


def hash_of(path: Path) -> str:
    """The beginning of the sha256 that torchvision puts into a file's name."""
    found = re.search(r"-([0-9a-f]{8,})\.", path.name)
    if found is None:
        raise UserError(
            f"{path.name}: a published weights file has its hash in its name, as name-0123abcd.pth"
        )
    return found[1]
