"""From a finished trainer to its view on a page; shared by the commands that train."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recoseg.report.page import write_page
from recoseg.report.pictures import spread, take_pictures
from recoseg.report.run_view import RunView, view_run
from recoseg.train.trainer import Trainer

NUM_PICTURES = 6


def view_of(trainer: Trainer, *, name: str, command: str) -> RunView:
    pictures = take_pictures(
        trainer.method.evaluation_model,
        trainer.dataset,
        spread(trainer.val_keys, NUM_PICTURES),
        trainer.device,
    )
    classes = trainer.dataset.classes
    return view_run(trainer.folder, name=name, classes=classes, pictures=pictures, command=command)


def write_pages(path: Path, views: Sequence[RunView], *, title: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_page(path, views, title=title)
