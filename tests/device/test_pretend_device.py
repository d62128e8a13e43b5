"""Training, evaluation, resuming and prediction on a pretended GPU: the CPU's numbers, and few waits.

The device lives in a process of its own, since it changes torch; see `pretend_device.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recoseg.methods import METHODS

HERE = Path(__file__).parent
LABELS = ["--split.labels=3", "--split.random=true"]
CONTRAST = [
    "--contrast=reco", "--contrast.num_queries=8", "--contrast.num_keys=16", "--contrast.feature_channels=8",
    "--contrast.trust_above=0.05", "--contrast.own_label_above=0.05",
]  # fmt: skip
CLASSMIX = ["--method=mean_teacher", "--method.mix=classmix", "--method.supervised_start=0", *CONTRAST]
BANK = ["--contrast.bank.size=16", "--contrast.bank.warm_up=1"]
AT_ONCE = {name: ["--method.supervised_start=0"] for name in ("mean_teacher", "s4gan", "vat", "cct", "ecs")}
OTHERS = {
    "dmt": ["--method.supervised_start=0", "--method.rounds=1"],
    "gct": ["--augment.crop=96", "--data.height=96", "--data.width=96"],
}
CASES: dict[str, list[str]] = {
    **{
        method: [*LABELS, f"--method={method}", *OTHERS.get(method, AT_ONCE.get(method, [])), *CONTRAST]
        for method in METHODS
        if method != "probe"  # has no steps
    },
    "no mix": [*LABELS, "--method=mean_teacher", "--method.mix=none"],
    "cutout": [*LABELS, "--method=mean_teacher", "--method.mix=cutout", "--augment.scale=0.75,1.25"],
    "cutmix": [*LABELS, "--method=mean_teacher", "--method.mix=cutmix", "--method.align=true"],
    "probabilities": [*LABELS, "--method=mean_teacher", "--method.mix=none",
                      "--method.consistency=probabilities"],
    "fitted threshold": [*LABELS, "--method=fixmatch", "--method.threshold=daw"],
    "shared keys": [*LABELS, *CLASSMIX, "--contrast.keys=shared", "--contrast.hard_share=0.25"],
    "uniform negatives": [*LABELS, *CLASSMIX, "--contrast.negatives=uniform", "--contrast.queries=pixels"],
    "labelled bank": [*LABELS, *CLASSMIX, *BANK, "--contrast.bank=labelled"],
    "confident bank": [*LABELS, *CLASSMIX, *BANK, "--contrast.bank=confident", "--contrast.bank.above=0.05"],
    "teacher bank": [*LABELS, *CLASSMIX, *BANK, "--contrast.bank=teacher", "--contrast.bank.above=0.05"],
    "labelled pixels": ["--split.pixels=1", *CLASSMIX, "--augment.scale=0.75,1.25"],
    "hard pixels": [*LABELS, "--train.ohem_below=0.7", "--train.class_weights=root", "--train.clip=1"],
    "two parts": [*LABELS, *CLASSMIX, "--train.accumulate=2", "--train.labelled_per_step=4"],
}  # fmt: skip
WAITS = 2
"""The most that the host may wait for the device in a step. It may only fall."""
MORE_WAITS = {"two parts": 2 * WAITS}

Numbers = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def trained() -> Iterator[Callable[[str], Numbers]]:
    """`trained("cutmix")["device"]`: the losses, scores, prediction and events of a case."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, HERE / "steps.py"], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        to_process, from_process = process.stdin, process.stdout

        @cache
        def train(case: str) -> Numbers:
            print(json.dumps(CASES[case]), file=to_process, flush=True)
            numbers: Numbers = json.loads(from_process.readline())
            assert "error" not in numbers, numbers["error"]
            return numbers

        yield train
        to_process.close()


def without_times(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in line.items() if key not in ("seconds", "waited", "stats")}
        for line in lines
    ]


@pytest.mark.parametrize("case", CASES)
def test_a_run_on_the_device_gives_the_numbers_of_the_cpu(trained, case: str) -> None:
    on_cpu, on_device = trained(case)["cpu"], trained(case)["device"]
    losses = zip(without_times(on_cpu["losses"]), without_times(on_device["losses"]), strict=True)
    for expected, found in losses:
        assert found == pytest.approx(expected, rel=1e-4)
    assert ("contrast" in on_device["losses"][-1]) == ("--contrast=reco" in CASES[case])
    assert [line["mean_iou"] for line in on_device["metrics"]] == pytest.approx(
        [line["mean_iou"] for line in on_cpu["metrics"]], abs=1e-3
    )
    np.testing.assert_allclose(on_device["confidence"], on_cpu["confidence"], atol=1e-4)
    assert len(on_device["steps"]) == 3  # the last one after the run was resumed
    assert on_cpu["events"] == {}


@pytest.mark.parametrize("case", CASES)
def test_no_operation_has_tensors_or_generators_of_two_devices(trained, case: str) -> None:
    assert "mismatch" not in trained(case)["device"]["events"]


@pytest.mark.parametrize("case", CASES)
def test_the_host_rarely_waits_for_the_device_in_a_step(trained, case: str) -> None:
    for step in trained(case)["device"]["steps"]:
        assert sum(step["wait"].values()) <= MORE_WAITS.get(case, WAITS), step["wait"]


@pytest.mark.parametrize("case", CASES)
def test_nothing_in_a_step_is_float64_on_the_device(trained, case: str) -> None:
    for step in trained(case)["device"]["steps"]:
        assert "float64" not in step


def test_the_device_counts_what_a_gpu_would_wait_for_or_refuse() -> None:
    code = """\
import torch
import pretend_device as device
device.install()
actions = {
    "x.item()": "wait", "x.cpu()": "wait", "x.tolist()": "wait", "x.to('cpu', non_blocking=True)": "wait",
    "y.to('pretend')": "wait", "y.to('pretend', non_blocking=True)": "upload", "x.nonzero()": "wait",
    "x[x > 0]": "wait", "x[torch.zeros(1, dtype=torch.long)]": "wait", "x.new_tensor([1.0])": "wait",
    "bool((x > 0).any())": "wait", "torch.tensor(1.0, device='pretend')": "wait", "x + y": "mismatch",
    "torch.rand(1, device='pretend', generator=torch.Generator())": "mismatch",
    "torch.rand(1, generator=torch.Generator('pretend'))": "mismatch", "x.double()": "float64",
    "x * 2": None, "x + torch.tensor(1.0)": None, "x.where(x > 0, 0)": None, "x.sum()": None,
    "torch.rand(1, device='pretend', generator=torch.Generator('pretend'))": None, "y.double()": None,
}
with device.in_use():
    x, y = torch.ones(1, device="pretend"), torch.ones(1)
    for action, kind in actions.items():
        device.events.clear()
        eval(action)
        assert {found for found, _ in device.events} == ({kind} if kind else set()), (action, device.events)
"""
    subprocess.run([sys.executable, "-c", code], cwd=HERE, check=True)
