"""The regional contrast on images so small that its value can be worked out by hand."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys

import pytest
import torch
from torch import Tensor

from recoseg import RegionalContrast
from recoseg.losses.regional_contrast import comparing
from recoseg.losses.regional_contrast import loss as loss_module
from recoseg.losses.regional_contrast.comparing import SharedBlock, info_nce
from recoseg.losses.regional_contrast.prototypes import unit_vectors
from recoseg.types import IGNORE

BOTH_KINDS_OF_KEYS = pytest.mark.parametrize("keys", ["per_query", "shared"])


def image_of(
    *pixels: tuple[tuple[float, ...], int, float], num_classes: int = 3
) -> tuple[Tensor, Tensor, Tensor]:
    """One image, one row: (feature, label, probability of the label) for each pixel."""
    features = torch.tensor([feature for feature, _, _ in pixels], dtype=torch.float).t()[None, :, None]
    labels = torch.tensor([label for _, label, _ in pixels])
    probabilities = torch.zeros(len(pixels), num_classes)
    for row, (_, label, probability) in zip(probabilities, pixels, strict=True):
        if label != IGNORE:
            row[:] = (1 - probability) / (num_classes - 1)
            row[label] = probability
    return features, labels[None, None], probabilities.t()[None, :, None].contiguous()


def contrast(**settings: object) -> RegionalContrast:
    return RegionalContrast(**{"num_queries": 4, "num_keys": 8, **settings})  # type: ignore[arg-type]


@BOTH_KINDS_OF_KEYS
def test_two_orthogonal_classes_have_a_closed_form(keys: str) -> None:
    loss = contrast(keys=keys)(*image_of(((1, 0), 0, 0.5), ((0, 1), 1, 0.5)))
    # positive similarity 1, eight negatives at 0, temperature 0.5
    assert loss.item() == pytest.approx(-math.log(math.exp(2) / (math.exp(2) + 8)), rel=1e-5)


@BOTH_KINDS_OF_KEYS
def test_features_that_cannot_be_told_apart_cost_the_chance_level_and_rank_nothing_first(keys: str) -> None:
    image = image_of(*[((3, 4), label, 0.5) for label in (0, 0, 1, 2)])
    loss, stats = contrast(keys=keys)(*image, return_stats=True)
    assert loss.item() == pytest.approx(math.log(1 + 8), rel=1e-5)
    assert stats.chance_level == pytest.approx(math.log(9))
    assert stats.accuracy == 0


def test_the_positive_key_is_the_mean_of_features_as_they_are_not_of_their_directions() -> None:
    image = image_of(((3, 0), 0, 0.5), ((0, 1), 0, 0.99), ((-1, 0), 1, 0.99))
    loss = contrast()(*image)
    # the only hard pixel (3, 0) meets the mean (1.5, 0.5), and eight times (-1, 0)
    positive = 1.5 / math.hypot(1.5, 0.5) / 0.5
    assert loss.item() == pytest.approx(
        -math.log(math.exp(positive) / (math.exp(positive) + 8 * math.exp(-2))), rel=1e-5
    )


def test_lengths_of_features_do_not_matter() -> None:
    short = contrast()(*image_of(((1, 0), 0, 0.5), ((1, 1), 1, 0.5)))
    long = contrast()(*image_of(((1000, 0), 0, 0.5), ((0.001, 0.001), 1, 0.5)))
    assert short.item() == pytest.approx(long.item(), rel=1e-5)


def test_the_loss_is_averaged_over_classes_not_over_pixels() -> None:
    one = contrast()(*image_of(((1, 0), 0, 0.5), ((0, 1), 1, 0.99)))
    other = contrast()(*image_of(((1, 0), 0, 0.99), ((0, 1), 1, 0.5)))
    many = image_of(*[((1, 0), 0, 0.5)] * 9, ((0, 1), 1, 0.5))
    assert contrast()(*many).item() == pytest.approx((one + other).item() / 2, rel=1e-5)


def test_a_query_is_hard_up_to_and_including_the_threshold() -> None:
    exactly = image_of(((1, 0), 0, 0.97), ((0, 1), 1, 0.98))
    _, stats = contrast(hard_below=0.97)(*exactly, return_stats=True)
    assert stats.active_classes.tolist() == [True, False, False]
    assert stats.hard_share.tolist() == pytest.approx([1, 0, math.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("queries", "active"), [("hard", [True, False]), ("easy", [False, True]), ("random", [True, True])]
)
def test_queries_may_be_hard_or_easy_or_any(queries: str, active: list[bool]) -> None:
    features, *rest = image_of(((1, 0), 0, 0.5), ((0, 1), 1, 0.99), num_classes=2)
    features.requires_grad_()
    loss, stats = contrast(queries=queries)(features, *rest, return_stats=True)
    assert stats.active_classes.tolist() == active
    assert stats.hard_share.tolist() == [1, 0]
    assert loss > 0


@BOTH_KINDS_OF_KEYS
def test_only_queries_get_a_gradient(keys: str) -> None:
    features, *rest = image_of(
        ((1, 0.5), 0, 0.5), ((1, -0.5), 0, 0.99), ((0.2, 1), 1, 0.99), ((1, 1), IGNORE, 0)
    )
    features.requires_grad_()
    contrast(keys=keys)(features, *rest).backward()
    got_gradient = features.grad[0, :, 0].abs().sum(0) > 0
    assert got_gradient.tolist() == [True, False, False, False]


@BOTH_KINDS_OF_KEYS
def test_a_step_against_the_gradient_lowers_the_loss(keys: str) -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(2, 8, 6, 6, generator=generator, requires_grad=True)
    labels = torch.randint(0, 4, (2, 6, 6), generator=generator)
    probabilities = torch.full((2, 4, 6, 6), 0.25)
    losses = []
    for step in range(60):
        loss = contrast(keys=keys)(features, labels, probabilities, generator=generator.manual_seed(step))
        (gradient,) = torch.autograd.grad(loss, features)
        features = (features - 20 * gradient).detach().requires_grad_()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_the_gradient_of_each_query_agrees_with_finite_differences() -> None:
    torch.manual_seed(1)
    queries = torch.randn(3, 4, 5, dtype=torch.double, requires_grad=True)
    positives, keys = (unit_vectors(torch.randn(3, n, 5, dtype=torch.double)) for n in (1, 7))

    class Keys:
        num_keys = 7

        def block(self, classes: slice, num_queries: int) -> SharedBlock:
            return SharedBlock(keys[classes])

    assert torch.autograd.gradcheck(lambda q: info_nce(q, positives[:, 0], Keys(), 0.5)[0], queries)


def test_blocks_of_any_size_give_the_same_loss_and_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(2)
    features = torch.randn(1, 6, 8, 8)
    labels, probabilities = torch.randint(0, 5, (1, 8, 8)), torch.full((1, 5, 8, 8), 0.2)
    results = []
    for pairs in (1 << 20, 64, 5):
        monkeypatch.setattr(comparing, "_PAIRS_PER_BLOCK", pairs)
        leaf = features.clone().requires_grad_()
        generator = torch.Generator().manual_seed(3)
        loss = contrast(keys="shared", num_queries=7)(leaf, labels, probabilities, generator=generator)
        results.append((loss, *torch.autograd.grad(loss, leaf)))
    for loss, gradient in results[1:]:
        torch.testing.assert_close(loss, results[0][0])
        torch.testing.assert_close(gradient, results[0][1])


def test_the_stats_show_relations_active_classes_and_hard_shares() -> None:
    image = image_of(((1, 0), 0, 0.5), ((1, 0), 0, 0.99), ((1, 1), 2, 0.99), num_classes=4)
    loss, stats = contrast()(*image, return_stats=True)
    nan, half = math.nan, math.sqrt(0.5)
    expected = [[1, nan, half, nan], [nan] * 4, [half, nan, 1, nan], [nan] * 4]
    torch.testing.assert_close(stats.relation_graph, torch.tensor(expected), equal_nan=True)
    assert stats.active_classes.tolist() == [True, False, False, False]
    assert stats.hard_share.tolist() == pytest.approx([0.5, nan, 0, nan], nan_ok=True)
    assert stats.accuracy == 1  # the only query is its class's mean; the negatives are 45 degrees away
    assert stats.inactive_because is None
    assert loss.ndim == stats.accuracy.ndim == 0


def test_without_stats_nothing_is_spent_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("stats were not asked for")

    monkeypatch.setattr(loss_module, "contrast_stats", refuse)
    assert contrast()(*image_of(((1, 0), 0, 0.5), ((0, 1), 1, 0.5))) > 0


def test_it_prints_its_settings_and_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(RegionalContrast(num_keys=3, keys="shared")))
    assert "num_keys=3" in repr(copy)
    assert "keys='shared'" in repr(copy)


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, recoseg; assert 'torch' not in sys.modules; recoseg.RegionalContrast"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_users_hear_no_warning() -> None:
    code = (
        "import torch, recoseg\n"
        "features, labels = torch.randn(1, 4, 8, 8, requires_grad=True), torch.randint(0, 3, (1, 8, 8))\n"
        "recoseg.RegionalContrast()(features, labels, torch.full((1, 3, 8, 8), 0.3)).backward()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
