"""`recoseg split`, and runs that use its files."""

from __future__ import annotations

import json

import pytest

SCENES = (
    "--dataset",
    "scenes",
    "--data.height=32",
    "--data.width=32",
    "--data.num-train=6",
    "--data.num-val=2",
)


def read(path) -> dict:
    return json.loads(path.read_text())


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_a_split_of_own_images_says_how_often_each_class_occurs(recoseg, photos, tmp_path) -> None:
    outcome = recoseg("split", photos, "--labels", "2", "--out", "split.json")
    assert outcome.code == 0, outcome.err
    split = read(tmp_path / "split.json")
    assert len(split["labelled"]) == 2
    assert split["class_counts"] == {"class_0": 2, "class_1": 2, "class_2": 2}
    assert "2 labelled images, 5 unlabelled (few_images: labels 2, min_classes 1" in outcome.out
    assert "split file: split.json" in outcome.out
    assert widest(outcome.out) <= 80


@pytest.mark.parametrize(
    ("options", "num_labelled"),
    [
        (["--images-per-class", "1"], 2),
        (["--fraction", "1/2"], 3),
        (["--labels", "3", "--random", "--seed", "4"], 3),
        (["--pixels", "1"], 6),
        (["--pixels", "25%", "--labels=2"], 2),
    ],
)
def test_every_kind_of_split_is_drawn_and_can_be_described(recoseg, tmp_path, options, num_labelled) -> None:
    outcome = recoseg("split", *SCENES, *options, "--out", "split.json")
    assert outcome.code == 0, outcome.err
    assert len(read(tmp_path / "split.json")["labelled"]) >= num_labelled
    described = recoseg("describe", *SCENES, "--split", "split.json")
    assert described.code == 0, described.err
    assert widest(described.out) <= 80


def test_data_can_be_named_as_in_a_config(recoseg, photos, tmp_path) -> None:
    ways = (
        [photos],
        ["--data", photos],
        ["--data", "folder", "--data.root", photos],
        [photos, "--dataset", "folder"],
        ["--dataset=folder", f"--data.root={photos}"],
    )
    for number, words in enumerate(ways):
        outcome = recoseg("split", *words, "--labels", "2", "--out", f"{number}.json")
        assert outcome.code == 0, outcome.err
    texts = {(tmp_path / f"{number}.json").read_text() for number in range(len(ways))}
    assert len(texts) == 1


def test_a_run_draws_the_split_that_the_command_draws(recoseg, tmp_path, tiny) -> None:
    assert recoseg("split", *SCENES, "--labels", "3", "--seed", "2", "--out", "split.json").code == 0
    assert recoseg("train", "--out", "a", *tiny, "--split.labels=3", "--split.seed=2").code == 0
    assert (tmp_path / "split.json").read_text() == (tmp_path / "a" / "split.json").read_text()
    assert recoseg("train", "--out", "b", *tiny, "--split.file=split.json").code == 0
    for name in ("metrics.jsonl", "weights.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("pixels", ["1", "25%"])
def test_a_run_trains_on_partial_labels_at_any_scale_and_resumes(recoseg, tmp_path, tiny, pixels) -> None:
    settings = [*tiny, "--augment.scale=0.5,1.5", "--train.evaluate-every=2"]
    outcome = recoseg("train", "--out", "run", *settings, f"--split.pixels={pixels}")
    assert outcome.code == 0, outcome.err
    split = read(tmp_path / "run" / "split.json")
    assert split["pixels"] == pixels
    assert set(split["points"]) == set(split["labelled"])
    assert f"({'1 pixel' if pixels == '1' else pixels} of each class)" in outcome.out
    assert recoseg("train", "--resume", "run").code == 0


def test_published_lists_make_a_split(recoseg, photos, tmp_path) -> None:
    assert recoseg("split", photos, "--labels", "1", "--out", "any.json").code == 0
    split = read(tmp_path / "any.json")
    train = [*split["labelled"], *split["unlabelled"]]
    keys = [key for key in train if key < "p6"][:2]
    (tmp_path / "list.txt").write_text("".join(f"images/{key}.jpg labels/{key}.png\n" for key in keys))
    outcome = recoseg("split", photos, "--labelled-list", "list.txt", "--out", "split.json")
    assert outcome.code == 0, outcome.err
    assert sorted(read(tmp_path / "split.json")["labelled"]) == sorted(keys)


def test_nothing_is_written_over_unless_asked(recoseg, tmp_path) -> None:
    path = tmp_path / "split.json"
    path.write_text("precious")
    outcome = recoseg("split", *SCENES, "--labels", "2", "--out", "split.json")
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert "split.json exists already; choose another --out, or write over it with --force" in outcome.err
    assert path.read_text() == "precious"
    assert recoseg("split", *SCENES, "--labels", "99", "--out", "split.json", "--force").code == 1
    assert path.read_text() == "precious"
    assert recoseg("split", *SCENES, "--labels", "2", "--out", "split.json", "--force").code == 0
    assert len(read(path)["labelled"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "0"], "split.labels: must be at least 1, got 0"),
        (["--labels", "7"], "asks for 7 labelled images, the dataset has 6"),
        (["--labels", "some"], "split.labels: expected a whole number, got 'some'"),
        (["--labels", "7", "--random"], "asks for 7 labelled images, the dataset has 6"),
        (["--labels", "2", "--min-classes", "17"], "only 0 of 6 labelled images have as many"),
        (["--images-per-class", "0"], "split.images_per_class: must be at least 1, got 0"),
        (["--images-per-class", "7"], "7 images a class were asked for"),
        (["--pixels", "101%"], "no more than 100% of its pixels"),
        (["--pixels", "0%"], "expected 1 or a percentage"),
        (["--pixels", "3"], "expected 1 or a percentage"),
        (["--fraction", "9/8"], "expected a share of the images such as 1/8"),
        (["--labels", "2", "--fraction", "1/2"], "labels has no effect beside fraction"),
        (["--random"], "random has no effect without labels or fraction"),
        (["--partition", "cityscapes-20"], "is of cityscapes with 19 classes; this is 'scenes' with 16"),
        (["--partition", "voc-61"], "unknown partition 'voc-61'; did you mean"),
        (["--labelled-list", "none.txt"], "no list file at none.txt"),
        (["--seed", "3"], "which labels? Give one of --labels, --images-per-class"),
        ([], "which labels?"),
        (["--label", "3"], "unexpected argument '--label'; did you mean '--labels'?"),
        (["--train.seed", "3", "--labels", "2"], "unexpected argument '--train.seed'"),
        (["--labels", "2", "--workers", "0"], "--workers must be at least 1, not 0"),
        (["--labels", "2", "--data.hieght=3"], "did you mean --data.height?"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_writes_nothing(recoseg, tmp_path, words, message) -> None:
    outcome = recoseg("split", *SCENES, *words, "--out", "split.json")
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert message in outcome.err
    assert not (tmp_path / "split.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "2", "--out", "s.json"], "which data? Give a folder"),
        ([*SCENES, "--labels", "2"], "required: --out"),
        ([*SCENES, "--labels", "2", "--out", "no/s.json"], "there is no folder no"),
        ([*SCENES, "--labels", "2", "--out", "."], "--out . is a folder"),
        (["./nowhere", "--labels", "2", "--out", "s.json"], "the data folder"),
        (["nowhere", "--labels", "2", "--out", "s.json"], "no folder and no dataset 'nowhere'"),
    ],
)
def test_a_wrong_place_is_one_line(recoseg, words, message) -> None:
    outcome = recoseg("split", *words)
    assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
    assert message in outcome.err


def test_a_split_whose_keys_are_gone_is_refused_by_train_and_describe(recoseg, tiny) -> None:
    assert recoseg("split", *SCENES, "--labels", "2", "--out", "split.json").code == 0
    for words in (
        ["train", *tiny, "--data.num-train=3", "--split.file=split.json"],
        ["describe", *SCENES, "--data.num-train=3", "--split=split.json"],
    ):
        outcome = recoseg(*words)
        assert (outcome.code in (1, 2), outcome.err.count("\n")) == (True, 1)
        assert "3 of its keys are gone, e.g. 'train/00" in outcome.err


def test_a_split_settings_beside_a_file_have_no_effect(recoseg, tiny) -> None:
    assert recoseg("split", *SCENES, "--labels", "2", "--out", "split.json").code == 0
    outcome = recoseg("train", *tiny, "--split.file=split.json", "--split.pixels=1")
    assert outcome.code in (1, 2)
    assert "split.pixels has no effect beside split.file" in outcome.err
