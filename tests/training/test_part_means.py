"""Means of the parts of a loss, also of parts that begin later."""

from __future__ import annotations

import pytest
import torch

from recoseg.training.log import PartMeans


def parts(**values: float) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(value) for name, value in values.items()}


def test_a_part_that_begins_later_is_averaged_over_its_own_steps() -> None:
    means = PartMeans()
    means.add(parts(loss=1.0))
    means.add(parts(loss=2.0, contrast=10.0))
    means.add(parts(loss=6.0, contrast=20.0))
    assert means.take() == {"loss": 3.0, "contrast": 15.0}


def test_counting_starts_anew_after_it_was_taken() -> None:
    means = PartMeans()
    means.add(parts(loss=1.0))
    means.take()
    assert means.take() == {}
    means.add(parts(loss=5.0))
    assert means.take() == {"loss": 5.0}


def test_sums_go_on_where_they_were_saved() -> None:
    whole, cut, resumed = PartMeans(), PartMeans(), PartMeans()
    values = [0.1, 0.7, 0.4]
    for value in values:
        whole.add(parts(loss=value))
    for value in values[:2]:
        cut.add(parts(loss=value))
    resumed.restore(cut.state(), torch.device("cpu"))
    resumed.add(parts(loss=values[2]))
    assert resumed.take() == whole.take()


def test_sums_of_two_processes_become_their_mean_in_one() -> None:
    means = PartMeans()
    means.restore({"sums": {"loss": torch.tensor([2.0, 4.0])}, "counts": {"loss": 2}}, torch.device("cpu"))
    means.add(parts(loss=6.0))
    assert means.take() == {"loss": pytest.approx(3.0)}


def test_a_saved_sum_is_not_changed_by_going_on() -> None:
    means = PartMeans()
    means.add(parts(loss=1.0))
    state = means.state()
    means.add(parts(loss=1.0))
    assert state["sums"]["loss"].tolist() == [1.0]
    assert state["counts"] == {"loss": 1}
