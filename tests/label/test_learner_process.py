"""The learner as a process: clicks go in, predictions come out, also after rests, deaths and restarts."""

from __future__ import annotations

import os
import signal

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


def phase(labelling: Labelling) -> str:
    return labelling.state()["learner"]["phase"]


def version(labelling: Labelling, key: str) -> int:
    prediction = labelling.predictions.get(key)
    return prediction.version if prediction else 0


def test_clicks_become_predictions_after_a_rest_a_death_and_a_restart(two_tone, until, weights):
    folder = LabelFolder(two_tone)
    folder.add_classes(["green", "blue"])
    labelling = Labelling(folder)
    events: list[str] = []
    labelling.listeners.add(lambda event: events.append(event[0]))
    try:
        until(lambda: labelling.state()["learner"]["features"]["done"] == 6)
        until(lambda: phase(labelling) == "waiting")  # at rest, before the first click
        labelling.view("1", "tab")
        labelling.do("one", [click(1, "0", 0, 5), click(2, "0", 1, 90)])
        until(lambda: version(labelling, "1"))
        mask = labelling.predictions.get("1").mask((96, 64))
        assert (mask[:, :20] == 0).mean() > 0.9
        assert (mask[:, 80:] == 1).mean() > 0.9
        until(lambda: phase(labelling) == "ready")  # at rest
        assert labelling.predicted("4") is not None
        assert labelling.spots.next("one", 1)
        shares = [one["share"] for one in labelling.state()["classes"]]
        assert sum(shares) == pytest.approx(1)
        before = version(labelling, "1")
        labelling.do("one", [click(3, "1", 0, 8)])
        until(lambda: version(labelling, "1") > before)
        assert {"action", "classes", "learner", "shares", "predictions"} <= set(events)
        until(lambda: phase(labelling) == "ready")
        before = version(labelling, "1")
        os.kill(labelling.learner.process.pid, signal.SIGKILL)
        assert labelling.predicted("4") is not None  # by the next process, which got all labels
        until(lambda: version(labelling, "1") > before)
    finally:
        labelling.close()
    assert not labelling.learner.process.is_alive()
    again = Labelling(LabelFolder(two_tone))
    try:
        again.view("2", "tab")
        until(lambda: version(again, "2") > before)
    finally:
        again.close()
