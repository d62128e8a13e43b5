"""YAML and overrides -> typed settings."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recoseg.config import from_plain, load, to_yaml
from recoseg.config.data_settings import FolderData, ScenesData
from recoseg.config.help_text import describe_settings
from recoseg.config.load import flat, from_flat, load_for
from recoseg.config.method_settings import GCTSettings
from recoseg.config.parse import parse, section_of
from recoseg.config.setting import setting_names
from recoseg.config.settings import RunConfig
from recoseg.errors import UsageError, UserError

loading = importlib.import_module("recoseg.config.load")


def test_nothing_given_means_the_papers_recipe() -> None:
    config = load()
    assert (config.optimiser.lr, config.optimiser.momentum, config.optimiser.weight_decay) == (
        2.5e-3,
        0.9,
        5e-4,
    )
    assert (config.optimiser.power, config.train.iterations) == (0.9, 40_000)


def test_overrides_go_over_the_file_and_the_file_over_the_defaults(tmp_path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("optimiser: {lr: 1e-2, momentum: 0.5}\ntrain: {seed: 3}\n")
    config = load(path, ["--optimiser.lr", "0.005", "--augment.crop=64x128"])
    assert (config.optimiser.lr, config.optimiser.momentum, config.train.seed) == (0.005, 0.5, 3)
    assert config.augment.crop == (64, 128)


def test_one_number_stands_for_both_sides_of_a_crop() -> None:
    assert load(None, ["--augment.crop", "64"]).augment.crop == (64, 64)
    assert load(None, ["--augment.scale", "1"]).augment.scale == (1.0, 1.0)


def test_a_folder_may_be_given_as_the_data(tmp_path) -> None:
    assert load(None, ["--data", str(tmp_path)]).data == FolderData(root=str(tmp_path))
    both = load(None, ["--data", str(tmp_path), "--data.val-share", "0.5"]).data
    assert both == FolderData(root=str(tmp_path), val_share=0.5)


def test_another_dataset_on_the_command_line_drops_the_files_settings(tmp_path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data: {name: folder, root: somewhere, val_share: 0.5}\n")
    assert load(path, ["--data", "scenes"]).data == ScenesData()


def test_an_existing_path_is_kept_as_an_absolute_one(tmp_path, monkeypatch) -> None:
    (tmp_path / "photos").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load(None, ["--data", "photos"]).data == FolderData(root=str(tmp_path / "photos"))


RECO = "method: {name: mean_teacher, mix: cutmix}\ncontrast: {name: reco, num_keys: 64}\n"


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        (["--method", "supervised"], None),
        (["--method.name=fixmatch"], None),
        (["--method.factory", "mine:make"], None),
        (["--method", "supervised", "--contrast", "reco"], 64),
        (["--method", "supervised", "--contrast.num_keys=32"], 32),
        (["--method", "mean_teacher", "--method.mix", "cutout"], 64),
        (["--train.seed", "3"], 64),
    ],
)
def test_another_method_takes_the_contrast_of_a_config_away_unless_asked_for(tmp_path, words, keys) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(RECO)
    contrast = load(path, words).contrast
    assert (contrast and contrast.num_keys) == keys


def test_the_contrast_of_a_config_that_names_no_method_stays(tmp_path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("contrast: reco\n")
    assert load(path, ["--method", "mean_teacher"]).contrast is not None


def test_a_factory_or_a_checkpoint_needs_no_second_word_whatever_the_config_has() -> None:
    words = ["--data.root=."]
    assert load("own_images", [*words, "--method.factory", "mine:make"]).method.name == "factory"
    assert load("own_images", [*words, "--model.factory", "mine:unet"]).model.name == "factory"
    assert load("own_images", [*words, "--model.checkpoint", "nvidia/mit-b0"]).model.name == "transformers"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--optimiser.lrr", "1"],
            r"--optimiser.lrr: unknown setting .*; did you mean --optimiser.lr\?$",
        ),
        (["--optimizer.lr", "1"], r"did you mean --optimiser.lr\?$"),
        (["--lr", "1"], r"did you mean --optimiser.lr\?$"),
        (["--data", "scene"], r"--data: .*'scene'; did you mean --data scenes\?$"),
        (["--method", "supervized"], r"--method: .*'supervized'; did you mean --method supervised\?$"),
        (
            ["--method", "supervised", "--method.mix", "classmix"],
            "--method.mix: .*choose that with --method mean_teacher$",
        ),
        (
            ["--method.mix", "mixup"],
            r"--method.mix: unknown value 'mixup'; known: none, cutout, cutmix, classmix$",
        ),
        (["--contrast", "rco"], r"--contrast: .*'rco'; did you mean --contrast reco\?$"),
        (
            ["--contrast", "none", "--contrast.weight", "2"],
            "--contrast none leaves nothing to set with --contrast.weight: drop one",
        ),
        (
            ["--contrast.bank=none", "--contrast.bank.size=9"],
            "--contrast.bank none leaves nothing to set with --contrast.bank.size",
        ),
        (["--data", "folder"], "data.root: must be given .--data FOLDER.: the folder that holds"),
        (["--train.iterations", "1.5"], "train.iterations: expected a whole number, got '1.5'"),
        (["--train.iterations", "-1"], "train.iterations: must be at least 0, got -1"),
        (["--train.iterations", "0"], "train.iterations: must be at least 1, got 0; only method probe"),
        (["--train.iterations", "many"], "train.iterations: expected a whole number, got 'many'"),
        (["--optimiser.lr", "nan"], "optimiser.lr: expected a number"),
        (["--optimiser.lr", "0"], "optimiser.lr: must be above 0"),
        (["--optimiser.nesterov", "perhaps"], "expected true or false, got 'perhaps'"),
        (["--augment.crop", "-3x4"], "augment.crop: must be at least 16, got -3"),
        (["--augment.crop", "1x2x3"], "augment.crop: expected 2 numbers"),
        (["--augment.scale", "2,1"], "augment.scale: the smaller number comes first"),
        (["--augment.flip", "1.1"], "augment.flip: must be at most 1"),
        (["--train.seed"], "--train.seed needs a value"),
        (["seed"], "unexpected argument 'seed'"),
        (["--train", "fast"], r"train: expected settings such as --train.iterations, got 'fast'"),
        (
            ["--data.root", "photos"],
            r"data.root: a setting of folder, pascal_voc, .*, not of scenes; choose one",
        ),
    ],
)
def test_a_mistake_is_named_with_its_remedy(words, message) -> None:
    with pytest.raises(UserError, match=message):
        load(None, words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train: [1, 2]", "train: expected settings"),
        ("just words", "expected settings as 'key: value'"),
        ("train: {seed: [1}", "line 1: not valid YAML"),
        ("train: {seed: true}", "train.seed: expected a whole number, got True"),
        ("augment: {flip: {}}", "augment.flip: expected a number"),
    ],
)
def test_a_bad_file_is_named_with_its_remedy(tmp_path, text, message) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        load(path)


def test_a_missing_file_lists_the_shipped_configs() -> None:
    with pytest.raises(UserError, match=r"no config file 'nowhere.yaml'.*Shipped: .*demo"):
        load("nowhere.yaml")


def test_a_shipped_config_is_found_by_name() -> None:
    assert load("demo").data.name == "scenes"


@given(
    lr=st.floats(1e-6, 1),
    crop=st.tuples(st.integers(16, 2000), st.integers(16, 2000)),
    labels=st.none() | st.integers(1, 100),
    nesterov=st.booleans(),
)
def test_a_saved_config_reads_back_equal(lr, crop, labels, nesterov) -> None:
    import yaml

    config = from_plain(
        {
            "optimiser": {"lr": lr, "nesterov": nesterov},
            "augment": {"crop": list(crop)},
            "split": {"labels": labels},
        }
    )
    assert from_plain(yaml.safe_load(to_yaml(config))) == config


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--method", "mean_teacher", "--contrast", "reco", "--augment.crop", "32x64"],
        ["--model", "deeplab_v2", "--optimiser", "adamw", "--split.fraction", "1/8"],
    ],
)
def test_settings_by_dotted_names_make_the_same_config_again(words) -> None:
    config = load(None, words)
    assert from_flat(flat(config)) == config
    assert from_flat(json.loads(json.dumps(flat(config)))) == config


def test_settings_that_came_later_have_their_defaults_and_unknown_ones_are_named() -> None:
    config = load(None, ["--method.mix", "cutmix", "--train.seed", "4"])
    older = flat(config)
    for name in ("optimiser.name", "split.unlabelled", "train.clip"):
        del older[name]
    assert from_flat(older) == config
    with pytest.raises(UserError, match=r"--train.colour: unknown setting"):
        from_flat({**older, "train.colour": 1})


def test_every_setting_is_in_the_help() -> None:
    text = describe_settings()
    for name in setting_names(RunConfig):
        if not name.endswith(".name"):
            assert f"--{name}\n" in text, name
    assert max(map(len, text.splitlines())) <= 80


def test_the_help_names_the_choices_of_a_setting() -> None:
    text = " ".join(describe_settings().split())
    assert "several times slower: shared or per_query (default shared)" in text
    assert "how unlabelled images are mixed: none, cutout, cutmix or classmix (default classmix)" in text


def test_settings_cannot_be_changed_after_the_fact() -> None:
    with pytest.raises(AttributeError):
        load().train.seed = 3  # type: ignore[misc]


def test_reading_a_config_imports_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "PIL", "rich")
    code = f"import sys, recoseg.config; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_setting_that_one_option_alone_has_names_it() -> None:
    assert load(None, ["--method.mix", "cutmix"]).method.name == "mean_teacher"
    assert load(None, ["--model.factory", "my.module:function"]).model.name == "factory"


def test_a_setting_of_another_option_than_the_chosen_one_says_whose_it_is() -> None:
    message = "--model.factory: unknown .*; factory has it: choose that with --model"
    with pytest.raises(UserError, match=message):
        load(None, ["--model", "deeplab_v3_plus", "--model.factory", "my.module:function"])


@pytest.mark.parametrize(("word", "example"), [("augment.crop", "256x512"), ("augment.scale", "0.5,1.5")])
def test_a_pair_that_is_none_gets_an_example_of_its_kind(word, example) -> None:
    with pytest.raises(UserError, match=f"{word}: expected 2 numbers such as {example}, got '1,2,3'"):
        load(None, [f"--{word}", "1,2,3"])


def test_the_contrast_is_off_until_it_is_asked_for() -> None:
    assert load(None).contrast is None
    assert load(None, ["--contrast", "reco"]).contrast.num_queries == 256
    assert load(None, ["--contrast.keys", "shared"]).contrast.keys == "shared"
    assert load(None, ["--contrast.keys", "shared", "--contrast", "none"]).contrast is None
    again = [
        "--contrast.bank",
        "none",
        "--contrast",
        "none",
        "--contrast",
        "reco",
        "--contrast.bank.size",
        "9",
    ]
    assert load(None, again).contrast.bank.size == 9
    again = ["--contrast", "none", "--contrast", "reco", "--contrast.keys", "per_query"]
    assert load(None, again).contrast.keys == "per_query"


def test_a_value_knows_the_line_or_the_command_line_that_it_is_from(tmp_path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("train: {seed: 3}\noptimiser:\n  name: sgd\n  lr: -1\n")
    with pytest.raises(UserError, match=rf"^{path} line 4: --optimiser.lr: must be above 0, got -1$"):
        load(path)
    with pytest.raises(UsageError, match=r"^--optimiser\.lr: must be above 0, got -2$"):
        load(path, ["--optimiser.lr=-2"])
    assert load(path, ["--optimiser.lr=2"]).optimiser.lr == 2
    path.write_text("train:\n  seed: 3\n\n  iteration: 5\n")
    with pytest.raises(UserError, match=rf"^{path} line 4: .*; did you mean --train.iterations\?$"):
        load(path, ["--train.seed=4"])


def test_a_folder_without_a_config_is_parsed_once(tmp_path, monkeypatch) -> None:
    parsed = []
    monkeypatch.setattr(loading, "parse", lambda *given: parsed.append(given) or parse(*given))
    config = load_for(None, ["--data", str(tmp_path), "--train.seed=3"])
    assert (config.data.root, config.optimiser.name, config.train.seed) == (str(tmp_path), "adamw", 3)
    assert len(parsed) == 1


@pytest.mark.parametrize(
    ("words", "method", "rates"),
    [
        ([], "supervised", "5,10,14"),
        (["--method.mix=cutmix"], "mean_teacher", "5,10,14"),
        (["--method=fixmatch"], "fixmatch", "5,10,14"),
        (["--model.rates=paper"], "supervised", "paper"),
    ],
)
def test_the_shipped_config_of_a_folder_gives_way_to_words_of_another_kind(
    tmp_path, words, method, rates
) -> None:
    config = load_for(None, ["--data", str(tmp_path), *words])
    assert (config.method.name, config.model.rates, config.train.iterations) == (method, rates, 1500)


def test_a_config_in_the_folder_goes_before_the_shipped_one(tmp_path) -> None:
    (tmp_path / "recoseg.yaml").write_text(f"data: {{name: folder, root: {tmp_path}}}\ntrain: {{seed: 7}}\n")
    assert load_for(None, ["--data", str(tmp_path)]).train.seed == 7


def test_keywords_of_a_constructor_are_checked_as_a_config_is() -> None:
    assert section_of(GCTSettings, {"ramp": "40_000"}) == GCTSettings(ramp=40_000)
    with pytest.raises(UserError, match=r"^bad_above: must be at most 1, got 6$"):
        section_of(GCTSettings, {"bad_above": 6})
    with pytest.raises(UserError, match=r"^bad_abov: unknown setting; did you mean bad_above\?$"):
        section_of(GCTSettings, {"bad_abov": 0.6})


def test_words_that_choose_another_kind_are_to_blame_and_not_the_file(tmp_path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("method: supervised\ndata: {name: folder, root: somewhere}\n")
    with pytest.raises(UsageError, match=r"^--method: unknown name 'nothing'"):
        load(path, ["--method=nothing"])
    with pytest.raises(UsageError, match=r"^--data\.root: must be given"):
        load(path, ["--data=cityscapes"])
