"""Views and flips of a batch: image, labels, confidence and known points move together to the pixel."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from recoseg.augment.crop import Window, cut, cut_labels, reflected
from recoseg.augment.strong import (
    RandomFlip,
    RandomView,
    Span,
    viewed_images,
    viewed_points,
    viewed_pseudo,
)
from recoseg.errors import UserError
from recoseg.types import IGNORE, PseudoLabels

SIDES = st.integers(1, 21)
SCALES = st.tuples(st.floats(0.2, 3), st.floats(0.2, 3)).map(lambda pair: (min(pair), max(pair)))
SEEDS = st.integers(0, 10_000)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_batch(
    count: int, height: int, width: int, seed: int, dtype: torch.dtype = torch.float32
) -> tuple[torch.Tensor, PseudoLabels]:
    drawn = generator(seed)
    images = torch.rand(count, 3, height, width, generator=drawn, dtype=dtype)
    labels = torch.randint(0, 5, (count, height, width), generator=drawn)
    labels[labels == 4] = IGNORE
    return images, PseudoLabels(labels, torch.rand(count, height, width, generator=drawn, dtype=dtype))


def random_points(count: int, height: int, width: int, seed: int) -> torch.Tensor:
    """About one pixel in four has a label."""
    labels = torch.randint(0, 40, (count, height, width), generator=generator(seed))
    return labels.masked_fill(labels >= 10, IGNORE)


def span(size: int, start: int, length: int, target: int) -> Span:
    return Span(size, *(torch.tensor([[number]]) for number in (start, length, target)))


def windows(rows: Span, columns: Span) -> list[Window]:
    """What `geometry.py` calls the same boxes."""
    numbers = [side.flatten().tolist() for span in (rows, columns) for side in (span.start, span.length)]
    targets = [span.target.flatten().tolist() for span in (rows, columns)]
    return [
        Window(top, left, height, width, target_height, target_width, flip=False)
        for top, height, left, width, target_height, target_width in zip(*numbers, *targets, strict=True)
    ]


def test_enlarging_twofold_by_hand() -> None:
    """Pixels 1 and 2 of four fill the side: read at 1 (-0.25 beyond the box), 1.25, 1.75 and 2."""
    columns = span(4, start=1, length=2, target=4)
    assert columns.coordinates(torch.float32).tolist() == [[1.0, 1.25, 1.75, 2.0]]
    assert columns.nearest().tolist() == [[1, 1, 2, 2]]
    assert columns.places().tolist() == [[-1, 1, 3, -1]]


def test_shrinking_twofold_by_hand() -> None:
    columns = span(4, start=0, length=4, target=2)
    assert columns.coordinates(torch.float32).tolist() == [[0.5, 2.5, 0.5, 2.5]]  # and reflected
    assert columns.nearest()[:, :2].tolist() == [[1, 3]]
    assert columns.inside().tolist() == [[True, True, False, False]]
    assert columns.places().tolist() == [[0, 0, 1, 1]]


@given(count=st.integers(1, 3), height=SIDES, width=SIDES, scale=SCALES, seed=SEEDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_view_equals_cutting_and_interpolating_image_by_image(
    dtype, count, height, width, scale, seed
) -> None:
    """The slow plain version; its labels are those of `geometry.py`."""
    images, pseudo = random_batch(count, height, width, seed, dtype)
    view = RandomView(scale=scale)
    result, viewed, _ = view(images, pseudo, None, generator(seed))
    assert (result.dtype, viewed.confidence.dtype, viewed.labels.dtype) == (dtype, dtype, torch.int64)
    boxes = windows(*view.draw(images, generator(seed)))
    for i, box in enumerate(boxes):
        target = (box.target_height, box.target_width)
        part = F.interpolate(cut(images[i], box)[None], size=target, mode="bilinear")[0]
        expected = part[:, reflected(target[0], height)][:, :, reflected(target[1], width)]
        torch.testing.assert_close(result[i], expected, atol=1e-5, rtol=0)
        labels = cut_labels(pseudo.labels[i].to(torch.uint8), box, (height, width))
        assert torch.equal(viewed.labels[i], labels.long())
        confidence = F.interpolate(
            cut(pseudo.confidence[i, None], box)[None], size=target, mode="nearest-exact"
        )
        padded = F.pad(confidence, (0, width - target[1], 0, height - target[0]))
        assert torch.equal(viewed.confidence[i], padded[0, 0])


@given(height=SIDES, width=SIDES, scale=SCALES, seed=SEEDS)
def test_boxes_lie_in_the_image_and_only_a_shrunk_image_is_padded(height, width, scale, seed) -> None:
    images = torch.empty(4, 3, height, width)
    for box in windows(*RandomView(scale=scale).draw(images, generator(seed))):
        for size, start, length, target in (
            (height, box.top, box.height, box.target_height),
            (width, box.left, box.width, box.target_width),
        ):
            assert 0 <= start < start + length <= size
            assert 1 <= target <= size
            assert size in (length, target)  # never both cut and padded
            assert target == size or scale[0] < 1
            assert length == size or scale[1] > 1


@given(height=st.integers(12, 40), width=st.integers(12, 40), scale=SCALES, seed=SEEDS)
def test_colours_stay_on_their_labels(height, width, scale, seed) -> None:
    """Labels are painted into the image; away from edges the view must show each label's own colour."""
    blocks = torch.randint(0, 5, (2, 10, 10), generator=generator(seed))
    labels = blocks.repeat_interleave(6, 1).repeat_interleave(6, 2)[:, :height, :width]
    images = (labels / 5)[:, None].expand(-1, 3, -1, -1)
    around = F.max_pool2d(images[:, 0], 3, 1, 1), -F.max_pool2d(-images[:, 0], 3, 1, 1)
    inner = (around[0] == around[1]).float()  # all eight neighbours are alike
    result, viewed, _ = RandomView(scale=scale)(images, PseudoLabels(labels, inner), None, generator(seed))
    compared = viewed.confidence == 1
    assert compared.any()
    difference = (result - (viewed.labels / 5)[:, None]).abs().amax(1)
    assert difference[compared].max() < 1e-4
    assert (viewed.labels[compared] != IGNORE).all()


@given(count=st.integers(1, 3), height=SIDES, width=SIDES, scale=SCALES, seed=SEEDS)
def test_points_equal_a_slow_plain_version(count, height, width, scale, seed) -> None:
    known = random_points(count, height, width, seed)
    rows, columns = RandomView(scale=scale).draw(torch.empty(count, 3, height, width), generator(seed))
    result = viewed_points(known, rows, columns)
    assert (result.dtype, result.shape) == (torch.int64, known.shape)
    for i, box in enumerate(windows(rows, columns)):
        expected = torch.full((height, width), IGNORE)
        for y in range(box.top, box.top + box.height):
            for x in range(box.left, box.left + box.width):
                row = (2 * (y - box.top) + 1) * box.target_height // (2 * box.height)
                column = (2 * (x - box.left) + 1) * box.target_width // (2 * box.width)
                if known[i, y, x] != IGNORE and expected[row, column] == IGNORE:
                    expected[row, column] = known[i, y, x]
        assert torch.equal(result[i], expected)


@given(height=SIDES, width=SIDES, scale=st.floats(1, 3), seed=SEEDS)
def test_enlarging_keeps_each_point_in_view_once_on_a_pixel_that_shows_it(height, width, scale, seed) -> None:
    known = random_points(2, height, width, seed)
    rows, columns = RandomView(scale=(1, scale)).draw(torch.empty(2, 3, height, width), generator(seed))
    moved = viewed_points(known, rows, columns)
    for i, box in enumerate(windows(rows, columns)):
        inside = cut(known[i, None], box)
        assert sorted(moved[i][moved[i] != IGNORE].tolist()) == sorted(inside[inside != IGNORE].tolist())
    by_nearest = viewed_pseudo(PseudoLabels(known, known.float()), rows, columns).labels
    labelled = moved != IGNORE
    assert torch.equal(moved[labelled], by_nearest[labelled])


def test_a_single_labelled_pixel_survives_any_shrinking() -> None:
    """Where the nearest pixel would keep one of sixteen."""
    known = torch.full((256, 16, 16), IGNORE)
    known[torch.arange(256), torch.arange(256) // 16, torch.arange(256) % 16] = 3
    images, pseudo = torch.zeros(256, 3, 16, 16), PseudoLabels(known, torch.ones(256, 16, 16))
    _, by_nearest, moved = RandomView(scale=(0.25, 0.25))(images, pseudo, known, generator())
    assert moved is not None
    assert (moved == 3).sum((1, 2)).eq(1).all()
    assert (by_nearest.labels == 3).sum() == 16


def test_rivals_for_one_pixel_are_decided_by_place_not_by_class() -> None:
    known = torch.tensor([[[9, 2], [0, 1]]])
    half = span(2, start=0, length=2, target=1)
    assert viewed_points(known, half, half).tolist() == [[[9, IGNORE], [IGNORE, IGNORE]]]


@given(count=st.integers(1, 3), height=SIDES, width=SIDES, scale=SCALES, seed=SEEDS)
def test_labels_and_confidences_are_ones_that_were_there(count, height, width, scale, seed) -> None:
    images, pseudo = random_batch(count, height, width, seed)
    result, viewed, _ = RandomView(scale=scale)(images, pseudo, None, generator(seed))
    assert result.min() >= -1e-6
    assert result.max() <= 1 + 1e-6
    for i in range(count):
        before = set(
            zip(pseudo.labels[i].flatten().tolist(), pseudo.confidence[i].flatten().tolist(), strict=True)
        )
        after = set(
            zip(viewed.labels[i].flatten().tolist(), viewed.confidence[i].flatten().tolist(), strict=True)
        )
        assert after <= before | {(IGNORE, 0.0)}


def test_a_confidence_survives_as_it_is() -> None:
    images, pseudo = random_batch(2, 9, 9, seed=0)
    pseudo = PseudoLabels(pseudo.labels, torch.full((2, 9, 9), 0.97))
    _, viewed, _ = RandomView(scale=(0.5, 1.5))(images, pseudo, None, generator())
    assert set(viewed.confidence.flatten().tolist()) <= {torch.tensor(0.97).item(), 0.0}


def test_scale_one_returns_its_inputs_and_draws_nothing() -> None:
    images, pseudo = random_batch(2, 5, 5, seed=0)
    known, drawn = random_points(2, 5, 5, seed=0), generator(3)
    result = RandomView(scale=(1.0, 1.0))(images, pseudo, known, drawn)
    assert all(after is before for after, before in zip(result, (images, pseudo, known), strict=True))
    assert torch.equal(drawn.get_state(), generator(3).get_state())


def test_scales_and_places_are_spread_evenly() -> None:
    rows, columns = RandomView(scale=(0.5, 1.5)).draw(torch.empty(4000, 3, 100, 200), generator(1))
    shrunk = rows.target < 100
    assert shrunk.float().mean().item() == pytest.approx(0.5, abs=0.04)
    assert rows.target[shrunk].float().mean().item() == pytest.approx(75, abs=1.5)
    torch.testing.assert_close(
        columns.target.float(), 2 * rows.target.float(), atol=1.01, rtol=0
    )  # one scale
    room = 100 - rows.length
    free = room > 10
    share = rows.start[free] / room[free]
    assert share.mean().item() == pytest.approx(0.5, abs=0.03)
    assert share.min() == 0
    assert share.max() == 1
    across = (columns.start / (200 - columns.length).clamp(min=1))[free]
    assert abs(torch.corrcoef(torch.stack([share, across]))[0, 1].item()) < 0.1


def test_images_of_a_batch_are_viewed_each_in_its_own_way_and_a_seed_gives_one_result() -> None:
    image, pseudo = random_batch(1, 64, 64, seed=0)
    images = image.expand(4, -1, -1, -1)
    several = PseudoLabels(pseudo.labels.expand(4, -1, -1), pseudo.confidence.expand(4, -1, -1))
    view = RandomView(scale=(0.5, 1.5))
    first, again, other = (view(images, several, several.labels, generator(seed)) for seed in (1, 1, 2))
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1].confidence, again[1].confidence)
    assert not torch.equal(first[0], other[0])
    assert len({tuple(image.flatten().tolist()) for image in first[0]}) == 4


@pytest.mark.parametrize("scale", [(0.0, 1.0), (1.5, 0.5), (float("nan"), 1.0)])
def test_a_scale_that_makes_no_sense_is_refused(scale) -> None:
    with pytest.raises(UserError, match="scale needs 0 < low <= high"):
        RandomView(scale=scale)


@given(count=st.integers(1, 4), height=SIDES, width=SIDES, seed=SEEDS)
def test_a_flip_mirrors_image_labels_and_confidence_or_leaves_all_three(count, height, width, seed) -> None:
    images, pseudo = random_batch(count, height, width, seed)
    flipped, moved = RandomFlip(probability=0.5)(images, pseudo, generator(seed))
    chosen = torch.rand(count, generator=generator(seed)) < 0.5
    for i in range(count):
        columns = [*range(width)][:: -1 if chosen[i] else 1]
        assert torch.equal(flipped[i], images[i][:, :, columns])
        assert torch.equal(moved.labels[i], pseudo.labels[i][:, columns])
        assert torch.equal(moved.confidence[i], pseudo.confidence[i][:, columns])


def test_about_the_given_share_of_images_is_flipped() -> None:
    images = torch.arange(2.0).expand(4000, 3, 1, 2)
    pseudo = PseudoLabels(torch.zeros(4000, 1, 2, dtype=torch.int64), torch.ones(4000, 1, 2))
    share = {
        p: RandomFlip(probability=p)(images, pseudo, generator())[0][:, 0, 0, 0].mean() for p in (0, 0.3, 1)
    }
    assert (share[0], share[1]) == (0, 1)
    assert share[0.3].item() == pytest.approx(0.3, abs=0.03)


def test_a_probability_that_is_none_is_refused() -> None:
    with pytest.raises(UserError, match=r"between 0 and 1, not at 1\.5"):
        RandomFlip(probability=1.5)


def test_images_in_any_memory_layout_are_viewed_alike() -> None:
    images, _ = random_batch(2, 9, 7, seed=0)
    rows, columns = RandomView(scale=(0.5, 1.5)).draw(images, generator(1))
    by_channels = viewed_images(images.contiguous(memory_format=torch.channels_last), rows, columns)
    torch.testing.assert_close(by_channels, viewed_images(images, rows, columns))
