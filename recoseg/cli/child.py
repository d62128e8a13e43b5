"""A command of a grid, in a process that is asked to end when the one that began it is gone.

That one holds the other end of the standard input, which the system closes for it however it ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path


def end_with_parent() -> None:
    """Wait for the end of the standard input, and then ask this process to save its state and end."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    # Python was told (-P) not to look for modules where the user happens to be, nor beside this file.
    ours = str(Path(__file__).resolve().parents[2])
    if ours not in sys.path:
        sys.path.insert(0, ours)
    from recoseg.cli.main import main

    threading.Thread(target=end_with_parent, daemon=True).start()
    sys.exit(main())
