"""Label images in the browser, with a model that learns as you click.

Opens a page for the images in FOLDER/images. What you mark is saved in FOLDER as
an ordinary dataset, which recoseg train --data FOLDER takes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recoseg.errors import UserError

SAVES_MEMORY = "close other programs, or label fewer images at a time"
_PORT = 8765


EXAMPLES = (
    "recoseg label my_images --classes road,car,tree",
    "recoseg label my_images --port 8000 --no-browser",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="a folder that holds images/")
    parser.add_argument(
        "--classes", metavar="A,B,...", help="names of classes to begin with; more can be added"
    )
    parser.add_argument(
        "--port", type=int, metavar="N", help=f"of the page (default {_PORT}, or the next free one)"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="NAME",
        help="the address to listen at (default 127.0.0.1: this machine alone; 0.0.0.0 is every address)",
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def require_extra() -> None:
    from importlib.util import find_spec

    if not all(find_spec(name) for name in ("fastapi", "uvicorn")):
        raise UserError("recoseg label needs FastAPI and uvicorn: pip install 'recoseg[label]'")


def run(arguments: argparse.Namespace) -> int:
    require_extra()
    from recoseg.cli.terminal import new_console
    from recoseg.label.label_folder import LabelFolder
    from recoseg.label.serve import bound_socket, kept_token, serve
    from recoseg.text import printable

    names = [name.strip() for name in (arguments.classes or "").split(",") if name.strip()]
    folder = LabelFolder(Path(arguments.folder))
    try:
        folder.add_classes(names)
        socket = bound_socket(arguments.host, arguments.port, usual=_PORT)
    except BaseException:
        folder.close()
        raise
    token = kept_token(Path(arguments.folder))
    shown = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    shown = "127.0.0.1" if shown == "0.0.0.0" else shown
    address = f"http://{shown}:{socket.getsockname()[1]}/?token={token}"
    console = new_console()
    if torn := folder.journal.torn:
        message = f"The journal ended within a line: an action that was not saved. That line is now in {torn}"
        console.print(printable(message), soft_wrap=True)
    console.print(f"{len(folder.images)} images. The page, for whoever has this address:", soft_wrap=True)
    console.print(printable(address), soft_wrap=True)
    console.print("Ctrl-C ends it; nothing is lost.", soft_wrap=True)
    serve(
        folder, socket, host=arguments.host, token=token, open_page=None if arguments.no_browser else address
    )
    return 0
