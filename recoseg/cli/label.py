"""Label images in the browser, with a model that learns as you click.

Opens a page for the images in FOLDER/images. What you mark is saved in FOLDER as
an ordinary dataset, which recoseg train --data FOLDER takes. With --simulate,
clicks are made by itself from the masks of a dataset, to see how far they go.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from recoseg.errors import UserError

SAVES_MEMORY = "close other programs, or label fewer images at a time"
_PORT = 8765
_OPTIONS = ("--port", "--host", "--no-browser", "--classes", "--simulate")


EXAMPLES = (
    "recoseg label my_images --classes road,car,tree",
    "recoseg label --simulate data/camvid --out clicks",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "recoseg label FOLDER [--classes A,B,...] [--port N] [--no-browser]\n"
        "       recoseg label --simulate DATA [--out FOLDER] [--clicks N] [--seeds N]"
    )
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="a folder that holds images/")
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
    parser.add_argument(
        "--simulate", metavar="DATA", help="a labelled dataset whose masks answer for a person"
    )
    parser.add_argument(
        "--out", metavar="FOLDER", help="where a simulation writes (default: simulated_clicks)"
    )
    parser.add_argument("--clicks", type=int, metavar="N", help="of a simulation (default 500)")
    parser.add_argument("--seeds", type=int, metavar="N", help="of a simulation (default 3)")
    parser.add_argument(
        "--images", type=int, metavar="N", help="training images of a simulation (default 400)"
    )


def run(arguments: argparse.Namespace) -> int:
    require_extra()
    simulates = arguments.simulate is not None
    if simulates == (arguments.folder is not None):
        raise UserError("which folder? Give FOLDER to label its images, or --simulate DATA")
    if not simulates:
        for name in ("out", "clicks", "seeds", "images"):
            if getattr(arguments, name) is not None:
                raise UserError(f"--{name} has no effect without --simulate")
        return _serve(arguments)
    for name in ("classes", "port"):
        if getattr(arguments, name) is not None:
            raise UserError(f"--{name} has no effect beside --simulate")
    return _simulate(arguments)


def require_extra() -> None:
    from importlib.util import find_spec

    if not all(find_spec(name) for name in ("fastapi", "uvicorn")):
        raise UserError("recoseg label needs FastAPI and uvicorn: pip install 'recoseg[label]'")


def _serve(arguments: argparse.Namespace) -> int:
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


def _simulate(arguments: argparse.Namespace) -> int:
    import torch

    from recoseg.cli.arguments import open_dataset
    from recoseg.cli.terminal import new_console, progress_of
    from recoseg.label.features import FrozenFeatures, pretrained_encoder
    from recoseg.label.simulate import CLICKS, STRATEGIES, hidden_answers, simulate
    from recoseg.label.simulated_clicks import Trial, draw_trials, read_trials, tables

    most, num_seeds, num_images = (
        _at_least_one(arguments, name, usual)
        for name, usual in (("clicks", 500), ("seeds", 3), ("images", 400))
    )
    clicks = sorted({count for count in CLICKS if count < most} | {most})
    out, data = Path(arguments.out or "simulated_clicks"), Path(arguments.simulate)
    dataset = open_dataset("folder", str(data))
    torch.set_num_threads(1)
    name, encoder = pretrained_encoder()
    console = new_console()
    out.mkdir(parents=True, exist_ok=True)
    with progress_of(new_console(stderr=True), doing="computing features") as progress:
        features = FrozenFeatures(encoder, name=name, folder=out / "features")
        hidden = hidden_answers(dataset, features, images=num_images, progress=progress)
    trials = read_trials(out / "clicks.jsonl")
    for seed in range(num_seeds):
        for strategy in STRATEGIES:
            about = (data.resolve().name, strategy, seed)
            if any(
                (trial.data, trial.strategy, trial.seed) == about and trial.covers(clicks) for trial in trials
            ):
                continue
            scores = dict(simulate(hidden, strategy, seed=seed, clicks=clicks))
            trial = Trial(
                *about, clicks=list(scores), mean_iou=[round(score, 5) for score in scores.values()]
            )
            trials.append(trial)
            trial.append_to(out / "clicks.jsonl")
            console.print(f"{strategy}, seed {seed}: mean IoU {trial.mean_iou[-1]:.1%} after {most} clicks")
    for table in tables(trials, clicks):
        console.print(table)
    for suffix in ("png", "svg"):
        draw_trials(out / f"clicks.{suffix}", trials)
    return 0


def _at_least_one(arguments: argparse.Namespace, name: str, usual: int) -> int:
    given: int | None = getattr(arguments, name)
    if given is not None and given < 1:
        raise UserError(f"--{name} must be at least 1, not {given}")
    return usual if given is None else given
