"""How classes relate: cosines of class means over all images, and the tree that follows."""

from __future__ import annotations

import json
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from recoseg.evaluate.class_relations import ClassSums, Relations, leaf_order
from recoseg.types import IGNORE


def relations_of(num_classes: int, *pixels: tuple[tuple[float, ...], int]) -> Relations:
    """Of one row of pixels: (embedding, label) each."""
    sums = ClassSums(num_classes)
    vectors, labels = zip(*pixels, strict=True)
    sums.add(torch.tensor(vectors).t()[None, :, None], torch.tensor(labels)[None, None])
    return sums.relations()


def graph_of(rows: list[list[float]]) -> Relations:
    return Relations(torch.tensor(rows, dtype=torch.float64), torch.ones(len(rows), dtype=torch.int64))


THREE = graph_of([[1, 0.9, 0.1], [0.9, 1, 0.3], [0.1, 0.3, 1]])


def test_two_means_at_45_degrees() -> None:
    found = relations_of(2, ((1.0, 0.0), 0), ((3.0, 3.0), 1), ((-9.0, 7.0), IGNORE))
    assert found.graph.flatten().tolist() == pytest.approx([1, math.sqrt(0.5), math.sqrt(0.5), 1])
    assert found.counts.tolist() == [1, 1]
    assert found.mean_similarity == pytest.approx(math.sqrt(0.5))


def test_means_are_of_the_embeddings_as_they_are_not_of_their_directions() -> None:
    found = relations_of(2, ((10.0, 0.0), 0), ((0.0, 1.0), 0), ((1.0, 0.0), 1))
    assert float(found.graph[0, 1]) == pytest.approx(5 / math.hypot(5, 0.5))


def test_labels_are_brought_down_to_the_embeddings() -> None:
    sums = ClassSums(2)
    labels = torch.full((1, 4, 8), IGNORE)
    labels[0, 2, 2], labels[0, 2, 6] = 0, 1  # the centres of the two cells
    sums.add(torch.tensor([[[[1.0, 0.0]], [[0.0, 2.0]]]]), labels.to(torch.uint8))
    assert sums.relations().graph.tolist() == [[1, 0], [0, 1]]


@given(seed=st.integers(0, 10_000), num_classes=st.integers(1, 6), num_batches=st.integers(1, 3))
def test_batch_by_batch_equals_a_plain_loop_over_all_pixels(seed, num_classes, num_batches) -> None:
    generator = torch.Generator().manual_seed(seed)
    sums, vectors = ClassSums(num_classes), [[] for _ in range(num_classes)]
    for size in range(1, num_batches + 1):
        features = torch.randn(2, 3, size, 4, generator=generator)
        labels = torch.randint(0, num_classes + 1, (2, size, 4), generator=generator)
        labels[labels == num_classes] = IGNORE
        sums.add(features, labels)
        for image, row, column in torch.cartesian_prod(*(torch.arange(n) for n in labels.shape)).tolist():
            label = int(labels[image, row, column])
            if label != IGNORE:
                vectors[label].append(features[image, :, row, column].double())
    found = sums.relations()
    means = [torch.stack(some).mean(0) if some else None for some in vectors]
    for one, first in enumerate(means):
        for other, second in enumerate(means):
            value = float(found.graph[one, other])
            if first is None or second is None:
                assert math.isnan(value)
            else:
                wanted = float(first @ second / (first.norm() * second.norm()))
                assert value == pytest.approx(wanted, abs=1e-9)
    assert found.counts.tolist() == [len(some) for some in vectors]


def test_sums_are_exact_over_many_pixels() -> None:
    """In float32 a sum of 2^24 and 1 is 2^24: a mean over millions of pixels would stand still."""
    sums = ClassSums(1)
    values = torch.zeros(1, 1, 1, 16)
    values[..., 0], values[..., 1:] = 2.0**24, 1.0
    sums.add(values, torch.zeros(1, 1, 16, dtype=torch.uint8))
    assert sums.sums.tolist() == [[2**24 + 15]]


def test_a_class_without_pixels_or_without_a_direction_is_left_out_and_listed() -> None:
    found = relations_of(4, ((1.0, 0.0), 0), ((0.0, 1.0), 2), ((2.0, 0.0), 3), ((-2.0, 0.0), 3))
    assert found.absent == (1, 3)
    assert found.present == (0, 2)
    assert found.graph.isnan().sum() == 12
    assert found.mean_similarity == 0
    assert found.closest(5) == [(0, 2)]
    tree = found.tree()
    assert tree is not None
    assert sorted(tree.leaves) == [0, 2]
    assert tree.classes == (0, 2)


@pytest.mark.parametrize("found", [relations_of(2, ((1.0,), 1)), ClassSums(3).relations()])
def test_fewer_than_two_classes_have_no_tree_and_no_mean(found) -> None:
    assert found.tree() is None
    assert math.isnan(found.mean_similarity)
    assert found.closest() == []


def test_the_tree_joins_by_mean_distance_and_puts_like_leaves_side_by_side() -> None:
    tree = THREE.tree()
    assert tree is not None
    # 0 and 1 join at 0.1; 2 then joins them at the mean of 0.9 and 0.7.
    assert tree.linkage[:, 2].tolist() == pytest.approx([0.1, 0.8])
    assert tree.leaves in [(0, 1, 2), (2, 1, 0)]  # 2 stands beside 1, the nearer one
    assert THREE.mean_similarity == pytest.approx((0.9 + 0.1 + 0.3) / 3)
    assert THREE.closest(2) == [(0, 1), (1, 2)]


def test_several_graphs_take_the_order_of_the_first_tree() -> None:
    nothing = float("nan")
    first = graph_of([[1, 0.2, nothing], [0.2, 1, nothing], [nothing, nothing, nothing]])
    assert leaf_order([first, THREE]) in [(0, 1, 2), (1, 0, 2)]  # 2 is in the other graph only
    assert leaf_order([THREE]) == THREE.tree().leaves
    assert leaf_order([graph_of([[nothing]])]) == ()


@given(seed=st.integers(0, 10_000), num_classes=st.integers(2, 12))
def test_a_graph_is_symmetric_and_its_leaves_are_its_classes(seed, num_classes) -> None:
    vectors = torch.randn(num_classes, 4, generator=torch.Generator().manual_seed(seed))
    found = relations_of(num_classes, *((tuple(v.tolist()), k) for k, v in enumerate(vectors)))
    assert torch.equal(found.graph, found.graph.t())
    assert found.graph.abs().max() <= 1
    assert found.graph.diagonal().tolist() == pytest.approx([1] * num_classes)
    assert sorted(found.tree().leaves) == list(range(num_classes))
    again = Relations.from_plain(json.loads(json.dumps(found.as_plain())))
    assert torch.equal(again.graph, found.graph)
    assert torch.equal(again.counts, found.counts)


def test_what_is_unknown_is_null_in_a_file() -> None:
    found = relations_of(2, ((1.0,), 1))
    assert json.dumps(found.as_plain()) == '{"graph": [[null, null], [null, 1.0]], "pixels": [0, 1]}'
    assert Relations.from_plain(found.as_plain()).absent == (0,)
