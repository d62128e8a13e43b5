"""The scores of each class as one table."""

from __future__ import annotations

import numpy as np
import pytest

from recoseg.evaluate.class_scores import ClassScores, confused_pairs, row_shares

PLAIN = {"iou": [0.5, None, 0.25], "class_accuracy": [1.0, None, None], "boundary": None}


def test_only_counted_scores_are_columns_and_means_are_over_classes_with_a_score() -> None:
    scores = ClassScores.of(["sky", "sea", "ship"], PLAIN)
    assert list(scores.columns) == ["iou", "accuracy"]
    assert scores.mean("iou") == pytest.approx(0.375)
    table = scores.table()
    assert table.head == ("", "class", "IoU", "Accuracy")
    assert table.rows == [
        ["0", "sky", "50.0", "100.0"],
        ["1", "sea", "–", "–"],
        ["2", "ship", "25.0", "–"],
        ["", "mean", "37.5", "100.0"],
    ]
    assert table.num_totals == 1


def test_a_score_of_no_class_has_no_mean() -> None:
    assert ClassScores.of(["sky"], {"iou": [None]}).mean("iou") is None


def test_rows_are_shares_and_a_class_without_pixels_has_none() -> None:
    shares = row_shares([[3, 1, 0], [0, 5, 0], [0, 0, 0]])
    assert shares[:2].tolist() == [[0.75, 0.25, 0], [0, 1, 0]]
    assert np.isnan(shares[2]).all()


def test_the_most_confused_pairs_come_first_and_the_diagonal_never() -> None:
    shares = row_shares([[50, 30, 20], [40, 60, 0], [0, 0, 9]])
    assert confused_pairs(shares, most=9) == [(1, 0), (0, 1), (0, 2)]
    assert confused_pairs(shares, most=1) == [(1, 0)]
    assert confused_pairs(shares, most=9, at_least=0.3) == [(1, 0), (0, 1)]
