"""Run folders -> the page about them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from recoseg.config.help_text import describe_method, describe_model, describe_weights
from recoseg.config.load import flat, load
from recoseg.data.build import build_data_of_run, val_keys
from recoseg.data.dataset import Dataset
from recoseg.data.worker_processes import Progress
from recoseg.report.page import require_replaceable, write_page
from recoseg.report.run_view import FOLDS, RunView, repeated_by, spread, take_pictures, view_run
from recoseg.runs.build import uses_unlabelled
from recoseg.runs.run import Run
from recoseg.text import listed
from recoseg.training.run_folder import RunFolder, run_names
from recoseg.types import require_same_classes

NUM_PICTURES = 6

ProgressOf = Callable[[str, str], AbstractContextManager[Progress | None]]
"""What is being done, and what was done -> what to call with images done and images in all."""


@contextmanager
def no_progress(doing: str, did: str) -> Iterator[None]:
    yield None


def write_report(
    paths: Sequence[Path],
    page: Path | None = None,
    *,
    title: str | None = None,
    num_pictures: int = NUM_PICTURES,
    progress_of: ProgressOf = no_progress,
    trust: bool = False,
) -> Path:
    """The page about these run folders; returns where it is. `progress_of` tells how far it is.

    With `trust`, networks that functions of their authors make are made.
    """
    if page is not None:
        require_replaceable(page)
    folders = [RunFolder.open(path) for path in paths]
    datasets = [build_data_of_run(load(folder.config).data, folder.path) for folder in folders]
    names = run_names(paths)
    classes = [(name, dataset.classes) for name, dataset in zip(names, datasets, strict=True)]
    require_same_classes(classes, remedy="give each its own page")
    settings = [flat(load(folder.config)) for folder in folders]
    if repeated_by(settings) == FOLDS:  # what validates one fold has trained the others
        shown, most = datasets, -(-num_pictures // len(folders))
    else:
        shown, most = [datasets[0]] * len(folders), num_pictures
    views = [
        _view(folder, name, dataset, spread(val_keys(dataset), most), progress_of, trust=trust)
        for folder, name, dataset in zip(folders, names, shown, strict=True)
    ]
    page = page or folders[0].page
    page.parent.mkdir(parents=True, exist_ok=True)
    write_page(page, views, title=title or listed(names))
    return page


def _view(
    folder: RunFolder,
    name: str,
    shown: Dataset,
    keys: Sequence[str],
    progress_of: ProgressOf,
    *,
    trust: bool,
) -> RunView:
    """A run as the page shows it; one without weights has neither a survey nor pictures."""
    config = load(folder.config)
    survey, pictures = None, []
    if folder.weights.is_file():
        run = Run.open(folder, trust=trust)
        with progress_of(f"looking at {name}", f"{name}: looked at") as progress:
            survey = run.survey(progress=progress)
        pictures = take_pictures(run.model, shown, keys, run.device)
    return view_run(
        folder,
        name=name,
        classes=shown.classes,
        method=describe_method(config),
        network=describe_model(config.model),
        weights=describe_weights(config),
        uses_unlabelled=uses_unlabelled(config),
        pictures=pictures,
        command=f"recoseg train --config {shlex.quote(str(folder.config))}",
        settings=flat(config),
        survey=survey,
    )
