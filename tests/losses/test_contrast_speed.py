"""The regional contrast stays lean and grows no faster than what it is given."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from recoseg import RegionalContrast

BOTH_KINDS_OF_KEYS = pytest.mark.parametrize("keys", ["per_query", "shared"])


@pytest.mark.slow
@BOTH_KINDS_OF_KEYS
def test_in_the_papers_setting_it_takes_at_most_240_mb_above_its_inputs(repository: Path, keys: str) -> None:
    command = [sys.executable, str(repository / "benchmarks" / "contrast.py"), "--measure", keys, "paper"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert found["megabytes"] <= 240


@pytest.mark.slow
def test_the_benchmarks_plain_implementation_computes_the_same_loss(repository: Path) -> None:
    """In expectation: over many draws of queries and keys the means are close."""
    code = (
        "import sys, torch; sys.path.insert(0, 'benchmarks')\n"
        "import contrast as b; b.CHANNELS = 8; batch = b.inputs(b.Size(5, 16)); torch.manual_seed(0)\n"
        "print([sum(loss(*batch).item() for _ in range(40)) / 40 for loss in b.LOSSES.values()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, check=True, capture_output=True, text=True
    )
    own, shared, bank, plain = json.loads(done.stdout)
    assert own == pytest.approx(plain, abs=0.01)
    assert bank == pytest.approx(plain, abs=0.03)  # the stored features are a part of the batch's
    assert shared == pytest.approx(plain, abs=0.03)


@pytest.mark.slow
@BOTH_KINDS_OF_KEYS
@pytest.mark.parametrize("twice", ["side", "num_classes", "num_queries", "num_keys"])
def test_twice_as_much_takes_no_more_than_twice_as_long(keys: str, twice: str, processor_seconds) -> None:
    once = {"side": 48, "num_classes": 12, "num_queries": 256, "num_keys": 256}
    more = {**once, twice: round(once[twice] * (2**0.5 if twice == "side" else 2))}
    best = [processor_seconds(step(keys, **sizes), runs=12) for sizes in (once, more)]
    assert best[1] < 2.6 * best[0]


def step(keys: str, *, side: int, num_classes: int, num_queries: int, num_keys: int) -> Callable[[], None]:
    """The loss and its gradients, of inputs of these sizes."""
    torch.manual_seed(0)
    features = torch.randn(2, 64, side, side, requires_grad=True)
    labels = torch.randint(0, num_classes, (2, side, side))
    probabilities = torch.full((2, num_classes, side, side), 1 / num_classes)
    contrast = RegionalContrast(num_queries=num_queries, num_keys=num_keys, keys=keys)  # type: ignore[arg-type]
    return lambda: contrast(features, labels, probabilities).backward()
