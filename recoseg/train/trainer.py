"""The training loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

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

    def run(self, console: Console) -> None:
        """Train from the last saved state, or from the start, to the end."""
        self.method.to(self.device)
        start = self.restore()
        source = batches(
            self.crops,
            batch_size=self.labelled_per_step,
            start=start,
            stop=self.iterations,
            workers=self.workers,
        )
        log = RunLog(
            self.folder,
            start=start,
            iterations=self.iterations,
            images_per_step=self.labelled_per_step,
            log_every=self.log_every,
            console=console,
        )
        with closing(self.folder.lock()), StopRequest() as stop, log:
            self.method.train()
            for iteration, batch in enumerate(source, start):
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
                    self.save(done)
                if stop.requested and done < self.iterations:
                    self.save(done)
                    go_on = f"recoseg train --resume {self.folder.path}"
                    raise Interrupted(f"stopped after iteration {done}; go on with: {go_on}")

    def altered(self, batch: Batch, iteration: int) -> Batch:
        """The batch with colour jitter and blur."""
        generator = torch_generator(self.seed, "colour", iteration)
        return replace(batch, images=self.blur(self.jitter(batch.images, generator), generator))

    def save(self, done: int) -> None:
        """Weights for use, and the state that a resumed run starts from."""
        classes = self.dataset.classes
        about = {"classes": classes.names, "palette": classes.palette, "iteration": done}
        self.folder.save_weights(self.method.evaluation_model.state_dict(), about)
        self.folder.save_state(
            done, {"method": self.method.state_dict(), "optimiser": self.optimiser.state_dict()}
        )

    def restore(self) -> int:
        """Load the last state, if there is one; returns the number of iterations done."""
        state = self.folder.load_state()
        start = int(state["iteration"]) if state else 0
        if state:
            self.method.load_state_dict(state["method"])
            self.optimiser.load_state_dict(state["optimiser"])
        self.folder.cut_logs(start)
        return start


def require_finite(output: StepOutput, iteration: int, keys: Sequence[str]) -> None:
    if not torch.isfinite(output.loss):
        parts = ", ".join(f"{name} {value.item():g}" for name, value in output.parts.items())
        raise UserError(
            f"the loss is {output.loss.item()} at iteration {iteration} ({parts}) on images "
            f"{', '.join(keys)}; the last saved state is kept; a smaller optimiser.lr may help"
        )
