"""Batches: endless, seeded by place, the same for any number of processes, and blind to hidden labels."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from recoseg.augment.geometry import RandomCrop
from recoseg.data.cached import Cached
from recoseg.data.problem import FileError
from recoseg.data.scenes import Scenes
from recoseg.errors import UserError
from recoseg.loaders import Crops, batches
from recoseg.types import IGNORE


def dataset() -> Scenes:
    return Scenes(height=24, width=32, num_train=5, num_val=1)


def crops(source=None, *, labelled=True, seed=0) -> Crops:
    source = source or dataset()
    return Crops(source, source.keys("train"), crop=RandomCrop(size=(16, 16)), seed=seed, labelled=labelled)


def take(source: Crops, *, start=0, stop=4, workers=0, batch_size=2):
    return list(batches(source, batch_size=batch_size, start=start, stop=stop, workers=workers))


def test_batches_hold_floats_in_range_and_whole_labels() -> None:
    batch = take(crops(), stop=1)[0]
    assert batch.images.shape == (2, 3, 16, 16)
    assert batch.images.dtype == torch.float32
    assert 0 <= batch.images.min() < batch.images.max() <= 1
    assert batch.labels.dtype == torch.int64
    assert len(batch) == 2


def test_every_pass_shows_every_image_once_in_a_new_order() -> None:
    source = crops()
    keys = [source.crop_at(position)[2] for position in range(15)]
    passes = [keys[:5], keys[5:10], keys[10:]]
    assert all(sorted(one) == sorted(source.keys) for one in passes)
    assert len({tuple(one) for one in passes}) > 1


def test_a_later_start_continues_what_an_earlier_one_would_have_given() -> None:
    whole, tail = take(crops(), stop=6), take(crops(), start=3, stop=6)
    for expected, batch in zip(whole[3:], tail, strict=True):
        assert torch.equal(expected.images, batch.images)
        assert torch.equal(expected.labels, batch.labels)
        assert expected.keys == batch.keys


def test_worker_processes_change_nothing() -> None:
    for expected, batch in zip(take(crops()), take(crops(), workers=2), strict=True):
        assert torch.equal(expected.images, batch.images)
        assert torch.equal(expected.labels, batch.labels)


def test_another_seed_gives_other_crops() -> None:
    assert not torch.equal(take(crops(seed=0))[0].images, take(crops(seed=1))[0].images)


class WithoutLabels(Scenes):
    def labels(self, key):
        raise AssertionError("hidden labels were read")


def test_unlabelled_batches_never_touch_a_label() -> None:
    source = WithoutLabels(height=24, width=32, num_train=5, num_val=1)
    for batch in take(crops(source, labelled=False)):
        assert (batch.labels == IGNORE).all()


def test_no_images_at_all_is_an_error() -> None:
    with pytest.raises(UserError, match="no labelled training images"):
        Crops(dataset(), (), crop=RandomCrop(size=(16, 16)), seed=0, labelled=True)


class Counting(Scenes):
    def image(self, key):
        self.reads[key] += 1
        return super().image(key)


def test_the_cache_reads_once_within_its_budget_and_through_beyond_it() -> None:
    source = Counting(height=16, width=16, num_train=3, num_val=1)
    source.reads = Counter()
    cached = Cached(source, budget_bytes=2 * 3 * 16 * 16)
    for _ in range(3):
        for key in source.keys("train"):
            assert torch.equal(cached.image(key), Scenes.image(source, key))
    assert sorted(source.reads.values()) == [1, 1, 3]
    assert cached.fingerprint() == source.fingerprint()
    assert cached.has_labels("train/00000")


class Damaged(Scenes):
    def image(self, key):
        raise FileError("photo.jpg", "damaged", "copy it again")


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_file_is_one_line_also_from_a_worker_process(workers) -> None:
    source = Damaged(height=24, width=32, num_train=5, num_val=1)
    with pytest.raises(UserError) as caught:
        take(crops(source), workers=workers)
    assert str(caught.value) == "photo.jpg: damaged; copy it again"
