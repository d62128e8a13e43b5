"""Keeps the learner up to date: sends what changed, and everything to a new process."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence

import numpy as np

from recoseg.label.full_training import FullTraining
from recoseg.label.journal import Record
from recoseg.label.label_folder import LabelFolder
from recoseg.label.learner_client import LearnerClient
from recoseg.label.marks import VOID
from recoseg.label.messages import Click, Evaluate, Places, Update

_MOST_PLACES = 20_000
_MOST_VIEWS = 32


class LabelSync:
    """One thread calls `update`; other threads may call `restart` and `view`."""

    def __init__(self, folder: LabelFolder, training: FullTraining, learner: LearnerClient) -> None:
        self.folder, self.training, self.learner = folder, training, learner
        self.views: dict[str, str] = {}  # client -> image
        self._opened: list[str] = []
        self._sent: dict[Hashable, object] = {}
        self._has_started, self._is_new = False, threading.Event()

    def restart(self) -> None:
        """A new process has no labels: the next `update` sends everything."""
        self._is_new.set()

    def view(self, client: str, image: str) -> None:
        """A tab of the page shows that image."""
        self.views.pop(client, None)
        self.views[client] = image
        while len(self.views) > _MOST_VIEWS:  # tabs that were closed
            self.views.pop(next(iter(self.views)), None)
        self._opened.append(image)

    def update(self, records: Sequence[Record]) -> None:
        """Send what changed; `records` are new."""
        is_new = self._is_new.is_set()
        if is_new:
            self._is_new.clear()
            self._has_started, self._sent = True, {}
        if not self._has_started:
            return
        opened, self._opened = self._opened, []
        ids, run, views = self.folder.class_ids(), self.training.shown, tuple(self.views.values())
        update = Update(
            ids,
            run,
            views,
            tuple(opened),
            skips={key: self._skips(key) for key in self._newly_skipped()},
            clicks=[click for record in records for click in self._clicks(record)],
        )
        if self._is_changed("all", (ids, run, views)) or opened or update.skips or update.clicks:
            self.learner.send(update)
        for key in self.folder.labelled():  # one at a time: large labels are large messages
            if self._has_new_labels(key):
                self.learner.send(Update(ids, run, views, labels={key: self._places(key)}))
        ended = self.training.unevaluated
        if self._is_changed("evaluation", ended) and ended is not None:
            self.learner.send(Evaluate(ended))
        if is_new:
            self.learner.send_requests()

    def _is_changed(self, name: Hashable, value: object) -> bool:
        """Compared with what was sent. It counts as sent now."""
        is_changed = self._sent.get(name) != value
        self._sent[name] = value
        return is_changed

    def _has_new_labels(self, key: str) -> bool:
        version = self.folder.state.last_change(key), self.folder.stamp(key)
        return self._is_changed(("labels", key), version)

    def _newly_skipped(self) -> list[str]:
        keys = [key for key in list(self.folder.state.skipped) if key in self.folder.images]
        versions = {key: (self.folder.state.skips(key), self.folder.size(key)) for key in keys}
        return [key for key, version in versions.items() if self._is_changed(("skips", key), version)]

    def _skips(self, key: str) -> list[tuple[float, float]]:
        width, height = self.folder.size(key)
        skips = self.folder.state.skips(key) if width else []
        return [((x + 0.5) / width, (y + 0.5) / height) for x, y in skips]

    def _clicks(self, record: Record) -> list[Click]:
        """The first pixel of a class: people draw other marks where they are easiest to draw."""
        if record["type"] != "mark" or record["shape"] != "points" or type(record["class"]) is not int:
            return []
        key, one, (width, height) = record["image"], record["class"], self.folder.size(record["image"])
        inside = [(x, y) for x, y in record["at"] if 0 <= x < width and 0 <= y < height]
        return [Click(key, (x + 0.5) / width, (y + 0.5) / height, one) for x, y in inside[:1]]

    def _places(self, key: str) -> Places:
        box = self.folder.labelled_box(key)
        labels = self.folder.labels(key, box)
        rows, columns = np.nonzero(labels.ids < VOID)
        if len(rows) > _MOST_PLACES:
            some = np.linspace(0, len(rows) - 1, _MOST_PLACES).round().astype(int)
            rows, columns = rows[some], columns[some]
        ids = labels.ids[rows, columns].astype(np.int64)
        width, height = np.maximum(self.folder.size(key), 1)  # an unreadable image has no places
        x, y = (columns + box[0] + 0.5) / width, (rows + box[1] + 0.5) / height
        return Places(x, y, ids, labels.held_back[rows, columns])
