"""The command line as such: help, errors in one line, exit codes."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys

import pytest

from recoseg.cli import check
from recoseg.cli.main import COMMANDS


def test_help_lists_every_command(recoseg) -> None:
    outcome = recoseg("--help")
    assert outcome.code == 0
    for name in COMMANDS:
        assert f"    {name} " in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(recoseg, name) -> None:
    outcome = recoseg(name, "--help")
    assert outcome.code == 0
    assert f"recoseg {name}" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80


def test_the_version_is_shown(recoseg) -> None:
    assert recoseg("--version").out.startswith("recoseg 0.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "unknown command 'trian'; did you mean 'train'?"),
        (["check"], "required: DATA; see recoseg check --help"),
        (["check", ".", "--wrokers", "2"], "unexpected argument '--wrokers'"),
        (["picture", "relation"], "unknown picture 'relation'; did you mean 'relations'?"),
        (["train", "--optimiser.lrr", "1"], "did you mean --optimiser.lr?"),
        (["train", "--train.iterations", "many"], "train.iterations: expected a whole number, got 'many'"),
        (["train", "stray"], "unexpected argument 'stray'"),
        (["train", "--train.seed"], "--train.seed needs a value"),
        (["train", "--epochs", "10"], "--epochs: unknown setting; here that is --train.iterations"),
        (["train", "--batch-size", "8"], "--batch_size: unknown setting; here that is --train.labelled"),
        (["train", "--gpus", "2"], "--gpus: unknown setting; here that is torchrun --nproc_per_node"),
        (["train", "--learning-rate", "1"], "--learning_rate: unknown setting; here that is --optimiser.lr"),
        (["train", "--help", "model.encodr"], "setting 'model.encodr'; did you mean model.encoder?"),
        (["train", "--help", "optimizer"], "--help: unknown section 'optimizer'; did you mean 'optimiser'?"),
    ],
)  # fmt: skip
def test_words_that_we_do_not_know_are_one_line_and_exit_code_2(recoseg, words, message) -> None:
    outcome = recoseg(*words)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.startswith("recoseg: ")
    assert outcome.err.count("\n") == 1


def test_a_mistake_in_a_config_file_is_not_one_of_words(recoseg, tmp_path) -> None:
    (tmp_path / "mine.yaml").write_text("optimiser: {lrr: 1}")
    assert recoseg("train", "--config", "mine.yaml", "--train.seed", "1").code == 1


def test_without_a_word_the_help_is_shown(recoseg) -> None:
    assert recoseg() == recoseg("--help")


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_end_every_help_and_are_of_that_command(recoseg, name) -> None:
    _, _, examples = recoseg(name, "--help").out.partition("\nexamples:\n")
    assert examples.startswith(f"  recoseg {name}")


def test_train_tells_of_its_settings_by_section(recoseg) -> None:
    short = recoseg("train", "--help").out
    assert len(short.splitlines()) < 50
    assert "--optimiser.momentum" not in short
    section = recoseg("train", "--help", "optimiser").out
    assert "--optimiser.momentum" in section
    assert "--train.seed" not in section
    one = recoseg("train", "--help", "model.encoder").out
    assert one.startswith("model deeplab_v3_plus and model deeplab_v2:\n  --model.encoder\n")
    assert one.count("--") == 1
    assert recoseg("train", "--help", "contrast.bank.per-step").out.count("--contrast.bank.per_step") == 1
    assert recoseg("train", "--help", "train.seed").out.startswith("train:\n  --train.seed\n")
    whole = recoseg("train", "--help", "all").out
    assert "--optimiser.momentum" in whole
    assert "--train.seed" in whole
    assert max(map(len, whole.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "--config", "nowhere.yaml"], "no config file 'nowhere.yaml'"),
        (["train", "--data", "./nowhere"], "nowhere"),
        (["train", "--resume", "nowhere"], "no run folder at nowhere"),
        (["train", "--resume", ".", "--config", "demo"], "--resume takes the run's own config"),
        (["train", "--train.device", "quantum"], "train.device: 'quantum' cannot be used here"),
        (["train", "--split.file", "no.json"], "no split file at no.json"),
        (["train", "--split.labels", "9999"], "asks for 9999 labelled images"),
        (["train", "--split.labels", "3", "--split.file", "x"], "has no effect beside split.file"),
        (["train", "--optimiser.momentum", "0"], "optimiser.nesterov has no effect without"),
        (["train", "--model.encoder", "resnet"], "unknown encoder 'resnet'"),
        (["train", "--model.pretrained", "no.pth"], "no weights file at no.pth"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_exit_code_1(recoseg, tmp_path, words, message) -> None:
    outcome = recoseg(*words)
    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.err.startswith("recoseg: ")
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_debug_shows_the_whole_traceback(recoseg) -> None:
    with pytest.raises(ValueError, match="no config file"):
        recoseg("train", "--config", "nowhere.yaml", "--debug")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_troubles_with_the_disk_are_one_line(recoseg, monkeypatch, number) -> None:
    def fail(arguments):
        raise OSError(number, "trouble", "some/file")

    monkeypatch.setattr(check, "run", fail)
    outcome = recoseg("check", ".")
    assert (outcome.code, outcome.err) == (1, "recoseg: some/file: trouble\n")


def test_an_error_that_is_ours_is_not_hidden(recoseg, monkeypatch) -> None:
    def bug(arguments):
        raise OSError(errno.EBADF, "a bug")

    monkeypatch.setattr(check, "run", bug)
    with pytest.raises(OSError, match="a bug"):
        recoseg("check", ".")


def test_an_interrupt_is_exit_code_130(recoseg, monkeypatch) -> None:
    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "run", interrupted)
    outcome = recoseg("check", ".")
    assert (outcome.code, outcome.err) == (130, "\nrecoseg: interrupted\n")


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["check", "--help"], ["demo", "--help"]])
def test_help_imports_nothing_heavy_and_answers_within_a_second(words) -> None:
    code = (
        "import sys\nfrom recoseg.cli.main import main\n"
        f"try:\n    main({words!r})\nexcept SystemExit:\n    pass\n"
        "heavy = ('torch', 'numpy', 'PIL', 'rich', 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    seconds = []
    for _ in range(3):  # processor time, and the best of three: the machine may be busy
        start = cpu_seconds_of_children()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds.append(cpu_seconds_of_children() - start)
        assert done.stderr.strip() == "[]"
    assert min(seconds) < 1


def test_commands_that_run_no_network_do_not_import_torch(trained_run, tiny, tmp_path) -> None:
    """Nor does a mistake in a command's words: that alone would take seconds."""
    trained_run("run", *tiny)
    (tmp_path / "own" / "images").mkdir(parents=True)
    commands = {
        "status run": 0, "experiments list": 0, "methods": 0, "trian": 2,
        "train --data own --train.iteratons 5": 2, "train --data own --method nothing": 2,
        "train --resume nowhere": 1, "train --config nowhere": 1, "experiments lst": 2,
    }  # fmt: skip
    code = (
        "import sys\nfrom recoseg.cli.main import main\n"
        f"for words, code in {commands!r}.items():\n"
        "    assert main(words.split()) == code, words\n"
        "    heavy = {'torch', 'scipy', 'matplotlib', 'tensorboard'} & set(sys.modules)\n"
        "    assert not heavy, (words, heavy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr


def cpu_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_python_m_recoseg_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "recoseg", "--help"], capture_output=True, text=True, check=True
    )
    assert "COMMAND" in done.stdout


@pytest.mark.parametrize(("processes", "code"), [("2", 1), ("1", -signal.SIGABRT)])
def test_one_of_several_processes_ends_without_taking_python_down(processes, code) -> None:
    """What would abort it then, as threads of gloo do now and then, comes too late."""
    script = (
        "import atexit, os, sys; from recoseg.cli.main import main; atexit.register(os.abort)\n"
        "sys.argv[1:] = ['check', 'no_such_folder']; print('out'); sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "WORLD_SIZE": processes},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    if code == 1:
        assert done.stdout == "out\n"
    assert "no_such_folder" in done.stderr
