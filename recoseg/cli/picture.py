"""Draw a picture of the paper's kinds, of one run or of several side by side.

recoseg picture KIND --help tells more of each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recoseg.cli.kinds import added_kinds
from recoseg.errors import UserError
from recoseg.words import printable

KINDS = {
    "relations": "recoseg.cli.picture_kinds.relations",
    "queries": "recoseg.cli.picture_kinds.queries",
    "predictions": "recoseg.cli.picture_kinds.predictions",
    "labels": "recoseg.cli.picture_kinds.labels",
    "curves": "recoseg.cli.picture_kinds.curves",
}
"""name -> module: its docstring is its help, and it has `add_arguments(parser)`, `draw(arguments, out)` and
`BESIDE`, endings of other files that it writes beside the picture."""

KEEPS_MEMORY = True
SAVES_MEMORY = "fewer or smaller images, and runs one by one, need less"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, module, kind in added_kinds(parser, KINDS, metavar="KIND"):
        kind.add_argument("runs", metavar="RUN", nargs="+", help="run folders")
        kind.add_argument(
            "--out",
            metavar="FILE",
            help=f"a .png, .svg or .pdf to write (default: pictures/{name}.png in the first run)",
        )
        kind.add_argument("--force", action="store_true", help="write over an existing file")
        module.add_arguments(kind)
        kind.set_defaults(kind=name, draw=module.draw, beside=module.BESIDE)


def run(arguments: argparse.Namespace) -> int:
    out = where(arguments)
    arguments.draw(arguments, out)
    print(f"picture: {printable(str(out))}")
    return 0


def where(arguments: argparse.Namespace) -> Path:
    """The file to draw into; what can be wrong with it is said before any work is done."""
    from recoseg.cli.split import require_writable
    from recoseg.figures.sheet import require_ending
    from recoseg.train.run_folder import RunFolder

    first = RunFolder.open(Path(arguments.runs[0]))
    if arguments.out is None:
        if arguments.force:
            raise UserError("--force has no effect without --out: a run's own pictures are drawn afresh")
        out = first.path / "pictures" / f"{arguments.kind}.png"
        out.parent.mkdir(exist_ok=True)
        return out
    out = Path(arguments.out)
    require_ending(out)
    for file in (out, *(out.with_suffix(ending) for ending in arguments.beside)):
        require_writable(file, force=arguments.force)
    return out
