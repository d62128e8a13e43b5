"""The quick learner and its queue, on drawn images and an encoder with random weights."""

from __future__ import annotations

import errno

import numpy as np
import pytest
import torch

from recoseg.label.calibration import Comparison, agreement, calibrate, fit_temperature
from recoseg.label.candidate_pool import CandidatePool, spread_cells
from recoseg.label.click_suggestions import Knowledge, suggest_spots, worth
from recoseg.label.features import FeatureMaps, FrozenFeatures
from recoseg.label.job_queue import JobQueue, Urgency
from recoseg.label.learner import Learner
from recoseg.label.learner_process import serve
from recoseg.label.messages import RADIUS, Click, Places, Predict, Predicted, Started, Status, Survey, Update
from recoseg.label.quick_learner import LabelledPixels, QuickLearner, thin_out
from recoseg.models.encoders import ENCODERS


@pytest.fixture
def features(tmp_path) -> FrozenFeatures:
    torch.manual_seed(0)
    encoder = ENCODERS["resnet10_small"](output_stride=16)
    return FrozenFeatures(encoder, name="random", folder=tmp_path / "features")


@pytest.fixture
def learner(two_tone, features, tmp_path):
    """With the latest message of each kind that it sent."""
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


def test_features_at_places_give_the_logits_that_the_probe_enlarges(two_tone, features):
    maps = features.maps(two_tone / "images" / "0.png")
    cells = np.array([0, 5, maps.shape[1], maps.shape[0] * maps.shape[1] - 1])
    x, y = maps.places_of(cells)
    np.testing.assert_array_equal(maps.cells_at(x, y), cells)
    quick, labelled = QuickLearner(features.level_channels), maps.at(x, y)
    quick.fit(LabelledPixels(labelled, torch.tensor([3, 5, 9, 3])), (labelled.mean(0), labelled.std(0) + 1))
    enlarged = quick.logit_map(maps).flatten(1)[:, cells].t()
    torch.testing.assert_close(quick.logits(labelled), enlarged, atol=1e-4, rtol=1e-3)


def test_features_are_computed_once_and_again_where_a_file_is_not_whole(two_tone, features, monkeypatch):
    path = two_tone / "images" / "0.png"
    first = features.maps(path)
    again = FrozenFeatures(features.encoder, name="random", folder=features.folder)
    monkeypatch.setattr(again, "compute", lambda image: pytest.fail("it was there"))
    torch.testing.assert_close(again.maps(path).levels[-1], first.levels[-1], rtol=0, atol=0)
    (file,) = features.folder.glob("*.safetensors")
    for content in (file.read_bytes()[:200], b""):
        file.write_bytes(content)
        torch.testing.assert_close(features.maps(path).levels[-1], first.levels[-1], rtol=0, atol=0)


def test_a_fill_counts_by_its_cells_and_a_click_beside_it_stays(two_tone, features):
    maps = features.maps(two_tone / "images" / "0.png")
    y, x = (axis.ravel() for axis in np.mgrid[0:64, 0:96])
    filled = Places((x + 0.5) / 96, (y + 0.5) / 64, np.zeros(len(x), np.int64), np.zeros(len(x), bool))
    filled.classes[50] = 3
    thin = thin_out(maps, filled)
    counts = np.bincount(thin.classes)
    assert counts.tolist() == [200, 0, 0, 1]
    assert len(np.unique(maps.cells_at(thin.x, thin.y)[thin.classes == 0])) == 200
    assert len(thin_out(maps, filled.only(np.zeros(len(x), dtype=bool))).x) == 0


def test_features_need_no_disk(two_tone, features, monkeypatch):
    def full(*arguments) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr("recoseg.label.features.write_whole", full)
    assert features.maps(two_tone / "images" / "0.png").levels[-1].numel()


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
    assert [(one.class_id, one.is_right) for one in again.comparisons] == [(4, True)]
    assert again.version > learner.version


def test_an_image_that_cannot_be_read_is_left_out_until_it_can(two_tone, features, tmp_path):
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


def test_after_every_rest_it_learns_predicts_and_answers(two_tone, features, tmp_path):
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


def test_the_latest_agreement_is_that_of_fifty_and_by_class():
    found = agreement([Comparison(7, 4)] * 50 + [Comparison(4, 4)] * 25)
    assert found["latest"] == 0.5
    assert found["curve"][-1] == [75, 0.5]
    assert found["classes"] == {"7": [0, 25], "4": [25, 25]}
    assert agreement([])["latest"] is None
    assert len(agreement([Comparison(1, 1)] * 1000)["curve"]) == 200


# Calibration


def test_two_clicks_are_never_enough_for_certainty():
    logits = torch.tensor([40.0, 0.0])
    assert calibrate(logits, temperature=1, evidence=2).tolist() == pytest.approx([0.75, 0.25])
    assert calibrate(logits, temperature=1, evidence=200)[0] == pytest.approx(201 / 202)


def test_the_temperature_makes_clicks_as_probable_as_they_were():
    # Of 200 clicks three in four are of the class with the higher logit: a gap of log 3 would be calibrated.
    def clicks(gap: float) -> list[Comparison]:
        return [Comparison(int(number % 4 == 0), 0, (0, 1), (gap, 0.0)) for number in range(200)]

    for gap in (1.0, 5.0):
        assert gap / fit_temperature(clicks(gap)) == pytest.approx(np.log(3), rel=0.1)
    assert fit_temperature([]) == pytest.approx(1)
    assert fit_temperature([Comparison(9, 0, (0, 1), (5.0, 0.0))]) == pytest.approx(1)  # it was not known


def test_a_trained_network_is_corrected_where_clicks_contradict_it():
    # One feature tells two kinds of pixels apart. The network is sure of class 3 everywhere.
    features = torch.tensor([[-1.0], [-1.0], [1.0], [1.0]])
    outputs, spread = torch.tensor([[0.99, 0.01]]).repeat(4, 1), (torch.zeros(1), torch.ones(1))
    quick = QuickLearner((1,), {0: 3, 1: 5})
    assert quick.is_ready
    torch.testing.assert_close(quick.logits(features, outputs).exp(), 0.98 * outputs + 0.01)
    quick.fit(LabelledPixels(features, torch.tensor([3, 3, 3, 3]), outputs), spread)
    assert quick.logits(features, outputs).argmax(1).tolist() == [0, 0, 0, 0]
    quick.fit(LabelledPixels(features, torch.tensor([3, 3, 5, 5]), outputs), spread)
    assert quick.logits(features, outputs).argmax(1).tolist() == [0, 0, 1, 1]
    quick.fit(LabelledPixels(features, torch.tensor([3, 3, 7, 7]), outputs), spread)  # it has no such class
    assert quick.known == (3, 5, 7)
    assert quick.logits(features, outputs).argmax(1).tolist() == [0, 0, 2, 2]


# Where to click next


def pool_of(num_images: int, *, seed: int = 0) -> CandidatePool:
    random = torch.Generator().manual_seed(seed)
    pool = CandidatePool(cells_per_image=20)
    for number in range(num_images):
        levels = torch.randn(3, 8, 10, generator=random), torch.randn(2, 2, 3, generator=random)
        grey = torch.zeros(32, 40, dtype=torch.uint8)
        pool.add(str(number), FeatureMaps(tuple(level.half() for level in levels), grey))
    return pool


def knowledge_of(pool: CandidatePool, places=None, *, is_ready: bool = True) -> Knowledge:
    labelled = torch.zeros(0, 5), torch.zeros(0, dtype=torch.int64)
    if not is_ready:
        return Knowledge(places or {}, *labelled)
    logits = torch.randn(len(pool.features), 3, generator=torch.Generator().manual_seed(0))
    return Knowledge(places or {}, *labelled, logits.softmax(1), range(3))


@pytest.mark.parametrize("is_ready", [False, True])
def test_no_spot_is_suggested_near_an_earlier_one(is_ready):
    pool = pool_of(3)
    marked: dict[str, list[tuple[float, float]]] = {}
    suggested = 0
    while spots := suggest_spots(pool, knowledge_of(pool, marked, is_ready=is_ready), count=1):
        (spot,) = spots
        for x, y in marked.get(spot.image, []):
            assert max(abs(x - spot.x), abs(y - spot.y)) >= RADIUS
        marked.setdefault(spot.image, []).append((spot.x, spot.y))
        suggested += 1
    assert 3 < suggested <= len(pool.features)
    counts = [len(marked[key]) for key in pool.keys]
    assert max(counts) - min(counts) <= 3  # spread over images


def test_several_spots_at_once_are_apart_and_spread_over_images():
    pool = pool_of(5)
    spots = suggest_spots(pool, knowledge_of(pool), count=10)
    assert len(spots) == 10
    assert len({spot.image for spot in spots}) == 5
    for number, one in enumerate(spots):
        for other in spots[:number]:
            assert one.image != other.image or max(abs(one.x - other.x), abs(one.y - other.y)) >= RADIUS


def test_a_rare_look_is_suggested_soon_where_one_class_is_known():
    # Two cells of 60 look unlike all others, which differ a little.
    pool = pool_of(3)
    looks = torch.randn(60, 5, generator=torch.Generator().manual_seed(1)) * 0.1
    looks[:, 0] += 1
    looks[[17, 44]] *= -1
    pool._features = [looks.half()]
    pool._spread = torch.zeros(5), torch.ones(5)
    common = torch.ones(1, 5) * torch.tensor([1.0, 0, 0, 0, 0])
    (spot,) = suggest_spots(pool, Knowledge({}, common, torch.zeros(1, dtype=torch.int64)), count=1)
    assert spot.cell in (17, 44)
    (first,) = suggest_spots(pool, knowledge_of(pool, is_ready=False), count=1)
    assert first.cell not in (17, 44)


def test_a_cell_counts_by_the_rarity_of_what_it_may_be_and_by_doubt():
    probabilities = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    # Class 0 has 99 pixels, class 1 has one: an answer counts 1/100 and 1/2.
    expected = [0.2 / 100, 0.2 / 2, (1 / 100 + 1 / 2) / 2]
    np.testing.assert_allclose(worth(probabilities, np.array([99.0, 1.0])), expected)


def test_of_equal_cells_the_one_unlike_the_labelled_ones_comes_first():
    pool = pool_of(1)
    even = torch.full((len(pool.features), 2), 0.5)
    labelled = pool.features[:-1].float()  # all cells except the last
    classes = torch.zeros(len(labelled), dtype=torch.int64)
    (spot,) = suggest_spots(pool, Knowledge({}, labelled, classes, even, (0, 1)), count=1)
    assert spot.cell == len(pool.features) - 1


def test_cells_are_spread_over_the_map_each_once():
    cells = spread_cells((40, 60), 100, seed=0, place=0)
    assert len(np.unique(cells)) == len(cells)
    assert 80 <= len(cells) <= 120
    quarters = np.bincount((cells // 60 >= 20) * 2 + (cells % 60 >= 30), minlength=4)
    assert quarters.min() >= 15


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
