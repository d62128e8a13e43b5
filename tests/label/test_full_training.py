"""Full training beside the labelling: in a process, gone on with, and judged on points held back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.label.actions import NotNowError
from recoseg.label.features import FrozenFeatures
from recoseg.label.full_training import FullTraining
from recoseg.label.label_folder import LabelFolder
from recoseg.label.learner import Learner, Places
from recoseg.label.marks import is_held_back
from recoseg.models.encoders import ENCODERS
from recoseg.types import IGNORE

SETTINGS = (
    "--model.encoder", "resnet10_small", "--model.pretrained", "none", "--model.decoder_width", "16",
    "--augment.crop", "32,32", "--train.iterations", "4", "--train.evaluate_every", "4",
    "--method.supervised_start", "0", "--method.ramp", "0", "--contrast.ramp", "0", "--train.log_every", "1",
)  # fmt: skip


@pytest.fixture
def folder(two_tone):
    folder = LabelFolder(two_tone)
    folder.add_classes(["green", "blue"])
    marks = [
        {
            "id": f"{key}{one}{y}",
            "type": "mark",
            "image": str(key),
            "class": one,
            "shape": "points",
            "at": [[x, y]],
        }
        for key in range(4)
        for one, x in ((0, 10), (1, 85))
        for y in (10, 30, 50)
    ]
    folder.do("one", marks)
    yield folder
    folder.close()


def test_it_trains_on_a_copy_without_the_points_held_back_and_ends_with_a_run(
    folder, until, monkeypatch, tmp_path
):
    ended = []
    training = FullTraining(folder, ended.append, settings=SETTINGS)
    with pytest.raises(NotNowError, match="no full training runs"):
        training.stop()
    training.start()
    with pytest.raises(NotNowError, match="runs already"):
        training.start()
    until(lambda: training.as_plain()["phase"] != "running")
    assert training.as_plain()["phase"] == "finished", training.as_plain()
    assert training.as_plain()["step"] == training.as_plain()["steps"] == 4
    until(lambda: any(ended))
    path, classes = next(one for one in ended if one)
    assert classes == [0, 1]
    held = [
        record for key in map(str, range(4)) for record in folder.state.active(key) if is_held_back(record)
    ]
    assert held
    for record in held:
        (x, y), key = record["at"][0], record["image"]
        assert np.array(Image.open(folder.path("training", "data", "labels", f"{key}.png")))[y, x] == IGNORE
        assert folder.class_indices(key)[y, x] != IGNORE
    training.judged({"quick": 0.5, "full": 0.75})
    assert training.network == (path, [0, 1])
    assert FullTraining(folder, ended.append).as_plain()["held_back"] == {"quick": 0.5, "full": 0.75}
    training.judged({"quick": 0.5, "full": 0.5})  # as good is not better
    assert training.network is None
    monkeypatch.setattr("recoseg.label.learner._CALM_STEPS", 0)
    _judge(folder, str(path), tmp_path)


def _judge(folder: LabelFolder, run: str, place) -> None:
    """The learner compares it with itself, on the same points."""
    torch.manual_seed(0)
    features = FrozenFeatures(ENCODERS["resnet10_small"](), name="random", folder=place / "features")
    told: dict[str, dict] = {}
    learner = Learner(folder.images, features, place, lambda kind, data: told.update({kind: data}))
    for key in map(str, range(4)):
        labels = folder.labels(key)
        rows, columns = np.nonzero(labels.ids != IGNORE)
        ids, held = labels.ids[rows, columns].astype(np.int64), labels.held_back[rows, columns]
        learner.hear(
            "labels", {"image": key, "places": Places((columns + 0.5) / 96, (rows + 0.5) / 64, ids, held)}
        )
    for _ in range(6):
        learner.work()
    learner.hear("full", {"run": run, "classes": [0, 1], "judge": True})
    assert 0 <= told["judged"]["full"] <= 1
    assert 0 <= told["judged"]["quick"] <= 1
    assert (learner.full is not None) == (told["judged"]["full"] > told["judged"]["quick"])
    learner.hear("full", {"run": run, "classes": [0, 1], "judge": False})
    assert told["status"]["source"] == "full"


def test_what_ran_when_the_server_ended_goes_on(folder, until):
    ended = []
    slow = [*SETTINGS[:9], "100000", *SETTINGS[10:]]
    training = FullTraining(folder, ended.append, settings=tuple(slow))
    training.start()
    until(lambda: training.as_plain()["step"] > 2)
    training.close()
    before = training.as_plain()["step"]
    again = FullTraining(folder, ended.append, settings=tuple(slow))
    assert again.as_plain()["phase"] == "running"
    again.go_on()
    until(lambda: again.as_plain()["step"] > before)
    again.stop()
    until(lambda: again._process is None)
    assert again.as_plain()["phase"] == "stopped"


def test_nothing_to_learn_from_is_told(image_folder):
    folder = LabelFolder(image_folder({"a": (8, 8)}))
    with pytest.raises(NotNowError, match="nothing is labelled yet"):
        FullTraining(folder, print).start()
    folder.close()
