"""The training loop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import nn
from torch.optim import Optimizer

from recoseg.augment.weak import WeakView
from recoseg.batches import Pair, StepBatches
from recoseg.config.train_settings import TrainSettings
from recoseg.distributed import rank
from recoseg.files import remove_unfinished
from recoseg.methods.method import Method
from recoseg.models.weights import save_weights
from recoseg.seeds import seed_for, torch_generator
from recoseg.text import printable
from recoseg.training.early_end import (
    Interrupted,
    StopRequest,
    explained_shortage,
    require_finite_loss,
    require_finite_weights,
)
from recoseg.training.log import RunLog
from recoseg.training.optimisers import Schedule, set_learning_rate
from recoseg.training.precision import Precision
from recoseg.training.processes import (
    agree,
    in_parallel,
    is_first,
    require_agreement,
    share_buffers,
    wait_for_all,
    without_exchange,
)
from recoseg.training.run_folder import RunFolder, require_same
from recoseg.training.state import checked_state, load_state, put_back, save_state
from recoseg.training.validation import Validation, best_so_far
from recoseg.types import StepOutput


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Everything that one run needs; `run` trains, evaluates and saves."""

    method: Method
    optimisers: Mapping[str, Optimizer]
    batches: StepBatches
    weak_view: WeakView
    validation: Validation
    train: TrainSettings
    schedule: Schedule
    precision: Precision
    device: torch.device
    num_loaders: int  # processes
    scores_start: bool  # whether the network is evaluated before the first step: it is worth something
    folder: RunFolder
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
            start = self._restore(state) if state else 0
            require_agreement(start, self.folder.path)
            wait_for_all()  # nobody changes a file that another is still reading
            if is_first():
                remove_unfinished(self.folder.path)
                self.folder.cut_logs(start)
                if warning:
                    put_back(self.folder.state)
            for line in (*self.about, *([f"warning: {warning}"] if warning else [])):
                console.print(printable(line), highlight=False, soft_wrap=True)
            if state and start == self.train.iterations:
                more = f"recoseg train --resume {self.folder.path} --train.iterations {2 * start or 1000}"
                told = f"all {start} iterations are done: nothing is left to train; for more: {more}"
                console.print(printable(told), highlight=False, soft_wrap=True)
            log = stack.enter_context(self.new_log(start, console))
            if state:
                log.restore(state["log"], self.device)
            for optimiser in self.optimisers.values():  # so that a state without steps is whole too
                set_learning_rate(optimiser, 1.0)
            if self.scores_start and not state:
                self._evaluate_and_save(0, None, log)
            on_gpu = self.device.type == "cuda"
            pairs = self.batches.from_iteration(
                start, self.train.iterations, workers=self.num_loaders, pin=on_gpu
            )
            stack.enter_context(closing(pairs))  # ends the processes that load
            self._loop(start, pairs, log, stop)

    def _loop(self, start: int, pairs: Iterator[Pair], log: RunLog, stop: StopRequest) -> None:
        method, train = in_parallel(self.method, self.device), self.train
        for iteration in range(start, train.iterations):
            factor = self.schedule(iteration, train.iterations)
            rate, *_ = [set_learning_rate(optimiser, factor) for optimiser in self.optimisers.values()]
            output = self.step(method, pairs, iteration, log)
            done = iteration + 1
            log.step(done, output, rate)
            if done % train.evaluate_every == 0 or done == train.iterations:
                self._evaluate_and_save(done, output, log)
            if agree(stop.requested, self.device) and done < train.iterations:
                self._save_state(done, log)
                go_on = f"recoseg train --resume {self.folder.path}"
                raise Interrupted(f"stopped after iteration {done}; go on with: {go_on}")

    def step(self, method: nn.Module, pairs: Iterator[Pair], iteration: int, log: RunLog) -> StepOutput:
        """One update of the weights; returns its losses.

        `method` is ours, or what goes around it with several processes. A step may be done in parts, one
        after the other, whose gradients add up.
        """
        for optimiser in self.optimisers.values():
            optimiser.zero_grad(set_to_none=True)
        outputs, num_parts = [], self.batches.parts
        for part in range(num_parts):
            asked = time.monotonic()
            raw_labelled, raw_unlabelled = next(pairs)
            count = len(raw_labelled.keys) + (len(raw_unlabelled.keys) if raw_unlabelled else 0)
            log.loaded(count * self.batches.world, time.monotonic() - asked)
            is_last = part == num_parts - 1

            # All that is random here, dropout included, depends on seed and place alone.
            place = (iteration, part, rank())
            torch.manual_seed(seed_for(self.train.seed, "step", *place))
            generator = torch_generator(self.train.seed, "augment", *place)
            draws = torch.Generator(self.device).manual_seed(seed_for(self.train.seed, "contrast", *place))

            labelled = raw_labelled.to(self.device, channels_last=self.train.channels_last)
            unlabelled = raw_unlabelled and raw_unlabelled.to(
                self.device, channels_last=self.train.channels_last
            )
            labelled = self.weak_view(labelled, generator)
            with without_exchange(method, wanted=not is_last):
                with self.precision.autocast():
                    output: StepOutput = method(
                        labelled,
                        unlabelled,
                        iteration=iteration,
                        generator=generator,
                        draws=draws,
                        with_stats=is_last and log.is_due(iteration),
                    )
                keys = labelled.keys + (unlabelled.keys if unlabelled else ())
                require_finite_loss(output, iteration + 1, keys)
                self.precision.backward(output.loss / num_parts)
            outputs.append(output.detached())
        self.precision.update(self.optimisers.values(), self.train.clip)
        self.method.after_update(iteration)
        return StepOutput.mean(outputs)

    def _evaluate_and_save(self, done: int, output: StepOutput | None, log: RunLog) -> None:
        require_finite_weights(self.method.student, done)
        share_buffers(self.method)
        scores, chosen = self.validation.scores(self.method.evaluation_model, self.device)
        selection = self.validation.selection
        if is_first():
            if selection and chosen and chosen.mean_iou > best_so_far(self.folder.read_metrics()):
                self._save_weights(self.folder.best_weights, done, best_on=selection.on)
            self._save_weights(self.folder.weights, done)
        log.evaluation(done, scores, selection.on if selection else None, chosen)
        if output is not None:
            log.pictures(done, output)
        self._save_state(done, log)

    def place(self) -> None:
        """Bring the networks to the device, laid out as asked for, ready to train."""
        self.method.to(self.device)
        if self.train.channels_last:
            self.method.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.method.train()

    def new_log(self, start: int, console: Console) -> RunLog:
        return RunLog(
            self.folder,
            start=start,
            iterations=self.train.iterations,
            images_by=self.batches.images_by,
            log_every=self.train.log_every,
            device=self.device,
            palette=self.validation.dataset.classes.palette,
            console=console,
        )

    def _save_weights(self, path: Path, done: int, **more: str) -> None:
        """The evaluated network, for use."""
        classes = self.validation.dataset.classes
        about = {"classes": classes.names, "palette": classes.palette, "iteration": done, **more}
        save_weights(path, self.method.evaluation_model.state_dict(), about)

    def _save_state(self, done: int, log: RunLog) -> None:
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

    def _restore(self, state: Mapping[str, Any]) -> int:
        """Take up a saved state; returns the number of iterations done."""
        if isinstance(state.get("settings"), Mapping):
            require_same(state["settings"], self.settings)  # first: it is why all the rest differs
        fitting = checked_state(
            self.folder.state,
            state,
            method=self.method.state_dict(),
            optimisers=self.optimisers,
            iterations=self.train.iterations,
        )
        self.method.load_state_dict(fitting["method"])
        for name, optimiser in self.optimisers.items():
            optimiser.load_state_dict(dict(fitting["optimisers"][name]))
        self.precision.restore(fitting["scaler"])
        return fitting["iteration"]
