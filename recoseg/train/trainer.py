"""The training loop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import nn
from torch.optim import Optimizer

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.data.base import Dataset
from recoseg.distributed import rank
from recoseg.evaluate.evaluator import evaluate
from recoseg.files import remove_unfinished
from recoseg.loaders import Pair, Pieces
from recoseg.methods.base import Method
from recoseg.methods.contrast_term import ContrastTerm
from recoseg.seeds import seed_for, torch_generator
from recoseg.train.finite import require_finite_loss, require_finite_weights
from recoseg.train.interrupt import Interrupted, StopRequest
from recoseg.train.memory import explained_shortage
from recoseg.train.precision import Precision
from recoseg.train.processes import (
    agree,
    in_parallel,
    is_first,
    require_agreement,
    share_buffers,
    wait_for_all,
    without_exchange,
)
from recoseg.train.run_folder import RunFolder, save_weights
from recoseg.train.run_log import RunLog
from recoseg.train.same_settings import require_same
from recoseg.train.schedule import poly, set_learning_rate
from recoseg.train.selection import Selection, best_so_far
from recoseg.train.state_file import checked_state, load_state, put_back, save_state
from recoseg.types import Batch, StepOutput
from recoseg.words import printable


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Everything that one run needs; `run` trains, evaluates and saves."""

    method: Method
    contrast: ContrastTerm | None
    optimisers: Mapping[str, Optimizer]
    pieces: Pieces
    dataset: Dataset
    val_keys: Sequence[str]
    selection: Selection | None
    jitter: ColourJitter
    blur: GaussianBlur
    folder: RunFolder
    device: torch.device
    precision: Precision
    iterations: int
    power: float
    clip: float | None
    channels_last: bool
    seed: int
    evaluate_every: int
    log_every: int
    workers: int
    settings: Mapping[str, object]
    about: Sequence[str] = ()

    def run(self, console: Console) -> None:
        """Train from the last saved state, or from the start, to the end."""
        with ExitStack() as stack:
            if is_first():
                stack.enter_context(closing(self.folder.lock()))
            stop = stack.enter_context(StopRequest())
            stack.enter_context(explained_shortage(f"The last saved state of {self.folder.path} is kept."))
            self.place()
            state, warning = load_state(self.folder.state)
            start = self.restore(state) if state else 0
            require_agreement(start, self.folder.path)
            wait_for_all()  # nobody changes a file that another is still reading
            if is_first():
                remove_unfinished(self.folder.path)
                self.folder.cut_logs(start)
                if warning:
                    put_back(self.folder.state)
            for line in (*self.about, *([f"warning: {warning}"] if warning else [])):
                console.print(printable(line), highlight=False, soft_wrap=True)
            if start == self.iterations:
                console.print(f"all {start} iterations are done: nothing is left to train", highlight=False)
            log = stack.enter_context(self.new_log(start, console))
            if state:
                log.restore(state["log"], self.device)
            on_gpu = self.device.type == "cuda"
            pairs = self.pieces.from_iteration(start, self.iterations, workers=self.workers, pin=on_gpu)
            stack.enter_context(closing(pairs))  # ends the processes that load
            self.loop(start, pairs, log, stop)

    def place(self) -> None:
        """Bring the networks to the device, laid out as asked for, ready to train."""
        self.method.to(self.device)
        if self.channels_last:
            self.method.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.method.train()

    def loop(self, start: int, pairs: Iterator[Pair], log: RunLog, stop: StopRequest) -> None:
        step = in_parallel(self.method, self.device)
        for iteration in range(start, self.iterations):
            rate = self.anneal(iteration)
            output = self.update(step, pairs, iteration, log)
            done = iteration + 1
            log.step(done, output, rate)
            if done % self.evaluate_every == 0 or done == self.iterations:
                self.evaluate_and_save(done, output, log)
            if agree(stop.requested, self.device) and done < self.iterations:
                self.save_state(done, log)
                go_on = f"recoseg train --resume {self.folder.path}"
                raise Interrupted(f"stopped after iteration {done}; go on with: {go_on}")

    def anneal(self, iteration: int) -> float:
        """Set every optimiser's rate for this iteration; returns that of the student's."""
        factor = poly(iteration, self.iterations, self.power)
        rates = [set_learning_rate(optimiser, factor) for optimiser in self.optimisers.values()]
        return rates[0]

    def update(self, step: nn.Module, pairs: Iterator[Pair], iteration: int, log: RunLog) -> StepOutput:
        """One step of training; returns its losses."""
        output = self.gradients(step, pairs, iteration, log)
        self.precision.update(list(self.optimisers.values()), self.method.student, self.clip)
        self.method.after_update(iteration)
        return output

    def gradients(self, step: nn.Module, pairs: Iterator[Pair], iteration: int, log: RunLog) -> StepOutput:
        """Forward and backward through all parts of one step; returns their mean losses."""
        for optimiser in self.optimisers.values():
            optimiser.zero_grad(set_to_none=True)
        outputs = []
        for part in range(self.pieces.parts):
            asked = time.monotonic()
            pair = next(pairs)
            count = sum(len(batch.keys) for batch in pair if batch is not None)
            log.loaded(count * self.pieces.world, time.monotonic() - asked)
            is_last = part == self.pieces.parts - 1
            with without_exchange(step, wanted=not is_last):
                with_stats = is_last and log.is_due(iteration)
                output = self.forward(step, pair, iteration, part, with_stats=with_stats)
                self.precision.backward(output.loss / self.pieces.parts)
            outputs.append(output.detached())
        return StepOutput.mean(outputs)

    def forward(
        self, step: nn.Module, pair: Pair, iteration: int, part: int, *, with_stats: bool
    ) -> StepOutput:
        # All that is random here, dropout included, depends on seed and place alone.
        place = (iteration, part, rank())
        torch.manual_seed(seed_for(self.seed, "step", *place))
        generator = torch_generator(self.seed, "augment", *place)
        labelled = self.altered(pair[0].to(self.device, channels_last=self.channels_last), generator)
        unlabelled = pair[1] and pair[1].to(self.device, channels_last=self.channels_last)
        with self.precision.autocast():
            output: StepOutput = step(labelled, unlabelled, iteration=iteration, generator=generator)
            if self.contrast is not None:
                draws = torch.Generator(self.device).manual_seed(seed_for(self.seed, "contrast", *place))
                output = self.contrast(output, draws, iteration=iteration, with_stats=with_stats)
        require_finite_loss(output, iteration + 1, labelled.keys + (unlabelled.keys if unlabelled else ()))
        return output

    def altered(self, batch: Batch, generator: torch.Generator) -> Batch:
        """The labelled batch with colour jitter and blur."""
        return replace(batch, images=self.blur(self.jitter(batch.images, generator), generator))

    def new_log(self, start: int, console: Console) -> RunLog:
        return RunLog(
            self.folder,
            start=start,
            iterations=self.iterations,
            log_every=self.log_every,
            device=self.device,
            palette=self.dataset.classes.palette,
            console=console,
        )

    def evaluate_and_save(self, done: int, output: StepOutput, log: RunLog) -> None:
        require_finite_weights(self.method.student, done)
        share_buffers(self.method)
        model, selection = self.method.evaluation_model, self.selection
        scores = evaluate(model, self.dataset, self.val_keys, device=self.device)
        if selection is None:
            chosen = None
        elif selection.keys == self.val_keys:
            chosen = scores
        else:
            chosen = evaluate(model, selection.dataset, selection.keys, device=self.device)
        if is_first():
            if selection and chosen and chosen.mean_iou > best_so_far(self.folder.read_metrics()):
                self.save_weights(self.folder.best_weights, done, best_on=selection.on)
            self.save_weights(self.folder.weights, done)
        log.evaluation(done, scores, selection.on if selection else None, chosen)
        log.pictures(done, output)
        self.save_state(done, log)

    def save_weights(self, path: Path, done: int, **more: str) -> None:
        """The evaluated network, for use."""
        classes = self.dataset.classes
        about = {"classes": classes.names, "palette": classes.palette, "iteration": done, **more}
        save_weights(path, self.method.evaluation_model.state_dict(), about)

    def save_state(self, done: int, log: RunLog) -> None:
        """All that a resumed run starts from. Every process keeps the same, so the first one's will do."""
        require_finite_weights(self.method.student, done)
        share_buffers(self.method)
        log_state = log.state()
        if is_first():
            optimisers = {name: optimiser.state_dict() for name, optimiser in self.optimisers.items()}
            parts = {
                "method": self.method.state_dict(),
                "optimisers": optimisers,
                "scaler": self.precision.state(),
                "settings": dict(self.settings),
                "log": log_state,
            }
            save_state(self.folder.state, done, parts)

    def restore(self, state: Mapping[str, Any]) -> int:
        """Take up a saved state; returns the number of iterations done."""
        if isinstance(state.get("settings"), Mapping):
            require_same(
                state["settings"], self.settings
            )  # first: other settings are why all the rest differs
        fitting = checked_state(
            self.folder.state,
            state,
            method=self.method.state_dict(),
            optimisers=self.optimisers,
            iterations=self.iterations,
        )
        self.method.load_state_dict(fitting["method"])
        for name, optimiser in self.optimisers.items():
            optimiser.load_state_dict(dict(fitting["optimisers"][name]))
        self.precision.restore(fitting["scaler"])
        return fitting["iteration"]
