"""Every shipped config loads, says what it costs, and passes its settings to classes that know them."""

from __future__ import annotations

import inspect
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import get_type_hints

import pytest

from recoseg.config import load
from recoseg.config.contrast_settings import ContrastSettings
from recoseg.config.parse import members
from recoseg.config.settings import RunConfig
from recoseg.data import DATASETS
from recoseg.losses.regional_contrast import FeatureBank, RegionalContrast
from recoseg.methods import METHODS, ContrastTerm, Method
from recoseg.models.deeplab_v3_plus import DeepLabV3Plus

CONFIGS = sorted((Path(__file__).parents[1] / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_shipped_config_loads_and_says_what_it_costs(path) -> None:
    words = ["--data.root=."] if "folder" in path.read_text() else []
    load(path, words)
    header = [line for line in path.read_text().splitlines() if line.startswith("#")]
    for word in ("command:", "hardware:", "time:"):
        assert any(word in line for line in header), word


def test_there_are_shipped_configs() -> None:
    assert {"demo", "own_images", "scenes"} <= {path.stem for path in CONFIGS}


TO_BUILDERS = {"mix", "align", "cutmix", "colours"}
"""Settings of which a builder makes an object that the class takes: most become a part of its views."""

AUTOMATIC = {
    "decay": 0.99, "unimatch_v2.decay": 0.996, "supervised_start": 0, "ramp": 0, "consistency_weight": 1.0,
    "self_start": 0,
}  # fmt: skip
"""Settings that are none, and follow from the iterations of a run: what a class that knows of no run has."""


def keyword_defaults(constructor) -> dict[str, object]:
    parameters = inspect.signature(constructor).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize(("section", "table"), [("data", DATASETS), ("method", METHODS)])
def test_settings_are_the_keywords_of_the_class_with_the_same_defaults(section, table) -> None:
    options = members(get_type_hints(RunConfig)[section])
    options.pop("factory", None)  # of somebody's own
    assert set(options) == set(table)
    for name, option in options.items():
        known = keyword_defaults(table[name])
        settings = {f.name: f.default for f in fields(option) if f.name not in {"name", *TO_BUILDERS}}
        if "average" in settings:  # any method may have one: the builder gives it
            assert settings.pop("average") is None
            assert settings.pop("warm_up") == signature(Method.evaluate_average).parameters["warm_up"].default
        assert set(settings) == set(known), name
        for setting, default in settings.items():
            if known[setting] is not inspect.Parameter.empty:
                found = AUTOMATIC.get(f"{name}.{setting}", AUTOMATIC.get(setting, default))
                alone = found if default is None else default
                assert alone == known[setting], (name, setting)


def test_the_networks_settings_are_its_keywords_too() -> None:
    known = keyword_defaults(DeepLabV3Plus)
    option = members(get_type_hints(RunConfig)["model"])["deeplab_v3_plus"]
    settings = {f.name: f.default for f in fields(option)}
    for name in ("decoder_width", "separable", "dropout", "pooling_norm"):
        assert settings[name] == known[name]


def test_the_contrasts_settings_are_the_keywords_of_loss_and_term() -> None:
    known = keyword_defaults(RegionalContrast) | keyword_defaults(ContrastTerm)
    for name in ("contrast", "bank_fill", "bank_above", "ignore_index"):
        del known[name]
    settings = {f.name: f.default for f in fields(ContrastSettings) if f.name != "name"}
    assert settings.pop("feature_channels") == 256  # the network's; the paper's dimension m
    assert settings.pop("ramp") is None
    assert known.pop("ramp") == AUTOMATIC["ramp"]
    assert settings == known


@pytest.mark.parametrize("name", ["labelled", "confident", "teacher"])
def test_a_feature_banks_settings_are_its_keywords(name: str) -> None:
    option = members(get_type_hints(ContrastSettings)["bank"])[name]
    settings = {f.name: f.default for f in fields(option) if f.name not in ("name", "above")}
    assert settings.pop("warm_up") is None
    assert settings == {
        key: value for key, value in keyword_defaults(FeatureBank).items() if key != "warm_up"
    }
