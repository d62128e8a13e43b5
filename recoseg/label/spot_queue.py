"""The learner's spots, each given to one person at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from recoseg.label.label_folder import LabelFolder
from recoseg.label.messages import RADIUS, Spot
from recoseg.types import IGNORE

_SECONDS_HELD = 300.0


class SpotQueue:
    """`spots` are replaced whenever the learner sends new ones."""

    def __init__(self, folder: LabelFolder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.spots: Sequence[Spot] = ()
        self._folder, self._clock = folder, clock
        self._held: dict[tuple[str, int], tuple[str, float]] = {}  # image and cell -> client and time

    def next(self, client: str, count: int) -> list[dict[str, Any]]:
        """As docs/labelling.md has them, without those near a mark and those that another client holds."""
        now = self._clock()
        self._held = {spot: held for spot, held in self._held.items() if held[0] != client}
        found: list[dict[str, Any]] = []
        for spot in self.spots:
            if len(found) == count:
                break
            name = spot.image, spot.cell
            holder, since = self._held.get(name, (client, now))
            if holder != client and now - since <= _SECONDS_HELD:
                continue
            width, height = self._folder.size(spot.image)
            x, y = min(int(spot.x * width), width - 1), min(int(spot.y * height), height - 1)
            if width and not self._is_near_mark(spot.image, x, y):
                self._held[name] = client, now
                found.append(self._as_plain(spot, x, y))
        return found

    def _is_near_mark(self, image: str, x: int, y: int) -> bool:
        width, height = self._folder.size(image)
        across, down = RADIUS * width, RADIUS * height
        skips = self._folder.state.skips(image)
        if any(abs(at[0] - x) < across and abs(at[1] - y) < down for at in skips):
            return True
        if not self._folder.state.last_change(image):
            return False
        box = max(0, int(x - across)), max(0, int(y - down)), int(x + across) + 1, int(y + down) + 1
        return bool((self._folder.labels(image, box).ids != IGNORE).any())

    def _as_plain(self, spot: Spot, x: int, y: int) -> dict[str, Any]:
        names = {one.id: one.name for one in self._folder.state.classes()}
        why = "unlike what was seen so far"
        if spot.guess in names and spot.second in names:
            why = f"{names[spot.guess]} or {names[spot.second]}?"
        return {
            "image": spot.image,
            "x": x,
            "y": y,
            "guess": spot.guess,
            "second": spot.second,
            "confidence": spot.confidence,
            "why": why,
        }
