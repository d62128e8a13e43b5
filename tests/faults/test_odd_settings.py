"""Odd values for every setting and option that there is, made from their own declarations.

Each is taken or refused in one line; a setting that is taken is written down so that it reads back.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import math
import random

import numpy as np
import pytest
import torch
import yaml
from torch import nn

from recoseg.augment.crop import RandomCrop
from recoseg.cli.main import COMMANDS, main
from recoseg.config import RunConfig, from_plain, load, to_yaml
from recoseg.config.setting import fields, parts, setting_names
from recoseg.config.yaml_file import SettingsLoader
from recoseg.data.build import build_dataset
from recoseg.data.scenes import Scenes
from recoseg.errors import UserError
from recoseg.runs.build import build_contrast, build_method, build_strong_view, first_unlabelled, require_room
from recoseg.splits.draw import build_split
from recoseg.training.optimisers import build_optimiser
from recoseg.types import ModelOutput

WORDS = [
    "", "-1", "0", "1.5", "nan", "inf", "1e308", "1e-320", "9" * 30, "9" * 40, "9" * 5000, "²", "é[/red]",
    "x" * 300, "/dev", "..", "none", "1e-99999999%", "1x1", "\x1b[31m", "p0", "photos", "run", "-",
]  # fmt: skip
OTHERS = [
    None, True, [], [1, 2, 3], [10**400] * 2, {}, {"a": 1}, {"name": ["x"]}, 10**4000, -(10**400), math.nan,
    1e308, 2**63 - 1, datetime.date(2026, 1, 1), b"bytes", "\ud800", "\0",
]  # fmt: skip
"""What YAML has besides words."""

MOST_LETTERS = 800  # of a line that names all that is known


def options():
    """Each kind of each section with the least that it needs."""
    for section in fields(RunConfig):
        for name, kind in parts(section.type).sections.items():
            least = {field.name: "some/where" for field in fields(kind) if field.required}
            yield section.name, kind, {**({"name": name} if name else {}), **least}


def taken_or_refused(use):
    """What it gives; None for a mistake that is told in a line of some length. All else fails."""
    try:
        return use()
    except UserError as error:
        told = str(error)
    assert len(told) <= MOST_LETTERS
    return None


def odd_configs():
    """(section, config) of all odd values that are taken; whatever is refused is so by a `UserError`."""
    for section, kind, least in options():
        odd = [
            {section: {**least, field.name: value}} for field in fields(kind) for value in (*WORDS, *OTHERS)
        ]
        for plain in (*odd, *({section: value} for value in (*WORDS, *OTHERS))):
            config = taken_or_refused(lambda plain=plain: from_plain(plain))
            if config is not None:
                yield section, config


@pytest.fixture(scope="module")
def taken():
    return list(odd_configs())


def test_every_odd_value_is_taken_or_refused_and_what_is_taken_reads_back(taken):
    assert len(taken) > 500
    for _, config in random.Random(0).sample(taken, 60):
        assert from_plain(yaml.load(to_yaml(config), SettingsLoader)) == config


def test_words_of_a_command_line_are_taken_or_refused():
    for name in setting_names(RunConfig):
        for word in WORDS:
            taken_or_refused(lambda words=[f"--{name}={word}"]: load(None, words))


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 16, 1)

    def forward(self, images):
        return ModelOutput(self.layer(images))


SCENES = Scenes(height=32, width=32, num_train=6, num_val=2)


def use_data(config):
    if getattr(config.data, "num_train", 0) + getattr(config.data, "num_val", 0) < 1000:
        dataset = build_dataset(config.data)
        if getattr(config.data, "height", 1) * getattr(config.data, "width", 1) < 10**6:
            dataset.sample(dataset.keys("train")[0])


def use_augment(config):
    crop = RandomCrop(size=(32, 32), scale=config.augment.scale, flip=config.augment.flip)
    sample = SCENES.sample("train/00000")
    crop(sample.image, sample.labels, np.random.default_rng(0))
    build_strong_view(config.augment, "none")
    require_room(config, needs_unlabelled=True)


def use_optimiser(config):
    network = Small()
    optimiser = build_optimiser(config.optimiser, network)
    network(torch.rand(1, 3, 4, 4)).logits.sum().backward()
    optimiser.step()


def use_method(config):
    first_unlabelled(build_method(config, Small(), 16), config.train.iterations)


USES = {
    "data": use_data,
    "split": lambda config: build_split(config.split, SCENES, num_workers=1),
    "augment": use_augment,
    "contrast": lambda config: build_contrast(config.contrast, 16),
    "optimiser": use_optimiser,
    "method": use_method,
    "train": lambda config: require_room(config, needs_unlabelled=True),
}
"""section -> what is cheap to build of it; networks are not."""


def test_what_is_made_of_odd_values_works_or_is_refused(taken, world):
    for section, config in taken:
        taken_or_refused(lambda section=section, config=config: USES.get(section, str)(config))


COMMANDS_TO_TRY = [
    "status run", "report run --pictures 1", "evaluate run", "predict run photos/images -o out",
    "picture curves run --out x.png", "picture labels run --out x.png", "picture predictions run --out x.png",
    "check photos", "prepare folder photos s --scale 1", "split photos --labels 1 --out s.json",
    "describe photos", "experiments list", "experiments show scenes --profile tiny",
    "experiments table scenes --profile tiny", "export nowhere",
    "import photos s", "export-labels photos x.json",
    "init nowhere", "methods", "completion bash", "push nowhere me/mine --public", "label nowhere --port 1",
    "train --data photos --out new --train.workers=-1", "demo --out new --train.workers=-1",
]  # fmt: skip
"""One of each that ends soon: those that would train or export for long are refused in any case."""


def options_of(words):
    """What the command, or the kind of it, declares."""
    module, parser = importlib.import_module(COMMANDS[words[0]]), argparse.ArgumentParser()
    module.add_arguments(parser)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return options_of_parser(action.choices[words[1]])
    return options_of_parser(parser)


def options_of_parser(parser):
    found = [action for action in parser._actions if action.option_strings]
    return [action for action in found if not {"--help", "--ray"} & set(action.option_strings)]


def odd_commands(count, seed):
    """Ordinary commands with a word replaced, or with an option more."""
    dice = random.Random(seed)
    for _ in range(count):
        words = dice.choice(COMMANDS_TO_TRY).split()
        known = options_of(words)
        if len(words) > 1 and (dice.random() < 0.3 or not known):
            words[dice.randrange(1, len(words))] = dice.choice(WORDS)
        elif known:
            action = dice.choice(known)
            words += [action.option_strings[0], *([dice.choice(WORDS)] if action.nargs != 0 else [])]
        yield words


def test_every_command_was_tried():
    assert {words.split()[0] for words in COMMANDS_TO_TRY} == set(COMMANDS)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("seed", range(4))
def test_commands_with_odd_words_end_in_a_line_or_well(seed, world, mended, capsys):
    for words in odd_commands(12, seed):
        mended.mend()
        code = main(words)
        errors = capsys.readouterr().err
        assert code in (0, 1, 2), words
        assert "Traceback" not in errors, words
        if errors.startswith("recoseg: "):
            assert errors.count("\n") == 1, words
