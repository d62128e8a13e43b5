"""Which settings a run may go on with."""

from __future__ import annotations

import pytest

from recoseg.config import RunConfig
from recoseg.config.load import flat
from recoseg.errors import UserError
from recoseg.training.run_folder import HARMLESS, require_same

BEGUN = {"train.seed": 0, "train.workers": None, "contrast": None, "augment.crop": [32, 32]}


def test_equal_settings_and_harmless_changes_pass() -> None:
    require_same(BEGUN, dict(BEGUN))
    require_same(BEGUN, {**BEGUN, "train.workers": 4})


def test_all_other_differences_are_listed() -> None:
    now = {"train.seed": 1, "train.workers": 4, "contrast.name": "reco", "augment.crop": [32, 64]}
    with pytest.raises(UserError) as caught:
        require_same({**BEGUN, "train.clip": 1.0}, now)
    assert str(caught.value).startswith(
        "the run was begun with other settings: augment.crop [32, 32] -> [32, 64]; "
        "contrast.name none -> reco; train.clip 1.0 -> none; train.seed 0 -> 1. "
    )
    assert "train.workers" not in str(caught.value).split(". ")[0]


def test_a_setting_that_came_later_does_not_end_a_run() -> None:
    require_same(BEGUN, {**BEGUN, "augment.newer": 0.5})
    with pytest.raises(UserError, match=r"contrast.name none -> reco\."):  # a whole section is no such thing
        require_same(BEGUN, {**BEGUN, "contrast.name": "reco", "augment.newer": 0.5})
    with pytest.raises(UserError, match=r"train.seed 0 -> none\."):
        require_same(BEGUN, {name: value for name, value in BEGUN.items() if name != "train.seed"})


def test_every_harmless_setting_exists() -> None:
    assert HARMLESS - {"data.root"} <= flat(RunConfig()).keys()
