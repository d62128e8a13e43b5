"""What all tests share."""

from __future__ import annotations

import os

# Tests run in parallel processes; more threads each would only make them wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")

from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("recoseg", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("recoseg")

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets, for slow tests; most machines have none."""
    path = Path(os.environ.get("RECOSEG_DATA", REPOSITORY.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no real data at {path}; set RECOSEG_DATA to a folder that has some")
    return path
