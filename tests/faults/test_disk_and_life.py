"""Disks that are full or read-only, terminals of all kinds, and processes that are ended at any moment.

A new fault is one line of a table: what is done, to which command, and what is left or said.
"""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from recoseg.cli.main import main
from recoseg.errors import UserError
from recoseg.files import whole_file, write_whole
from recoseg.splits.label_split import LabelSplit
from recoseg.training.log import EventFile
from recoseg.training.run_folder import RunFolder, append_line

SMALL = (
    "--data photos --model.factory network:small --augment.crop=32 --train.iterations=4 "
    "--train.labelled-per-step=2 --train.evaluate-every=2 --train.log-every=1"
)


@contextmanager
def disk_full_after(count: int) -> Iterator[None]:
    """No file can grow beyond so many bytes: the nearest to a full disk that every system has."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


FULL = [
    (20, f"train --out new {SMALL}", "new/split.json"),
    (1000, f"train --out new {SMALL}", "new/config.yaml"),
    (4000, f"train --out new {SMALL}", "new/state.pt"),
    (1000, "report run --out page.html --pictures 0", "page.html"),
    (20, "predict run photos/images -o masks", "masks/predictions.json"),
    (650, "predict run photos/images -o masks", "masks/overlays/p0.jpg"),
    (500, "predict run photos/images -o masks --no-overlay --probabilities", "masks/probabilities/p0.npy"),
    (20, "prepare folder photos small --scale 1 --workers 1", "small/prepare.json"),
    (500, "prepare folder photos small --scale 1 --workers 1", "{world}/small/images/p"),
    (20, "split photos --labels 1 --workers 1 --out split.json", "split.json"),
    (20, "export-labels photos masks.json", "masks.json"),
    (500, "picture curves run --out curves.png", "curves.png"),
]
"""Bytes that fit into a file, the command, and the file that its one line names."""


@pytest.mark.parametrize(("count", "words", "names"), FULL, ids=[f"{row[2]} after {row[0]}" for row in FULL])
def test_a_full_disk_is_one_line_that_names_the_file(count, words, names, world, capsys):
    before = set(world.path.rglob("*"))
    capsys.readouterr()
    with disk_full_after(count):
        code = main(words.split())
    told = capsys.readouterr()
    assert code == 1, told
    [line] = told.err.splitlines()
    assert line.startswith(f"recoseg: {names.format(world=world.path)}")
    assert line.endswith((": File too large", ": No space left on device"))
    assert not [path for path in set(world.path.rglob("*")) - before if path.name.endswith(".part")]


def test_scores_are_shown_also_where_they_cannot_be_written(world, capsys):
    def evaluated() -> tuple[str, str]:
        capsys.readouterr()
        assert main(["evaluate", "run"]) == 1
        told = capsys.readouterr()
        assert "mean" in told.out
        assert "scores: " not in told.out
        [line] = told.err.splitlines()
        return line.split(": ", 2)[1:]

    with disk_full_after(20):
        assert evaluated() == ["run/evaluation/val.json", "the scores are not written there: File too large"]
    (world.run / "evaluation").rmdir()
    (world.run / "evaluation").write_text("somebody's own")
    assert evaluated() == ["run/evaluation/val.json", "the scores are not written there: File exists"]


def test_an_output_on_a_full_disk_is_one_line(world, capsys, monkeypatch):
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["status", "run"]) == 1
    assert capsys.readouterr().err == "recoseg: output: No space left on device\n"


WRITERS: dict[str, Callable[[Path], object]] = {
    "a whole file": lambda path: write_whole(path, bytes(1000)),
    "a log": lambda path: [append_line(path, {"iteration": number}) for number in range(100)],
    "a file by parts": lambda path: fill(path, bytes(1000)),
}


def fill(path: Path, content: bytes) -> None:
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(content)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_every_way_to_write_names_the_file(write, tmp_path):
    with pytest.raises(OSError, match="File too large") as caught, disk_full_after(300):
        write(tmp_path / "file")
    assert caught.value.filename == str(tmp_path / "file")


def test_events_for_tensorboard_name_their_file_too_and_have_no_thread(tmp_path):
    events, threads = EventFile(tmp_path, start=1), threading.active_count()

    def write() -> None:
        for number in range(100):
            events.add_scalar("loss", 0.5, number)

    with pytest.raises(OSError, match="File too large") as caught, disk_full_after(300):
        write()
    assert caught.value.filename == str(events.path)
    assert threading.active_count() == threads


LEFT_OVER = [
    ("run/.state.pt.0a_b1c2d.part", "train --resume run --no-page"),
    ("run/report/.index.html.0a_b1c2d.part", "train --resume run --no-page"),
    ("run/report/.index.html.0a_b1c2d.part", "report run --pictures 0"),
    ("run/evaluation/.val.json.0a_b1c2d.part", "evaluate run"),
    ("masks/labels/.p0.png.0a_b1c2d.part", "predict run photos/images -o masks --force"),
    ("masks/.predictions.json.0a_b1c2d.part", "predict run photos/images -o masks --force"),
    ("small/.prepare.json.0a_b1c2d.part", "prepare folder photos small --scale 1 --workers 1"),
    (".split.json.0a_b1c2d.part", "split photos --labels 1 --workers 1 --out split.json"),
]
"""What a process that was killed had begun to write, and the command that removes it when it comes again."""


@pytest.mark.parametrize(("name", "words"), LEFT_OVER, ids=[f"{row[0]}, {row[1][:8]}" for row in LEFT_OVER])
def test_what_a_killed_process_had_begun_is_removed_by_the_next(name, words, world):
    left = world.path / name
    left.parent.mkdir(parents=True, exist_ok=True)
    if name.startswith("masks/labels"):
        (world.path / "masks" / "predictions.json").write_text("{}")
        assert main(words.split()) == 1  # somebody else's: nothing there is touched
        (world.path / "masks" / "predictions.json").unlink()
        (world.path / "masks" / "labels").rmdir()
        assert main(words.split()) == 0
    left.write_bytes(b"half")
    of_others = left.with_name(".notes.part")
    if not words.startswith(("prepare", "predict")):  # which begin in no folder that has other files
        of_others.write_text("mine")
    with whole_file(left.with_name("at_work")) if of_others.exists() else nullcontext() as at_work:
        assert main(words.split()) == 0
        assert not left.exists()
        assert at_work is None or at_work.exists()
    assert of_others.exists() == (not words.startswith(("prepare", "predict")))


BEGINNINGS = [
    ("an empty folder", [], True),
    ("before the split", [".lock"], True),
    ("in the split", [".lock", ".split.json.0a_b1c2d.part"], True),
    ("after the split", [".lock", "split.json"], True),
    ("in the config", [".lock", "split.json", ".config.yaml.0a_b1c2d.part"], True),
    ("a split of one's own", ["split.json"], False),
    ("something else beside", [".lock", "split.json", "notes.txt"], False),
    ("a config of another program", ["config.yaml"], False),
]
"""The moment that a start died, what it left, and whether another one may begin there."""


@pytest.mark.parametrize(("name", "files", "free"), BEGINNINGS, ids=[row[0] for row in BEGINNINGS])
def test_a_start_that_died_at_any_moment_does_not_block_the_next(name, files, free, world, capsys):
    new = world.path / "new"
    new.mkdir()
    for file in files:
        (new / file).write_text("half")
    capsys.readouterr()
    code = main(f"train --out new --no-page {SMALL}".split())
    told = capsys.readouterr().err
    if free:
        assert (code, told) == (0, "")
        assert not list(new.glob(".*.part"))
    else:
        assert (code, told) == (1, "recoseg: new exists and is not an empty folder; choose another --out\n")
        assert sorted(path.name for path in new.iterdir()) == sorted(files)
        assert {path.read_text() for path in new.iterdir()} == {"half"}


def test_of_many_starts_in_one_folder_exactly_one_begins_and_nothing_is_mixed(tmp_path):
    for attempt in range(20):
        path, together = tmp_path / f"run{attempt}", threading.Barrier(4)
        outcomes: dict[str, str] = {}

        def begin(name: str, path=path, together=together, outcomes=outcomes) -> None:
            split = LabelSplit((name,), (), "scenes", "0123", "all_labels")
            together.wait()
            try:
                RunFolder.create(path, config_yaml=name, split=split)
                outcomes[name] = "began"
            except UserError as error:
                outcomes[name] = str(error)

        threads = [threading.Thread(target=begin, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        [winner] = [name for name, outcome in outcomes.items() if outcome == "began"]
        losers = {outcome for name, outcome in outcomes.items() if name != winner}
        known = ("already holds a run", "is in use by another process")
        assert [line for line in losers if not any(words in line for words in known)] == []
        assert (path / "config.yaml").read_text() == winner
        assert LabelSplit.load(path / "split.json").labelled == (winner,)


SHOWN = [
    "status run", "check photos --workers 1", "describe photos", "report run --pictures 0",
    "experiments show scenes --profile tiny", "experiments list", f"train --out new --no-page {SMALL}",
]  # fmt: skip


@pytest.mark.parametrize("columns", ["0", "00", "-5", "wide", ""])
@pytest.mark.parametrize("words", SHOWN[:3], ids=SHOWN[:3])
def test_a_terminal_of_no_width_shows_everything_all_the_same(columns, words, world, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", columns)
    assert main(words.split()) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])  # the second in the locale C
@pytest.mark.parametrize("words", SHOWN, ids=[words[:20] for words in SHOWN])
def test_a_terminal_that_knows_ascii_alone_shows_everything_all_the_same(words, errors, world, monkeypatch):
    streams = {
        name: io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors=errors) for name in ("stdout", "stderr")
    }
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    assert main(words.split()) == 0
    assert streams["stdout"].buffer.getvalue()


@pytest.mark.parametrize("closed", [("stdout",), ("stderr",), ("stdin", "stdout", "stderr")])
@pytest.mark.parametrize("words", SHOWN, ids=[words[:20] for words in SHOWN])
def test_streams_that_are_closed_as_under_cron_harm_nothing(words, closed, world, monkeypatch):
    for name in closed:
        monkeypatch.setattr(sys, name, None)
    assert main(words.split()) == 0
    assert main(["statsu"]) == 2


def test_a_command_writes_its_files_where_stdout_is_closed(world):
    words = [sys.executable, "-m", "recoseg", "evaluate", "run", "--no-boundary", "--out", "scores.json"]
    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *words], stderr=subprocess.PIPE, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert json.loads((world.path / "scores.json").read_text())["num_images"] == 1


def test_a_name_that_an_ascii_terminal_cannot_show_is_still_told(world, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(["status", "größe"]) == 1
    stream.flush()
    assert stream.buffer.getvalue().startswith(rb"recoseg: no runs at gr\xf6\xdfe: give run folders")


WORLDS = [
    {"WORLD_SIZE": "2"},
    {"WORLD_SIZE": "many"},
    {"WORLD_SIZE": "0"},
    {"WORLD_SIZE": ""},
    {"WORLD_SIZE": "2", "RANK": "0"},
    {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "localhost"},
    {"WORLD_SIZE": "2", "RANK": "x", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"},
    {"WORLD_SIZE": "2", "RANK": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"},
]


@pytest.mark.parametrize("environment", WORLDS, ids=[" ".join(row.values()) for row in WORLDS])
def test_half_of_what_torchrun_sets_is_one_line_and_no_waiting(environment, world, monkeypatch, refused):
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    told = refused(lambda w: None, f"train --out new {SMALL}", "start several processes with torchrun")
    assert f"WORLD_SIZE={environment['WORLD_SIZE']} " in told
    assert not (world.path / "new").exists()


LONG = f"train --out new {SMALL.replace('iterations=4 ', 'iterations=4000 ')}".replace(
    "every=2", "every=4000"
)


PATIENCE = 600.0
"""Seconds after which something will never happen, however busy the machine is."""


def has_logged(world) -> bool:
    path = world.path / "new" / "losses.jsonl"
    return path.is_file() and b"\n" in path.read_bytes()


def wait_until(happened: Callable[[], Any], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert process.poll() is None, "it ended before"
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def test_a_terminal_that_is_closed_leaves_a_state_to_go_on_from(world):
    """The kernel and the shell both send SIGHUP, and whatever is printed then is an error."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", TERMINAL, *LONG.split()], stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while not has_logged(world):
        shown += os.read(ours, 4096)
    os.close(ours)
    os.kill(process.pid, signal.SIGHUP)
    assert process.wait(PATIENCE) == 130, shown
    done = torch.load(world.path / "new" / "state.pt", weights_only=True)["iteration"]
    assert 1 <= done < 4000
    assert len((world.path / "new" / "losses.jsonl").read_text().splitlines()) == done


TERMINAL = """
import fcntl, signal, sys, termios
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as a shell leaves it, also where these tests run under nohup
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # as a shell's: closing it ends the session
from recoseg.cli.main import main
sys.exit(main())
"""


def is_running(process: str) -> bool:
    """Not gone, and not a zombie that only waits for its exit code to be read."""
    try:
        return ") Z" not in Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False


def imports_torch(process: str) -> bool:
    try:
        return "libtorch" in Path(f"/proc/{process}/maps").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="looks at processes the way Linux shows them"
)
@pytest.mark.parametrize("moment", ["while they begin", pytest.param("at work", marks=pytest.mark.slow)])
def test_loading_processes_end_without_a_word_when_their_run_is_killed(moment, world, tmp_path):
    """On stderr, that is: stdout has lines of progress, which depend on the time that things take."""
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "recoseg", *LONG.split(), "--train.workers=2"],
            stdout=subprocess.DEVNULL, stderr=said, start_new_session=True,
        )  # fmt: skip
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if moment == "at work":
        wait_until(lambda: has_logged(world), process)
    wait_until(lambda: len(children.read_text().split()) == 3, process)  # two, and the tracker of resources
    theirs = children.read_text().split()
    # Until a process imports torch, it waits for what its parent hands over: Python itself says so then.
    wait_until(lambda: sum(imports_torch(child) for child in theirs) == 2, process)
    process.kill()
    process.wait()
    deadline = time.monotonic() + PATIENCE
    while any(map(is_running, theirs)):
        assert time.monotonic() < deadline, "they live on"
        time.sleep(0.01)
    assert (tmp_path / "said").read_text() == ""


@pytest.mark.parametrize("kind", ["images", "labels"])
def test_a_damaged_validation_file_is_named_before_training_begins(kind, world, refused, soon):
    def cut_off(world):
        (world.photos / "val.txt").write_text("p2\n")
        path = world.photos / kind / "p2.png"
        path.write_bytes(path.read_bytes()[:50])

    words = "train --data photos --out new --train.iterations=1000000 --augment.crop=32"
    refused(cut_off, f"{words} --model.pretrained=none", f"{kind}/p2.png")
    assert not (world.path / "new").exists()
