"""Every shipped config loads, says what it costs, and passes its settings to classes that know them."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from recoseg.config import load
from recoseg.config.contrast_settings import ContrastSettings, LabelledBank
from recoseg.config.model_settings import DeepLabModel, DeepLabV3PlusModel
from recoseg.config.parse import section_of
from recoseg.config.setting import fields
from recoseg.config.settings import KINDS
from recoseg.data import DATASETS
from recoseg.errors import UserError
from recoseg.losses.regional_contrast import FeatureBank, RegionalContrast
from recoseg.methods import METHODS, ContrastTerm
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


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_of_a_method_is_a_keyword_of_its_class(name) -> None:
    """The class checks it as a config does; what it does with it, the tests of the method say."""
    for field in fields(KINDS["method"][name]):
        with pytest.raises(UserError, match=f"^{field.name}: (expected|unknown value)"):
            section_of(KINDS["method"][name], {field.name: object()})


@pytest.mark.parametrize("name", DATASETS)
def test_settings_of_a_dataset_are_the_keywords_of_its_class_with_the_same_defaults(name) -> None:
    known = keyword_defaults(DATASETS[name])
    assert set(known) == set(KINDS["data"][name].__struct_fields__)
    for field in fields(KINDS["data"][name]):
        assert field.required or known[field.name] == field.default, field.name


def keyword_defaults(constructor) -> dict[str, object]:
    parameters = inspect.signature(constructor).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def test_constructors_of_the_library_have_the_defaults_of_the_settings() -> None:
    contrast = keyword_defaults(RegionalContrast) | keyword_defaults(ContrastTerm)
    for constructor, section, others in (
        (contrast, ContrastSettings(), {"ramp", "bank", "feature_channels"}),
        (keyword_defaults(FeatureBank), LabelledBank(), {"warm_up"}),
        (keyword_defaults(DeepLabV3Plus), DeepLabV3PlusModel(), {"rates", *DeepLabModel.__struct_fields__}),
    ):
        for name in set(section.__struct_fields__) - others:
            assert constructor[name] == getattr(section, name), name
