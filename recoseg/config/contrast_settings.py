"""Settings of the contrast on top of any method: `contrast`, and of its feature bank."""

from typing import Annotated, Any, Literal

from msgspec import Meta, structs

from recoseg.config.setting import Channels, Iterations, Kind, Number, Positive, Share, fill_none

Choices = Annotated[int, Meta(ge=1, le=100_000)]


class Bank(Kind, frozen=True, kw_only=True):
    """What all feature banks have: stores of features to draw negative keys from, instead of the batch."""

    #: features of a class that are kept
    size: Annotated[int, Meta(ge=1, le=10000000)] = 256
    #: features of a class that enter in a step, at most
    per_step: Number = 16
    #: steps that fill it before keys are drawn from it; none: a fortieth of all
    warm_up: Iterations | None = None
    #: whose class means are positive keys and span the relation graph, where both have a class
    prototypes: Literal["batch", "bank"] = "batch"


Above = Share


class LabelledBank(Bank, frozen=True, kw_only=True, tag="labelled"):
    """Negative keys from a feature bank of labelled pixels that the student classifies correctly."""


class ConfidentBank(Bank, frozen=True, kw_only=True, tag="confident"):
    """Negative keys from a feature bank of pixels whose label or pseudo-label the student is confident of."""

    #: minimum probability of their label for pixels to enter
    above: Above = 0.95


class TeacherBank(Bank, frozen=True, kw_only=True, tag="teacher"):
    """Negative keys from a feature bank of labelled pixels, with the moving average's correct predictions."""

    #: minimum probability of their label for pixels to enter
    above: Above = 0.95


class ContrastSettings(Kind, frozen=True, kw_only=True, tag="reco"):
    """Regional contrast on top of any method: --contrast reco, or --contrast none."""

    #: weight of the contrast in the loss
    weight: Positive = 1.0
    #: queries of a class in a step
    num_queries: Choices = 256
    #: negative keys of a query
    num_keys: Choices = 512
    #: temperature tau
    temperature: Positive = 0.5
    #: a query is hard up to this probability (delta_s)
    hard_below: Share = 0.97
    #: instead, this share of each class's pixels: the hardest, however hard
    hard_share: Annotated[float, Meta(gt=0, le=1)] | None = None
    #: iterations over which the weight of the contrast grows; none: a tenth of all
    ramp: Iterations | None = None
    #: pseudo-labels count from this confidence on (delta_w)
    trust_above: Share = 0.7
    #: with partial labels, other pixels of labelled images count with the student's own label from
    #: this confidence on
    own_label_above: Share = 0.97
    #: which pixels of each class are queries: hard, random or easy ones; or pixels, any in proportion
    #: to how many a class has
    queries: Literal["hard", "random", "easy", "pixels"] = "hard"
    #: negative classes by similarity to the query's (active), with equal weight (uniform), or all
    #: their pixels with equal weight (pixels)
    negatives: Literal["active", "uniform", "pixels"] = "active"
    #: negative keys that the queries of a class share, or separate ones: several times slower
    keys: Literal["shared", "per_query"] = "shared"
    #: temperature of the choice of negative classes
    graph_temperature: Positive = 1.0
    #: channels of the representation head
    feature_channels: Channels = 256
    bank: LabelledBank | ConfidentBank | TeacherBank | None = None

    def resolved(self, iterations: int) -> "ContrastSettings":
        """With numbers in place of settings that follow from the length of the run."""
        bank: Any = self.bank and fill_none(self.bank, {"warm_up": iterations // 40})
        filled: ContrastSettings = fill_none(self, {"ramp": iterations // 10})
        return structs.replace(filled, bank=bank)
