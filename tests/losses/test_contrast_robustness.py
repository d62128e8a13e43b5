"""The regional contrast on batches with too little, too much or the wrong thing in them."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from recoseg import RegionalContrast
from recoseg.types import IGNORE

Inputs = tuple[Tensor, Tensor, Tensor]
BOTH_KINDS_OF_KEYS = pytest.mark.parametrize("keys", ["per_query", "shared"])


def batch(labels: Tensor, num_classes: int, *, probability: float = 0.5, channels: int = 4) -> Inputs:
    """Random features for the labels (B, h, w); every class has the same probability everywhere."""
    num_images, height, width = labels.shape
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(num_images, channels, height, width, generator=generator, requires_grad=True)
    return features, labels, torch.full((num_images, num_classes, height, width), probability)


def contrast(**settings: object) -> RegionalContrast:
    return RegionalContrast(**{"num_queries": 6, "num_keys": 9, **settings})  # type: ignore[arg-type]


@BOTH_KINDS_OF_KEYS
@pytest.mark.parametrize(
    ("labels", "probability", "why"),
    [
        ([[IGNORE, IGNORE]], 0.5, "every pixel is ignored"),
        ([[1, IGNORE]], 0.5, "only one class is present"),
        ([[1, 2]], 0.99, "no pixel may be a hard query"),
    ],
)
@pytest.mark.parametrize("poison", [0.0, math.inf, math.nan])
def test_with_nothing_to_compare_the_loss_is_zero_and_connected(
    keys: str, labels: list[list[int]], probability: float, why: str, poison: float
) -> None:
    features, *rest = batch(torch.tensor([labels]), 3, probability=probability)
    with torch.no_grad():
        features[0, 0, 0, 1] += poison
    loss, stats = contrast(keys=keys)(features, *rest, return_stats=True)
    loss.backward()
    assert loss.item() == 0
    assert loss.dtype == torch.float
    assert features.grad.shape == features.shape
    assert not features.grad.any()
    assert stats.inactive_because == why
    assert not stats.active_classes.any()
    assert stats.accuracy.isnan()


@BOTH_KINDS_OF_KEYS
@pytest.mark.parametrize("num_classes", [2, 3])
def test_two_classes_are_enough(keys: str, num_classes: int) -> None:
    features, *rest = batch(torch.tensor([[[0, 1, 1, 0]]]), num_classes)
    loss = contrast(keys=keys)(features, *rest)
    loss.backward()
    assert loss > 0.1
    assert features.grad.abs().sum() > 0


@BOTH_KINDS_OF_KEYS
def test_a_thousand_classes_work_and_255_is_still_ignore(keys: str) -> None:
    labels = torch.arange(1024).view(1, 32, 32) % 1000
    loss, stats = contrast(keys=keys)(*batch(labels, 1000, probability=0.001), return_stats=True)
    assert loss.isfinite()
    assert stats.active_classes.sum() == 999
    assert not stats.active_classes[IGNORE]
    assert stats.relation_graph.shape == (1000, 1000)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_labels_may_be_of_any_integer_dtype(dtype: torch.dtype) -> None:
    labels = torch.tensor([[[0, 1, 2, IGNORE]]])
    losses = [
        contrast()(*batch(given, 3), generator=torch.Generator().manual_seed(0))
        for given in (labels, labels.to(dtype))
    ]
    assert losses[0] == losses[1]


@BOTH_KINDS_OF_KEYS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_under_autocast_the_contrast_runs_in_float32(keys: str, dtype: torch.dtype) -> None:
    features, labels, probabilities = batch(torch.randint(0, 3, (2, 8, 8)), 3)
    half = features.detach().to(dtype).requires_grad_()
    with torch.autocast("cpu", dtype=dtype):
        loss = contrast(keys=keys)(
            half, labels, probabilities.to(dtype), generator=torch.Generator().manual_seed(0)
        )
    precise = contrast(keys=keys)(
        half.float(), labels, probabilities, generator=torch.Generator().manual_seed(0)
    )
    assert loss.dtype == torch.float
    assert loss == precise
    loss.backward()
    assert half.grad.dtype == dtype


def test_float64_stays_float64() -> None:
    features, *rest = batch(torch.tensor([[[0, 1]]]), 2)
    assert contrast()(features.double(), *rest).dtype == torch.double


@BOTH_KINDS_OF_KEYS
def test_the_memory_layout_does_not_matter(keys: str) -> None:
    features, labels, probabilities = batch(torch.randint(0, 3, (2, 6, 10)), 3, channels=8)
    spread = torch.randn(2, 16, 12, 10)
    spread[:, ::2, 1::2] = features.detach()
    layouts = [
        features.detach(),
        features.detach().contiguous(memory_format=torch.channels_last),
        spread[:, ::2, 1::2],
        features.detach().transpose(2, 3).contiguous().transpose(2, 3),
    ]
    results = []
    for layout in layouts:
        leaf = layout.requires_grad_()
        loss = contrast(keys=keys)(leaf, labels, probabilities, generator=torch.Generator().manual_seed(0))
        results.append((loss, *torch.autograd.grad(loss, leaf)))
    for loss, gradient in results[1:]:
        torch.testing.assert_close(loss, results[0][0])
        torch.testing.assert_close(gradient, results[0][1])


@BOTH_KINDS_OF_KEYS
def test_the_same_generator_gives_the_same_bits_and_leaves_torchs_own_alone(keys: str) -> None:
    features, *rest = batch(torch.randint(0, 3, (2, 64, 64)), 3, channels=64)
    before = torch.get_rng_state()
    results = []
    for seed in (0, 0, 1):
        loss = contrast(keys=keys, num_queries=5000)(
            features, *rest, generator=torch.Generator().manual_seed(seed)
        )
        results.append((loss, *torch.autograd.grad(loss, features)))
    assert results[0][0] == results[1][0]
    assert results[0][1].equal(results[1][1])
    assert results[0][0] != results[2][0]
    assert torch.get_rng_state().equal(before)


@BOTH_KINDS_OF_KEYS
def test_ignored_pixels_can_hold_anything(keys: str) -> None:
    labels = torch.tensor([[[0, 1, IGNORE, 2]], [[IGNORE, IGNORE, IGNORE, IGNORE]]])
    losses = []
    for poison in (0.0, math.inf, math.nan):
        features, _, probabilities = (tensor.detach().clone() for tensor in batch(labels, 3))
        features.permute(0, 2, 3, 1)[labels == IGNORE] = poison
        probabilities.permute(0, 2, 3, 1)[labels == IGNORE] = poison
        losses.append(
            contrast(keys=keys)(features, labels, probabilities, generator=torch.Generator().manual_seed(0))
        )
    assert losses[0] == losses[1] == losses[2]


@pytest.mark.parametrize("settings", [{}, {"hard_share": 0.5}, {"queries": "random"}])
def test_a_network_that_gives_nan_has_no_loss_of_zero(settings) -> None:
    features, labels, probabilities = batch(torch.tensor([[[0, 1, IGNORE, 2]]]), 3)
    broken = torch.full_like(probabilities, math.nan)
    assert RegionalContrast(**settings)(features, labels, broken).isnan()
    one = probabilities.detach().clone()
    one[0, :, 0, 1] = math.nan
    assert RegionalContrast(**settings)(features, labels, one).isnan()


@BOTH_KINDS_OF_KEYS
def test_overflowed_features_give_nan_which_a_loss_scaler_handles(keys: str) -> None:
    features, *rest = batch(torch.tensor([[[0, 1, 2]]]), 3)
    with torch.no_grad():
        features[0, 0, 0, 0] = math.inf
    assert contrast(keys=keys)(features, *rest).isnan()


def test_zero_features_give_a_finite_loss_and_gradient() -> None:
    features, *rest = batch(torch.tensor([[[0, 1, 2]]]), 3)
    zeros = torch.zeros_like(features).requires_grad_()
    loss = contrast()(zeros, *rest)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(10))
    assert not zeros.grad.any()


@pytest.mark.parametrize("shape", [(0, 4, 4), (2, 0, 4)])
def test_an_empty_batch_gives_zero(shape: tuple[int, int, int]) -> None:
    features, *rest = batch(torch.zeros(shape, dtype=torch.long), 3)
    loss = contrast()(features, *rest)
    loss.backward()
    assert loss.item() == 0


def test_no_gradient_is_needed() -> None:
    features, *rest = batch(torch.tensor([[[0, 1]]]), 2)
    with torch.no_grad():
        assert contrast()(features, *rest) > 0
    assert not contrast()(features.detach(), *rest).requires_grad


def test_tiny_temperatures_do_not_overflow() -> None:
    features, *rest = batch(torch.randint(0, 3, (1, 8, 8)), 3)
    loss = contrast(temperature=1e-3, graph_temperature=1e-3)(features, *rest)
    loss.backward()
    assert loss.isfinite()
    assert features.grad.isfinite().all()


@given(st.data())
def test_any_shape_and_label_pattern_gives_a_sound_loss(data: st.DataObject) -> None:
    num_classes = data.draw(st.integers(2, 6))
    shape = [data.draw(st.integers(1, largest)) for largest in (3, 6, 6)]
    classes = st.sampled_from([IGNORE, *range(num_classes)])
    count = math.prod(shape)
    labels = torch.tensor(data.draw(st.lists(classes, min_size=count, max_size=count))).view(shape)
    seed = data.draw(st.integers(0, 10))
    settings = {
        "num_queries": data.draw(st.integers(1, 9)),
        "num_keys": data.draw(st.integers(1, 9)),
        "keys": data.draw(st.sampled_from(["per_query", "shared"])),
        "queries": data.draw(st.sampled_from(["hard", "random", "easy"])),
        "negatives": data.draw(st.sampled_from(["active", "uniform"])),
    }
    features, _, probabilities = batch(labels, num_classes, channels=data.draw(st.integers(1, 5)))
    random = torch.randn(probabilities.shape, generator=torch.Generator().manual_seed(seed))
    probabilities = (8 * random).softmax(1)
    loss, stats = contrast(**settings)(features, labels, probabilities, return_stats=True)
    loss.backward()

    assert (loss == 0) == (stats.inactive_because is not None)
    assert 0 <= loss <= math.log1p(settings["num_keys"] * math.exp(2 / 0.5)) + 1e-4
    assert features.grad.isfinite().all()
    assert not features.grad.permute(0, 2, 3, 1)[labels == IGNORE].any()
    present = labels[labels != IGNORE].unique()
    assert set(stats.active_classes.nonzero()[:, 0].tolist()) <= set(present.tolist())
    assert stats.hard_share.isnan().sum() == num_classes - len(present)
