"""Settings of the methods: `method`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recoseg.config.setting import MOST_ITERATIONS, REQUIRED, setting

AVERAGE = (
    "decay of a moving average of the weights that is evaluated in place of the student, as mean_teacher "
    "does with 0.99; none evaluates the student"
)
START = "iterations at the start that learn from labels alone; none: a fifth of all"
START_AT_ONCE = "iterations at the start that learn from labels alone"
RAMP = "iterations after that over which the weight of unlabelled images grows to 1; none: a tenth of all"
DECAY = "decay of the moving average; none: the paper's 0.99, less in runs of under 2,500 iterations"
STUDENT_PASS = (
    "labelled and unlabelled crops pass the student one after the other, or together: faster, with BatchNorm "
    "statistics of both"
)
WARM_UP = (
    "how the decay of the moving average grows to its value: mean, as the authors do; fast, which forgets "
    "the first steps sooner; or none, for a start that is worth averaging"
)


@dataclass(frozen=True, kw_only=True)
class ProbeMethod:
    """A linear classifier of the pretrained encoder's features: no training steps, done in seconds."""

    name: Literal["probe"] = "probe"


@dataclass(frozen=True, kw_only=True)
class SupervisedMethod:
    """Cross-entropy on the labelled images alone."""

    name: Literal["supervised"] = "supervised"
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)


@dataclass(frozen=True, kw_only=True)
class MeanTeacherMethod:
    """Mean Teacher (Tarvainen and Valpola, 2017): a moving average labels; also CutOut, CutMix, ClassMix."""

    name: Literal["mean_teacher"] = "mean_teacher"
    mix: Literal["none", "cutout", "cutmix", "classmix"] = setting(
        "classmix", "how unlabelled images are mixed: none, cutout, cutmix or classmix"
    )
    consistency: Literal["labels", "probabilities"] = setting(
        "labels",
        "what the student learns from the teacher: labels, or as in the original its probabilities, with mix "
        "none",
    )
    consistency_weight: float | None = setting(
        None, "weight of unlabelled images; none: 1, and 100 with consistency probabilities", at_least=0
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
    align: bool = setting(
        False, "the teacher's labels show classes as often as whole labels of labelled images do"
    )
    decay: float | None = setting(None, DECAY, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)
    teacher_norm: Literal["average", "batch"] = setting(
        "average", "BatchNorm of the teacher when it labels: averaged statistics, or those of the batch"
    )
    student_pass: Literal["separate", "together"] = setting("separate", STUDENT_PASS)
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
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)
    supervised_start: int | None = setting(None, START, at_least=0, at_most=MOST_ITERATIONS)
    ramp: int | None = setting(None, RAMP, at_least=0, at_most=MOST_ITERATIONS)


PIXEL_ABOVE = "unlabelled pixels are learned from this confidence on; with threshold daw, at the start"
THRESHOLD = (
    "fixed, or daw: fitted to labelled pixels, where the confidences of right and of wrong ones, as two "
    "running Gaussians, cross"
)
CUTMIX = "probability that a box of the next image is pasted into a strong view"
COLOURS = (
    "how often strong views change colours, as a share of what the authors have (whatever augment.jitter and "
    "augment.blur say); 0: never"
)
DROP = "probability that a channel of the encoder's output is left out in the view of disturbed features"


@dataclass(frozen=True, kw_only=True)
class FixMatchMethod:
    """FixMatch (Sohn et al., 2020): confident labels of a weak view of an image train a strong one."""

    name: Literal["fixmatch"] = "fixmatch"
    pixel_above: float = setting(0.95, PIXEL_ABOVE, at_least=0, at_most=1)
    threshold: Literal["fixed", "daw"] = setting("fixed", THRESHOLD)
    colours: float = setting(1.0, COLOURS, at_least=0, at_most=1)
    cutmix: float = setting(0.5, CUTMIX, at_least=0, at_most=1)
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)


@dataclass(frozen=True, kw_only=True)
class UniMatchMethod:
    """UniMatch (Yang et al., 2023): FixMatch with two strong views, and one of disturbed features."""

    name: Literal["unimatch"] = "unimatch"
    pixel_above: float = setting(0.95, PIXEL_ABOVE, at_least=0, at_most=1)
    threshold: Literal["fixed", "daw"] = setting("fixed", THRESHOLD)
    colours: float = setting(1.0, COLOURS, at_least=0, at_most=1)
    cutmix: float = setting(0.5, CUTMIX, at_least=0, at_most=1)
    drop: float = setting(0.5, DROP, at_least=0, at_most=0.99)
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)


@dataclass(frozen=True, kw_only=True)
class UniMatchV2Method:
    """UniMatch V2 (Yang et al., 2024): a moving average labels; strong views see complementary channels."""

    name: Literal["unimatch_v2"] = "unimatch_v2"
    pixel_above: float = setting(0.95, PIXEL_ABOVE, at_least=0, at_most=1)
    threshold: Literal["fixed", "daw"] = setting("fixed", THRESHOLD)
    colours: float = setting(1.0, COLOURS, at_least=0, at_most=1)
    cutmix: float = setting(0.5, CUTMIX, at_least=0, at_most=1)
    decay: float | None = setting(
        None,
        "decay of the moving average; none: the authors' 0.996, less in runs of under 6,250 iterations",
        at_least=0,
        at_most=0.99999,
    )


@dataclass(frozen=True, kw_only=True)
class PrevMatchMethod:
    """PrevMatch (Shin et al., 2024): UniMatch, in which earlier states of the network give labels too."""

    name: Literal["prevmatch"] = "prevmatch"
    pixel_above: float = setting(0.95, PIXEL_ABOVE, at_least=0, at_most=1)
    threshold: Literal["fixed", "daw"] = setting("fixed", THRESHOLD)
    colours: float = setting(1.0, COLOURS, at_least=0, at_most=1)
    cutmix: float = setting(0.5, CUTMIX, at_least=0, at_most=1)
    drop: float = setting(0.5, DROP, at_least=0, at_most=0.99)
    previous_above: float | None = setting(
        0.9,
        "pixels are learned from this confidence of earlier networks on; none: all are, and an image weighs "
        "by their mean confidence, as the authors have it for Cityscapes",
        at_least=0,
        at_most=1,
    )
    store_every: int | None = setting(
        None,
        "iterations after which the network is stored as an earlier one; none: a sixteenth of all",
        at_least=1,
        at_most=MOST_ITERATIONS,
    )
    num_previous: int = setting(8, "earlier networks that are kept, the last ones", at_least=1, at_most=64)
    most_at_once: int = setting(3, "earlier networks that label a step, at most", at_least=1, at_most=64)
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)


@dataclass(frozen=True, kw_only=True)
class VATMethod:
    """VAT (Miyato et al., 2018): agreement on unlabelled images that are moved where it is most at risk."""

    name: Literal["vat"] = "vat"
    consistency_weight: float = setting(0.1, "weight of unlabelled images", at_least=0)
    radius: float = setting(1.0, "how far an image is moved, against its own contrast", above=0)
    trust_above: float = setting(
        0.97,
        "unlabelled images weigh by the share of the batch's pixels with this confidence",
        at_least=0,
        at_most=1,
    )
    decay: float | None = setting(None, DECAY, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)
    student_pass: Literal["separate", "together"] = setting("separate", STUDENT_PASS)
    supervised_start: int = setting(0, START_AT_ONCE, at_least=0, at_most=MOST_ITERATIONS)
    ramp: int = setting(
        0,
        "iterations after that over which the weight of unlabelled images grows to its value",
        at_least=0,
        at_most=MOST_ITERATIONS,
    )


@dataclass(frozen=True, kw_only=True)
class CCTMethod:
    """CCT (Ouali et al., 2020): decoders with perturbed input shall agree with the main one."""

    name: Literal["cct"] = "cct"
    consistency_weight: float = setting(30.0, "weight of unlabelled images", at_least=0)
    num_dropout: int = setting(6, "decoders that see half of the channels", at_least=0, at_most=100)
    num_feature_drop: int = setting(6, "decoders that see no cells of high values", at_least=0, at_most=100)
    num_feature_noise: int = setting(6, "decoders that see noise of 30 %", at_least=0, at_most=100)
    num_guided_cutout: int = setting(
        6, "decoders that see objects with a box cut out; needs a class background", at_least=0, at_most=100
    )
    num_vat: int = setting(
        2, "decoders that see the map moved where it matters most", at_least=0, at_most=100
    )
    num_context_masking: int = setting(
        2, "decoders that see objects alone; needs a class background", at_least=0, at_most=100
    )
    num_object_masking: int = setting(
        2, "decoders that see all but objects; needs a class background", at_least=0, at_most=100
    )
    radius: float = setting(2.0, "how far the map is moved for the decoders of num_vat", above=0)
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)
    student_pass: Literal["separate", "together"] = setting("separate", STUDENT_PASS)
    supervised_start: int = setting(0, START_AT_ONCE, at_least=0, at_most=MOST_ITERATIONS)
    ramp: int | None = setting(None, RAMP, at_least=0, at_most=MOST_ITERATIONS)


@dataclass(frozen=True, kw_only=True)
class AdvSemSegMethod:
    """AdvSemSeg (Hung et al., 2018): a discriminator judges predictions at each pixel."""

    name: Literal["advsemseg"] = "advsemseg"
    adversarial_weight: float = setting(
        0.01, "weight of fooling the discriminator on labelled images", at_least=0
    )
    unlabelled_weight: float = setting(
        0.001, "weight of fooling the discriminator on unlabelled images", at_least=0
    )
    self_weight: float = setting(0.1, "weight of self-training", at_least=0)
    self_above: float = setting(
        0.2, "self-training uses pixels that the discriminator scores above this", at_least=0, at_most=1
    )
    self_start: int | None = setting(
        None,
        "iterations before self-training begins; none: a quarter of all",
        at_least=0,
        at_most=MOST_ITERATIONS,
    )
    discriminator_lr: float = setting(1e-4, "learning rate of the discriminator, with Adam", above=0)
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)


@dataclass(frozen=True, kw_only=True)
class GCTMethod:
    """GCT (Ke et al., 2020): of two students the better one teaches, by a flaw detector's word."""

    name: Literal["gct"] = "gct"
    consistency_weight: float = setting(100.0, "weight of learning from the other student", at_least=0)
    correction_weight: float = setting(
        1.0, "weight of the flaws that the detector sees where both students err", at_least=0
    )
    detector_weight: float = setting(10.0, "weight of the flaw detector's own loss", above=0)
    bad_above: float = setting(
        0.6, "a student errs where its flaw is above this share of the largest", at_least=0, at_most=1
    )
    ramp: int | None = setting(
        None,
        "iterations over which consistency grows to its weight; none: 15 % of all",
        at_least=0,
        at_most=MOST_ITERATIONS,
    )
    detector_width: int = setting(
        64,
        "channels of the flaw detector's first convolution; 64 is the authors', most of the time of a step",
        at_least=2,
        at_most=1024,
    )
    detector_lr: float = setting(1e-4, "learning rate of the flaw detector, with Adam", above=0)
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)


@dataclass(frozen=True, kw_only=True)
class ECSMethod:
    """ECS (Mendel et al., 2020): a second network corrects what the student says of unlabelled images."""

    name: Literal["ecs"] = "ecs"
    approval_weight: float = setting(0.1, "weight of needing no correction on labelled images", at_least=0)
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)
    supervised_start: int | None = setting(
        None,
        "iterations at the start that learn from labelled images alone; none: a tenth of all",
        at_least=0,
        at_most=MOST_ITERATIONS,
    )


@dataclass(frozen=True, kw_only=True)
class PseudoSegMethod:
    """PseudoSeg (Zou et al., 2021): decoder and refined activation maps label a strong view."""

    name: Literal["pseudoseg"] = "pseudoseg"
    temperature: float = setting(0.5, "of the target: below 1 sharpens it", above=0)
    present_above: float = setting(
        0.5, "unlabelled images show the classes of this probability", at_least=0, at_most=1
    )
    colours: float = setting(1.0, COLOURS, at_least=0, at_most=1)
    cut: float = setting(
        0.2, "sides of the box cut out of the strong view, in sides of the crop", at_least=0, at_most=0.99
    )
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)


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
    average: float | None = setting(None, AVERAGE, at_least=0, at_most=0.99999)
    warm_up: Literal["mean", "fast", "none"] = setting("mean", WARM_UP)


@dataclass(frozen=True, kw_only=True)
class FactoryMethod:
    """A method of your own, made by a function of yours, see docs/training.md."""

    name: Literal["factory"] = "factory"
    factory: str = setting(
        REQUIRED,
        "package.module:function, called with the network and a MethodParts; it returns a "
        "recoseg.methods.Method; the current folder is searched too",
    )


MethodSettings = (
    SupervisedMethod
    | MeanTeacherMethod
    | S4GANMethod
    | AdvSemSegMethod
    | VATMethod
    | CCTMethod
    | GCTMethod
    | ECSMethod
    | PseudoSegMethod
    | DMTMethod
    | FixMatchMethod
    | UniMatchMethod
    | UniMatchV2Method
    | PrevMatchMethod
    | ProbeMethod
    | FactoryMethod
)
"""What `method` may be; where no name is given, the first that has the settings."""
