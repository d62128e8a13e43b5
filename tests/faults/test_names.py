"""Names, links and pipes: names that nobody can write down, links that lead round, files that are none.

A new fault is one line: a name, what to do to the world, the command, and what it says.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import socket

import pytest
from rich.console import Console

from recoseg.cli.main import main
from recoseg.records import parsed

pytestmark = pytest.mark.usefixtures("soon")

BYTES = os.fsdecode(b"caf\xe9")  # Latin-1, as from an old archive
LONG = "n" * 251
TRAIN = (
    "train --data photos --out new --augment.crop=32 --model.decoder-width=8 --model.separable=true "
    "--train.iterations=1 --train.labelled-per-step=2 --no-page"
)
PREDICT, PREPARE = "predict run photos/images -o out", "prepare folder photos s --scale 1"


def also(name, kinds=("images",)):
    """One more image, with or without labels, under that name."""

    def plant(w):
        for kind in kinds:
            path = w.photos / kind / name
            path.parent.mkdir(exist_ok=True)
            shutil.copy(w.photos / kind / "p0.png", path)

    return plant


def link(place, to):
    def plant(w):
        (w.path / place).unlink(missing_ok=True)
        (w.path / place).symlink_to(to)

    return plant


def pipe(place):
    def plant(w):
        (w.path / place).unlink(missing_ok=True)
        os.mkfifo(w.path / place)

    return plant


def a_socket(place):
    def plant(w):
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(place)  # from the current folder: these names must be short

    return plant


def listed(line, place="photos/val.txt"):
    return lambda w: (w.path / place).write_text(f"p0\n{line}\n")


def named(*names):
    return lambda w: (w.photos / "classes.json").write_text(json.dumps({"names": names}))


def settings(text):
    return lambda w: (w.path / "c.yaml").write_text(text)


def moved(old, new):
    def plant(w):
        (w.path / new).parent.mkdir(parents=True, exist_ok=True)
        (w.path / old).rename(w.path / new)

    return plant


def moved_and_entered(w):
    moved("photos", f"{BYTES}/photos")(w)
    moved("run", f"{BYTES}/run")(w)
    os.chdir(BYTES)


def only_in_bytes(w):
    for path in list(w.photos.glob("images/*")):
        path.rename(path.with_name(BYTES + path.name))


def nothing(w):
    """The words alone are the fault."""


NOT_TEXT = "its name is not UTF-8 text; rename it"
NOT_UTF_8 = r"caf\udce9"

REFUSED = [
    ("an image in Latin-1", also(f"{BYTES}.png"), TRAIN, rf"caf\udce9.png: {NOT_TEXT}"),
    ("a pair in Latin-1", also(f"{BYTES}.png", ("images", "labels")), "describe photos", NOT_TEXT),
    ("a label in Latin-1", also(f"{BYTES}.png", ("labels",)), "split photos --labels 1 --out s", NOT_TEXT),
    ("a folder in Latin-1", also(f"{BYTES}/a.png"), "evaluate run", rf"caf\udce9/a.png: {NOT_TEXT}"),
    ("no other image", only_in_bytes, "describe photos", NOT_TEXT),
    ("data in Latin-1", moved("photos", BYTES), f"check {BYTES}", r"'caf\udce9' is not UTF-8 text"),
    ("a run in Latin-1", moved("run", BYTES), f"report {BYTES}", r"'caf\udce9' is not UTF-8 text"),
    ("a new run in Latin-1", nothing, f"{TRAIN} --out {BYTES}", r"'caf\udce9' is not UTF-8 text"),
    ("a place in Latin-1", moved_and_entered, TRAIN, NOT_UTF_8),
    ("a run there", moved_and_entered, "report run", NOT_UTF_8),
    ("the place is a run", lambda w: (moved_and_entered(w), os.chdir("run")), "report .", NOT_UTF_8),
    ("half a character in a class", named("a\ud800", "b"), "describe photos", r"class name 'a\ud800'"),
    ("a line end in a class", named("a\nb", "b"), "describe photos", r"class name 'a\nb'"),
    ("a turned class", named("a\u202eb", "b"), "describe photos", r"class name 'a\u202eb'"),
    ("an end of text in a class", named("a\0", "b"), TRAIN, r"class name 'a\x00'"),
    ("half a character in a setting", settings('data: {name: folder, root: "photos\\ud800"}'),
     "train --config c.yaml",
     r"data.root: expected text, got 'photos\ud800'"),
    ("half a character in a name", settings('data: {"ro\\ud800t": "photos"}'), "train --config c.yaml",
     r"ro\ud800t"),
    ("an end of text in a setting", settings('data: {name: folder, root: "photos\\0"}'),
     "train --config c.yaml", "data.root"),
    ("half a character in a split", lambda w: (w.run / "split.json").write_text(
        (w.run / "split.json").read_text().replace("p1", r"p1\ud800")), "train --resume run",
     "split.json: not JSON"),
    ("a list that leads round", link("photos/val.txt", "val.txt"), TRAIN, "photos/val.txt"),
    ("a list that leads nowhere", link("photos/val.txt", "gone.txt"), TRAIN, "photos/val.txt"),
    ("classes that lead nowhere", link("photos/classes.json", "gone.json"), TRAIN, "classes.json"),
    ("an image that leads round", link("photos/images/p0.png", "p0.png"), TRAIN, "symbolic links"),
    ("a label that leads round", link("photos/labels/p0.png", "p0.png"), "describe photos", "symbolic links"),
    ("data that lead round", link("d", "d"), "prepare folder d e", "the data folder d does not exist"),
    ("to a place that leads round", link("d", "d"), "prepare folder photos d", "File exists"),
    ("a run that leads round", link("d", "d"), "train --data photos --out d",
     "d: Too many levels of symbolic links"),
    ("results that lead round", link("d", "d"), "predict run photos/images -o d", "d: File exists"),
    ("a profile that leads round", link("d", "d"), "experiments show scenes --profile d", "no profile 'd'"),
    ("a pipe for a label", pipe("photos/labels/p0.png"), "describe photos", "a pipe, not a file"),
    ("a pipe for a split file", pipe("p"), "describe photos --split p", "p is not a file"),
    ("a pipe for the run's split", pipe("run/split.json"), "report run", "no split.json"),
    ("a pipe for settings", pipe("p"), "train --config p", "no config file 'p'"),
    ("a pipe for weights", pipe("run/weights.safetensors"), "evaluate run", "no weights yet"),
    ("a config of 300 letters", nothing, f"train --config {'x' * 300}", "no config file"),
    ("data of 300 letters", nothing, f"train --data {'x' * 300}", "there is no folder"),
    ("a run of 300 letters", nothing, f"{TRAIN} --out {'x' * 300}", "File name too long"),
    ("results of 300 letters", nothing, f"predict run photos/images -o {'x' * 300}", "File name too long"),
]  # fmt: skip

TOLD = [
    ("an image in Latin-1", also(f"{BYTES}.png"), "check photos",
     r"caf\udce9.png its name is not UTF-8 text -> rename it"),
    ("an image in Latin-1", also(f"{BYTES}.png"), PREDICT, rf"caf\udce9.png: {NOT_TEXT}"),
    ("a line for the root", listed("/"), "check photos", "val.txt, line 2: / names no file"),
    ("a line for here", listed("."), "check photos", "val.txt, line 2: . names no file"),
    ("a line for the folder above", listed(".."), "check photos", "val.txt, line 2: .. names no file"),
    ("a line for all images", listed("images/"), "check photos", "val.txt, line 2: images/ names no file"),
    ("a line of a backslash", listed("\\"), "check photos", "names no file"),
    ("a line of nothing between quotes", listed('""'), "check photos", "names no file"),
    ("a line from another machine", listed("/data/photos/images/p0.png"), "check photos", "names no file"),
    ("an image that leads round", link("photos/images/a.png", "a.png"), "check photos", "symbolic links"),
    ("an image that leads round", link("photos/images/a.png", "a.png"), PREDICT, "symbolic links"),
    ("an image that leads nowhere", link("photos/images/a.png", "b"), PREDICT, "does not exist"),
    ("an image that leads nowhere", link("photos/images/a.png", "b"), PREPARE, "does not exist"),
    ("a pipe for an image", pipe("photos/images/a.png"), "check photos", "a pipe, not a file"),
    ("a pipe for an image", pipe("photos/images/a.png"), PREDICT, "a pipe, not a file"),
    ("a pipe for an image", pipe("photos/images/a.png"), PREPARE, "a pipe, not a file"),
    ("a pipe for a label", pipe("photos/labels/p3.png"), "check photos", "a pipe, not a file"),
    ("a pipe alone", pipe("p"), "predict run p -o out", "p: cannot be opened (a pipe, not a file)"),
    ("a socket for an image", a_socket("photos/images/a.png"), "check photos", "a socket, not a file"),
    ("a device", nothing, "predict run /dev/zero photos -o out",
     "/dev/zero: cannot be opened (a device, not a file)"),
    ("results of 259 letters", lambda w: shutil.copy("photos/images/p0.png", "n" * 255),
     f"predict run {'n' * 255} photos/images -o out", "longer than names can be; give it a shorter name"),
]  # fmt: skip

SURVIVED = [
    ("a run in Latin-1", moved("run", BYTES), "status .", r"caf\udce9 done"),
    ("brackets of a run", moved("run", "[red]a[0]"), "status .", "[red]a[0] done"),
    ("a run like a symbol", moved("run", "a:smile:b"), "status .", "a:smile:b done"),
    ("brackets of a run", moved("run", "[red]a[0]"), "report [red]a[0]", "[red]a[0]/report"),
    ("a closing bracket", moved("photos", "x[/red]/y"), "prepare folder x[/red]/y z[/red] --scale 1",
     "--data z[/red]"),
    ("a class in brackets", named("[red]a", "b :smile:"), "check photos", "[red]a"),
    ("a class like a symbol", named("[red]a", "b :smile:"), "describe photos", "b :smile:"),
    ("a name of 251 letters", also(f"{LONG}.png"),
     "predict run photos/images -o out --confidence --probabilities", "5 images"),
    ("a name of 251 letters", also(f"{LONG}.png"), "prepare folder photos s --scale 0.5",
     "5 images are ready"),
    ("data of 250 letters", moved("photos", "r" * 250), f"evaluate run --data ./{'r' * 250}",
     "scores: run/evaluation/val_rrr"),
]  # fmt: skip


def ids(rows):
    return [f"{row[0]}: {row[2].split()[0]}" for row in rows]


@pytest.mark.parametrize(("name", "plant", "words", "says"), REFUSED, ids=ids(REFUSED))
def test_a_name_that_cannot_be_used_is_one_line(name, plant, words, says, refused):
    refused(plant, words, says)


@pytest.mark.parametrize(("name", "plant", "words", "says"), TOLD, ids=ids(TOLD))
def test_a_file_that_cannot_be_used_is_named_and_the_others_are_done(name, plant, words, says, told):
    told(plant, words, says)


@pytest.mark.parametrize(("name", "plant", "words", "says"), SURVIVED, ids=ids(SURVIVED))
def test_a_name_may_be_anything_that_can_be_written_down(name, plant, words, says, survived):
    survived(plant, words, says)


def test_json_of_ours_may_hold_whole_characters_only():
    assert parsed(r'{"a\ud83d\ude00": ["\\ud83d", "caf\u00e9"]}') == {"a😀": [r"\ud83d", "café"]}
    for half in (r'["\ud83d"]', r'{"\ude00": 1}', r'"\ud83d\ud83d\ude00"'):
        with pytest.raises(ValueError, match="not JSON"):
            parsed(half)


def test_a_run_whose_settings_are_wrong_is_named_among_others(world, capsys):
    shutil.copytree(world.run, world.path / "other")
    config = world.path / "other" / "config.yaml"
    config.write_text(config.read_text().replace("lr: 0.0025", "lr: -1"))
    assert main(["status", "."]) == 1
    shown = capsys.readouterr()
    assert re.fullmatch(
        r"recoseg: other/config\.yaml line \d+: --optimiser\.lr: must be above 0, got -1\n", shown.err
    )
    assert "run " in shown.out


def test_one_name_that_is_too_long_costs_no_other_image_its_results(world, told):
    shutil.copy("photos/images/p0.png", LONG + ".gif")
    shutil.copy("photos/images/p0.png", "n" * 255)
    told(nothing, f"predict run {'n' * 255} {LONG}.gif photos/images -o out", "1 of 6 images")
    assert len(list((world.path / "out").glob("labels/**/*.png"))) == 5
    assert not list((world.path / "out").rglob("*.part"))


@pytest.mark.parametrize("name", ["[/red]", "[red]", "a:smile:b", "[link=x]"])
def test_a_progress_bar_shows_the_name_of_a_run_as_it_is(name):
    from recoseg.cli.terminal import progress_of

    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80, color_system=None)
    with progress_of(console, doing=f"looking at {name}") as progress:
        progress(1, 2)
    assert f"looking at {name}" in shown.getvalue()
