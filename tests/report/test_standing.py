"""Who leads, and whether the images tell: the sentence, the table and the differences of a page."""

from __future__ import annotations

import pytest
import torch

from recoseg.evaluate.scores import Scores
from recoseg.evaluate.survey import Survey
from recoseg.report.page import page
from recoseg.report.run_view import FOLDS, SEEDS, repeated_by
from recoseg.report.standing import standing


def survey_of(*ious: float, prefix: str = "") -> Survey:
    """Two classes alike, of a million pixels in each image, and a third that is absent."""
    matrices = []
    for iou in ious:
        right = round(1e6 * 2 * iou / (1 + iou))  # as a share of a class: right / (2 - right) is the IoU
        wrong = 1_000_000 - right
        matrices.append(torch.tensor([[right, wrong, 0], [wrong, right, 0], [0, 0, 0]]))
    images = torch.stack([torch.stack([one.diagonal(), one.sum(1), one.sum(0)]) for one in matrices])
    keys = tuple(f"{prefix}{number}" for number in range(len(ious)))
    return Survey(Scores(torch.stack(matrices).sum(0), images=images), {}, len(ious), keys)


@pytest.fixture
def read_page(read_html):
    return lambda *runs: read_html(page(list(runs), title="runs"))


@pytest.fixture
def run_of(make_run):
    def run(name, *ious, prefix="", **settings):
        dotted = {key.replace("__", "."): value for key, value in settings.items()}
        return make_run(name=name, survey=survey_of(*ious, prefix=prefix), settings=dotted)

    return run


FIRST = (0.20, 0.70, 0.50, 0.40, 0.60, 0.30)
LITTLE = (0.25, 0.66, 0.56, 0.38, 0.65, 0.26)  # now above, now below
BETTER = (0.30, 0.80, 0.61, 0.49, 0.70, 0.41)  # always by about ten points


def test_a_lead_that_holds_in_every_image_is_a_lead(run_of):
    told = standing([run_of("a", *FIRST), run_of("b", *BETTER)])
    assert told.startswith("b has the highest mean IoU, ")
    assert "points above a (+" in told
    assert "chance" not in told


def test_a_lead_that_other_images_may_turn_round_is_none(run_of):
    told = standing([run_of("a", *FIRST), run_of("b", *LITTLE)])
    assert "highest" not in told
    assert " is ahead of a by " in told
    assert ", but on these 6 images that may be chance: −" in told
    assert " to +" in told


def test_of_several_only_those_that_are_close_are_doubted(run_of):
    runs = [run_of("low", *(iou - 0.15 for iou in FIRST)), run_of("a", *FIRST), run_of("b", *LITTLE)]
    told = standing(runs)
    assert told.startswith("b (")
    assert "is ahead of a by" in told
    assert "It is surely ahead of low by 1" in told


def test_one_image_cannot_tell(run_of):
    told = standing([run_of("a", 0.4), run_of("b", 0.9)])
    assert told == "b (90.0%) is ahead of a by 50.0 points, but one image cannot tell whether that is chance."


def test_runs_on_other_images_are_compared_without_a_range(run_of):
    told = standing([run_of("a", *FIRST), run_of("b", *BETTER, prefix="other")])
    assert told.startswith("b has the highest mean IoU")
    assert "(" not in told


def test_without_counts_of_images_less_than_a_point_may_be_chance(make_run, scores_line):
    def scored(name, right):
        confusion = [[right, 1000 - right, 0], [1000 - right, right, 0], [0, 0, 0]]
        return make_run(name=name, survey=None, metrics=[scores_line(10, confusion)])

    told = standing([scored("a", 600), scored("b", 604), scored("c", 500)])
    assert told == (
        "b has the highest mean IoU, 43.3%: 0.4 points above a and 9.9 above c. "
        "Less than a point ahead of a may be chance: another seed may turn it round."
    )


def test_seeds_are_one_run_with_an_average_and_a_range(run_of):
    runs = [run_of(f"seed-{seed}", iou, iou, train__seed=seed) for seed, iou in enumerate((0.4, 0.5, 0.9))]
    told = standing(runs)  # 60 ± 65.7: SD 26.5 over the root of 3, times 4.303
    assert "3 seeds: mean IoU 60.0% on average (95% interval 0.0 to 100.0), 40.0% to 90.0%." in told


def test_methods_with_several_seeds_are_compared_by_their_seeds_and_not_by_images(run_of, read_page):
    """b is better in every image of every seed, and still a third seed might turn it round."""

    def runs_of(name, *scores):
        return [
            run_of(f"{name}/seed-{seed}", *(score + share for share in (0.0, 0.1, 0.2)), method__name=name,
                   train__seed=seed, split__seed=seed)
            for seed, score in enumerate(scores)
        ]  # fmt: skip

    first = runs_of("a", 0.40, 0.50, 0.45)
    chance, surely = runs_of("b", 0.41, 0.54, 0.46), runs_of("b", 0.50, 0.61, 0.55)
    told = standing([*first, *chance])
    assert "ahead" not in told
    assert told.startswith("Over 3 seeds, b has a mean IoU of ")
    assert "above a by 2.0 points (−" in told
    assert "may be chance" in told
    told = standing([*first, *surely])
    assert "ahead of a by 10." in told
    assert "chance" not in told
    assert read_page(*first, *surely).one("table", "comparison").all("strong") == []  # runs, not methods


def test_runs_with_other_numbers_of_seeds_are_no_methods_to_compare_by_seeds(run_of):
    runs = [run_of(f"a-{seed}", *FIRST, method="a", train__seed=seed) for seed in (0, 1)]
    assert "seeds" not in standing([*runs, run_of("b-0", *BETTER, method="b", train__seed=0)])


def test_folds_are_pooled(run_of):
    folds = {"data__folds": 2}
    runs = [
        run_of("fold-1", 0.4, 0.5, prefix="a", data__fold=1, **folds),
        run_of("fold-2", 0.6, 0.6, prefix="b", data__fold=2, **folds),
    ]
    # Shares of 0.571, 0.667, 0.75 and 0.75 are right: 2.738 / (8 - 2.738)
    told = standing(runs)
    assert told.startswith("2 folds, every labelled image validated once: mean IoU 52.0% over all 4 images, ")
    assert "with a probability of 95%. Single folds have 44." in told
    one_of_three = [run_of("fold-1", 0.4, 0.5, prefix="a", data__fold=f, data__folds=3) for f in (1, 3)]
    assert "3 folds, 2 of 3 are here" in standing(one_of_three)


def test_runs_repeat_one_another_if_seed_or_fold_is_all_that_differs():
    assert repeated_by([{SEEDS: 0, "a": 1}, {SEEDS: 1, "a": 1}]) == SEEDS
    assert repeated_by([{FOLDS: 1}, {FOLDS: 2}, {FOLDS: 3}]) == FOLDS
    assert repeated_by([{SEEDS: 0, "a": 1}, {SEEDS: 1, "a": 2}]) is None
    assert repeated_by([{SEEDS: 0}, {SEEDS: 1}, {SEEDS: 1}]) is None
    assert repeated_by([{"a": 0}, {"a": 1}]) is None
    assert repeated_by([{SEEDS: 0}]) is None


def test_the_table_marks_nobody_whose_lead_may_be_chance(read_page, run_of):
    root = read_page(run_of("a", *FIRST), run_of("b", *LITTLE))
    assert root.one("table", "comparison").all("strong") == []
    root = read_page(run_of("a", *FIRST), run_of("b", *BETTER))
    table = root.one("table", "comparison")
    assert len(table.all("strong")) == 1
    assert [" to " in one.text for one in table.all("small", "interval")] == [True, True]
    assert "95% intervals" in root.one("p", "intervals").text


def test_differences_say_how_sure_they_are(read_page, run_of):
    for ious, doubted in ((LITTLE, True), (BETTER, False)):
        section = read_page(run_of("a", *FIRST), run_of("b", *ious)).one("section", id="differences")
        told = section.all("p", "about")[1].text
        assert ("on these 6 images it may be chance" in told) == doubted
        assert "with a probability of 95%" in told
        assert len(section.all("td", "unsure")) == (2 if doubted else 0)


def test_folds_have_no_differences_and_only_pictures_of_their_own(read_page, make_run, make_picture):
    runs = [
        make_run(
            name=f"fold-{fold}",
            survey=survey_of(0.4, 0.5, prefix=str(fold)),
            settings={"data.fold": fold, "data.folds": 2},
            pictures=[make_picture(f"p{fold}")],
        )
        for fold in (1, 2)
    ]
    root = read_page(*runs)
    assert "nothing to compare" in root.one("section", id="differences").text
    assert [len(row.all("figure")) for row in root.all("article", "picture")] == [1, 1]
    assert all(row.all("div", "layer", **{"data-view": "image"}) for row in root.all("article", "picture"))


@pytest.mark.parametrize(
    ("ious", "words"),
    [(FIRST, "95% bootstrap interval over 6 images"), ((0.5,), "Scored on one image")],
)
def test_a_single_run_has_the_interval_of_its_score(read_page, run_of, ious, words):
    assert words in read_page(run_of("a", *ious)).one("p", "intervals").text


def test_a_single_run_of_unknown_images_says_nothing(read_page, make_run):
    assert read_page(make_run()).all("p", "intervals") == []
