"""The survey of a trained run over its validation images, made once and kept in the run's folder."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

from recoseg.builders.trained import TrainedRun
from recoseg.data.worker_processes import Progress
from recoseg.errors import UserError
from recoseg.evaluate.survey import Survey, SurveyFile, require_survey_of, survey
from recoseg.files import digest, write_whole
from recoseg.records import read_record

FORMAT = 2
"""Counted up when a survey holds something new: older files are then made again."""


def surveyed(run: TrainedRun, *, progress: Progress | None = None) -> Survey:
    """From survey.json if it was made from the same weights and images; else made now, and kept there."""
    path, made_from = run.folder.survey, origin(run)
    kept = read_survey(path, made_from, num_classes=len(run.dataset.classes))
    if kept is not None:
        return kept
    made = survey(run.model, run.dataset, run.val_keys, device=run.device, progress=progress)
    with suppress(OSError):  # somebody else's folder, or a full disk: then it is made again next time
        write_whole(path, json.dumps({"made_from": made_from, **made.as_plain()}) + "\n")
    return made


def origin(run: TrainedRun) -> dict[str, object]:
    """What a survey depends on."""
    keys = "\n".join(run.val_keys)
    return {
        "format": FORMAT,
        "weights": digest(run.folder.weights),
        "dataset": run.dataset.fingerprint(),
        "subset": "val",
        "images": hashlib.sha256(keys.encode(errors="surrogateescape")).hexdigest(),
    }


def read_survey(path: Path, made_from: dict[str, object], *, num_classes: int) -> Survey | None:
    """The survey in the file; None if there is none, it is of something else, or cannot be read."""
    kind = Annotated[SurveyFile, partial(require_survey_of, num_classes=num_classes)]
    try:
        plain = read_record(path, kind, what="survey", remedy="it is made again")
    except (OSError, UserError):
        return None
    return Survey.from_plain(plain) if plain["made_from"] == made_from else None
