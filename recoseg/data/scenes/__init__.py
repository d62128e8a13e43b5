"""Street scenes drawn by our own code: nothing is downloaded, nothing is stored.

From the outside in: `scene` (keys, and one picture from far to near), `street` (what stands where),
`background` and a module for each sort of thing (`buildings`, `vehicles`, `people`, `sidewalk`), then what
they are drawn with: `shapes` on a `stage` of camera, light and canvas, `paint`, and `dice`. `scene` also
says why the bytes are the same on every machine.
"""

from __future__ import annotations

from recoseg.data.scenes.scene import Scenes

__all__ = ["Scenes"]
