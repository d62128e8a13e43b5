"""Settings that nobody gave follow from the length of the run and the size of the crop."""

from __future__ import annotations

import pytest

from recoseg.config import load
from recoseg.config.load import to_yaml
from recoseg.config.settings import fitting_rates

TEACHER = ("--method", "mean_teacher", "--contrast", "reco")


def test_a_short_run_has_a_short_start_ramps_and_a_short_average() -> None:
    config = load(None, [*TEACHER, "--train.iterations", "500"])
    assert (config.method.supervised_start, config.method.ramp, config.contrast.ramp) == (100, 50, 50)
    assert config.method.decay == pytest.approx(0.95)  # 1 - 25 / 500: over the last twenty steps


@pytest.mark.parametrize("iterations", [2_500, 40_000])
def test_a_long_run_has_the_papers_average(iterations) -> None:
    assert load(None, [*TEACHER, "--train.iterations", str(iterations)]).method.decay == 0.99


@pytest.mark.parametrize(("iterations", "decay"), [(400, 0.997), (2_400, 0.9995), (10, 0.99)])
def test_the_average_of_a_run_from_a_probe_keeps_a_third_of_its_start(iterations, decay) -> None:
    words = [*TEACHER, "--model.start", "probe", "--train.iterations", str(iterations)]
    assert load(None, words).method.decay == pytest.approx(decay)


def test_a_run_of_few_iterations_has_no_negative_decay() -> None:
    assert load(None, [*TEACHER, "--train.iterations", "3"]).method.decay == 0


def test_the_originals_consistency_has_its_own_weight_and_ramp() -> None:
    words = ["--train.iterations", "1000", "--method", "mean_teacher"]
    plain = load(None, words).method
    soft = load(None, [*words, "--method.consistency", "probabilities", "--method.mix", "none"]).method
    assert (plain.supervised_start, plain.ramp, plain.consistency_weight) == (200, 100, 1)
    assert (soft.supervised_start, soft.ramp, soft.consistency_weight) == (200, 150, 100)


def test_what_is_given_stays() -> None:
    given = ["--method.decay=0.5", "--method.supervised_start=0", "--method.ramp=7", "--contrast.ramp=0"]
    config = load(None, [*TEACHER, *given])
    method = config.method
    assert (method.decay, method.supervised_start, method.ramp, config.contrast.ramp) == (0.5, 0, 7, 0)


def test_a_config_that_was_written_keeps_its_numbers_whatever_else_changes(tmp_path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(to_yaml(load(None, [*TEACHER, "--train.iterations", "500", "--model.rates", "fit"])))
    again = load(path, ["--train.iterations", "4000", "--augment.crop", "512"])
    assert (again.method.supervised_start, again.model.rates) == (100, "6,12,18")


@pytest.mark.parametrize(
    ("crop", "stride", "rates"),
    [
        ((321, 321), 16, [6, 12, 18]),  # the paper's crop
        ((512, 1024), 16, [6, 12, 18]),
        ((512, 512), 8, [12, 24, 36]),
        ((256, 256), 16, [5, 10, 14]),  # 256 / 320 of them
        ((128, 256), 16, [2, 5, 7]),
        ((128, 256), 32, [1, 2, 4]),
        ((16, 16), 16, [1, 1, 1]),
    ],
)
def test_rates_fit_the_shorter_side_of_the_crop(crop, stride, rates) -> None:
    assert fitting_rates(min(crop), stride) == rates
    words = ["--augment.crop", "x".join(map(str, crop)), "--model.output_stride", str(stride)]
    assert load(None, [*words, "--model.rates", "fit"]).model.rates == ",".join(map(str, rates))


@pytest.mark.parametrize(
    ("method", "setting", "share"),
    [
        ("advsemseg", "self_start", 50),
        ("gct", "ramp", 30),
        ("ecs", "supervised_start", 20),
        ("cct", "ramp", 20),
        ("prevmatch", "store_every", 12),
    ],
)
def test_methods_have_shares_of_their_own_of_a_run(method, setting, share) -> None:
    config = load(None, [f"--method={method}", "--train.iterations=200"])
    assert getattr(config.method, setting) == share
    given = load(None, [f"--method={method}", "--train.iterations=200", f"--method.{setting}=3"])
    assert getattr(given.method, setting) == 3


def test_unimatch_v2_has_its_authors_decay_and_less_in_a_short_run() -> None:
    words = ["--method", "unimatch_v2", "--train.iterations"]
    assert load(None, [*words, "40000"]).method.decay == 0.996
    assert load(None, [*words, "500"]).method.decay == pytest.approx(0.95)
