"""Settings of the methods: `method`, and of the contrast on top of them: `contrast`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recoseg.config.setting import MOST_CHANNELS, MOST_ITERATIONS, setting

AVERAGE = (
    "decay of a moving average of the weights that is evaluated in place of the student, as mean_teacher "
    "does with 0.99; none evaluates the student"
)
START = "iterations at the start that learn from labels alone; none: a fifth of all"
RAMP = "iterations after that over which the weight of unlabelled images grows to 1; none: a tenth of all"
WARM_UP = (
    "how the decay of the moving average grows to its value: mean, as the authors do, or fast, which forgets "
    "the first steps sooner"
)


@dataclass(frozen=True, kw_only=True)
class SupervisedMethod:
    """Cross-entropy on the labelled images alone."""

    name: Literal["supervised"] = "supervised"
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast"] = setting("mean", WARM_UP)


@dataclass(frozen=True, kw_only=True)
class MeanTeacherMethod:
    """A moving average of the network labels the unlabelled images; with a mix: CutOut, CutMix, ClassMix."""

    name: Literal["mean_teacher"] = "mean_teacher"
    mix: Literal["none", "cutout", "cutmix", "classmix"] = setting(
        "classmix", "how unlabelled images are mixed: none, cutout, cutmix or classmix"
    )
    trust_above: float = setting(
        0.97,
        "unlabelled images weigh by the share of their pixels with this confidence (delta_s)",
        at_least=0,
        at_most=1,
    )
    pixel_above: float = setting(
        0.0, "pixels that the teacher is less sure of are not learned from; 0: all are", at_least=0, at_most=1
    )
    decay: float | None = setting(
        None,
        "decay of the moving average; none: the paper's 0.99, less in runs of under 2,500 iterations",
        at_least=0,
        at_most=0.99999,
    )
    warm_up: Literal["mean", "fast"] = setting("mean", WARM_UP)
    teacher_norm: Literal["average", "batch"] = setting(
        "average", "BatchNorm of the teacher when it labels: averaged statistics, or those of the batch"
    )
    student_pass: Literal["separate", "together"] = setting(
        "separate",
        "labelled and unlabelled crops pass the student one after the other, or together: faster, with "
        "BatchNorm statistics of both",
    )
    supervised_start: int | None = setting(None, START, at_least=0, at_most=MOST_ITERATIONS)
    ramp: int | None = setting(None, RAMP, at_least=0, at_most=MOST_ITERATIONS)


@dataclass(frozen=True, kw_only=True)
class S4GANMethod:
    """S4GAN (Mittal et al., 2021): a discriminator judges predictions on unlabelled images."""

    name: Literal["s4gan"] = "s4gan"
    match_weight: float = setting(0.1, "weight of feature matching", at_least=0)
    self_weight: float = setting(1.0, "weight of self-training", at_least=0)
    self_above: float = setting(
        0.6, "self-training uses predictions that the discriminator scores above this", at_least=0, at_most=1
    )
    discriminator_lr: float = setting(1e-4, "learning rate of the discriminator, with Adam", above=0)
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast"] = setting("mean", WARM_UP)
    supervised_start: int | None = setting(None, START, at_least=0, at_most=MOST_ITERATIONS)
    ramp: int | None = setting(None, RAMP, at_least=0, at_most=MOST_ITERATIONS)


@dataclass(frozen=True, kw_only=True)
class PseudoSegMethod:
    """PseudoSeg (Zou et al., 2021): decoder and refined activation maps label a strong view."""

    name: Literal["pseudoseg"] = "pseudoseg"
    temperature: float = setting(0.5, "of the target: below 1 sharpens it", above=0)
    present_above: float = setting(
        0.5, "unlabelled images show the classes of this probability", at_least=0, at_most=1
    )
    cut: float = setting(
        0.2, "sides of the box cut out of the strong view, in sides of the crop", at_least=0, at_most=0.99
    )


@dataclass(frozen=True, kw_only=True)
class DMTMethod:
    """DMT (Feng et al., 2020): two networks learn, in rounds, from each other's labels."""

    name: Literal["dmt"] = "dmt"
    rounds: int = setting(
        5,
        "rounds after the supervised start; in round r of 5 the surest r fifths of labels count",
        at_least=1,
    )
    agree_power: float = setting(
        5.0, "where both networks agree, a pixel weighs by this power of its probability", at_least=0
    )
    disagree_power: float = setting(
        5.0, "where they disagree, and the one that labelled is surer, by this power", at_least=0
    )
    supervised_start: int | None = setting(None, START, at_least=0, at_most=MOST_ITERATIONS)


@dataclass(frozen=True, kw_only=True)
class _Bank:
    """What all feature banks have: stores that negative keys are drawn from, instead of the batch."""

    size: int = setting(256, "features of a class that are kept", at_least=1, at_most=10_000_000)
    per_step: int = setting(16, "features of a class that enter in a step, at most", at_least=1)
    warm_up: int | None = setting(
        None,
        "steps that fill it before keys are drawn from it; none: a fortieth of all",
        at_least=0,
        at_most=MOST_ITERATIONS,
    )
    prototypes: Literal["batch", "bank"] = setting(
        "batch", "whose class means are positive keys and span the relation graph, where both have a class"
    )


_ABOVE = "the least probability of their label that pixels enter with"


@dataclass(frozen=True, kw_only=True)
class LabelledBank(_Bank):
    """Negative keys from a feature bank of labelled pixels that the student labels rightly."""

    name: Literal["labelled"] = "labelled"


@dataclass(frozen=True, kw_only=True)
class ConfidentBank(_Bank):
    """Negative keys from a feature bank of pixels whose label, or pseudo-label, the student is sure of."""

    name: Literal["confident"] = "confident"
    above: float = setting(0.95, _ABOVE, at_least=0, at_most=1)


@dataclass(frozen=True, kw_only=True)
class TeacherBank(_Bank):
    """Negative keys from a feature bank of labelled pixels as the moving average sees them, and rightly."""

    name: Literal["teacher"] = "teacher"
    above: float = setting(0.95, _ABOVE, at_least=0, at_most=1)


@dataclass(frozen=True, kw_only=True)
class ContrastSettings:
    """Regional contrast on top of any method: --contrast reco, or --contrast none."""

    name: Literal["reco"] = "reco"
    weight: float = setting(1.0, "weight of the contrast in the loss", above=0)
    num_queries: int = setting(256, "queries of a class in a step", at_least=1, at_most=100_000)
    num_keys: int = setting(512, "negative keys of a query", at_least=1, at_most=100_000)
    temperature: float = setting(0.5, "temperature tau", above=0)
    hard_below: float = setting(
        0.97, "a query is hard up to this probability (delta_s)", at_least=0, at_most=1
    )
    hard_share: float | None = setting(
        None, "instead, this share of each class's pixels: the hardest, however hard", above=0, at_most=1
    )
    ramp: int | None = setting(
        None,
        "iterations over which the weight of the contrast grows; none: a tenth of all",
        at_least=0,
        at_most=MOST_ITERATIONS,
    )
    trust_above: float = setting(
        0.7, "pseudo-labels take part from this confidence on (delta_w)", at_least=0, at_most=1
    )
    own_label_above: float = setting(
        0.97,
        "with partial labels, other pixels of labelled images take part with the student's own label from "
        "this confidence on",
        at_least=0,
        at_most=1,
    )
    queries: Literal["hard", "random", "easy", "pixels"] = setting(
        "hard",
        "which pixels of each class are queries: hard, random or easy ones; or pixels, any in proportion to "
        "how many a class has",
    )
    negatives: Literal["active", "uniform", "pixels"] = setting(
        "active",
        "negative classes by likeness to the query's (active) or all alike (uniform), or all their pixels "
        "alike (pixels)",
    )
    keys: Literal["per_query", "shared"] = setting(
        "per_query", "negative keys of every query its own, or shared by a class: several times faster"
    )
    graph_temperature: float = setting(1.0, "temperature of the choice of negative classes", above=0)
    feature_channels: int = setting(
        256, "channels of the representation head", at_least=1, at_most=MOST_CHANNELS
    )
    bank: LabelledBank | ConfidentBank | TeacherBank | None = None
