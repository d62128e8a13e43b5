"""Splits of real data: the paper's budgets on Cityscapes at a quarter of its size, and on CamVid."""

from __future__ import annotations

import json

import numpy as np
import pytest

from recoseg.cli.main import main
from recoseg.data.folder import Folder
from recoseg.splits.class_index import class_counter
from recoseg.splits.label_split import LabelSplit, VisibleLabels
from recoseg.splits.labelled_images import few_images
from recoseg.types import IGNORE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(real_data, tmp_path_factory):
    """The datasets by name, and a cache that all tests of this file share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("COLUMNS", "80")
        yield real_data


def root_of(folders, name):
    if not (folders / name).is_dir():
        pytest.skip(f"no {name} in {folders}")
    return folders / name


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_twenty_cityscapes_images_show_every_class_at_least_five_times(folders, seed) -> None:
    dataset = Folder(root=root_of(folders, "cityscapes_quarter"))
    split = few_images(dataset, labels=20, min_classes=12, seed=seed, counter=class_counter())
    assert len(split.labelled) == 20
    assert min(split.class_counts.values()) >= 5
    for key in split.labelled:
        assert len(np.setdiff1d(dataset.labels(key), [IGNORE])) >= 12


@pytest.mark.parametrize(("budget", "images_per_class"), [(20, 5), (50, 15), (150, 50)])
def test_the_papers_partitions_of_cityscapes_can_be_drawn(
    folders, tmp_path, budget, images_per_class
) -> None:
    out = tmp_path / "split.json"
    root = root_of(folders, "cityscapes_quarter")
    assert main(["split", str(root), f"--partition=cityscapes-{budget}", "--out", str(out)]) == 0
    split = LabelSplit.load(out)
    assert len(split.labelled) == budget
    assert min(split.class_counts.values()) >= images_per_class


@pytest.mark.parametrize("name", ["cityscapes_quarter", "camvid"])
def test_the_data_is_sound(folders, name) -> None:
    assert main(["check", str(root_of(folders, name))]) == 0


@pytest.mark.parametrize("name", ["cityscapes_quarter", "camvid"])
@pytest.mark.parametrize("pixels", ["1", "1%", "25%"])
def test_partial_labels_show_their_share_of_every_class(folders, tmp_path, capsys, name, pixels) -> None:
    root, out, picture = root_of(folders, name), tmp_path / "split.json", tmp_path / "labels.png"
    assert main(["split", str(root), "--pixels", pixels, "--out", str(out)]) == 0
    content = json.loads(out.read_text())
    dataset, split = Folder(root=root), LabelSplit.load(out)
    assert len(split.labelled) == len(dataset.keys("train")) == len(content["points"])
    visible = VisibleLabels(dataset, split)
    for key in split.labelled[:: len(split.labelled) // 25]:
        truth, seen = dataset.labels(key).numpy(), visible.labels(key).numpy()
        assert (truth[seen != IGNORE] == seen[seen != IGNORE]).all()
        for label in np.setdiff1d(truth, [IGNORE]):
            count, of = int((seen == label).sum()), int((truth == label).sum())
            assert count == 1 if pixels == "1" else 100 * count >= int(pixels[:-1]) * of
    capsys.readouterr()
    words = ["describe", str(root), "--split", str(out), "--picture", str(picture)]
    assert main(words) == 0
    assert picture.stat().st_size > 5000
    table = capsys.readouterr().out
    assert max(map(len, table.splitlines())) <= 80 or str(picture) in table
    assert all(class_name.split()[0] in table for class_name in dataset.classes.names)
