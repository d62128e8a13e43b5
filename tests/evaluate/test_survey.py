"""Scores and class relations in one pass, and when a kept survey still counts."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch

from recoseg.cli.main import main
from recoseg.data.dataset import Dataset
from recoseg.evaluate.boundary import BoundaryRule
from recoseg.evaluate.loop import evaluate
from recoseg.evaluate.survey import Survey, pooled, survey
from recoseg.models.representation import with_representation
from recoseg.models.weights import save_weights
from recoseg.runs import run as kept
from recoseg.runs.run import Run
from recoseg.runs.run_weights import weights_about
from recoseg.training.run_folder import RunFolder
from recoseg.types import IGNORE, ClassInfo

CPU = torch.device("cpu")


class Photos(Dataset):
    """Images of other sizes; class 3 has no pixel."""

    name = "photos"
    classes = ClassInfo(("a", "b", "c", "d"), ((0, 0, 0), (9, 9, 9), (20, 0, 0), (30, 0, 0)))

    def keys(self, subset):
        return ["0", "1", "2"]

    def has_labels(self, key):
        return True

    def image(self, key):
        generator = torch.Generator().manual_seed(int(key))
        return torch.randint(0, 256, (3, 36, 40 + 4 * int(key)), generator=generator).to(torch.uint8)

    def labels(self, key):
        generator = torch.Generator().manual_seed(int(key) + 10)
        labels = torch.randint(0, 3, (36, 40 + 4 * int(key)), generator=generator).to(torch.uint8)
        labels[:3] = IGNORE
        return labels


@pytest.fixture
def model():
    torch.manual_seed(0)
    body = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3, stride=4, padding=1), torch.nn.ReLU())
    network = torch.nn.Sequential(body, torch.nn.Conv2d(6, 4, 1))
    return with_representation(network, num_classes=4, feature_channels=5).eval()


def test_scores_are_those_of_an_evaluation(model) -> None:
    seen = []
    found = survey(
        model, Photos(), ["0", "1", "2"], device=CPU, progress=lambda done, total: seen.append((done, total))
    )
    wanted = evaluate(model, Photos(), ["0", "1", "2"], device=CPU, boundary=BoundaryRule())
    assert torch.equal(found.scores.confusion, wanted.confusion)
    for name in ("bands", "contours", "confusion"):
        assert torch.equal(getattr(found.scores.boundary, name), getattr(wanted.boundary, name))
    assert found.num_images == 3
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_relations_are_those_of_the_pixels_of_all_images(model) -> None:
    found = survey(model, Photos(), ["0", "1", "2"], device=CPU)
    vectors: dict[str, list[list[torch.Tensor]]] = {"Z": [[], [], []], "R": [[], [], []]}
    for key in ("0", "1", "2"):
        images = Photos().image(key)[None] / 255
        with torch.no_grad():
            maps = {"Z": model.network[0](model.normalise(images)), "R": model(images).features}
        labels = Photos().labels(key)[2::4, 2::4]  # the centres of the cells
        for name, one in maps.items():
            for label in range(3):
                vectors[name][label] += list(one[0].permute(1, 2, 0)[labels == label].double())
    for name, classes in vectors.items():
        means = [torch.stack(some).mean(0) for some in classes]
        graph = found.relations[name].graph
        for one in range(3):
            for other in range(3):
                wanted = torch.cosine_similarity(means[one], means[other], dim=0)
                assert float(graph[one, other]) == pytest.approx(float(wanted), abs=1e-6)
        assert found.relations[name].absent == (3,)
        assert math.isnan(float(graph[3, 3]))


def test_a_survey_is_the_same_when_read_back(model) -> None:
    found = survey(model, Photos(), ["0", "1"], device=CPU)
    again = Survey.from_plain(json.loads(json.dumps(found.as_plain())))
    assert again.as_plain() == found.as_plain()
    assert torch.equal(again.scores.boundary.bands, found.scores.boundary.bands)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = (
        "--data.height=32 --data.width=32 --data.num-train=4 --data.num-val=2 --augment.crop=32 "
        "--model.decoder-width=8 --model.separable=true --train.iterations=2 --train.evaluate-every=2"
    )
    assert main(["train", "--out", "run", *settings.split()]) == 0
    folder = RunFolder.open(tmp_path / "run")
    folder.survey.unlink(missing_ok=True)
    return folder


def test_a_survey_is_made_once_as_long_as_weights_and_images_stay(folder, monkeypatch) -> None:
    calls = []

    def counted(*words, **settings):
        calls.append(words)
        return survey(*words, **settings)

    monkeypatch.setattr(kept, "survey", counted)
    first = Run.open(folder).survey()
    assert Run.open(folder).survey().as_plain() == first.as_plain()
    assert len(calls) == 1
    content = folder.survey.read_text()
    for damage in (content[: len(content) // 2], "[]", json.dumps({"made_from": None})):
        folder.survey.write_text(damage)
        assert Run.open(folder).survey().as_plain() == first.as_plain()
    assert len(calls) == 4
    assert folder.survey.read_text() == content  # it has been mended
    run = Run.open(folder)
    with torch.no_grad():
        run.model.classifier[1].bias += 1
    save_weights(folder.weights, run.model.state_dict(), weights_about(folder.weights))
    Run.open(folder).survey()
    config = folder.config.read_text()
    folder.config.write_text(config.replace("num_val: 2", "num_val: 1"))
    assert Run.open(folder).survey().num_images == 1
    assert len(calls) == 6


def test_the_best_weights_have_a_survey_of_their_own(folder) -> None:
    run = Run.open(folder)
    last = run.survey().as_plain()
    with torch.no_grad():
        run.network.classifier[1].bias[3] += 100
    save_weights(folder.best_weights, run.network.state_dict(), weights_about(folder.weights))
    assert Run.open(folder, weights="best").survey().as_plain() != last
    assert Run.open(folder).survey().as_plain() == last


def test_a_folder_that_cannot_be_written_to_still_has_a_survey(folder, monkeypatch) -> None:
    def refuse(path, content):
        raise PermissionError(13, "not for you", str(path))

    monkeypatch.setattr(kept, "write_whole", refuse)
    assert Run.open(folder).survey().num_images == 2
    assert not folder.survey.exists()


def test_counts_of_each_image_are_kept_by_key_and_tell_how_sure_a_difference_is(model) -> None:
    found = survey(model, Photos(), ["0", "1", "2"], device=CPU)
    assert found.keys == ("0", "1", "2")
    assert found.as_plain()["images"]["1"] == found.scores.images[1].tolist()
    again = Survey.from_plain(json.loads(json.dumps(found.as_plain())))
    assert again.keys == found.keys
    assert torch.equal(again.scores.images, found.scores.images)
    assert again.interval == found.interval is not None
    gain = again.gain_over(found)
    assert gain is not None
    assert gain.mean_iou == (0, 0)
    assert survey(model, Photos(), ["0", "1"], device=CPU).gain_over(found) is None  # of other images
    other = torch.zeros_like(found.scores.images)
    assert found.gain_over(replace(found, scores=replace(found.scores, images=other))) is None  # other truth


def test_counts_of_very_many_images_are_not_kept(model, monkeypatch) -> None:
    monkeypatch.setattr("recoseg.evaluate.survey.MOST_IMAGES", 2)
    found = survey(model, Photos(), ["0", "1", "2"], device=CPU)
    assert (found.keys, found.scores.images, found.interval) == ((), None, None)
    assert "images" not in found.as_plain()


def test_pooled_scores_are_those_of_all_pixels(model) -> None:
    parts = [survey(model, Photos(), keys, device=CPU) for keys in (["0"], ["1", "2"])]
    whole = survey(model, Photos(), ["0", "1", "2"], device=CPU)
    scores, interval = pooled(parts)
    assert torch.equal(scores.confusion, whole.scores.confusion)
    assert interval == whole.interval
