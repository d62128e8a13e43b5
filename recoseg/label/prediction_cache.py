"""The latest prediction of each image, as long as it is valid."""

from __future__ import annotations

import threading
from collections.abc import Collection

from recoseg.label.label_folder import LabelFolder
from recoseg.label.map_prediction import MapPrediction

_MOST = 32


class PredictionCache:
    """A prediction is valid while its classes, its image file and its model are there."""

    def __init__(self, folder: LabelFolder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[object, MapPrediction]] = {}
        self._valid_from = 0

    def put(self, image: str, prediction: MapPrediction, *, views: Collection[str] = ()) -> None:
        """In place of the oldest one, if necessary; those in `views` stay."""
        with self._lock:
            self._kept.pop(image, None)
            self._kept[image] = self._folder.stamp(image), prediction
            if len(self._kept) > _MOST:
                del self._kept[next(one for one in self._kept if one not in views)]

    def get(self, image: str) -> MapPrediction | None:
        stamp, prediction = self._kept.get(image, (None, None))
        return prediction if prediction is not None and self._is_valid(image, stamp, prediction) else None

    def _is_valid(self, image: str, stamp: object, prediction: MapPrediction) -> bool:
        return (
            prediction.version >= self._valid_from
            and self._folder.class_ids().issuperset(prediction.classes.tolist())
            and stamp is not None
            and self._folder.stamp(image) == stamp
        )

    def keep_from(self, version: int) -> None:
        """The model changed: earlier versions are not valid."""
        self._valid_from = version

    def remove_invalid(self) -> list[str]:
        """The images whose predictions were removed."""
        with self._lock:
            removed = [image for image, kept in self._kept.items() if not self._is_valid(image, *kept)]
            for image in removed:
                del self._kept[image]
        return removed
