"""The learner as a process, beside a server: clicks go in, predictions come out, it ends with us."""

from __future__ import annotations

import pytest

from recoseg.errors import UserError
from recoseg.label import features
from recoseg.label.label_folder import LabelFolder
from recoseg.label.labelling import Labelling


def click(number: int, key: str, one: int, x: int) -> dict:
    return {"id": str(number), "type": "mark", "image": key, "class": one, "shape": "points", "at": [[x, 30]]}


@pytest.fixture
def weights() -> None:
    try:
        features.pretrained_encoder()
    except UserError as error:
        pytest.skip(str(error))


def test_clicks_become_predictions_shares_and_spots_and_all_of_it_is_there_after_a_restart(
    two_tone, until, weights
):
    folder = LabelFolder(two_tone)
    folder.add_classes(["green", "blue"])
    labelling = Labelling(folder)
    heard: list[str] = []
    labelling.listeners.add(lambda event: heard.append(event[0]))
    try:
        labelling.view("1")
        labelling.do("one", [click(1, "0", 0, 5), click(2, "0", 1, 90)])
        until(lambda: "1" in labelling.predictions)
        mask = labelling.predictions["1"].mask((96, 64))
        assert (mask[:, :20] == 0).mean() > 0.9
        assert (mask[:, 80:] == 1).mean() > 0.9
        prediction = labelling.predicted("4")  # whoever asks for one that nobody looks at waits for it
        assert prediction is not None
        until(lambda: labelling.next_spots("one", 1))
        until(lambda: labelling.state()["learner"]["phase"] == "ready")
        shares = [one["share"] for one in labelling.state()["classes"]]
        assert {"action", "classes", "learner", "shares", "predictions"} <= set(heard)
    finally:
        labelling.close()
    assert sum(shares) == pytest.approx(1)
    again = Labelling(LabelFolder(two_tone))
    try:
        again.view("2")
        until(lambda: "2" in again.predictions)
        assert again.predictions["2"].version > prediction.version
    finally:
        again.close()
    assert again.learner is not None
    assert not again.learner._process.is_alive()


def test_a_learner_that_ends_is_told_of(two_tone, until, weights):
    labelling = Labelling(LabelFolder(two_tone))
    try:
        assert labelling.learner is not None
        labelling.learner._process.kill()
        until(lambda: labelling.state()["learner"]["phase"] == "failed")
        assert labelling.predicted("0") is None
    finally:
        labelling.close()
