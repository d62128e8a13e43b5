"""One run several times: with other seeds, or with other parts of the labelled images to validate on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from recoseg.config.data_settings import FolderData
from recoseg.config.load import flat, load, load_for
from recoseg.config.settings import RunConfig
from recoseg.errors import UserError
from recoseg.report.page import require_replaceable
from recoseg.runs.pages import ProgressOf, no_progress, write_report
from recoseg.runs.start import next_run_path, run_to_end
from recoseg.text import printable
from recoseg.training.early_end import Interrupted
from recoseg.training.processes import by_torchrun
from recoseg.training.run_folder import RunFolder, require_same


def with_seeds(path: str | Path | None, words: Sequence[str], seeds: Sequence[int]) -> dict[str, RunConfig]:
    """By the names of their folders, the configs of runs that differ in train.seed alone."""
    return {f"seed-{seed}": load_for(path, [*words, f"--train.seed={seed}"]) for seed in seeds}


def with_folds(path: str | Path | None, words: Sequence[str], folds: int) -> dict[str, RunConfig]:
    """By the names of their folders, the configs of runs of which each validates on another fold."""
    data = load_for(path, words).data
    if not isinstance(data, FolderData):
        raise UserError(
            f"--folds cuts the labelled images of a folder of your own into parts, and {data.name} has "
            "validation images of its own: leave out --folds, or take --seeds"
        )
    whole = [*words, f"--data.folds={folds}"]
    load_for(path, whole)  # too few, or too many of them
    return {f"fold-{fold}": load_for(path, [*whole, f"--data.fold={fold}"]) for fold in range(1, folds + 1)}


def run_all(
    configs: Mapping[str, RunConfig],
    out: Path | None,
    *,
    console: Console,
    progress: ProgressOf = no_progress,
    page: bool = True,
) -> list[RunFolder]:
    """Train each in a folder of its name below `out`, one after the other, and write one page about all.

    Those that are done are skipped, and those that ended early go on.
    """
    if by_torchrun():
        raise UserError("--seeds and --folds train one run after another: start them without torchrun")
    out = out or next_run_path()
    folders = {name: RunFolder(out / name) for name in configs}
    _require_usable(out, folders, configs)
    for number, (name, folder) in enumerate(folders.items(), 1):
        console.print(printable(f"{number} of {len(folders)}: {name}"), style="bold")
        config = configs[name]
        if is_done(folder, config):
            console.print("done already")
            continue
        try:
            begun = folder if folder.is_run() else None
            run_to_end(config, folder.path, resume=begun, console=console, progress=progress, page=False)
        except Interrupted as stop:
            told = str(stop).partition(";")[0]
            raise Interrupted(f"{name}: {told}; the same command, with --out {out}, goes on") from None
    if page:
        paths = [folder.path for folder in folders.values()]
        file = write_report(paths, out / "index.html", title=out.name, progress_of=progress, trust=True)
        console.print(printable(f"page: {file}"), soft_wrap=True)
    return list(folders.values())


def is_done(folder: RunFolder, config: RunConfig) -> bool:
    lines = folder.read_metrics()
    last = lines[-1]["iteration"] if lines else 0
    return folder.is_run() and folder.weights.is_file() and last == config.train.iterations


def _require_usable(out: Path, folders: Mapping[str, RunFolder], configs: Mapping[str, RunConfig]) -> None:
    """Said before anything is trained."""
    if RunFolder(out).is_run():
        raise UserError(f"{out} holds a single run; choose another --out")
    require_replaceable(out / "index.html")
    for name, folder in folders.items():
        if folder.is_run():
            try:
                require_same(flat(load(folder.config)), flat(configs[name]))
            except UserError as error:
                raise UserError(f"{folder.path}: {error}") from error
        else:
            folder.require_free()
