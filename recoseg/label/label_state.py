"""What the journal's records amount to: classes, what is undone, and which records make an image's labels."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from recoseg.colours import Colour
from recoseg.label.journal import Record

OURS = "recoseg"
"""The client of what nobody clicked: labels and classes that were there before. It is never undone."""

LABELS = ("mark", "accept", "import")
"""Types of records that change labels of their image."""

CLASSES = ("add_class", "change_class", "delete_class")
_NO_STEP = ("undo", "redo", "import")
_NUM_KEYS = 9


@dataclass(frozen=True)
class LabelClass:
    id: int
    name: str
    colour: Colour
    key: int | None = None  # 1 to 9 on the keyboard, as long as the class exists


@dataclass
class LabelState:
    """Records applied one after the other, in the order of the journal; nothing else changes it."""

    records: list[Record] = field(default_factory=list)
    number_of: dict[str, int] = field(default_factory=dict)  # id -> number
    undone: set[int] = field(default_factory=set)
    by_image: dict[str, list[int]] = field(default_factory=dict)  # numbers of records of LABELS
    skipped: dict[str, list[int]] = field(default_factory=dict)
    _steps: list[int] = field(default_factory=list)  # what can be undone, ascending
    _redo: list[int] = field(default_factory=list)  # the latest undone one last
    _class_records: list[int] = field(default_factory=list)
    _changed: dict[str, int] = field(default_factory=dict)  # image -> number of the last change of its labels
    _all_changed: int = 0  # when a class came or went, which changes whatever shows it

    @classmethod
    def replay(cls, records: Iterable[Record]) -> LabelState:
        state = cls()
        for record in records:
            state.apply(record)
        return state

    def apply(self, record: Record) -> None:
        """`record` is valid (actions.py), has the next number and an id of its own."""
        number, kind = record["number"], record["type"]
        self.records.append(record)
        self.number_of[record["id"]] = number
        if kind in LABELS:
            self.by_image.setdefault(record["image"], []).append(number)
        elif kind == "skip":
            self.skipped.setdefault(record["image"], []).append(number)
        elif kind in CLASSES:
            self._class_records.append(number)
        elif kind == "undo":
            self._undo(self.number_of[record["action"]])
        elif kind == "redo":
            self._take_back(self.number_of[record["action"]])
        self._note_change(number, self.meant(record))
        if kind not in _NO_STEP and record["client"] != OURS:
            self._steps.append(number)
            self._redo.clear()

    def meant(self, record: Record) -> Record:
        """The record itself, or the one that it undoes or does again."""
        return self.record(self.number_of[record["action"]]) if "action" in record else record

    def _note_change(self, number: int, meant: Record) -> None:
        if meant["type"] in LABELS:
            self._changed[meant["image"]] = number
        elif meant["type"] in ("add_class", "delete_class"):
            self._all_changed = number

    def _undo(self, number: int) -> None:
        self.undone.add(number)
        self._redo.append(number)
        del self._steps[bisect_left(self._steps, number)]

    def _take_back(self, number: int) -> None:
        self.undone.discard(number)
        if number in self._redo:
            self._redo.remove(number)
        insort(self._steps, number)

    @property
    def version(self) -> int:
        return len(self.records)

    def record(self, number: int) -> Record:
        found: Record = self.records[number - 1]
        return found

    def is_step(self, number: int) -> bool:
        """Whether it can be undone now."""
        place = bisect_left(self._steps, number)
        return place < len(self._steps) and self._steps[place] == number

    def next_undo(self) -> Record | None:
        return self.record(self._steps[-1]) if self._steps else None

    def next_redo(self) -> Record | None:
        return self.record(self._redo[-1]) if self._redo else None

    @property
    def num_class_ids(self) -> int:
        """Ids that were ever given."""
        return sum(self.record(number)["type"] == "add_class" for number in self._class_records)

    def classes(self) -> list[LabelClass]:
        """Those that are there, by id."""
        found: dict[int, LabelClass] = {}
        for number in self._class_records:
            record = self.record(number)
            if number in self.undone:
                continue
            one, kind = record["class"], record["type"]
            if kind == "add_class":
                held = {each.key for each in found.values()}
                free = (key for key in range(1, _NUM_KEYS + 1) if key not in held)
                key = one + 1 if one < _NUM_KEYS else next(free, None)
                found[one] = LabelClass(one, record["name"], _colour(record), key)
            elif kind == "delete_class":
                found.pop(one, None)
            elif one in found:
                old = found[one]
                colour = _colour(record) if "colour" in record else old.colour
                found[one] = replace(old, name=record.get("name", old.name), colour=colour)
        return [found[one] for one in sorted(found)]

    def active(self, image: str) -> list[Record]:
        """What makes the labels of an image, in its order."""
        return [self.record(n) for n in self.by_image.get(image, ()) if n not in self.undone]

    def last_change(self, image: str) -> int:
        """The number of the last record that changed its labels, or may have; 0 if it has none."""
        changed = self._changed.get(image, 0)
        return max(changed, self._all_changed) if changed else 0

    def skips(self, image: str) -> list[tuple[int, int]]:
        return [
            (x, y)
            for number in self.skipped.get(image, ())
            if number not in self.undone
            for x, y in self.record(number)["at"]
        ]

    def as_plain(self) -> dict[str, Any]:
        """All that two equal states have in common, to compare them."""
        return {
            "version": self.version,
            "classes": self.classes(),
            "active": {image: [r["number"] for r in self.active(image)] for image in sorted(self.by_image)},
            "skips": {image: self.skips(image) for image in sorted(self.skipped)},
            "undo": list(self._steps),
            "redo": list(self._redo),
        }


def _colour(record: Record) -> Colour:
    red, green, blue = record["colour"]
    return red, green, blue
