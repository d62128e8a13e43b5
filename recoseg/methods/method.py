"""What the training loop asks of a method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from recoseg.augment.strong import StrongView
from recoseg.augment.weak_to_strong import WeakToStrong
from recoseg.errors import UserError
from recoseg.losses.cross_entropy import pixel_cross_entropy
from recoseg.methods.parts.contrast import ContrastTerm
from recoseg.methods.parts.ema_teacher import Teacher
from recoseg.types import Batch, ModelOutput, PseudoLabels, StepOutput


@dataclass(frozen=True)
class MethodParts:
    """What a method may be built from besides its student and its settings."""

    num_classes: int
    strong_view: Callable[[str], StrongView]  # by the name of a mix
    weak_to_strong: Callable[
        ..., WeakToStrong
    ]  # by the probability of CutMix; with other `colours`, if given
    iterations: int  # of the whole run
    another_network: Callable[..., nn.Module]  # like the student, of other first weights, without features;
    # given a number of outputs, with a fresh classifier of so many
    optimiser: Callable[[nn.Module], Optimizer]  # like the student's, for a network of the method's own
    background: int | None  # the class of what is no object, if there is one


class Method(nn.Module, ABC):
    """One algorithm: batches in, loss out. Its networks are submodules, so its state is its `state_dict`.

    `forward` is its `step`, with the contrast on top where there is one, so that
    `DistributedDataParallel` can be put around a method.
    """

    needs_unlabelled = False
    trains_second_network = False  # of the student's kind, beside it
    notes: Sequence[str] = ()  # what a person should know before a run, a line each
    teacher: Teacher | None  # a moving average of the student, which is evaluated in its place
    class_weights: Tensor | None  # (K,) how much a pixel counts in the supervised loss; None: alike
    ohem_below: float | None = None  # of the supervised loss too: see `pixel_cross_entropy`

    def __init__(self, student: nn.Module) -> None:
        super().__init__()
        self.student = student
        self.teacher = None
        self.contrast: ContrastTerm | None = None  # on top of any method; what it keeps is saved with it
        self.register_buffer("class_weights", None, persistent=False)  # of the data, not learned

    def evaluate_average(self, decay: float, warm_up: Literal["mean", "fast", "none"] = "mean") -> None:
        """From now on a moving average of the student is kept, and evaluated in its place."""
        self.teacher = Teacher(self.student, decay=decay, warm_up=warm_up)

    @abstractmethod
    def step(
        self, labelled: Batch, unlabelled: Batch | None, *, iteration: int, generator: torch.Generator
    ) -> StepOutput:
        """The losses of iteration number `iteration`, from 0; `unlabelled` is None where none are needed."""

    @classmethod
    def build(cls, student: nn.Module, parts: MethodParts, **settings: Any) -> Self:
        """With the settings of its section of the config; a method that needs more takes it from `parts`."""
        return cls(student, **settings)

    def forward(
        self,
        labelled: Batch,
        unlabelled: Batch | None,
        *,
        iteration: int,
        generator: torch.Generator,
        draws: torch.Generator | None = None,
        with_stats: bool = False,
    ) -> StepOutput:
        """`draws`, a generator on the device, is for the contrast; `with_stats` asks for stats of it."""
        try:
            output = self.step(labelled, unlabelled, iteration=iteration, generator=generator)
        except (AttributeError, TypeError) as error:
            if unlabelled is not None or self.needs_unlabelled or "NoneType" not in str(error):
                raise
            raise UserError(
                f"{type(self).__name__}.step uses unlabelled images and got unlabelled=None: set "
                f"needs_unlabelled = True in the class ({error}; --debug shows where)"
            ) from error
        if not isinstance(output, StepOutput):
            raise UserError(
                f"{type(self).__name__}.step returned a {type(output).__name__}, needs a "
                "recoseg.types.StepOutput, such as that of self.supervised_step"
            )
        if self.contrast is not None:
            output = self.contrast(
                output,
                draws,
                iteration=iteration,
                with_stats=with_stats,
                labelled=labelled,
                teacher=self.evaluation_model,
            )
        return output

    def supervised_loss(self, output: ModelOutput, labelled: Batch) -> Tensor:
        """Cross-entropy with a person's labels, the same in every method."""
        return pixel_cross_entropy(
            output.logits, labelled.labels, self.class_weights, ohem_below=self.ohem_below
        )

    def supervised_step(self, labelled: Batch) -> StepOutput:
        """What a step is without unlabelled images, in every method."""
        output = self.student(labelled.images)
        loss = self.supervised_loss(output, labelled)
        labels = PseudoLabels.of_batch(labelled)
        return StepOutput(loss=loss, parts={"supervised": loss.detach()}, pixels=[(output, labels)])

    def require_fitting(self, *, sparse: bool, crop: tuple[int, int]) -> None:
        """Refuse labels, single pixels or not, and sizes of crops that it cannot learn from, before a run."""

    @property
    def least_unlabelled(self) -> int:
        """How many unlabelled images a process needs at once, if it needs any."""
        return 1

    def uses_unlabelled(self, iteration: int) -> bool:
        """Whether that iteration looks at unlabelled images at all."""
        return self.needs_unlabelled

    def after_update(self, iteration: int) -> None:
        """Called once the optimiser has moved the student."""
        if self.teacher is not None:
            self.teacher.update(self.student, iteration)

    def own_optimisers(self) -> dict[str, Optimizer]:
        """Optimisers of networks other than the student, by name; they follow the same schedule."""
        return {}

    @property
    def evaluation_model(self) -> nn.Module:
        """The network that is evaluated, saved and used afterwards."""
        return self.student if self.teacher is None else self.teacher.network


def require_whole_labels(method: str, *, sparse: bool) -> None:
    """For a method that looks at whole masks: refuse images of which single pixels are labelled."""
    if sparse:
        raise UserError(
            f"{method} needs fully labelled images, and this split has single labelled pixels: "
            "take mean_teacher, or a split of whole images"
        )
