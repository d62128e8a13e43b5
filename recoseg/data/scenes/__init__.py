"""Street scenes drawn by our own code: nothing is downloaded, nothing is stored.

From the outside in: `dataset` (keys), `scene` (one picture, from far to near), `street` and `layout`
(what stands where), then a module for each sort of thing, and `figure`, `surface` and `texture`, which
they are painted with. `scene` also says why the bytes are the same on every machine.
"""

from __future__ import annotations

from recoseg.data.scenes.dataset import Scenes

__all__ = ["Scenes"]
