"""A method of a user's own, by the name of the function that makes it, without a change of ours."""

from __future__ import annotations

import re
import shutil
from dataclasses import fields

import pytest

from recoseg.methods import MethodParts
from recoseg.types import Batch

MODULE = '''
from recoseg.methods import Method


class Halved(Method):
    """Learns from half of the cross-entropy, and looks at unlabelled images without learning from them."""

    needs_unlabelled = True

    def step(self, labelled, unlabelled, *, iteration, generator):
        output = self.supervised_step(labelled)
        return output.plus("nothing", 0 * self.student(unlabelled.images).logits.mean()).plus(
            "less", output.loss, weight=-0.5
        )


def make(student, parts):
    assert parts.iterations == 4 and parts.num_classes > 1
    return Halved(student)


def fixed(student, parts):
    import copy
    return Halved(copy.deepcopy(student))


def nothing(student, parts):
    return None


class Forgetful(Halved):
    needs_unlabelled = False


class Bare(Halved):
    def step(self, labelled, unlabelled, *, iteration, generator):
        return self.supervised_step(labelled).loss


def forgetful(student, parts):
    return Forgetful(student)


def bare(student, parts):
    return Bare(student)


def broken(student, parts):
    raise KeyError("oh")
'''


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own_method.py").write_text(MODULE)
    return tmp_path


def test_it_trains_resumes_and_takes_the_contrast(recoseg, own, small, lines) -> None:
    words = ["--split.labels=4", "--method.factory=own_method:make", "--contrast=reco", "--train.log_every=1"]
    outcome = recoseg("train", "--out", "run", *small, *words, "--train.iterations=4")
    assert outcome.code == 0, outcome.err
    assert "own_method:make + regional contrast" in outcome.out
    log = lines(own / "run" / "losses.jsonl")
    assert {"supervised", "nothing", "less", "contrast"} <= log[-1].keys()
    assert recoseg("evaluate", "run").code == 0  # which needs no method


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_method:mak", "own_method has no function 'mak'; did you mean 'make'?"),
        ("own_method", "needs package.module:function"),
        ("nowhere:make", "there is no module nowhere"),
        ("own_method:nothing", "returned a NoneType, needs a recoseg.methods.Method"),
        ("own_method:fixed", "its method must train the network that it was given"),
        ("own_method:broken", "factory 'own_method:broken' failed: KeyError"),
    ],
)
def test_what_cannot_serve_is_one_line(recoseg, own, small, name: str, message: str) -> None:
    outcome = recoseg("train", "--out", "run", *small, "--split.labels=4", f"--method.factory={name}")
    assert outcome.code == 1
    assert message in outcome.err
    assert not (own / "run").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("forgetful", ("Forgetful.step", "unlabelled=None", "needs_unlabelled = True")),
        ("bare", ("Bare.step returned a Tensor", "StepOutput")),
    ],
)
def test_a_step_that_misses_something_is_one_line(recoseg, own, small, name: str, words) -> None:
    outcome = recoseg(
        "train", "--out", "run", *small, "--split.labels=4", f"--method.factory=own_method:{name}"
    )
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


def test_the_example_trains_on_unlabelled_images_with_the_contrast_on_top(
    recoseg, repository, tmp_path, small, lines
) -> None:
    example = repository / "examples" / "own_method.py"
    shutil.copy(example, tmp_path / "example_method.py")
    words = ["--split.labels=4", "--method.factory=example_method:self_training", "--contrast=reco"]
    outcome = recoseg("train", "--out", "run", *small, *words)
    assert outcome.code == 0, outcome.err
    assert {"unlabelled", "contrast"} <= lines(tmp_path / "run" / "losses.jsonl")[-1].keys()
    page = (repository / "docs" / "training.md").read_text(encoding="utf-8")
    (listing,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "Method" in block)
    assert listing.strip() in example.read_text(encoding="utf-8")


def test_the_page_names_every_field_of_a_batch_and_every_part(repository) -> None:
    page = (repository / "docs" / "training.md").read_text(encoding="utf-8")
    for field in (*fields(Batch), *fields(MethodParts)):
        assert f"`{field.name}" in page
    assert "needs_unlabelled = True" in page
