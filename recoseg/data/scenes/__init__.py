"""Street scenes drawn by our own code: `scene` is the dataset, `street` the plan; the others paint it."""

from recoseg.data.scenes.scene import Scenes

__all__ = ["Scenes"]
