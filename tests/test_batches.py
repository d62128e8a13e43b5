"""Batches: endless, seeded by place, the same for any number of processes, and blind to hidden labels."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from recoseg.augment.crop import RandomCrop
from recoseg.batches import Crops, StepBatches
from recoseg.data.dataset import Cached
from recoseg.data.problem import FileError
from recoseg.data.scenes import Scenes
from recoseg.errors import UserError
from recoseg.read_ahead import read_ahead
from recoseg.types import IGNORE


def dataset() -> Scenes:
    return Scenes(height=24, width=32, num_train=5, num_val=1)


def crops(source=None, *, labelled=True, seed=0) -> Crops:
    source = source or dataset()
    return Crops(source, source.keys("train"), crop=RandomCrop(size=(16, 16)), seed=seed, labelled=labelled)


def take(source: Crops, *, start=0, stop=4, workers=0, batch_size=2):
    """The batches of some iterations; of labelled crops, or of unlabelled ones beside some labelled."""
    pieces = StepBatches(labelled=source, labelled_per_step=batch_size)
    if not source.labelled:
        others = {"unlabelled": source, "unlabelled_per_step": batch_size}
        pieces = StepBatches(labelled=crops(), labelled_per_step=1, **others)
    pairs = pieces.from_iteration(start, stop, workers=workers)
    return [pair[0 if source.labelled else 1].to(torch.device("cpu")) for pair in pairs]


def test_batches_hold_floats_in_range_and_whole_labels() -> None:
    batch = take(crops(), stop=1)[0]
    assert batch.images.shape == (2, 3, 16, 16)
    assert batch.images.dtype == torch.float32
    assert 0 <= batch.images.min() < batch.images.max() <= 1
    assert batch.labels.dtype == torch.int64
    assert len(batch) == 2


def test_images_of_a_supervised_start_are_counted_without_unlabelled_ones() -> None:
    both = {"unlabelled": crops(labelled=False), "unlabelled_per_step": 3, "unlabelled_from": 10}
    batches = StepBatches(labelled=crops(), labelled_per_step=2, **both)
    assert [batches.images_by(iteration) for iteration in (0, 10, 12)] == [0, 20, 30]


def test_every_pass_shows_every_image_once_in_a_new_order() -> None:
    source = crops()
    keys = [source.crop_at(position)[3] for position in range(15)]
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


def test_batches_tell_images_from_padding() -> None:
    source = dataset()  # images of 24x32
    walk = Crops(source, source.keys("train"), crop=RandomCrop(size=(32, 32)), seed=0, labelled=False)
    batch = take(walk, stop=1)[0]
    assert batch.inside[:, :24].all()
    assert not batch.inside[:, 24:].any()
    assert take(crops(), stop=1)[0].inside.all()


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


def shown(pieces: StepBatches, iteration: int) -> tuple[list[str], list[str]]:
    """Keys of all parts of one iteration of one process: labelled, unlabelled."""
    pairs = [pieces[iteration * pieces.parts + part] for part in range(pieces.parts)]
    labelled = [key for pair in pairs for key in pair[0].keys]
    return labelled, [key for pair in pairs if pair[1] for key in pair[1].keys]


def pieces(**changes) -> StepBatches:
    settings = {
        "labelled": crops(),
        "unlabelled": crops(labelled=False),
        "labelled_per_step": 4,
        "unlabelled_per_step": 8,
    }
    return StepBatches(**{**settings, **changes})


@pytest.mark.parametrize(("world", "parts"), [(2, 1), (1, 2), (2, 2), (4, 1)])
def test_processes_and_parts_share_the_images_of_a_step_without_repeats(world, parts) -> None:
    for iteration in (0, 3):
        whole = shown(pieces(), iteration)
        shares = [shown(pieces(world=world, rank=rank, parts=parts), iteration) for rank in range(world)]
        for kind in (0, 1):
            assert Counter(key for share in shares for key in share[kind]) == Counter(whole[kind])
            assert len({len(share[kind]) for share in shares}) == 1


def test_crops_of_a_process_are_those_of_the_whole_step_to_the_pixel() -> None:
    whole = pieces()[2][1].images
    first, second = (pieces(world=2, rank=rank)[2][1].images for rank in (0, 1))
    assert torch.equal(torch.cat([first, second]), whole)


def test_images_that_cannot_be_shared_equally_are_refused() -> None:
    with pytest.raises(UserError, match="labelled_per_step 4 cannot be shared equally by 3 processes"):
        pieces(world=3)
    with pytest.raises(UserError, match="multiple of 16"):
        pieces(world=2, parts=8, labelled_per_step=16)


def test_unlabelled_images_come_when_they_are_asked_for_and_start_at_their_own_place() -> None:
    late = pieces(unlabelled_from=2)
    assert [late[iteration][1] is None for iteration in range(4)] == [True, True, False, False]
    assert late[2][1].keys == pieces()[2][1].keys


class PartlyLabelled(Scenes):
    def has_labels(self, key):
        return key.endswith(("0", "2"))

    def labels(self, key):
        assert self.has_labels(key), "hidden labels were read"
        return super().labels(key)


def test_a_walk_through_partly_known_images_has_their_known_labels() -> None:
    source = PartlyLabelled(height=24, width=32, num_train=5, num_val=1)
    walk = Crops(
        source,
        source.keys("train"),
        crop=RandomCrop(size=(16, 16)),
        seed=0,
        labelled=False,
        partly_known=True,
    )
    known = {key: bool((labels != IGNORE).any()) for _, labels, _, key in map(walk.crop_at, range(5))}
    assert known == {key: source.has_labels(key) for key in source.keys("train")}


def test_items_made_ahead_keep_their_order_and_their_errors() -> None:
    def items():
        yield from range(5)
        raise UserError("the sixth is broken")

    seen = []
    with pytest.raises(UserError, match="sixth"):  # noqa: PT012 (what came before it counts as well)
        for item in read_ahead(items(), depth=2):
            seen.append(item)
    assert seen == [0, 1, 2, 3, 4]
    walk = read_ahead(iter(range(100)), depth=2)
    assert [next(walk) for _ in range(3)] == [0, 1, 2]
    walk.close()  # a run that ends early leaves no thread behind
