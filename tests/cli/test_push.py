"""`recoseg push` and `hf://`, against a stand-in for the hub that speaks the HTTP of its real clients."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import yaml
from safetensors import safe_open
from safetensors.torch import load_file

import recoseg as package
from recoseg.models.weights import save_weights
from recoseg.runs.hub import local_folder, push, without_folders
from recoseg.runs.run import Run

pytest.importorskip("huggingface_hub")

TOKEN = "hf_anna"
LICENSES = ("mit", "cc-by-4.0")


class Hub:
    """What anna's hub holds: for each model whether it is private, and its files."""

    def __init__(self) -> None:
        self.private: dict[str, bool] = {}
        self.files: dict[str, dict[str, bytes]] = {}
        self.commits: list[dict[str, Any]] = []
        self.uploaded: dict[str, bytes] = {}
        self.fetched: list[str] = []

    def commit(self, model: str, lines: list[dict[str, Any]]) -> None:
        self.commits.append(lines[0]["value"])
        for line in lines[1:]:
            value = line["value"]
            if line["key"] == "file":
                self.files[model][value["path"]] = base64.b64decode(value["content"])
            else:
                assert line["key"] == "lfsFile"
                self.files[model][value["path"]] = self.uploaded[value["oid"]]

    def revision(self) -> str:
        return hashlib.sha1(str(len(self.commits)).encode()).hexdigest()


class Answers(BaseHTTPRequestHandler):
    """The few addresses that creating, committing and fetching use."""

    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self, status: int, content: object = b"", **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def knows_caller(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def do_POST(self) -> None:
        path, body = urlsplit(self.path).path, self.body()
        if path == "/api/validate-yaml":
            front = yaml.safe_load(json.loads(body)["content"].split("---")[1])
            good = front.get("license", "mit") in LICENSES
            told = [] if good else [{"message": '"license" must be one of mit, cc-by-4.0'}]
            self.answer(200 if good else 400, {"errors": told, "warnings": []})
        elif not self.knows_caller():
            self.answer(401, {"error": "Invalid username or password."})
        elif path == "/api/repos/create":
            self.create(json.loads(body))
        elif found := re.fullmatch(r"/api/models/(.+/.+)/preupload/main", path):
            modes = {True: "lfs", False: "regular"}
            files = [
                {"path": f["path"], "uploadMode": modes[f["path"].endswith("tensors")], "shouldIgnore": False}
                for f in json.loads(body)["files"]
            ]
            self.answer(200, {"files": files})
        elif path.endswith(".git/info/lfs/objects/batch"):
            host = f"http://{self.headers['Host']}"
            objects = [
                {**one, "actions": {"upload": {"href": f"{host}/upload/{one['oid']}"}}}
                for one in json.loads(body)["objects"]
            ]
            self.answer(200, {"transfer": "basic", "objects": objects})
        elif found := re.fullmatch(r"/api/models/(.+/.+)/commit/main", path):
            self.hub.commit(found[1], [json.loads(line) for line in body.splitlines()])
            self.answer(
                200, {"commitUrl": f"https://huggingface.co/{found[1]}", "commitOid": self.hub.revision()}
            )
        else:
            self.answer(500, {"error": f"the stand-in does not know {path}"})

    def create(self, asked: dict[str, Any]) -> None:
        model = f"{asked['organization']}/{asked['name']}"
        if asked["name"] == "echo":
            self.answer(400, {"error": f"cannot read {self.headers['Authorization']}"})
        elif asked["organization"] != "anna":
            self.answer(403, {"error": "You don't have the rights to create a model under this namespace"})
        elif model in self.hub.files:
            address = f"http://{self.headers['Host']}/{model}"
            self.answer(409, {"error": "You already created this model repo", "url": address})
        else:
            self.hub.files[model], self.hub.private[model] = (
                {".gitattributes": b""},
                asked["visibility"] == "private",
            )
            self.answer(200, {"url": f"http://{self.headers['Host']}/{model}"})

    def do_PUT(self) -> None:
        self.hub.uploaded[self.path.rpartition("/")[2]] = self.body()
        self.answer(200)

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        found = re.match(r"(?:/api/models)?/([^/]+/[^/]+)", path)
        model = found[1] if found else ""
        files = self.hub.files.get(model, {})
        if not files or (self.hub.private[model] and not self.knows_caller()):
            self.answer(404 if self.knows_caller() else 401, {"error": "no"}, X_Error_Code="RepoNotFound")
        elif "/resolve/" in path:
            content = files[path.rpartition("/")[2]]
            if self.command == "GET":
                self.hub.fetched.append(path.rpartition("/")[2])
            etag = f'"{hashlib.sha256(content).hexdigest()}"'
            self.answer(200, content, ETag=etag, X_Repo_Commit=self.hub.revision())
        elif "/tree/" in path:
            self.answer(200, [
                {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for name, content in files.items()
            ])  # fmt: skip
        else:
            about = {"id": model, "private": self.hub.private[model], "sha": self.hub.revision()}
            self.answer(200, {**about, "siblings": [{"rfilename": name} for name in files]})

    do_HEAD = do_GET  # noqa: N815 (as the server calls it)


@pytest.fixture
def hub(monkeypatch, tmp_path) -> Iterator[Hub]:
    """anna is logged in; the client has an empty cache."""
    from huggingface_hub import constants

    held = Hub()
    handler = type("AnswersOfThisHub", (Answers,), {"hub": held})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        point_to(f"http://127.0.0.1:{server.server_port}", monkeypatch)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub_cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no_token"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield held
        server.shutdown()
        thread.join()


def point_to(address: str, monkeypatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def front_matter(card: str) -> dict[str, Any]:
    assert card.startswith("---\n")
    front: dict[str, Any] = yaml.safe_load(card.split("---\n")[1])
    return front


def test_what_was_pushed_is_loaded_and_says_the_same(recoseg, trained_run, tiny, hub) -> None:
    folder = trained_run("run", *tiny)
    outcome = recoseg(
        "push", folder, "anna/scenes", "--license", "cc-by-4.0", "--dataset-name", "anna/street"
    )
    assert outcome.code == 0, outcome.err
    assert "(private)" in outcome.out
    assert 'recoseg.load("hf://anna/scenes")' in outcome.out
    assert hub.private == {"anna/scenes": True}
    names = {"README.md", "config.yaml", "split.json", "metrics.jsonl", "weights.safetensors"}
    assert hub.files["anna/scenes"].keys() - {".gitattributes"} == names
    assert hub.files["anna/scenes"]["weights.safetensors"] == (folder / "weights.safetensors").read_bytes()

    image = np.random.default_rng(0).integers(0, 255, (40, 50, 3), dtype=np.uint8)
    model = package.load("hf://anna/scenes")
    assert (model(image).confidence == package.load(folder)(image).confidence).all()
    assert set(hub.fetched) == names - {"README.md"}  # and nothing else that may lie there
    opened, before = Run.open("hf://anna/scenes"), Run.open(folder)
    assert opened.classes == before.classes
    assert opened.config == before.config
    assert repr(opened).partition(":")[2].endswith(repr(before).partition(": ")[2])
    assert len(hub.fetched) == 4, "what is in the cache is not fetched again"


def test_the_card_tells_scores_classes_split_and_license(recoseg, trained_run, tiny, hub) -> None:
    folder = trained_run("run", *tiny)
    words = ["--license", "cc-by-4.0", "--dataset-name", "anna/street", "--public"]
    assert recoseg("push", folder, "anna/scenes", *words).code == 0
    assert hub.private == {"anna/scenes": False}
    card = hub.files["anna/scenes"]["README.md"].decode()
    assert front_matter(card) == {
        "library_name": "recoseg",
        "pipeline_tag": "image-segmentation",
        "tags": ["recoseg", "semantic-segmentation"],
        "license": "cc-by-4.0",
        "datasets": ["anna/street"],
        "metrics": ["mean_iou"],
    }
    scores = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    assert f"mean IoU {100 * scores['mean_iou']:.1f} %" in card
    for name, iou in zip(Run.open(folder).classes.names, scores["iou"], strict=True):
        assert f"| {name} | {'–' if iou is None else f'{100 * iou:.1f}'} |" in card
    for row in ("| dataset | anna/street |", "| labelled images | 6 |", "| iterations | 4 of 4 |"):
        assert row in card
    assert 'recoseg.load("hf://anna/scenes")' in card


def test_the_best_weights_are_pushed_with_their_own_scores(recoseg, trained_run, tiny, hub) -> None:
    folder = trained_run("run", *tiny)
    outcome = recoseg("push", folder, "anna/scenes", "--weights", "best")
    assert outcome.code == 1
    assert "kept no best weights" in outcome.err
    assert not hub.files

    with safe_open(folder / "weights.safetensors", framework="pt") as file:
        about = json.loads(file.metadata()["recoseg"])
    best = load_file(folder / "weights.safetensors")
    save_weights(folder / "best.safetensors", best, {**about, "iteration": 2})
    assert recoseg("push", folder, "anna/scenes", "--weights", "best").code == 0
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [2, 4]
    pushed = hub.files["anna/scenes"]
    assert [json.loads(line) for line in pushed["metrics.jsonl"].splitlines()] == [json.loads(lines[0])]
    assert (
        f"after 2 iterations: mean IoU {100 * json.loads(lines[0])['mean_iou']:.1f} %"
        in pushed["README.md"].decode()
    )
    assert Run.open("hf://anna/scenes").iteration == 2


def test_no_path_of_this_machine_is_pushed(recoseg, tiny, photos, tmp_path, hub) -> None:
    words = [word for word in tiny if not word.startswith("--data")]
    assert recoseg("train", "--out", "run", "--no-page", "--data", photos, *words).code == 0
    assert recoseg("push", "run", "anna/photos").code == 0
    texts = [content for name, content in hub.files["anna/photos"].items() if name != "weights.safetensors"]
    assert not [text for text in texts if str(tmp_path).encode() in text]
    assert str(tmp_path).encode() not in hub.files["anna/photos"]["weights.safetensors"]
    assert yaml.safe_load(hub.files["anna/photos"]["config.yaml"])["data"]["root"] == "photos"
    config = Run.open("run").config
    assert without_folders(without_folders(config)) == without_folders(config)


def test_a_network_of_own_code_is_named_and_never_made_without_trust(
    recoseg, trained_run, small, hub
) -> None:
    folder = trained_run("run", *small)
    outcome = recoseg("push", folder, "anna/own")
    assert outcome.code == 0, outcome.err
    assert "others need the code of model.factory 'small_network:small'" in outcome.err
    assert "trust=True" in hub.files["anna/own"]["README.md"].decode()
    with pytest.raises(package.UserError, match="give --trust"):
        package.load("hf://anna/own")
    assert package.load("hf://anna/own", trust=True)(np.zeros((32, 32, 3), np.uint8)).labels.shape == (32, 32)


def test_a_name_that_holds_files_is_left_alone_unless_forced(recoseg, trained_run, tiny, hub) -> None:
    folder = trained_run("run", *tiny)
    hub.files["anna/mine"], hub.private["anna/mine"] = {".gitattributes": b"", "novel.txt": b"once"}, True
    outcome = recoseg("push", folder, "anna/mine")
    assert outcome.code == 1
    assert outcome.err == (
        "recoseg: anna/mine exists already, with 1 file: choose another name, or add the run as a new commit "
        "with --force\n"
    )
    assert not hub.commits
    assert recoseg("push", folder, "anna/mine", "--force").code == 0
    assert hub.files["anna/mine"]["novel.txt"] == b"once"
    assert package.load("hf://anna/mine").classes.names
    assert "novel.txt" not in hub.fetched


def test_an_empty_one_is_filled_and_its_visibility_must_be_known(recoseg, trained_run, tiny, hub) -> None:
    folder = trained_run("run", *tiny)
    hub.files["anna/mine"], hub.private["anna/mine"] = {".gitattributes": b""}, False
    assert "anna/mine is public: give --public" in recoseg("push", folder, "anna/mine").err
    hub.private["anna/mine"] = True
    assert "anna/mine is private" in recoseg("push", folder, "anna/mine", "--public").err
    assert not hub.commits
    assert recoseg("push", folder, "anna/mine").code == 0


def test_predict_takes_a_run_of_the_hub(recoseg, trained_run, tiny, photos, tmp_path, hub) -> None:
    assert recoseg("push", trained_run("run", *tiny), "anna/scenes").code == 0
    outcome = recoseg("predict", "hf://anna/scenes", photos / "images" / "p0.jpg", "-o", "masks")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "masks" / "labels" / "p0.png").is_file()


def test_troubles_are_a_line_that_says_what_to_do(recoseg, trained_run, tiny, hub, monkeypatch) -> None:
    folder = trained_run("run", *tiny)

    def told(*words: str) -> str:
        outcome = recoseg("push", folder, *words)
        assert outcome.code == 1
        assert outcome.err.count("\n") == 1
        return outcome.err

    assert "got 'scenes', needs USER/NAME" in told("scenes")
    assert "cannot push to berta/scenes: your token may not write there" in told("berta/scenes")
    assert 'the hub says: Invalid metadata in README.md. - "license" must be' in told(
        "anna/a", "--license", "x"
    )
    assert recoseg("push", folder, "anna/a").code == 0  # made above, and still empty
    with pytest.raises(package.UserError, match=r"cannot fetch hf://anna/b: there is no such model"):
        package.load("hf://anna/b")
    monkeypatch.delenv("HF_TOKEN")
    assert "you are not logged in, the hub does not accept your token" in told("anna/b")
    with pytest.raises(package.UserError, match=r"cannot fetch hf://anna/a: you are not logged in"):
        package.load("hf://anna/a")
    monkeypatch.setenv("HF_TOKEN", "hf_old")
    assert "log in with `hf auth login`, or set HF_TOKEN" in told("anna/b")


@pytest.mark.parametrize("from_file", [False, True])
def test_a_token_that_the_hub_repeats_is_not_shown(
    recoseg, trained_run, tiny, hub, monkeypatch, from_file
) -> None:
    folder = trained_run("run", *tiny)
    if from_file:
        monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(folder / "token"))
        (folder / "token").write_text(TOKEN)
        monkeypatch.delenv("HF_TOKEN")
    outcome = recoseg("push", folder, "anna/echo")
    assert outcome.code == 1
    assert "the hub says" in outcome.err
    assert "cannot read Bearer ***" in outcome.err
    assert TOKEN not in outcome.err + outcome.out
    with pytest.raises(package.UserError) as caught:
        push({}, "anna/echo", public=False, force=False)
    assert caught.value.__cause__ is None


def test_without_a_connection_only_the_cache_serves(recoseg, trained_run, tiny, hub, monkeypatch) -> None:
    folder = trained_run("run", *tiny)
    assert recoseg("push", folder, "anna/a").code == 0
    before = local_folder("hf://anna/a")
    point_to("http://127.0.0.1:1", monkeypatch)  # where nobody listens
    outcome = recoseg("push", folder, "anna/b")
    assert outcome.code == 1
    assert "cannot push to anna/b: the hub cannot be reached" in outcome.err
    with pytest.raises(package.UserError, match="cannot fetch hf://anna/b: the hub cannot be reached"):
        package.load("hf://anna/b")
    assert local_folder("hf://anna/a") == before


def test_a_model_that_is_no_run_is_named(hub) -> None:
    hub.files["anna/other"], hub.private["anna/other"] = {"config.yaml": b"a: 1\n", "model.bin": b"x"}, False
    with pytest.raises(package.UserError, match="hf://anna/other is not a run of recoseg"):
        package.load("hf://anna/other")
    assert "model.bin" not in hub.fetched


@pytest.mark.parametrize(
    "address", ["hf://anna", "hf://anna/a/b", "hf://../a", "hf://anna/a b", "hf://anna/a@"]
)
def test_addresses_that_cannot_be_are_said_to_be_so(address) -> None:
    with pytest.raises(package.UserError, match=r"needs hf://USER/NAME|Repo id must use"):
        package.load(address)


def test_without_the_extra_it_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setattr("recoseg.runs.hub.find_spec", lambda name: None)
    with pytest.raises(package.UserError, match=r"pip install 'recoseg\[hub\]'"):
        local_folder("hf://anna/a")


def test_a_path_is_taken_as_it_is() -> None:
    assert local_folder("runs/hf") == local_folder(Path("runs/hf")) == Path("runs/hf")
