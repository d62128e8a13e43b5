"""What once gave a wrong result without a word: now the right one, or one line.

A new fault is one line of a table.
"""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from recoseg.config import load, to_yaml
from recoseg.data.folder import Folder
from recoseg.data.list_files import list_text
from recoseg.data.preparation import prepare
from recoseg.data.resize import Resize
from recoseg.errors import UserError
from recoseg.evaluate.boundary import BoundaryCounter, BoundaryRule, Distance
from recoseg.predict.image_list import find_images
from recoseg.splits.published import KeyFinder
from recoseg.types import IGNORE


def poison(world, value):
    """One number of the weights is no number any more."""
    path = world.run / "weights.safetensors"
    with safe_open(path, framework="pt") as content:
        about = content.metadata()
    tensors = load_file(path)
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point())
    tensors[name].view(-1)[0] = value
    save_file(tensors, path, metadata=about)


NAN, INFINITY = float("nan"), float("inf")
REFUSED = [  # ./nowhere is where a command would end that begins to train in spite of the fault
    *(
        (f"{value} in weights, {words}", lambda w, value=value: poison(w, value), words, says)
        for says in ("run/weights.safetensors: holds numbers that are not finite",)
        for value, words in (
            (NAN, "predict run photos/images -o out"),
            (NAN, "evaluate run"),
            (NAN, "report run"),
            (NAN, "export run --format torch"),
            (NAN, "picture predictions run"),
            (NAN, "picture queries run"),
            (NAN, "picture relations run"),
            (INFINITY, "predict run photos/images -o out"),
            (-INFINITY, "evaluate run"),
        )
    ),
    (
        "a section twice in YAML",
        lambda w: (w.path / "a.yaml").write_text("train:\n  iterations: 3\ndata: scenes\ntrain: {seed: 1}\n"),
        "train --config a.yaml --data=./nowhere",
        "a.yaml line 4: not valid YAML: the key 'train' is there twice, first in line 1",
    ),
    (
        "a setting twice in YAML",
        lambda w: (w.path / "a.yaml").write_text("train: {seed: 1, iterations: 3, seed: 1}\n"),
        "train --config a.yaml --data=./nowhere",
        "line 1: not valid YAML: the key 'seed' is there twice",
    ),
    (
        "a key twice in the config of a run",
        lambda w: (w.run / "config.yaml").open("a").write("train: {}\n"),
        "evaluate run",
        "config.yaml line",
    ),
    (
        "a number in place of a section, beside a setting of it",
        lambda w: (w.path / "a.yaml").write_text("train: 5\n"),
        "train --config a.yaml --train.seed 3 --data=./nowhere",
        "train: expected settings as 'key: value', got 5",
    ),
    (
        "the same on the command line",
        lambda w: None,
        "train --train 5 --train.seed 3 --data=./nowhere",
        "train: expected settings as 'key: value', got '5'",
    ),
    (
        "settings below one that has none",
        lambda w: (w.path / "a.yaml").write_text("optimiser: {lr: 1e-3}\n"),
        "train --config a.yaml --optimiser.lr.low 3 --data=./nowhere",
        "optimiser.lr: expected settings",
    ),
    (
        "a field twice in classes.json",
        lambda w: (w.photos / "classes.json").write_text('{"names": ["a", "b"], "names": ["b", "a"]}'),
        "describe photos",
        "classes.json: the field 'names' is there twice",
    ),
    (
        "a seed of which a float has the first digits only",
        lambda w: None,
        "train --train.seed 1e17 --data=./nowhere",
        "train.seed: expected a whole number, got '1e17'",
    ),
]


@pytest.mark.parametrize(("name", "plant", "words", "says"), REFUSED, ids=[row[0] for row in REFUSED])
def test_it_is_refused_in_one_line(name, plant, words, says, refused):
    refused(plant, words, says)


NAMES = [
    (" a", "a"),
    ("a ", "a"),
    ("\ta\t", "a"),
    ("a\n", "a"),
    ("a\nb", "b"),
    ("a\r", "a"),
    ("a\u2028b", "b"),
    ("a\x85b", "b"),
    ("a\x0bb", "b"),
    ("a\u00a0", "a"),
    ("x\\a", "x/a"),
    ("#a", "a"),
    ('"a"', "a"),
    ('" a"', " a"),
    ("a.png", "a"),
    ("images/a", "a"),
    ("\x1b[31ma", "a"),
    ("grün", "a"),
]


@pytest.fixture
def odd_names(tmp_path):
    """Makes a folder dataset of these keys, all with labels."""

    def make(*keys):
        for number, key in enumerate(keys):
            for kind in ("images", "labels"):
                path = tmp_path / "data" / kind / f"{key}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(np.eye(8, dtype=np.uint8) * (number + 1)).save(path)
        (tmp_path / "data" / "classes.json").write_text('{"names": ["a", "b", "c", "d"]}')
        return tmp_path / "data"

    return make


@pytest.mark.parametrize(("key", "twin"), NAMES, ids=[repr(key) for key, _ in NAMES])
def test_a_name_comes_back_from_the_list_that_we_wrote(odd_names, tmp_path, key, twin):
    """`twin` is what a careless reader takes it for."""
    root = odd_names(key, twin, "third")
    for seed in range(20):  # until the draw is that of the name
        first = Folder(root=root, val_share=0.01, seed=seed)
        if first.keys("val") == (key,):
            break
    assert first.keys("val") == (key,)
    first.keep_draw()
    again = Folder(root=root, val_share=0.01, seed=seed)
    assert again.keys("val") == first.keys("val")
    assert again.fingerprint() == first.fingerprint()
    prepare(again, source=root, destination=tmp_path / "prepared", resize=Resize(scale=1))
    prepared = Folder(root=tmp_path / "prepared")
    assert prepared.keys("val") == (key,)
    assert sorted(prepared.keys("train")) == sorted([twin, "third"])


def test_a_list_of_labelled_images_may_quote_them(tmp_path):
    keys = [" a", "a", "x\\a", "x/a"]
    for key in keys:
        (tmp_path / "list.txt").write_text(list_text([key]))
        assert KeyFinder(keys).find_all(tmp_path / "list.txt") == [key]


LINES = [  # of lists that people, or earlier versions, wrote
    ("a plain key", "a", "a"),
    ("with its suffix", "a.png", "a"),
    ("with its folder", "images/a.png", "a"),
    ("with spaces around it", "  a\t", "a"),
    ("with a backslash", "x\\a", "x/a"),
    ("with a line end of Windows", "a\r", "a"),
    ("in quotes, though it need not be", '"a"', "a"),
    ("a name that ends in a space, as an earlier version wrote it", "b ", "b "),
    ("the same without the space", "b", "b"),
    ("a dot and a slash before a #", "./#c", "#c"),
]


@pytest.mark.parametrize(("name", "line", "key"), LINES, ids=[row[0] for row in LINES])
def test_a_line_of_a_list_means_the_key_that_it_always_meant(odd_names, name, line, key):
    root = odd_names("a", "b", "b ", "x/a", "#c")
    (root / "val.txt").write_bytes(f"# mine\n{line}\n".encode())
    assert Folder(root=root).keys("val") == (key,)


LINKS = [
    ("to the folder itself", "images/loop", ".", 4),
    ("to the folder above", "images/loop", "..", 4),
    ("to the folder above that", "images/loop", "../..", 4),
    ("to a folder inside", "images/again", "inside", 4),
    ("back and forth", "images/inside/back", "../../images", 4),
    ("to a folder elsewhere", "images/more", "../../elsewhere", 6),
]


@pytest.mark.parametrize(("name", "link", "target", "images"), LINKS, ids=[row[0] for row in LINKS])
def test_a_folder_counts_once_whatever_links_lead_to_it(world, capsys, name, link, target, images):
    (world.photos / "images" / "inside").mkdir()
    (world.photos / "images" / "p3.png").rename(world.photos / "images" / "inside" / "p3.png")
    (world.path / "elsewhere").mkdir()
    for number in range(2):
        shutil.copy(world.photos / "images" / "p0.png", world.path / "elsewhere" / f"q{number}.png")
    (world.photos / link).symlink_to(target)
    dataset = Folder(root=world.photos)
    assert sum(len(dataset.keys(subset)) for subset in ("train", "val")) == images
    for words in (["photos/images"], ["photos/images/**/*.png"], ["photos/images/*", "photos/images"]):
        assert len(find_images(words, out=world.path / "out")) == images
    from recoseg.cli.main import main

    assert main(["check", "photos"]) == (0 if images == 6 else 1)
    assert ("a link to a folder that is counted already" in capsys.readouterr().out) == (images == 4)


def test_labels_may_be_shared_by_a_link(world):
    for kind in ("images", "labels"):
        (world.photos / kind / "left").mkdir()
        for path in (world.photos / kind).glob("p*.png"):
            path.rename(path.parent / "left" / path.name)
    shutil.copytree(world.photos / "images" / "left", world.photos / "images" / "right")
    (world.photos / "labels" / "right").symlink_to("left")
    (world.photos / "val.txt").unlink()
    dataset = Folder(root=world.photos)
    keys = [*dataset.keys("train"), *dataset.keys("val")]
    assert sum(dataset.has_labels(key) for key in keys) == 6


SEEDS = [2**53 + 1, 2**62 + 3, 2**63 - 1]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["train.seed", "split.seed"])
def test_every_digit_of_a_seed_counts(tmp_path, name, seed):
    section, _, setting = name.partition(".")
    (tmp_path / "a.yaml").write_text(f"{section}: {{{setting}: {seed}}}\n")
    for config in (load(tmp_path / "a.yaml"), load(None, [f"--{name}", str(seed)])):
        assert getattr(getattr(config, section), setting) == seed
        (tmp_path / "b.yaml").write_text(to_yaml(config))
        assert load(tmp_path / "b.yaml") == config


@pytest.mark.parametrize("seed", SEEDS)
def test_a_split_is_drawn_by_every_digit(seed, survived):
    survived(lambda w: None, f"split photos --labels 1 --seed {seed} --out a.json", f"seed {seed}")


def test_a_run_has_the_seed_that_was_asked_for(world):
    from recoseg.cli.main import main

    words = "--data photos --augment.crop=32 --model.factory=network:small --train.iterations=1 --no-page"
    starts = {}
    for seed in (2**53, 2**53 + 1):
        out = f"seed-{seed}"
        assert (
            main(
                ["train", *words.split(), f"--train.seed={seed}", "--train.labelled-per-step=1", "--out", out]
            )
            == 0
        )
        starts[seed] = load_file(world.path / out / "weights.safetensors")["network.0.weight"]
        assert main(["train", "--resume", out, "--no-page"]) == 0
    assert not torch.equal(*starts.values())


def band(void: int, moved: int) -> tuple[np.ndarray, np.ndarray]:
    """Prediction and truth: two halves, the border moved by so much, and so much void along the true one."""
    columns = np.arange(80)
    truth = np.where(columns < 40, 0, 1)
    truth[40 - void // 2 : 40 + void - void // 2] = IGNORE
    return tuple(
        np.tile(row, (20, 1)).astype(np.uint8) for row in (np.where(columns < 40 + moved, 0, 1), truth)
    )


CONTOURS = [  # with a tolerance of 4 pixels
    ("no void, a perfect prediction", 0, 0, 1.0),
    ("no void, off by the tolerance", 0, 4, 1.0),
    ("no void, off by more", 0, 5, 0.0),
    ("Pascal VOC's five pixels of void, a perfect prediction", 5, 0, 1.0),
    ("the same, off within the void", 5, 2, 1.0),
    ("the same, off by the tolerance", 5, 4, 1.0),
    ("the same, off by more", 5, 6, 0.0),
    ("void that is wide: no contour at all", 20, 0, None),
]


@pytest.mark.parametrize(("name", "void", "moved", "expected"), CONTOURS, ids=[row[0] for row in CONTOURS])
def test_the_boundary_f_score_means_something_along_bands_of_void(name, void, moved, expected):
    rule = BoundaryRule(tolerance=Distance(4))
    counter = BoundaryCounter(2, rule, device="cpu")
    counter.add(*(torch.from_numpy(labels)[None] for labels in band(void, moved)))
    f_scores = counter.scores().f_score
    assert f_scores.isnan().all() if expected is None else f_scores.tolist() == [expected, expected]


def test_an_unreadable_list_line_is_still_named(world):
    (world.photos / "val.txt").write_text('"nowhere"\n')
    with pytest.raises(UserError, match=r'val\.txt, line 1: "nowhere": names no file in images/'):
        Folder(root=world.photos)
