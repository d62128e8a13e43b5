"""The paper's choice of labelled images."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoseg.errors import UserError
from recoseg.splits.labelled_images import sample_images, take_in_turn


def table(*images: tuple[int, ...], num_classes: int = 3) -> np.ndarray:
    presence = np.zeros((len(images), num_classes), dtype=bool)
    for row, classes in enumerate(images):
        presence[row, list(classes)] = True
    return presence


def sample(presence, *, labels=None, images_per_class=None, min_classes=1, seed=0) -> list[int]:
    names = [f"class {k}" for k in range(presence.shape[1])]
    return sample_images(
        presence,
        names,
        labels=labels,
        images_per_class=images_per_class,
        min_classes=min_classes,
        seed=seed,
    )


def literal_rule(presence: np.ndarray, order: list[int]) -> list[int]:
    """The rule image by image, with sets."""
    classes = [set(np.flatnonzero(row).tolist()) for row in presence]
    count = dict.fromkeys(range(presence.shape[1]), 0)
    waiting, taken = list(order), []
    while waiting:
        kept = []
        for place, row in enumerate(waiting):
            left = set().union(*(classes[other] for other in kept + waiting[place:]))
            least = min(count[k] for k in left)
            if classes[row] & {k for k in left if count[k] == least}:
                taken.append(row)
                for k in classes[row]:
                    count[k] += 1
            else:
                kept.append(row)
        waiting = kept
    return taken


@given(
    st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=25),
    st.randoms(use_true_random=False),
)
def test_images_are_taken_as_the_literal_rule_takes_them(images, random) -> None:
    presence = table(*map(tuple, images), num_classes=6)
    order = list(range(len(images)))
    random.shuffle(order)
    assert list(take_in_turn(presence, order)) == literal_rule(presence, order)


def test_an_image_without_a_least_taken_class_waits_for_the_next_pass() -> None:
    presence = table((0,), (0,), (1,), (0, 1), num_classes=2)
    # after image 0, class 1 is behind: image 1 is passed over, 2 is taken; then all are level again
    assert list(take_in_turn(presence, [0, 1, 2, 3])) == [0, 2, 3, 1]


def test_rare_classes_come_as_often_as_they_can() -> None:
    presence = table(*[(0, 1)] * 50, *[(0, 2)] * 4)
    chosen = sample(presence, labels=8)
    assert presence[chosen].sum(0).tolist() == [8, 4, 4]


def test_a_class_that_ran_out_does_not_stop_the_draw() -> None:
    presence = table(*[(0, 1)] * 10, (0, 2))
    assert len(sample(presence, labels=9)) == 9


def test_every_image_has_enough_classes() -> None:
    presence = table(*[(0,)] * 20, *[(0, 1)] * 5, (0, 1, 2))
    chosen = sample(presence, labels=6, min_classes=2)
    assert (presence[chosen].sum(1) >= 2).all()


def test_drawing_goes_on_until_every_class_is_there_often_enough() -> None:
    presence = table(*[(0, 1)] * 30, *[(2,)] * 30)
    chosen = sample(presence, images_per_class=5)
    assert presence[chosen].sum(0).min() == 5
    assert len(chosen) == 10


def test_number_and_images_per_class_together_draw_again_until_both_hold() -> None:
    generator = np.random.default_rng(0)
    presence = generator.random((200, 8)) < [0.9, 0.9, 0.9, 0.6, 0.5, 0.4, 0.2, 0.1]
    single = [presence[sample(presence, labels=12, seed=seed)].sum(0).min() for seed in range(20)]
    wanted = max(single)
    assert min(single) < wanted  # the first draw is not always enough
    for seed in range(20):
        chosen = sample(presence, labels=12, images_per_class=wanted, seed=seed)
        assert len(chosen) == 12
        assert presence[chosen].sum(0).min() >= wanted


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"labels": 4, "min_classes": 2}, "only 3 of 12 labelled images have as many; with min_classes 1"),
        ({"labels": 4, "min_classes": 9}, "at least 9 classes were asked for, but only 0 of 12"),
        ({"images_per_class": 5}, r"\(class 2 in 1, class 1 in 3\); the most is 1 images a class"),
        ({"images_per_class": 2, "min_classes": 2}, r"of the 3 labelled images with at least 2 classes"),
        ({"labels": 2, "images_per_class": 2}, "class 2 in 1"),
    ],
)
def test_what_cannot_be_had_is_an_error_with_the_best_there_is(settings, message) -> None:
    presence = table(*[(0,)] * 9, *[(0, 1)] * 2, (0, 1, 2))
    with pytest.raises(UserError, match=message):
        sample(presence, **settings)


def test_too_few_images_for_all_classes_names_the_best_draw() -> None:
    presence = table((0,), (1,), (2,))
    with pytest.raises(
        UserError, match=r"no 2 images hold every class 1 times; the best hold class . 0 times"
    ):
        sample(presence, labels=2, images_per_class=1)


def test_an_image_without_any_class_is_never_chosen() -> None:
    assert sample(table((), (), (0, 1, 2)), labels=1) == [2]


def test_a_seed_draws_the_same_on_every_machine() -> None:
    """The table comes from whole-number arithmetic, so that only the sampler can change the checksum."""
    numbers = np.arange(500 * 19, dtype=np.uint64).reshape(500, 19)
    presence = (numbers * 2654435761 % 1009) < np.arange(60, 1000, 50)[:19]
    chosen = [sample(presence, labels=40, min_classes=8, seed=seed) for seed in range(3)]
    assert len({tuple(rows) for rows in chosen}) == 3
    assert hashlib.sha256(repr(chosen).encode()).hexdigest()[:16] == "291b6978e49babef"


def test_sixteen_times_as_many_images_take_less_than_sixty_times_as_long(processor_seconds) -> None:
    generator = np.random.default_rng(1)
    presence = generator.random((10_000, 21)) < np.geomspace(0.9, 0.01, 21)
    assert len(sample(presence, labels=600, min_classes=3)) == 600

    def seconds(images: int) -> float:
        return processor_seconds(
            lambda: sample(presence[:images], labels=images // 16, min_classes=3), runs=10
        )

    assert seconds(10_000) < 60 * seconds(625)  # 16 where time grows with the images, 256 with their square
