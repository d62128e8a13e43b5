"""The training loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import torch
from rich.console import Console
from torch.optim import Optimizer

from recoseg.augment.colour import ColourJitter, GaussianBlur
from recoseg.data.base import Dataset
from recoseg.errors import UserError
from recoseg.evaluate.evaluator import evaluate
from recoseg.loaders import Crops, batches
from recoseg.methods.base import Method
from recoseg.seeds import seed_for, torch_generator
from recoseg.train.interrupt import Interrupted, StopRequest
from recoseg.train.run_folder import RunFolder
from recoseg.train.run_log import RunLog
from recoseg.train.schedule import poly, set_learning_rate
from recoseg.types import Batch, StepOutput


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """Everything that one run needs; `run` trains, evaluates and saves."""

    method: Method
    optimiser: Optimizer
    crops: Crops
    dataset: Dataset
    val_keys: Sequence[str]
    jitter: ColourJitter
    blur: GaussianBlur
    folder: RunFolder
    device: torch.device
    iterations: int
    labelled_per_step: int
    power: float
    seed: int
    evaluate_every: int
    log_every: int
    workers: int
    about: Sequence[str] = ()

    def run(self, console: Console) -> None:
        """Train from the last saved state, or from the start, to the end."""
        with closing(self.folder.lock()), StopRequest() as stop:
            self.method.to(self.device)
            state = self.folder.load_state()
            start = self.restore(state) if state else 0
            self.folder.cut_logs(start)
            for line in self.about:
                console.print(line, highlight=False, soft_wrap=True)
            with self.new_log(start, console) as log:
                if state:
                    log.restore(state["log"], self.device)
                self.loop(start, log, stop)

    def loop(self, start: int, log: RunLog, stop: StopRequest) -> None:
        self.method.train()
        for iteration, batch in enumerate(self.batches_from(start), start):
            # All that is random in a step, dropout included, depends on its number alone.
            torch.manual_seed(seed_for(self.seed, "step", iteration))
            rate = set_learning_rate(self.optimiser, poly(iteration, self.iterations, self.power))
            labelled = self.altered(batch.to(self.device), iteration)
            output = self.method.step(labelled)
            require_finite(output, iteration, labelled.keys)
            self.optimiser.zero_grad(set_to_none=True)
            output.loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            done = iteration + 1
            log.step(done, {"loss": output.loss, **output.parts}, rate)
            if done % self.evaluate_every == 0 or done == self.iterations:
                model = self.method.evaluation_model
                log.evaluation(done, evaluate(model, self.dataset, self.val_keys, device=self.device))
                self.save(done, log)
            if stop.requested and done < self.iterations:
                self.save(done, log)
                go_on = f"recoseg train --resume {self.folder.path}"
                raise Interrupted(f"stopped after iteration {done}; go on with: {go_on}")

    def new_log(self, start: int, console: Console) -> RunLog:
        return RunLog(
            self.folder,
            start=start,
            iterations=self.iterations,
            images_per_step=self.labelled_per_step,
            log_every=self.log_every,
            console=console,
        )

    def batches_from(self, start: int) -> Iterator[Batch]:
        """The batches of all iterations that are left."""
        return batches(
            self.crops,
            batch_size=self.labelled_per_step,
            start=start,
            stop=self.iterations,
            workers=self.workers,
        )

    def altered(self, batch: Batch, iteration: int) -> Batch:
        """The batch with colour jitter and blur."""
        generator = torch_generator(self.seed, "colour", iteration)
        return replace(batch, images=self.blur(self.jitter(batch.images, generator), generator))

    def save(self, done: int, log: RunLog) -> None:
        """Weights for use, and the state that a resumed run starts from."""
        classes = self.dataset.classes
        about = {"classes": classes.names, "palette": classes.palette, "iteration": done}
        self.folder.save_weights(self.method.evaluation_model.state_dict(), about)
        parts = {"method": self.method.state_dict(), "optimiser": self.optimiser.state_dict()}
        self.folder.save_state(done, {**parts, "log": log.state()})

    def restore(self, state: Mapping[str, Any]) -> int:
        """Take up a saved state; returns the number of iterations done."""
        self.method.load_state_dict(state["method"])
        self.optimiser.load_state_dict(state["optimiser"])
        return int(state["iteration"])


def require_finite(output: StepOutput, iteration: int, keys: Sequence[str]) -> None:
    if not torch.isfinite(output.loss):
        parts = ", ".join(f"{name} {value.item():g}" for name, value in output.parts.items())
        raise UserError(
            f"the loss is {output.loss.item()} at iteration {iteration} ({parts}) on images "
            f"{', '.join(keys)}; the last saved state is kept; a smaller optimiser.lr may help"
        )
