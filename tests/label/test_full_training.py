"""Full training beside the labelling: in a process, gone on with, and judged on points held back."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image

from recoseg.label.actions import NotNowError
from recoseg.label.features import FrozenFeatures
from recoseg.label.full_training import FullTraining
from recoseg.label.label_folder import LabelFolder
from recoseg.label.learner import Learner
from recoseg.label.marks import is_held_back
from recoseg.label.messages import Evaluate, Evaluated, Places, Predicted, Status, TrainedRun, Update
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


def wait_until(training: FullTraining, until, condition) -> None:
    """As the server does: with a poll now and then."""

    def polled() -> bool:
        training.poll()
        assert training.as_plain()["phase"] != "failed", training.as_plain()
        return condition()

    until(polled)


def test_it_trains_on_a_copy_without_the_points_held_back_and_the_better_one_is_shown(
    folder, until, tmp_path
):
    training = FullTraining(folder, settings=SETTINGS)
    with pytest.raises(NotNowError, match="no full training runs"):
        training.stop()
    (folder.root / "images" / "5.png").write_bytes(b"no image")
    training.start()
    with pytest.raises(NotNowError, match="runs already"):
        training.start()
    wait_until(training, until, lambda: not training.is_active)
    assert training.as_plain()["phase"] == "finished", training.as_plain()
    assert training.as_plain()["step"] == training.as_plain()["steps"] == 4
    held = [
        record for key in map(str, range(4)) for record in folder.state.active(key) if is_held_back(record)
    ]
    assert held
    for record in held:
        (x, y), key = record["at"][0], record["image"]
        assert np.array(Image.open(folder.path("training", "data", "labels", f"{key}.png")))[y, x] == IGNORE
        assert folder.class_indices(key)[y, x] != IGNORE
    # What ended and was not evaluated is, at the next start of the server.
    training = FullTraining(folder, settings=SETTINGS)
    run = training.unevaluated
    assert run is not None
    assert run.classes == (0, 1)
    assert training.shown is None
    training.evaluated(Evaluated(run, quick=0.5, full=0.75))
    assert training.unevaluated is None
    assert training.shown == run
    training.evaluated(Evaluated(run, quick=0.5, full=0.5))  # as good is not better
    assert training.shown is None
    training.evaluated(Evaluated(run, quick=0.5, full=0.75))
    assert training.as_plain()["used"]
    training = FullTraining(folder, settings=SETTINGS)
    assert training.as_plain()["held_back"] == {"quick": 0.5, "full": 0.75}
    training.start()  # the run before is shown until this one is evaluated
    assert training.shown == run
    assert not training.as_plain()["used"]
    training.stop()
    _evaluate(folder, run, tmp_path)
    training.evaluated(Evaluated(run, error="it is gone"))
    assert training.shown is None
    training.close()


def _evaluate(folder: LabelFolder, run: TrainedRun, place) -> None:
    """The learner compares it with itself, on the same points, and shows it where that is asked for."""
    torch.manual_seed(0)
    features = FrozenFeatures(ENCODERS["resnet10_small"](), name="random", folder=place / "features")
    sent: dict[type, object] = {}
    learner = Learner(folder.images, features, place, lambda message: sent.update({type(message): message}))
    labels = {}
    for key in map(str, range(4)):
        painted = folder.labels(key)
        rows, columns = np.nonzero(painted.ids != IGNORE)
        ids, held = painted.ids[rows, columns].astype(np.int64), painted.held_back[rows, columns]
        labels[key] = Places((columns + 0.5) / 96, (rows + 0.5) / 64, ids, held)
    learner.receive(Update(frozenset([0, 1]), labels=labels))
    learner.receive(Evaluate(run))
    _work(learner)
    assert 0 <= sent[Evaluated].full <= 1
    assert 0 <= sent[Evaluated].quick <= 1
    assert sent[Status].content["source"] == "quick"
    before = learner.version
    learner.receive(Update(frozenset([0, 1]), run))
    _work(learner)
    assert sent[Status].content["source"] == "full"
    assert sent[Status].valid_from > before
    _correct(learner, sent, labels["0"], run)
    learner.receive(Update(frozenset([0]), run))  # one class says nothing
    _work(learner)
    assert sent[Status].content["source"] != "full"
    gone = TrainedRun(f"{run.path}/gone", run.classes)
    learner.receive(Update(frozenset([0, 1]), gone))
    _work(learner)
    assert sent[Evaluated].run == gone
    assert sent[Evaluated].error


def _correct(learner: Learner, sent: dict[type, object], places: Places, run: TrainedRun) -> None:
    """Later clicks change what is displayed although the network stays: here they swap the classes."""
    views = {"views": ("4",), "opened": ("4",)}

    def classes_at_the_ends() -> list[int]:
        _work(learner)
        ids, _, _ = sent[Predicted].prediction.at(np.array([0.05, 0.95]), np.array([0.5]))
        return ids[0].tolist()

    learner.receive(Update(frozenset([0, 1]), run, **views))
    before, version = classes_at_the_ends(), learner.version
    swapped = Places(places.x, places.y, 1 - places.classes, places.held_back)
    learner.receive(Update(frozenset([0, 1]), run, **views, labels={str(key): swapped for key in range(4)}))
    assert classes_at_the_ends() == [1, 0] != before
    assert learner.version > version
    assert sent[Predicted].prediction.source == "full"


def _work(learner: Learner) -> None:
    while learner.jobs:
        learner.work()


SLOW = (*SETTINGS[:9], "100000", *SETTINGS[10:])


def test_a_stopped_run_and_one_whose_server_ended_are_resumed(folder, until):
    training = FullTraining(folder, settings=SLOW)
    training.start()
    wait_until(training, until, lambda: training.as_plain()["step"] > 2)
    training.stop()
    assert training.as_plain()["phase"] == "stopped"
    training.start()  # at once, while the process still saves its state
    before = training.as_plain()["step"]
    wait_until(training, until, lambda: training.as_plain()["step"] > before + 2)
    assert len(list(folder.path("training").glob("run_*"))) == 1
    training.close()
    assert training.as_plain()["phase"] == "running"
    before = training.as_plain()["step"]
    again = FullTraining(folder, settings=SLOW)
    wait_until(again, until, lambda: again.as_plain()["step"] > before)
    assert again.as_plain()["phase"] == "running", again.as_plain()
    again.stop()
    folder.add_classes(["red"])
    again.start()  # other classes are another run
    assert again.as_plain()["step"] == 0
    again.close()


def test_a_stopped_training_can_be_discarded(folder, until):
    training = FullTraining(folder, settings=SLOW)
    with pytest.raises(NotNowError, match="to discard"):
        training.discard()
    training.start()
    wait_until(training, until, lambda: training.as_plain()["step"] > 2)
    with pytest.raises(NotNowError, match="to discard"):
        training.discard()  # it runs
    training.stop()
    training.discard()  # at once, while the process still saves its state
    assert training.as_plain()["phase"] == "none"
    assert not list(folder.path("training").glob("run_*"))
    assert FullTraining(folder, settings=SLOW).as_plain()["phase"] == "none"
    training.start()  # a new one
    wait_until(training, until, lambda: training.as_plain()["step"] > 0)
    training.close()


def test_discarding_a_training_brings_back_the_quick_learner(folder):
    run = folder.path("training", "run_001")
    run.mkdir(parents=True)
    (run / "weights.safetensors").write_bytes(b"weights")
    kept = {"phase": "finished", "number": 1, "classes": [0, 1], "evaluated": True, "shown": [1, [0, 1]]}
    folder.path("training", "training.json").write_text(json.dumps(kept))
    training = FullTraining(folder, settings=SETTINGS)
    assert training.shown is not None
    training.discard()
    assert training.shown is None
    assert not run.exists()


def test_nothing_to_learn_from_is_told(image_folder):
    folder = LabelFolder(image_folder({"a": (8, 8)}))
    with pytest.raises(NotNowError, match="nothing is labelled yet"):
        FullTraining(folder).start()
    folder.close()
