"""The probe: which steps it times, and what a run of them comes to."""

from __future__ import annotations

import pytest

from recoseg.config.load import load
from recoseg.experiments.running.timing import STEPS, WARM_UP, Pace, after_warm_up, seconds_of_step
from recoseg.runs.start import new_run

SETTINGS = [
    "--data.height=32", "--data.width=32", "--data.num-train=6", "--data.num-val=2", "--split.labels=2",
    "--augment.crop=32", "--model.decoder-width=8", "--model.separable=true", "--train.labelled-per-step=2",
    "--method=mean_teacher", "--method.trust-above=0.05",
]  # fmt: skip


@pytest.fixture
def trainer(tmp_path):
    def make(*more: str):
        return new_run(load(None, [*SETTINGS, *more]), tmp_path / "run")

    return make


def test_a_run_takes_its_steps_and_the_images_that_it_scores() -> None:
    assert Pace(step=0.5, image=0.1, steps=100, images=30).seconds == pytest.approx(53)


def test_the_last_steps_are_timed_where_unlabelled_images_take_part(trainer, monkeypatch) -> None:
    made = trainer("--train.iterations=50", "--method.supervised-start=40")
    seen = []
    original = type(made.method).forward

    def forward(self, labelled, unlabelled, *, iteration, **more):
        seen.append((iteration, unlabelled is not None))
        return original(self, labelled, unlabelled, iteration=iteration, **more)

    monkeypatch.setattr(type(made.method), "forward", forward)
    seconds_of_step(made)
    assert seen == [(iteration, True) for iteration in range(50 - WARM_UP - STEPS, 50)]


def test_a_step_is_the_mean_of_those_after_the_warm_up() -> None:
    slow = [10.0 * step for step in range(WARM_UP + 1)]
    assert after_warm_up([*slow, *(slow[-1] + end for end in (1, 2, 4, 6))]) == pytest.approx(6 / 4)
    assert after_warm_up([3.0, 5.0]) == pytest.approx(2.0)


def test_a_run_of_fewer_steps_is_timed_by_those(trainer) -> None:
    assert seconds_of_step(trainer("--train.iterations=1")) > 0
