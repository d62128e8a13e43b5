"""The folder that is labelled: its images, its journal, and the label files written from it."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recoseg.data.folder.class_list import label_scheme
from recoseg.data.folder.listing import scan_folder
from recoseg.data.image_files import upright_size, write_png
from recoseg.data.problem import FileError
from recoseg.errors import UserError
from recoseg.files import write_whole
from recoseg.label.actions import NotNowError, record_of
from recoseg.label.journal import NAME, Journal, Record
from recoseg.label.label_state import OURS, LabelState
from recoseg.label.marks import ACCEPTED, Box, Bytes, Painted, packed
from recoseg.text import natural_order
from recoseg.types import IGNORE, ClassInfo

HIDDEN = ".recoseg/label"
"""Below the folder: what can be made again, such as features and thumbnails."""

_KEPT_BYTES = 512 * 10**6
_BEFORE = "labels.before"
_BEGUN = "begin"


Stamp = tuple[int, int]
"""Time and size of an image file."""

AcceptedMask = Callable[[str, int, float], Bytes]
"""Image, version of its prediction, least confidence -> class ids (H, W), IGNORE below that confidence."""


def nothing_to_accept(image: str, version: int, above: float) -> Bytes:
    raise NotNowError(f"there is no prediction of {image!r} to accept yet")


@dataclass(frozen=True)
class Counted:
    """How many labelled pixels an image has, by class id or VOID, and whether some were accepted."""

    pixels: Mapping[int, int]
    accepted: bool
    problem: str = ""  # why labels are left out


class LabelFolder:
    """Images of `root`, which lie in its `images/`, and their labels. Threads may call its methods."""

    def __init__(self, root: Path) -> None:
        self.root = root
        listing = scan_folder(root)
        keys = sorted(listing.entries, key=natural_order)
        self.images: dict[str, Path] = {key: listing.entries[key].image for key in keys}
        self.journal = Journal(root / NAME)
        self.lock = threading.RLock()  # of actions and of what they amount to
        self._painting = threading.Lock()
        self._sizes: dict[str, tuple[Stamp | None, tuple[int, int]]] = {}
        self._kept: OrderedDict[str, tuple[list[int], Painted]] = OrderedDict()
        self._counted: dict[str, tuple[object, Counted]] = {}
        try:
            self.state = LabelState.replay(self.journal.records)
            self.journal.records = []
            (root / HIDDEN).mkdir(parents=True, exist_ok=True)
            self._take_over({key: e.labels for key, e in listing.entries.items() if e.labels})
            self._written = self._read_written()
        except BaseException:
            self.journal.close()
            raise

    def close(self) -> None:
        try:
            self.write_labels()
        finally:
            self.journal.close()

    def path(self, *names: str) -> Path:
        """Of a file of ours that can be made again."""
        return self.root.joinpath(HIDDEN, *names)

    # Images

    def stamp(self, key: str) -> Stamp | None:
        """Another one after the image file was replaced; None while there is no file."""
        try:
            status = self.images[key].stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    def size(self, key: str) -> tuple[int, int]:
        """(width, height) upright; (0, 0) of an image that cannot be read."""
        stamp = self.stamp(key)
        if key not in self._sizes or self._sizes[key][0] != stamp:
            try:
                self._sizes[key] = stamp, upright_size(self.images[key])
            except (FileError, OSError):
                self._sizes[key] = stamp, (0, 0)
        return self._sizes[key][1]

    # Actions

    def do(
        self, client: str, actions: Sequence[object], accepted: AcceptedMask = nothing_to_accept
    ) -> list[Record]:
        """Checks, writes and applies actions, all or none; the records of all, those that came before too."""
        with self.lock:
            trial = _Trial(self.state)
            answer = []
            try:
                for action in actions:
                    answer.append(self._one(client, action, trial, accepted))
                self.journal.append(trial.new)
            except BaseException:
                self.state = trial.taken_back()
                raise
            return answer

    def _one(self, client: str, action: object, trial: _Trial, accepted: AcceptedMask) -> Record:
        state = self.state
        if isinstance(action, dict) and isinstance(action.get("id"), str) and action["id"] in state.number_of:
            return state.record(state.number_of[action["id"]])
        record = record_of(action, state, self.images)
        if record["type"] == "accept":
            mask = accepted(record["image"], record["version"], record["above"])
            record["mask"] = packed(mask)
        record |= {"number": state.version + 1, "client": client, "time": round(time.time(), 3)}
        trial.apply(record)
        return record

    def _add_ours(self, records: Sequence[Record]) -> None:
        """Records that nobody clicked; those whose ids are there already are left out."""
        new: list[Record] = []
        for record in records:
            if record["id"] not in self.state.number_of:
                record |= {"number": self.state.version + 1, "client": OURS, "time": round(time.time(), 3)}
                self.state.apply(record)
                new.append(record)
        if new:
            self.journal.append(new)

    def add_classes(self, names: Sequence[str]) -> None:
        """Those that are not there yet."""
        for name in names:
            if name not in [one.name for one in self.state.classes()]:
                action = {"id": f"class/{self.state.num_class_ids}", "type": "add_class", "name": name}
                self._add_ours([record_of(action, self.state, ())])

    # Labels

    def labels(self, key: str, box: Box | None = None) -> Painted:
        """A copy of them as they are now, without classes that are gone; in the `box`, if one is given."""
        with self.lock:
            records, classes = self.state.active(key), [one.id for one in self.state.classes()]
        with self._painting:  # not the lock of actions: nobody's click waits for a large image
            whole = self._painted(key, records)
            height, width = whole.ids.shape
            return whole.part(box or (0, 0, width, height)).without(classes)

    def labelled_box(self, key: str) -> Box:
        """Left, top, right, bottom of all labels; empty if there are none."""
        with self.lock:
            records = self.state.active(key)
        with self._painting:
            return self._painted(key, records).reach or (0, 0, 0, 0)

    def _painted(self, key: str, records: Sequence[Record]) -> Painted:
        """Kept, and painted on as long as nothing is undone."""
        numbers = [record["number"] for record in records]
        known, result = self._kept.pop(key, ([], None))
        width, height = self.size(key)
        is_same_size = result is not None and result.ids.shape == (height, width)
        if result is None or not is_same_size or numbers[: len(known)] != known:  # or undone, or redone
            known, result = [], Painted.blank(height, width)
        for record in records[len(known) :]:
            result.paint(record)
        self._kept[key] = (numbers, result)
        while len(self._kept) > 1 and sum(2 * one.ids.size for _, one in self._kept.values()) > _KEPT_BYTES:
            self._kept.popitem(last=False)
        return result

    def counted(self, key: str) -> Counted:
        change = self.state.last_change(key)
        if not change:
            return Counted({}, accepted=False)
        version = change, self.stamp(key)
        found = self._counted.get(key)
        if found is None or found[0] != version:
            labels = self.labels(key, self.labelled_box(key))
            counts = np.bincount(labels.ids.ravel(), minlength=256)
            pixels = {one: int(counts[one]) for one in np.flatnonzero(counts[:IGNORE]).tolist()}
            accepted = bool((labels.origins == ACCEPTED).any())
            found = version, Counted(pixels, accepted, self._problem(key))
            self._counted[key] = found
        return found[1]

    def _problem(self, key: str) -> str:
        if self.size(key) == (0, 0):
            return f"{self.images[key]} cannot be read; restore it to bring back its labels"
        with self.lock:
            records = self.state.active(key)
        with self._painting:
            misfits = self._painted(key, records).num_misfits
        if not misfits:
            return ""
        return (
            f"{self.images[key]}: the image has another size now; accepted and imported labels do not fit it"
        )

    def labelled(self) -> list[str]:
        """Keys whose journal has labels, perhaps undone ones."""
        with self.lock:
            return [key for key in self.state.by_image if key in self.images]

    # Files

    def write_labels(self) -> list[str]:
        """Brings `labels/` and `classes.json` to what the journal says; the keys that were written."""
        with self.lock:
            classes, labelled = self.state.classes(), self.labelled()
            text = self.class_file()
        path = self.root / "classes.json"
        if classes and (not path.exists() or path.read_text(encoding="utf-8") != text):
            write_whole(path, text)
        written, failure = [], None
        for key in labelled:
            version = [self.state.last_change(key), *self.size(key)]
            if self._written.get(key) == version or 0 in version[1:]:  # of an image to be restored
                continue
            try:
                self._write_labels_of(key)
            except OSError as error:
                failure = failure or error
            else:
                self._written[key] = version
                written.append(key)
        if written:
            write_whole(self.path("written.json"), json.dumps(self._written))
        if failure is not None:
            raise failure
        return written

    def _write_labels_of(self, key: str) -> None:
        indices = self.class_indices(key)
        path = self.root / "labels" / f"{key}.png"
        if (indices != IGNORE).any():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, png_of(indices))
        else:
            path.unlink(missing_ok=True)

    def class_indices(self, key: str) -> Bytes:
        """(H, W) as label files hold them: the place of a class among those that are there, else IGNORE."""
        table: Bytes = self.index_table()[self.labels(key).ids]
        return table

    def index_table(self) -> Bytes:
        """(256,) class id -> index in label files."""
        table = np.full(256, IGNORE, dtype=np.uint8)
        for index, one in enumerate(self.state.classes()):
            table[one.id] = index
        return table

    def class_info(self) -> ClassInfo:
        return ClassInfo(self._class_names(), tuple(one.colour for one in self.state.classes()))

    def _class_names(self) -> tuple[str, ...]:
        """Undoing may give two classes one name: they are told apart here."""
        names: list[str] = []
        for one in self.state.classes():
            name, count = one.name, 2
            while name in names:
                name, count = f"{one.name} ({count})", count + 1
            names.append(name)
        return tuple(names)

    def class_file(self) -> str:
        """`classes.json`; there may be no class yet."""
        content: dict[str, Any] = {
            "names": list(self._class_names()),
            "palette": [list(one.colour) for one in self.state.classes()],
            "ignore_index": IGNORE,
            "format": "index",
        }
        return json.dumps(content | {"partial": True}, indent=1, ensure_ascii=False) + "\n"

    def class_ids(self) -> frozenset[int]:
        with self.lock:
            return frozenset(one.id for one in self.state.classes())

    def _read_written(self) -> dict[str, list[int]]:
        """Key -> last change, width and height of its label file; files may have gone since."""
        with suppress(OSError, ValueError):
            content = json.loads(self.path("written.json").read_text(encoding="utf-8"))
            if isinstance(content, dict):
                return content
        return {}

    # What was there before

    def _take_over(self, labels: Mapping[str, Path]) -> None:
        """Classes and labels of a folder that was made elsewhere become the journal's first records.

        Its label files are kept as they were, in `labels.before`. May be broken off, and goes on
        at the next start.
        """
        if _BEGUN in self.state.number_of:
            return
        if os.path.lexists(self.root / "classes.json") or labels:
            scheme = label_scheme(self.root, list(labels.values()))
            classes = zip(scheme.classes.names, scheme.classes.palette, strict=True)
            self._add_ours(
                [
                    {
                        "id": f"class/{k}",
                        "type": "add_class",
                        "class": k,
                        "name": name,
                        "colour": list(colour),
                    }
                    for k, (name, colour) in enumerate(classes)
                ]
            )
            for key, path in labels.items():
                if f"import/{key}" not in self.state.number_of:
                    mask = packed(scheme.code.decode(path))
                    self._add_ours([{"id": f"import/{key}", "type": "import", "image": key, "mask": mask}])
        if labels:
            if (self.root / _BEFORE).exists():
                raise UserError(f"{self.root / _BEFORE} is in the way of your labels; rename it")
            (self.root / "labels").rename(self.root / _BEFORE)
        self._add_ours([{"id": _BEGUN, "type": "begin"}])


class _Trial:
    """Records applied to a state before they are on the disk; a failure takes them back."""

    def __init__(self, state: LabelState) -> None:
        self.state, self.new = state, list[Record]()

    def apply(self, record: Record) -> None:
        self.state.apply(record)
        self.new.append(record)

    def taken_back(self) -> LabelState:
        if not self.new:
            return self.state
        return LabelState.replay(self.state.records[: -len(self.new)])


def png_of(pixels: Bytes, palette: Sequence[tuple[int, int, int]] | None = None) -> bytes:
    file = io.BytesIO()
    write_png(file, pixels, palette=palette)
    return file.getvalue()


def marks_of(state: LabelState) -> dict[int | str, int]:
    """Active marks by hand of each class id, and of "void"."""
    counts: dict[int | str, int] = {}
    for key in state.by_image:
        for record in state.active(key):
            if record["type"] == "mark" and record["class"] is not None:
                counts[record["class"]] = counts.get(record["class"], 0) + 1
    return counts
