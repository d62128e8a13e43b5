"""The quick learner and its queue, on drawn images and an encoder with random weights."""

from __future__ import annotations

import errno

import numpy as np
import pytest
import torch

from recoseg.evaluate.class_relations import Relations
from recoseg.label.cell_pool import CellPool, spread_cells
from recoseg.label.features import CellMaps, FrozenFeatures
from recoseg.label.job_queue import JobQueue, Urgency
from recoseg.label.learner import Learner, agreement
from recoseg.label.learner_process import serve
from recoseg.label.messages import RADIUS, Click, Places, Predict, Predicted, Started, Status, Survey, Update
from recoseg.label.next_clicks import Opinion, Seen, confusion, covering, doubt, next_spots, rarity
from recoseg.label.quick import LabelledCells, QuickLearner
from recoseg.models.encoders import ENCODERS


@pytest.fixture
def features(tmp_path) -> FrozenFeatures:
    torch.manual_seed(0)
    encoder = ENCODERS["resnet10_small"](output_stride=16)
    return FrozenFeatures(encoder, name="random", folder=tmp_path / "features")


@pytest.fixture
def learner(two_tone, features, tmp_path, monkeypatch):
    """With the latest message of each kind that it sent. It learns from clicks alone."""
    monkeypatch.setattr("recoseg.label.learner._CALM_STEPS", 0)
    return new_learner(two_tone, features, tmp_path)


def new_learner(root, features, folder) -> tuple[Learner, dict[type, object]]:
    sent: dict[type, object] = {}
    images = {path.stem: path for path in sorted((root / "images").iterdir())}
    return Learner(images, features, folder, lambda message: sent.update({type(message): message})), sent


def places(*marks: tuple[float, float, int]) -> Places:
    x, y, classes = (np.array(column) for column in zip(*marks, strict=True))
    return Places(x.astype(float), y.astype(float), classes.astype(np.int64), np.zeros(len(x), dtype=bool))


TWO_CLICKS = {"0": places((0.1, 0.5, 4), (0.9, 0.5, 7))}


def update(*, classes=(4, 7, 9), **changes) -> Update:
    return Update(frozenset(classes), **changes)


def run(learner: Learner) -> None:
    while learner.jobs:
        learner.work()


def test_features_of_some_cells_are_those_of_all(two_tone, features):
    maps = features.maps(two_tone / "images" / "0.png")
    cells = np.array([0, 5, maps.shape[1], maps.shape[0] * maps.shape[1] - 1])
    torch.testing.assert_close(maps.of_cells(cells), maps.of_all()[cells], atol=1e-5, rtol=1e-5)
    x, y = maps.places_of(cells)
    np.testing.assert_array_equal(maps.cells_at(x, y), cells)


def test_features_are_computed_once_and_again_where_a_file_is_not_whole(two_tone, features, monkeypatch):
    path = two_tone / "images" / "0.png"
    first = features.maps(path)
    again = FrozenFeatures(features.encoder, name="random", folder=features.folder)
    monkeypatch.setattr(again, "_computed", lambda path: pytest.fail("it was there"))
    np.testing.assert_array_equal(again.maps(path).high, first.high)
    (file,) = features.folder.glob("*.high.npy")
    file.write_bytes(file.read_bytes()[:200])
    np.testing.assert_array_equal(features.maps(path).high, first.high)


def test_features_need_no_disk(two_tone, features, monkeypatch):
    def full(*arguments) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("recoseg.label.features.write_whole", full)
    assert features.maps(two_tone / "images" / "0.png").high.size


def test_two_clicks_are_enough_to_tell_two_colours_apart(learner):
    learner, sent = learner
    learner.receive(update(views=("3",), opened=("3",), labels=TWO_CLICKS))
    run(learner)
    prediction = sent[Predicted].prediction
    ids, confidence, _ = prediction.at(np.array([0.1, 0.9]), np.array([0.3, 0.7]))
    assert ids.tolist() == [[4, 7], [4, 7]]
    assert confidence.min() > 0.6
    assert sent[Status].content["phase"] == "ready"
    assert set(sent[Survey].shares) == {4, 7}
    assert sum(sent[Survey].shares.values()) == pytest.approx(1)


def test_the_page_hears_of_learning_before_it_is_done(learner):
    learner, sent = learner
    learner.receive(update(labels=TWO_CLICKS))
    run(learner)
    assert sent[Status].content["phase"] == "ready"
    learner.receive(update(labels={"1": places((0.9, 0.2, 7))}))
    learner.work()
    assert sent[Status].content["phase"] == "learning"
    run(learner)
    assert sent[Status].content["phase"] == "ready"


def test_a_click_is_compared_before_it_is_learned_from(learner):
    learner, sent = learner
    learner.receive(update(labels=TWO_CLICKS))
    run(learner)
    clicks = [Click("1", 0.1, 0.2, 4), Click("1", 0.9, 0.2, 4), Click("1", 0.9, 0.8, 9)]
    learner.receive(update(clicks=clicks, labels={"1": places((0.9, 0.2, 4))}))
    run(learner)
    assert sent[Status].content["agreement"]["count"] == 3
    assert sent[Status].content["agreement"]["latest"] == pytest.approx(1 / 3, abs=1e-4)


def test_nothing_is_predicted_before_two_classes_have_a_click(learner):
    learner, sent = learner
    learner.receive(update(views=("0",), opened=("0",), labels={"0": places((0.1, 0.5, 4))}))
    run(learner)
    assert Predicted not in sent
    assert sent[Status].content["phase"] == "waiting"
    assert sent[Survey].spots[0].guess is None  # but there is where to click
    assert sent[Survey].shares == {}


@pytest.mark.parametrize("what", ["the labels are undone", "the class is deleted"])
def test_with_one_class_left_earlier_predictions_are_invalid(learner, what):
    learner, sent = learner
    learner.receive(update(views=("3",), opened=("3",), labels=TWO_CLICKS))
    run(learner)
    earlier = sent.pop(Predicted).prediction
    classes = (4, 9) if what == "the class is deleted" else (4, 7, 9)
    learner.receive(update(classes=classes, views=("3",), labels={"0": places((0.1, 0.5, 4))}))
    run(learner)
    assert sent[Status].content["source"] is None
    assert sent[Status].content["phase"] == "waiting"
    assert sent[Status].valid_from > earlier.version
    assert sent[Survey].shares == {}
    assert Predicted not in sent


def test_a_new_learner_has_the_agreement_and_higher_versions(learner, features, two_tone, tmp_path):
    learner, _ = learner
    learner.receive(update(labels=TWO_CLICKS))
    run(learner)
    learner.receive(update(clicks=[Click("1", 0.1, 0.2, 4)]))
    run(learner)
    again, _ = new_learner(two_tone, features, tmp_path)
    assert again.agreed == [True]
    assert again.version > learner.version


def test_an_image_that_cannot_be_read_is_left_out_until_it_can(two_tone, features, tmp_path, monkeypatch):
    monkeypatch.setattr("recoseg.label.learner._CALM_STEPS", 0)
    path = two_tone / "images" / "0.png"
    content = path.read_bytes()
    path.write_bytes(b"no image")
    learner, sent = new_learner(two_tone, features, tmp_path)
    learner.receive(update(labels=TWO_CLICKS))
    run(learner)
    assert len(learner.pool.keys) == 5
    assert sent[Status].content["phase"] == "waiting"
    path.write_bytes(content)
    learner.receive(update(labels=TWO_CLICKS))
    run(learner)
    assert sent[Status].content["phase"] == "ready"


# Jobs


def test_the_most_urgent_job_comes_first_and_equal_ones_take_turns():
    done: list[str] = []

    def job(name: str, count: int):
        for _ in range(count):
            done.append(name)
            yield

    jobs = JobQueue()
    jobs.put("slow", Urgency.BACKGROUND, job("slow", 2))
    jobs.put("other", Urgency.BACKGROUND, job("other", 2))
    jobs.work()
    jobs.put("replaced", Urgency.LEARN, job("replaced", 9))
    jobs.work()
    jobs.put("replaced", Urgency.LEARN, job("new", 2))
    while jobs:
        jobs.work()
    assert done == ["slow", "replaced", "new", "new", "other", "slow", "other"]


class Resting:
    """A connection whose messages come only when the learner rests. Each rest takes an hour on the clock.

    After the last message it is closed.
    """

    def __init__(self, *messages) -> None:
        self.messages, self.waiting, self.now, self.rests = list(messages), [], 0.0, 0
        self.sent: list[tuple[float, object]] = []

    def send(self, message) -> None:
        self.sent.append((self.now, message))

    def poll(self, timeout) -> bool:
        if timeout is None:
            self.rests, self.now = self.rests + 1, self.now + 3600
            if not self.messages:
                raise EOFError
            self.waiting.append(self.messages.pop(0))
        return bool(self.waiting)

    def recv(self):
        return self.waiting.pop(0)


def test_after_every_rest_it_learns_predicts_and_answers(two_tone, features, tmp_path, monkeypatch):
    monkeypatch.setattr("recoseg.label.learner._CALM_STEPS", 60)
    more = {"1": places((0.1, 0.5, 4), (0.9, 0.5, 7))}
    third = {"1": places((0.1, 0.5, 4), (0.5, 0.1, 9))}
    connection = Resting(
        update(views=("3",), opened=("3",)),
        update(views=("3",), labels=TWO_CLICKS),
        update(views=("3",), labels=more),
        Predict(1, "5"),
        update(views=("3", "4"), opened=("4",)),
        update(views=("3", "4"), skips={"2": [(0.5, 0.5)]}),
        update(views=("3", "4"), labels=third),
    )
    images = {path.stem: path for path in sorted((two_tone / "images").iterdir())}
    learner = Learner(images, features, tmp_path, connection.send, clock=lambda: connection.now)
    with pytest.raises(EOFError):
        serve(connection, learner)
    assert connection.rests == 8
    kinds: dict[float, list[object]] = {}
    for hour, message in connection.sent:
        kinds.setdefault(hour / 3600, []).append(message)
    assert isinstance(kinds[0][0], Started)

    def predicted(hour: int) -> set[tuple[str, int | None]]:
        return {(one.image, one.request) for one in kinds[hour] if isinstance(one, Predicted)}

    assert [predicted(hour) for hour in (2, 3, 4, 5)] == [
        {("3", None)},
        {("3", None)},
        {("5", 1)},
        {("4", None)},
    ]
    assert predicted(7) == {("3", None), ("4", None)}
    assert any(isinstance(one, Survey) for one in kinds[6])
    last = [one.prediction for one in kinds[7] if isinstance(one, Predicted)][-1]
    assert last.classes.tolist() == [4, 7, 9]
    for hour in range(2, 8):
        (status,) = [one for one in kinds[hour] if isinstance(one, Status)][-1:]
        assert status.content["phase"] == "ready"
        assert status.content["seconds"] == 0  # rests do not count


def test_the_latest_agreement_is_that_of_fifty():
    told = agreement([False] * 50 + [True] * 25)
    assert told["latest"] == 0.5
    assert told["curve"][-1] == [75, 0.5]
    assert agreement([])["latest"] is None
    assert len(agreement([True] * 1000)["curve"]) == 200


# Where to click next


def pool_of(num_images: int, *, seed: int = 0) -> CellPool:
    random = np.random.default_rng(seed)
    pool = CellPool(cells_per_image=20)
    for number in range(num_images):
        low = random.standard_normal((3, 8, 10)).astype(np.float16)
        pool.add(str(number), CellMaps(low, random.standard_normal((2, 2, 3)).astype(np.float16)))
    return pool


def opinion_of(pool: CellPool, num_classes: int = 3, *, seed: int = 0) -> Opinion:
    random = torch.Generator().manual_seed(seed)
    logits = torch.randn(len(pool.features), num_classes, generator=random)
    relations = Relations(
        torch.eye(num_classes, dtype=torch.float64), torch.ones(num_classes, dtype=torch.int64)
    )
    return Opinion(logits.softmax(1), range(num_classes), relations)


@pytest.mark.parametrize("has_opinion", [False, True])
def test_the_queue_never_asks_for_the_same_spot_again(has_opinion):
    pool = pool_of(3)
    opinion = opinion_of(pool) if has_opinion else None
    marked: dict[str, list[tuple[float, float]]] = {}
    asked = 0
    while True:
        spots = next_spots(pool, Seen(marked, torch.zeros(0, 8), {}), opinion, count=1)
        if not spots:
            break
        (spot,) = spots
        for x, y in marked.get(spot.image, []):
            assert max(abs(x - spot.x), abs(y - spot.y)) >= RADIUS
        marked.setdefault(spot.image, []).append((spot.x, spot.y))
        asked += 1
    assert 3 < asked <= len(pool.features)


def test_several_spots_at_once_are_apart():
    pool = pool_of(2)
    spots = next_spots(pool, Seen({}, torch.zeros(0, 8), {}), opinion_of(pool), count=10)
    assert len(spots) == 10
    for number, one in enumerate(spots):
        for other in spots[:number]:
            assert one.image != other.image or max(abs(one.x - other.x), abs(one.y - other.y)) >= RADIUS


def test_a_click_is_worth_what_it_tells_of_others_that_are_not_known_yet():
    # Three looks: a common one, one half as common, and one of which a cell is known already.
    common, other, known = torch.eye(3)
    others = torch.stack([common] * 4 + [other] * 2 + [known] * 9)
    candidates, all_apart = torch.stack([known, other, common]), np.ones((3, 3), dtype=bool)
    plain = {"weights": torch.ones(15), "factors": torch.ones(3)}
    assert covering(candidates, others, known[None], **plain, apart=all_apart, count=2) == [2, 1]
    doubted = plain | {"weights": torch.tensor([0.2] * 4 + [1.0] * 2 + [1.0] * 9)}
    assert covering(candidates, others, known[None], **doubted, apart=all_apart, count=1) == [1]
    elsewhere = plain | {"factors": torch.tensor([1.0, 1.0, 0.4])}
    assert covering(candidates, others, known[None], **elsewhere, apart=all_apart, count=1) == [1]
    not_both = np.array([[False, True, True], [True, False, False], [True, False, False]])
    assert covering(candidates, others, known[None], **plain, apart=not_both, count=3) == [2, 0]


def test_a_cell_is_worth_more_where_the_margin_is_small_and_classes_are_alike_and_rare():
    graph = torch.tensor([[1.0, 0.9, -0.5], [0.9, 1.0, 0.0], [-0.5, 0.0, 1.0]], dtype=torch.float64)
    relations = Relations(graph, torch.ones(3, dtype=torch.int64))
    probabilities = torch.tensor([[0.5, 0.45, 0.05], [0.5, 0.05, 0.45], [0.9, 0.1, 0.0]])
    opinion = Opinion(probabilities, [5, 6, 9], relations)
    np.testing.assert_allclose(doubt(opinion), [0.95, 0.95, 0.2], rtol=1e-6)
    np.testing.assert_allclose(confusion(opinion), [0.975, 0.625, 0.975])
    worth = rarity(opinion, {5: 99, 6: 99, 9: 3})
    np.testing.assert_allclose(worth, [0.5 + 0.5 * 0.1 / 0.5, 1.0, 0.6])


def test_cells_are_spread_over_the_map_each_once():
    cells = spread_cells((40, 60), 100, seed=0, place=0)
    assert len(np.unique(cells)) == len(cells)
    assert 80 <= len(cells) <= 120
    quarters = np.bincount((cells // 60 >= 20) * 2 + (cells % 60 >= 30), minlength=4)
    assert quarters.min() >= 15


def test_learning_is_the_same_again_with_the_same_seed():
    features, classes = torch.randn(30, 8, generator=torch.Generator().manual_seed(0)), torch.arange(30) % 3
    results = []
    for _ in range(2):
        quick = QuickLearner(8, seed=3)
        quick.learn(LabelledCells(features, classes), features, steps=5)
        results.append(quick.probabilities(features))
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=0)


def test_any_image_is_predicted_on_request(learner):
    learner, sent = learner
    learner.receive(Predict(1, "5"))
    run(learner)
    assert sent[Predicted] == Predicted("5", None, 1)
    learner.receive(Predict(2, "5"))
    learner.receive(update(labels=TWO_CLICKS))
    run(learner)
    assert sent[Predicted].request == 2
    assert sent[Predicted].prediction.source == "quick"
