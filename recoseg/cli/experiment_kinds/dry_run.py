"""How many runs a grid has left, and how long they would take, from a few timed steps of each method."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from recoseg.cli.main import tell_troubles
from recoseg.train.progress import clock

if TYPE_CHECKING:
    from rich.console import Console

    from recoseg.experiments.board import Board


def tell(board: Board, *, workers: int, console: Console) -> int:
    """A table of methods; the time of one that has finished runs is theirs."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from recoseg.experiments.board import kind_of
    from recoseg.experiments.local import threads_each
    from recoseg.experiments.methods import ROWS
    from recoseg.experiments.probe import probe

    left, threads = board.unfinished(), threads_each(workers)
    profile = board.cells[0].profile
    console.print(
        f"{len(board.states)} runs of profile {profile}, {board.count('done')} done, {len(left)} left"
    )
    if not left:
        return 0
    troubles = board.troubles()
    left = [cell for cell in left if not board.states[cell.folder].trouble]
    kinds = Counter(kind_of(cell) for cell in left)
    known = board.known_seconds()
    table = Table("method", "dataset", "left", "a step", "a run", box=SIMPLE_HEAD)
    for heading in table.columns[2:]:
        heading.justify = "right"
    for (dataset, row), count in kinds.items():
        step = "as before"
        if (dataset, row) not in known:
            cell = next(cell for cell in left if kind_of(cell) == (dataset, row))
            with console.status(f"timing {ROWS[row].title} on {dataset}"):
                pace = probe(cell, threads=threads)
            step, known[dataset, row] = f"{pace.step:.2f} s", pace.seconds
        table.add_row(ROWS[row].title, dataset, str(count), step, clock(known[dataset, row]))
    console.print(table)
    each = f"{threads} thread{'s' if threads > 1 else ''} each"
    at_once = "one at a time" if workers == 1 else f"{workers} at a time"
    console.print(f"about {clock(board.seconds_left(workers, known) or 0.0)} in all, {at_once}, {each}")
    return tell_troubles(troubles)
