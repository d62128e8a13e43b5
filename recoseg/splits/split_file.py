"""Which labels a run may see, as a file that people can read: a run never re-draws it silently."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.files import write_whole


@dataclass(frozen=True)
class LabelSplit:
    """The training keys whose labels may be seen, those whose labels may not, and how they were chosen."""

    labelled: tuple[str, ...]
    unlabelled: tuple[str, ...]
    dataset: str
    fingerprint: str
    builder: str
    settings: dict[str, object] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> LabelSplit:
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            labelled, unlabelled = tuple(content.pop("labelled")), tuple(content.pop("unlabelled"))
            return cls(labelled=labelled, unlabelled=unlabelled, **content)
        except FileNotFoundError as error:
            raise UserError(f"no split file at {path}") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"{path}: not a split file ({error})") from error

    def check_fits(self, dataset: Dataset) -> None:
        """An error that says what differs, unless the split was drawn from this very dataset."""
        if self.fingerprint == dataset.fingerprint():
            return
        if self.dataset != dataset.name:
            raise UserError(f"the split was drawn from dataset {self.dataset!r}, this is {dataset.name!r}")
        present = set(dataset.keys("train"))
        gone = [key for key in (*self.labelled, *self.unlabelled) if key not in present]
        detail = (
            f"{len(gone)} of its keys are gone, e.g. {gone[0]!r}"
            if gone
            else "its keys or classes changed since"
        )
        raise UserError(f"the split does not fit this {dataset.name!r} dataset: {detail}; draw a new split")
