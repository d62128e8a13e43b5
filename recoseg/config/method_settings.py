"""Settings of the methods: `method`. The class of a method takes its section, so defaults stand here alone.

Settings that are none follow from the length of a run: see a method's `automatic`.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from recoseg.config.setting import (
    MOST_ITERATIONS,
    Decay,
    Iterations,
    Kind,
    NonNegative,
    Number,
    Positive,
    Share,
)

#: The paper's, of the moving average.
DECAY = 0.99
#: The runs that start at a probe are so many times as long as their average, which keeps 30 % of the start.
HORIZON = 1.2
#: Its authors'.
UNIMATCH_V2_DECAY = 0.996


def decay_in(iterations: int, usual: float = DECAY, *, from_probe: bool = False) -> float:
    """An average over the last hundred steps or 25th of a run; over most of a run from a probe."""
    if from_probe:
        return max(usual, 1 - HORIZON / max(2, iterations))
    return max(0.0, min(usual, 1 - 25 / max(1, iterations)))


class MethodKind(Kind, frozen=True, kw_only=True):
    """What all methods have."""

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        """The values of settings that are none in a run of `iterations`, which may start from the probe."""
        return {}


def start_and_ramp(iterations: int, *, from_probe: bool) -> dict[str, Any]:
    """Labels alone for a fifth of a run, then a tenth of growth; neither after a start from the probe."""
    return {
        "supervised_start": 0 if from_probe else iterations // 5,
        "ramp": 0 if from_probe else iterations // 10,
    }


class Averaged(MethodKind, frozen=True, kw_only=True):
    """A method without a teacher, whose moving average may be evaluated."""

    #: decay of a moving average of the weights to evaluate, such as mean_teacher's 0.99; none: the student
    average: Decay | None = None
    #: warm-up of the decay: mean, as the authors do; fast forgets the first steps sooner; none keeps the
    #: decay constant, for a start that is worth averaging
    warm_up: Literal["mean", "fast", "none"] = "mean"


class ProbeSettings(MethodKind, frozen=True, kw_only=True, tag="probe"):
    """A linear classifier of the pretrained encoder's features: no training steps, done in seconds."""


class SupervisedSettings(Averaged, frozen=True, kw_only=True, tag="supervised"):
    """Cross-entropy on the labelled images alone."""


class MeanTeacherSettings(MethodKind, frozen=True, kw_only=True, tag="mean_teacher"):
    """Mean Teacher (Tarvainen and Valpola, 2017): a moving average labels; also CutOut, CutMix, ClassMix."""

    #: how unlabelled images are mixed: none, cutout, cutmix or classmix
    mix: Literal["none", "cutout", "cutmix", "classmix"] = "classmix"
    #: what the student learns from the teacher: labels, or as in the original its probabilities, with
    #: mix none
    consistency: Literal["labels", "probabilities"] = "labels"
    #: weight of unlabelled images; none: 1, and 100 with consistency probabilities
    consistency_weight: NonNegative | None = None
    #: unlabelled images weigh by the share of their pixels with this confidence (delta_s)
    trust_above: Share = 0.97
    #: minimum confidence of the teacher for a pixel to count; 0: all pixels
    pixel_above: Share = 0.0
    #: match the class frequencies of the teacher's labels to those of whole labels
    align: bool = False
    #: decay of the moving average; none: the paper's 0.99, less in runs of under 2,500 iterations
    decay: Decay | None = None
    #: warm-up of the decay: mean, as the authors do; fast forgets the first steps sooner; none keeps the
    #: decay constant, for a start that is worth averaging
    warm_up: Literal["mean", "fast", "none"] = "mean"
    #: BatchNorm of the teacher when it labels: averaged statistics, or those of the batch
    teacher_norm: Literal["average", "batch"] = "average"
    #: labelled and unlabelled crops in separate passes, or together: faster, BatchNorm statistics of both
    student_pass: Literal["separate", "together"] = "separate"
    #: iterations at the start with labels alone; none: a fifth of all
    supervised_start: Iterations | None = None
    #: iterations after that over which the weight of unlabelled images grows to 1; none: a tenth of all
    ramp: Iterations | None = None

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        values = start_and_ramp(iterations, from_probe=from_probe)
        values |= {"decay": decay_in(iterations, from_probe=from_probe), "consistency_weight": 1.0}
        if self.consistency == "probabilities":
            values |= {"ramp": iterations * 15 // 100, "consistency_weight": 100.0}
        return values


class S4GANSettings(Averaged, frozen=True, kw_only=True, tag="s4gan"):
    """S4GAN (Mittal et al., 2021): a discriminator judges predictions on unlabelled images."""

    #: weight of feature matching
    match_weight: NonNegative = 0.1
    #: weight of self-training
    self_weight: NonNegative = 1.0
    #: self-training uses predictions that the discriminator scores above this
    self_above: Share = 0.6
    #: learning rate of the discriminator, with Adam
    discriminator_lr: Positive = 1e-4
    #: iterations at the start with labels alone; none: a fifth of all
    supervised_start: Iterations | None = None
    #: iterations after that over which the weight of unlabelled images grows to 1; none: a tenth of all
    ramp: Iterations | None = None

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return start_and_ramp(iterations, from_probe=from_probe)


class MatchingSettings(MethodKind, frozen=True, kw_only=True):
    """What FixMatch and the methods that extend it have."""

    #: minimum confidence for an unlabelled pixel to count; with threshold daw, at the start
    pixel_above: Share = 0.95
    #: fixed, or daw: fitted to labelled pixels, where the confidences of correct and of wrong ones, as
    #: two running Gaussians, cross
    threshold: Literal["fixed", "daw"] = "fixed"
    #: probability of colour changes in strong views, as a share of the authors' (augment.jitter and
    #: augment.blur do not apply); 0: never
    colours: Share = 1.0
    #: probability that a box of the next image is pasted into a strong view
    cutmix: Share = 0.5


class AveragedMatching(MatchingSettings, frozen=True, kw_only=True):
    """Such a method whose moving average may be evaluated. (A struct has one base.)"""

    #: decay of a moving average of the weights to evaluate, such as mean_teacher's 0.99; none: the student
    average: Decay | None = None
    #: warm-up of the decay: mean, as the authors do; fast forgets the first steps sooner; none keeps the
    #: decay constant, for a start that is worth averaging
    warm_up: Literal["mean", "fast", "none"] = "mean"


class FixMatchSettings(AveragedMatching, frozen=True, kw_only=True, tag="fixmatch"):
    """FixMatch (Sohn et al., 2020): confident labels of a weak view of an image train a strong one."""


class UniMatchSettings(AveragedMatching, frozen=True, kw_only=True, tag="unimatch"):
    """UniMatch (Yang et al., 2023): FixMatch with two strong views, and one of disturbed features."""

    #: probability that a channel of the encoder's output is left out in the view of disturbed features
    drop: Annotated[float, Meta(ge=0, le=0.99)] = 0.5


class UniMatchV2Settings(MatchingSettings, frozen=True, kw_only=True, tag="unimatch_v2"):
    """UniMatch V2 (Yang et al., 2024): a moving average labels; strong views see complementary channels."""

    #: decay of the moving average; none: the authors' 0.996, less in runs of under 6,250 iterations
    decay: Decay | None = None

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return {"decay": decay_in(iterations, UNIMATCH_V2_DECAY, from_probe=from_probe)}


class PrevMatchSettings(UniMatchSettings, frozen=True, kw_only=True, tag="prevmatch"):
    """PrevMatch (Shin et al., 2024): UniMatch, in which earlier states of the network give labels too."""

    #: minimum confidence of earlier networks for a pixel to count; none: all count, and an image
    #: weighs by their mean confidence, as the authors have it for Cityscapes
    previous_above: Share | None = 0.9
    #: iterations after which the network is stored as an earlier one; none: a sixteenth of all
    store_every: Annotated[int, Meta(ge=1, le=MOST_ITERATIONS)] | None = None
    #: earlier networks that are kept, the last ones
    num_previous: Annotated[int, Meta(ge=1, le=64)] = 8
    #: earlier networks that label a step, at most
    most_at_once: Annotated[int, Meta(ge=1, le=64)] = 3

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return {"store_every": max(1, iterations // 16)}


class VATSettings(MethodKind, frozen=True, kw_only=True, tag="vat"):
    """VAT (Miyato et al., 2018): agreement on unlabelled images with the perturbation that matters most."""

    #: weight of unlabelled images
    consistency_weight: NonNegative = 0.1
    #: size of the perturbation, relative to the image's contrast
    radius: Positive = 1.0
    #: unlabelled images weigh by the share of the batch's pixels with this confidence
    trust_above: Share = 0.97
    #: decay of the moving average; none: the paper's 0.99, less in runs of under 2,500 iterations
    decay: Decay | None = None
    #: warm-up of the decay: mean, as the authors do; fast forgets the first steps sooner; none keeps the
    #: decay constant, for a start that is worth averaging
    warm_up: Literal["mean", "fast", "none"] = "mean"
    #: labelled and unlabelled crops in separate passes, or together: faster, BatchNorm statistics of both
    student_pass: Literal["separate", "together"] = "separate"
    #: iterations at the start with labels alone
    supervised_start: Iterations = 0
    #: iterations after that over which the weight of unlabelled images grows to its value
    ramp: Iterations = 0

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return {"decay": decay_in(iterations, from_probe=from_probe)}


Decoders = Annotated[int, Meta(ge=0, le=100)]


class CCTSettings(Averaged, frozen=True, kw_only=True, tag="cct"):
    """CCT (Ouali et al., 2020): decoders with perturbed input learn to agree with the main one."""

    #: weight of unlabelled images
    consistency_weight: NonNegative = 30.0
    #: decoders that see half of the channels
    num_dropout: Decoders = 6
    #: decoders that see no cells of high values
    num_feature_drop: Decoders = 6
    #: decoders that see noise of 30 %
    num_feature_noise: Decoders = 6
    #: decoders that see objects with a box cut out; needs a class background
    num_guided_cutout: Decoders = 6
    #: decoders that see the perturbation that matters most
    num_vat: Decoders = 2
    #: decoders that see objects alone; needs a class background
    num_context_masking: Decoders = 2
    #: decoders that see all but objects; needs a class background
    num_object_masking: Decoders = 2
    #: size of the perturbation for the decoders of num_vat
    radius: Positive = 2.0
    #: labelled and unlabelled crops in separate passes, or together: faster, BatchNorm statistics of both
    student_pass: Literal["separate", "together"] = "separate"
    #: iterations at the start with labels alone
    supervised_start: Iterations = 0
    #: iterations after that over which the weight of unlabelled images grows to 1; none: a tenth of all
    ramp: Iterations | None = None

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return {"ramp": 0 if from_probe else iterations // 10}


class AdvSemSegSettings(Averaged, frozen=True, kw_only=True, tag="advsemseg"):
    """AdvSemSeg (Hung et al., 2018): a discriminator judges predictions at each pixel."""

    #: weight of fooling the discriminator on labelled images
    adversarial_weight: NonNegative = 0.01
    #: weight of fooling the discriminator on unlabelled images
    unlabelled_weight: NonNegative = 0.001
    #: weight of self-training
    self_weight: NonNegative = 0.1
    #: self-training uses pixels that the discriminator scores above this
    self_above: Share = 0.2
    #: iterations before self-training begins; none: a quarter of all
    self_start: Iterations | None = None
    #: learning rate of the discriminator, with Adam
    discriminator_lr: Positive = 1e-4

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return {"self_start": iterations // 4}


class GCTSettings(Averaged, frozen=True, kw_only=True, tag="gct"):
    """GCT (Ke et al., 2020): of two students the better one teaches, as a flaw detector decides."""

    #: weight of learning from the other student
    consistency_weight: NonNegative = 100.0
    #: weight of the flaws that the detector finds where both students err
    correction_weight: NonNegative = 1.0
    #: weight of the flaw detector's own loss
    detector_weight: Positive = 10.0
    #: a student errs where its flaw is above this share of the largest
    bad_above: Share = 0.6
    #: iterations over which consistency grows to its weight; none: 15 % of all
    ramp: Iterations | None = None
    #: channels of the flaw detector's first convolution; the authors' 64 take most of a step
    detector_width: Annotated[int, Meta(ge=2, le=1024)] = 64
    #: learning rate of the flaw detector, with Adam
    detector_lr: Positive = 1e-4

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return {"ramp": iterations * 3 // 20}


class ECSSettings(Averaged, frozen=True, kw_only=True, tag="ecs"):
    """ECS (Mendel et al., 2020): a second network corrects the student's predictions on unlabelled images."""

    #: weight of needing no correction on labelled images
    approval_weight: NonNegative = 0.1
    #: iterations at the start with labels alone; none: a tenth of all
    supervised_start: Iterations | None = None

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return {"supervised_start": iterations // 10}


class PseudoSegSettings(Averaged, frozen=True, kw_only=True, tag="pseudoseg"):
    """PseudoSeg (Zou et al., 2021): decoder and refined activation maps label a strong view."""

    #: of the target: below 1 sharpens it
    temperature: Positive = 0.5
    #: unlabelled images contain the classes of this probability
    present_above: Share = 0.5
    #: probability of colour changes in strong views, as a share of the authors' (augment.jitter and
    #: augment.blur do not apply); 0: never
    colours: Share = 1.0
    #: sides of the box cut out of the strong view, as a share of the crop's sides
    cut: Annotated[float, Meta(ge=0, le=0.99)] = 0.2


class DMTSettings(Averaged, frozen=True, kw_only=True, tag="dmt"):
    """DMT (Feng et al., 2020): two networks learn, in rounds, from each other's labels."""

    #: rounds after the supervised start; in round r of 5 the r fifths of labels with the highest
    #: confidence count
    rounds: Number = 5
    #: where both networks agree, a pixel weighs by this power of its probability
    agree_power: NonNegative = 5.0
    #: where they disagree, and the one that labels is more confident, by this power
    disagree_power: NonNegative = 5.0
    #: iterations at the start with labels alone; none: a fifth of all
    supervised_start: Iterations | None = None

    def automatic(self, iterations: int, *, from_probe: bool) -> dict[str, Any]:
        return {"supervised_start": 0 if from_probe else iterations // 5}


class FactoryMethod(MethodKind, frozen=True, kw_only=True, tag="factory"):
    """A method of your own, made by your function, see docs/training.md."""

    #: package.module:function, called with the network and a MethodParts; it returns a
    #: recoseg.methods.Method; the current folder is searched too
    factory: str


#: What `method` may be; where no name is given, the first that has the settings.
MethodSettings = (
    SupervisedSettings
    | MeanTeacherSettings
    | S4GANSettings
    | AdvSemSegSettings
    | VATSettings
    | CCTSettings
    | GCTSettings
    | ECSSettings
    | PseudoSegSettings
    | DMTSettings
    | FixMatchSettings
    | UniMatchSettings
    | UniMatchV2Settings
    | PrevMatchSettings
    | ProbeSettings
    | FactoryMethod
)
