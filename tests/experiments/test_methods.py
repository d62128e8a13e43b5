"""The rows: each is what its title says, and a variant changes nothing but that."""

from __future__ import annotations

import pytest

from recoseg.config.load import flat, load
from recoseg.experiments.methods import METHODS, ROWS, VARIANTS


@pytest.mark.parametrize(
    ("row", "method", "mix", "contrast"),
    [
        ("supervised", "supervised", None, False),
        ("s4gan", "s4gan", None, False),
        ("cutout", "mean_teacher", "cutout", False),
        ("cutmix", "mean_teacher", "cutmix", False),
        ("classmix", "mean_teacher", "classmix", False),
        ("reco-supervised", "supervised", None, True),
        ("reco-cutout", "mean_teacher", "cutout", True),
        ("reco-cutmix", "mean_teacher", "cutmix", True),
        ("reco-classmix", "mean_teacher", "classmix", True),
    ],
)
def test_a_method_is_what_its_name_says_whatever_the_config_had(row, method, mix, contrast) -> None:
    for before in ([], ["--method=mean_teacher", "--method.mix=none", "--contrast=reco"]):
        config = load(None, [*before, *ROWS[row].words()])
        assert config.method.name == method
        assert getattr(config.method, "mix", None) == mix
        assert (config.contrast is not None) == contrast
    assert row in METHODS


@pytest.mark.parametrize(
    ("row", "changed"),
    [
        ("queries-32", {"contrast.num_queries": 32}),
        ("queries-256", {}),
        ("keys-64", {"contrast.num_keys": 64}),
        ("keys-512", {}),
        ("unlabelled-2", {"split.unlabelled": "2%"}),
        ("random-random", {"contrast.queries": "random", "contrast.negatives": "uniform"}),
        ("active-random", {"contrast.negatives": "uniform"}),
        ("easy-active", {"contrast.queries": "easy"}),
        ("keys-shared", {"contrast.keys": "shared"}),
        ("keys-per-query", {}),
        ("teacher-batch", {"method.teacher_norm": "batch"}),
        ("teacher-average", {}),
    ],
)
def test_a_variant_changes_one_thing_of_reco_with_classmix(row, changed) -> None:
    plain = flat(load(None, METHODS["reco-classmix"].words()))
    varied = flat(load(None, [*VARIANTS[row].words(), *VARIANTS[row].settings]))
    assert varied == {**plain, **changed}
    assert VARIANTS[row].title != METHODS["reco-classmix"].title


def test_titles_tell_rows_apart() -> None:
    titles = [row.title for row in ROWS.values()]
    assert len(set(titles)) == len(titles)
